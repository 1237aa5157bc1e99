"""The shipped language model does what its chapter says, on stories that it never trained on."""

import math

import pytest
import torch
import torch.nn.functional as F

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.model import targets_not_shifted
from attn_docs.model import describe_weights, load_weights
from attn_docs.model.__main__ import COMMAND
from attn_docs.model.induction_circuits import head_off
from attn_docs.model.language_model import (
    ALPHABET,
    BATCH,
    CONTEXT,
    DREAMS,
    HELD_OUT,
    STEPS,
    NGram,
    batch_of,
    continue_text,
    decode,
    encode,
    language_model,
    least_nats,
    looks_at,
    looks_at_own_word,
    loss_of,
    nats_by_kind,
    tell_stories,
    text_of,
    train,
    trained_model,
    word_map,
)
from docs._kit.examples import example
from tests.kit import error

STORIES = tell_stories(60, HELD_OUT + 1)  # nor has the chapter seen these
FLOOR = least_nats()


@pytest.fixture(scope="module")
def model():
    return trained_model()


@pytest.fixture(scope="module")
def nats(model):
    return nats_by_kind(model, STORIES)


def test_held_out_stories_were_not_trained_on():
    seen = {text_of(parts) for parts in tell_stories(BATCH * STEPS, 0)}  # as in training
    assert len(seen) > 0.99 * BATCH * STEPS
    fresh = [parts for parts in STORIES if text_of(parts) not in seen]
    assert len(fresh) >= len(STORIES) - 2  # of six million stories, one in 150 was seen


def test_a_story_says_what_the_grammar_means():
    for parts in STORIES:
        found = {part.kind: part.text for part in parts if part.kind}
        names, colours, animals = (
            [part.text for part in parts if part.kind == kind]
            for kind in ("name", "colour", "animal")
        )
        assert len(set(names)) == len(set(animals)) == 2
        at = animals.index(found["sleeper"])
        assert found["dream"] in DREAMS[found["sleeper"]]
        assert (found["owner"], found["colour again"]) == (names[at], colours[at])
        assert found["animal again"] == found["sleeper"]
        text = text_of(parts)
        assert text.endswith(f" the {colours[at]} {animals[at]}.\n")
        assert len(text) < CONTEXT
        assert decode(encode(text)) == text


def test_all_stories_are_as_likely_and_counted():
    for parts in STORIES:
        assert math.prod(part.options for part in parts) == round(math.exp(FLOOR))
    # names, colours and animals of both, sleeper, how, where, dream, meeting
    assert round(math.exp(FLOOR)) == (8 * 5 * 6) * (7 * 5 * 5) * 2 * 3 * 4 * 2 * 3


def test_a_batch_asks_for_each_next_character_and_for_none_after_the_end():
    tokens, targets = batch_of(STORIES[:5])
    assert tokens.min() >= 0
    for parts, row, answers in zip(STORIES, tokens, targets, strict=False):
        text = text_of(parts)
        assert decode(row[: len(text)]) == "\n" + text[:-1]
        assert decode(answers[: len(text)]) == text
        assert answers[len(text) :].eq(-100).all()


@pytest.mark.parametrize("order", [1, 2, 3])
def test_ngrams_count(order):
    seen = tell_stories(50, 3)
    counts: dict[str, dict[str, float]] = {}
    for parts in seen:
        text = "\n" * max(order - 1, 1) + text_of(parts)
        for at in range(max(order - 1, 1), len(text)):
            after = counts.setdefault(text[at - order + 1 : at], dict.fromkeys(ALPHABET, 0.01))
            after[text[at]] += 1
    logits = NGram(order, seen)(encode("\nmia has")[None])[0]
    before = "\n" * max(order - 1, 1) + "mia has"
    for at, row in enumerate(logits):
        last = at + max(order - 1, 1)
        after = counts[before[last - order + 1 : last]]
        wanted = torch.tensor([after[c] / sum(after.values()) for c in ALPHABET])
        assert error(row.exp(), wanted) <= 1e-6


@pytest.mark.formula(r"L = -\sum_{i=1}^{n} \ln p(t_i \mid t_1, \dots, t_{i-1})")
def test_nats_by_kind_are_the_formula(model, nats):
    total = 0.0
    for parts in STORIES:
        text = text_of(parts)
        with torch.no_grad():
            p = model(encode("\n" + text)[None])[0].softmax(-1)
        total -= sum(math.log(p[at, ALPHABET.index(c)]) for at, c in enumerate(text))
    assert sum(nats.values()) == pytest.approx(total / len(STORIES), abs=1e-3)
    assert total / len(STORIES) > FLOOR
    kinds = {part.kind for part in STORIES[0]}
    assert set(nats) == kinds


def test_the_model_is_near_the_floor_and_far_below_a_trigram(nats):
    total = sum(nats.values())
    trigram = nats_by_kind(NGram(3, tell_stories(2000, 0)), STORIES)
    assert FLOOR < total < FLOOR + 3
    assert total < sum(trigram.values()) / 4
    assert nats["dream"] < math.log(2) + 0.2 < trigram["dream"] / 4
    assert nats["animal again"] < 0.05
    # it knows two names, and not whose animal it is
    assert 0.6 < nats["owner"] < 1.1


def test_the_weights_are_those_of_the_command(model):
    told = describe_weights("language-model")
    assert told["command"] == COMMAND.format("language-model")
    assert told["steps"] == STEPS
    last = told["curve"][-1]
    assert last["step"] == STEPS
    found = sum(nats_by_kind(model, tell_stories(100, HELD_OUT)).values())
    assert found == pytest.approx(sum(last["nats"].values()), abs=0.02)
    assert sum(p.numel() for p in model.parameters()) > 100_000


def test_heads_look_where_the_chapter_says_and_are_needed_there(model, nats):
    dream = looks_at(model, STORIES, "dream", "sleeper")
    assert dream[1, 2] > 0.85
    assert dream.flatten().topk(2).values[1] < 0.3
    names = looks_at(model, STORIES, "owner", "name")
    assert names[1, 1] > 0.8
    assert looks_at(model, STORIES, "animal again", "colour")[1, 0] > 0.8
    with head_off(model, 1, 2):
        assert nats_by_kind(model, STORIES)["dream"] > nats["dream"] + 3
    with head_off(model, 1, 1):
        assert nats_by_kind(model, STORIES)["owner"] > nats["owner"] + 2
    with head_off(model, 1, 0):
        spare = nats_by_kind(model, STORIES)
    assert spare["animal again"] < nats["animal again"] + 0.3


def test_no_head_looks_mainly_at_the_character_before(model):
    text = "\n" + text_of(STORIES[0])
    with torch.no_grad():
        weights = torch.cat(model(encode(text)[None], need_weights=True)[1])
    assert weights.diagonal(-1, 2, 3).mean(-1).max() < 0.25
    assert looks_at_own_word(model, STORIES[:10]).max() < 0.35


def test_a_head_that_looks_one_back_is_seen_as_such():
    class Fixed(torch.nn.Module):
        def forward(self, tokens, **_):
            n = tokens.size(1)
            weights = torch.zeros(1, 1, n, n)
            rows = torch.arange(n)
            weights[0, 0, rows, (rows - 1).clamp_min(0)] = 1
            return None, [weights]

    # the space before the dream looks at "f", the end of what stands between the parts
    assert looks_at(Fixed(), STORIES[:4], "dream", "sleeper").item() == 0
    assert looks_at(Fixed(), STORIES[:4], "dream", "").item() == 1
    # from the first letter of each word it looks at the word before
    own = looks_at_own_word(Fixed(), STORIES[:1]).item()
    text = text_of(STORIES[0])
    words = text.replace("\n", " ").split()
    assert own == pytest.approx(1 - (len(words)) / (len(text) + 1), abs=1e-6)


def test_a_word_map_adds_characters_to_words():
    text = "a bc d\n"
    n = len(text) + 1
    weights = torch.rand(n, n).tril()
    weights = weights / weights.sum(-1, keepdim=True)
    found = word_map(weights, text)
    assert found.shape == (3, 4)
    assert error(found.sum(-1), torch.ones(3)) <= 1e-6
    assert found[0].tolist() == [1, 0, 0, 0]
    # "d" is predicted at the space before it, token 5: newline, a and space, b c and space
    row = weights[5]
    assert (
        error(found[2], torch.stack([row[0], row[1:3].sum(), row[3:6].sum(), row[6:8].sum()]))
        <= 1e-6
    )


def test_text_is_the_same_with_and_without_a_cache(model):
    for parts in STORIES[:3]:
        prompt = text_of(parts)[:30]
        tokens = encode("\n" + prompt)[None]
        with torch.no_grad():
            while decode(tokens[0, -1:]) != "\n":
                tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], 1)
        assert continue_text(model, prompt) == decode(tokens[0, 1:])


def test_the_dream_follows_the_sleeper(model):
    for first, second in zip(DREAMS, [*list(DREAMS)[1:], "cat"], strict=True):
        begin = f"mia has a grey {first} and tom has a red {second}. the"
        for sleeper in (first, second):
            prompt = f"{begin} {sleeper} naps in the hay. it dreams of"
            text = continue_text(model, prompt)[len(prompt) :]
            assert text.split(".")[0].strip() in DREAMS[sleeper]


def test_drawing_depends_on_seed_temperature_and_top_k(model):
    drawn = [continue_text(model, "ben", temperature=1.0, seed=seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert continue_text(model, "ben", temperature=5.0, top_k=1) == continue_text(model, "ben")
    assert continue_text(model, "m" * CONTEXT) == "m" * CONTEXT + "\n"


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("Mia", "text must be made of a to z, space, full stop and newline; got 'M'"),
        ("mi4", "got '4'"),
        ("", "prompt must have 1 to 128 characters; got 0"),
        ("m" * (CONTEXT + 1), "prompt must have 1 to 128 characters; got 129"),
    ],
)
def test_a_wrong_prompt_is_refused(model, prompt, message):
    with pytest.raises(ValueError, match=message):
        continue_text(model, prompt)


def test_other_wrong_values_are_refused(model):
    with pytest.raises(ValueError, match="temperature must be 0 or more; got -1"):
        continue_text(model, "mia", temperature=-1)
    with pytest.raises(ValueError, match="top_k must be"):
        continue_text(model, "mia", top_k=0)
    with pytest.raises(ValueError, match="order must be"):
        NGram(0, STORIES)
    with pytest.raises(ValueError, match="steps must be"):
        train(model, -1)


def test_training_is_seeded_watched_and_lowers_the_loss():
    seen: list[int] = []
    runs = [train(language_model(), 4, watch=seen.append) for _ in range(2)]
    assert runs[0] == runs[1]
    assert seen[:5] == [0, 1, 2, 3, 4]
    assert runs[0][-1] < runs[0][0]
    other = train(language_model(seed=1), 1)
    assert other[0] != runs[0][0]


def test_targets_not_shifted_is_fixed_by_a_shift(model):
    row = encode("\n" + text_of(STORIES[0]))[None]
    with torch.no_grad():
        logits = model(row)
        right = F.cross_entropy(logits[:, :-1].flatten(0, 1), row[:, 1:].flatten())
        assert error(right, loss_of(model, STORIES[:1])) <= 1e-6
        assert targets_not_shifted.loss_of(model, row) > right + 1


@pytest.mark.parametrize("training", [True, False])
def test_the_leak_test_allows_dropout_and_leaves_the_mode_as_it_was(training):
    leaks = example("model/language_model/leak")["leaks"]
    model = language_model()
    for block in model.blocks:
        block.mlp.act = torch.nn.Sequential(block.mlp.act, torch.nn.Dropout(0.5))
    model.train(training)
    model.blocks[0].eval()  # frozen
    tokens, _ = batch_of(STORIES[:1])
    assert not leaks(model, tokens[:, :20])
    assert (model.training, model.blocks[0].training) == (training, False)
    assert model.blocks[1].mlp.act[1].training == training
    model.blocks[1].attention.attend = lambda q, k, v, *_, **__: F.scaled_dot_product_attention(
        q, k, v
    )
    assert leaks(model, tokens[:, :20])


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    from attn_docs.model import weights  # noqa: PLC0415

    for suffix in ("pt", "json"):
        name = f"language-model.{suffix}"
        (tmp_path / name).write_bytes((weights.FOLDER / name).read_bytes())
    (tmp_path / "language-model.pt").write_bytes(b"changed")
    monkeypatch.setattr(weights, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match="must have the sha256"):
        load_weights("language-model")


def test_the_attention_is_ours():
    blocks = language_model().blocks
    assert all(isinstance(block.attention, MultiHeadAttention) for block in blocks)
    assert all(block.attention.rotary is not None for block in blocks)
