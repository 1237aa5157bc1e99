"""Induction: the scores are their formulas, the shipped model does what the chapter says."""

import math

import pytest
import torch
from torch import Tensor, nn

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.model.accuracy_of_first_copy import accuracy
from attn_docs.exhibits.model.score_without_match import score
from attn_docs.model import Block, DecoderModel, describe_weights
from attn_docs.model.__main__ import COMMAND
from attn_docs.model.induction import (
    CONTEXT,
    EXAMINED,
    SYMBOLS,
    behaviour,
    build_model,
    decode,
    encode,
    fit,
    induction_score,
    induction_targets,
    load_model,
    previous_token_score,
    repeat_accuracy,
    repeated_tokens,
    train,
)
from attn_docs.model.induction_circuits import composed, copy_circuit, head_off, match_circuit
from tests.kit import error

GENERATOR = torch.Generator().manual_seed(3)
TOKENS = torch.randint(4, (2, 9), generator=GENERATOR)
WEIGHTS = torch.rand(2, 9, 9, generator=GENERATOR, dtype=torch.float64).tril()


@pytest.fixture(scope="module")
def model() -> DecoderModel:
    return load_model()


@pytest.fixture(scope="module")
def examples():
    return repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))


def places(tokens: list[int], i: int) -> list[int]:
    """Return the places just after an earlier occurrence of token i, from 0."""
    return [j for j in range(1, i + 1) if tokens[j - 1] == tokens[i]]


@pytest.mark.formula(r"\text{previous token} = \frac{1}{n - 1} \sum_{i=2}^{n} A_{i, i-1}")
def test_previous_token_score_is_its_formula() -> None:
    for a in WEIGHTS:
        n = len(a)
        wanted = sum(a[i - 1, i - 2] for i in range(2, n + 1)) / (n - 1)
        assert error(previous_token_score(a), wanted) <= 1e-12
    assert error(previous_token_score(WEIGHTS), previous_token_score(WEIGHTS[:, None])) == 0


@pytest.mark.formula(r"\text{induction} = \frac{1}{|R|} \sum_{i \in R} \sum_{j \in P_i} A_{ij}")
def test_induction_score_is_its_formula() -> None:
    rows = [
        sum(a[i, j] for j in found)
        for a, tokens in zip(WEIGHTS, TOKENS.tolist(), strict=True)
        for i in range(len(tokens))
        if (found := places(tokens, i))
    ]
    assert 0 < len(rows) < TOKENS.numel()
    assert error(induction_score(WEIGHTS, TOKENS), sum(rows) / len(rows)) <= 1e-12
    heads = WEIGHTS[:, None].expand(-1, 3, -1, -1)
    assert error(induction_score(heads, TOKENS), sum(rows) / len(rows)) <= 1e-12


def test_targets_follow_each_earlier_occurrence() -> None:
    targets = induction_targets(TOKENS)
    for found, tokens in zip(targets, TOKENS.tolist(), strict=True):
        for i in range(len(tokens)):
            assert found[i].nonzero().flatten().tolist() == places(tokens, i)


def test_sequences_repeat_a_segment_of_every_length() -> None:
    tokens, repeated = repeated_tokens(400, torch.Generator().manual_seed(0))
    assert tokens.shape == (400, CONTEXT + 1)
    assert repeated.shape == (400, CONTEXT)
    periods = (~repeated).sum(-1)
    assert periods.unique().tolist() == list(range(3, CONTEXT // 2 + 1))
    for row, known, period in zip(tokens, repeated, periods.tolist(), strict=True):
        assert torch.equal(row[period:], row[:-period])
        assert known.tolist() == [i >= period for i in range(CONTEXT)]
    assert tokens.unique().tolist() == list(range(len(SYMBOLS)))


def test_another_vocabulary_has_its_own_tokens() -> None:
    tokens, _ = repeated_tokens(400, torch.Generator().manual_seed(0), vocab_size=50)
    assert tokens.unique().tolist() == list(range(50))


def test_a_model_of_ones_own_is_trained_in_place() -> None:
    model = build_model(1).eval()
    seen: list[tuple[int, bool]] = []
    assert fit(model, 3, steps=2, watch=lambda step, m: seen.append((step, m.training))) is model
    assert seen == [(0, True), (1, True), (2, True)]
    assert not model.training
    with pytest.raises(ValueError, match="steps must be"):
        fit(model, steps=0)


@torch.no_grad()
def test_only_the_last_place_of_the_first_copy_can_be_known(model) -> None:
    tokens, repeated = repeated_tokens(2048, torch.Generator().manual_seed(EXAMINED))
    hits = (model(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]).double()[:, :-1]
    new = ~repeated[:, 1:]
    assert hits[new].mean().item() == pytest.approx(1 / 32, abs=0.01)
    assert hits[~repeated[:, :-1] & ~new].mean() > 0.15


def test_text_becomes_tokens_and_text_again() -> None:
    assert decode(encode("the cat. the c")[0]) == "the cat. the c"
    assert len(set(SYMBOLS)) == 32
    assert encode(SYMBOLS).tolist() == [list(range(32))]


def test_the_shipped_model_does_induction(model, examples) -> None:
    found = behaviour(model, examples)
    assert found.accuracy >= 0.97
    assert found.previous[0] >= 0.5
    assert found.previous[1] <= 0.2
    assert found.induction[1] >= 0.7
    assert found.induction[0] <= 0.2
    told = describe_weights("induction")
    assert told["command"] == COMMAND.format("induction")
    # half precision changes little
    assert abs(told["accuracy"] - found.accuracy) <= 0.005
    for name in ("previous", "induction"):
        assert told[name] == pytest.approx(getattr(found, name), abs=0.01)


def test_either_head_off_and_the_behaviour_is_gone(model, examples) -> None:
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with head_off(model, 0):
        assert repeat_accuracy(model, examples) <= 0.3
        assert behaviour(model, examples).induction[1] <= 0.25
    with head_off(model, 1):
        assert repeat_accuracy(model, examples) <= 0.06
        assert behaviour(model, examples).induction[1] >= 0.7  # a sharp map is not a cause
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name])


def test_only_keys_need_the_first_layer(model, examples) -> None:
    tokens = examples.tokens[:, :-1]
    logits, weights = composed(model, tokens)
    wanted, maps = model(tokens, need_weights=True)
    assert error(logits, wanted.detach()) <= 1e-4
    assert error(weights, maps[1][:, 0].detach()) <= 1e-5
    scores = {
        part: induction_score(composed(model, tokens, **{part: False})[1], tokens)
        for part in ("query", "key", "value")
    }
    assert scores["key"] <= 0.25
    assert min(scores["query"], scores["value"]) >= 0.7


def test_training_learns_it_with_two_layers_and_not_with_one(examples) -> None:
    steps: list[int] = []
    two = train(steps=220, watch=lambda step, _: steps.append(step))
    assert steps == list(range(221))
    assert repeat_accuracy(two, examples) >= 0.8
    assert repeat_accuracy(train(layers=1, steps=220), examples) <= 0.4


def test_training_is_seeded_and_leaves_chance_alone() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (train(steps=2, seed=seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), wanted)
    assert all(torch.equal(tensor, again[name]) for name, tensor in first.items())
    assert not torch.equal(first["output.weight"], other["output.weight"])


def rotated(x: Tensor, position: int) -> Tensor:
    """Rotate pairs half a vector apart, as complex numbers."""
    half = x.size(-1) // 2
    angles = position * 10_000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    turned = torch.complex(x[:, :half], x[:, half:]) * torch.polar(
        torch.ones(half).double(), angles
    )
    return torch.cat([turned.real, turned.imag], -1)


@torch.no_grad()
def test_circuits_are_their_formulas(model) -> None:
    exact = build_model().double()
    exact.load_state_dict(model.state_dict())
    first, second = exact.blocks
    embedding = exact.token_embedding.weight
    moved = [
        block.attention_norm(embedding)
        @ (block.attention.out_proj.weight @ block.attention.v_proj.weight).mT
        for block in (first, second)
    ]
    query = second.attention_norm(embedding) @ second.attention.q_proj.weight.mT
    key = second.attention_norm(moved[0]) @ second.attention.k_proj.weight.mT
    for distance in (0, 3, 11):
        wanted = rotated(query, distance) @ key.mT / math.sqrt(64)
        assert error(match_circuit(model, distance).double(), wanted) <= 1e-3
    wanted = exact.norm(moved[1]) @ exact.output.weight.mT
    assert error(copy_circuit(model).double(), wanted) <= 1e-3
    itself = torch.arange(32)
    for distance in (1, 4, 8, 16, 24):
        assert torch.equal(match_circuit(model, distance).argmax(-1), itself)
    assert torch.equal(copy_circuit(model).argmax(-1), itself)


def many_heads() -> DecoderModel:
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 4, bias=False)
    return DecoderModel(5, 8, [Block(attention, None, nn.LayerNorm(8), None)])


def test_one_of_many_heads_is_switched_off() -> None:
    model = many_heads()
    attention = model.blocks[0].attention
    x = torch.randn(1, 6, 8)
    merged: list[Tensor] = []
    attention.out_proj.register_forward_pre_hook(lambda _, given: merged.append(given[0]))
    whole = attention(x)
    parts = []
    for head in range(4):
        with head_off(model, 0, head):
            parts.append(whole - attention(x))  # what this head adds
        own = slice(2 * head, 2 * head + 2)
        wanted = merged[0][..., own] @ attention.out_proj.weight[:, own].mT
        assert error(parts[-1], wanted) <= 1e-6
    assert error(sum(parts), whole.detach()) <= 1e-6
    assert min(part.abs().max() for part in parts) > 1e-3
    with head_off(model, -1, -1):
        assert error(attention(x), (whole - parts[3]).detach()) <= 1e-6


def test_exhibits_count_what_nobody_can_know(model, examples) -> None:
    tokens = examples.tokens[:, :-1]
    logits, weights = model(tokens, need_weights=True)
    right = repeat_accuracy(model, examples)
    assert accuracy(logits, *examples) < right - 0.1
    targets = induction_targets(tokens)
    assert score(weights[1][:, 0], targets) < induction_score(weights[1], tokens) - 0.1
    later = logits.argmax(-1) == examples.tokens[:, 1:]
    assert later[examples.repeated].float().mean().item() == pytest.approx(right)


BAD = [
    (lambda _: encode(""), "text must have at least one character; got ''"),
    (lambda _: encode("a" * 33), "text must have at most 32 characters; got 33"),
    (lambda _: encode("\u00e9t\u00e9"), "text must be made of 'abc.*'; got 'é'"),
    (lambda _: build_model(0), "layers must be"),
    (lambda _: train(steps=0), "steps must be"),
    (lambda _: repeated_tokens(0, GENERATOR), "batch must be"),
    (lambda _: repeated_tokens(1, GENERATOR, vocab_size=0), "vocab_size must be"),
    (
        lambda _: repeated_tokens(1, GENERATOR, length=8, shortest=5),
        "shortest must be at most half of length = 8; got 5",
    ),
    (lambda _: previous_token_score(torch.ones(3, 4)), r"n at least 2; got \(3, 4\)"),
    (lambda _: previous_token_score(torch.ones(1, 1)), r"n at least 2; got \(1, 1\)"),
    (lambda _: induction_targets(TOKENS[0]), r"tokens must be \(batch, length\); got \(9,\)"),
    (
        lambda _: induction_score(WEIGHTS[:1], TOKENS),
        r"weights must be \(2, 9, 9\); got \(1, 9, 9\)",
    ),
    (
        lambda _: induction_score(torch.ones(1, 3, 3), encode("abc")),
        "tokens must hold one that occurs twice; got none",
    ),
    (lambda m: head_off(m, 2).__enter__(), "layer must be from -2 to 1; got 2"),
    (lambda m: head_off(m, 0, 1).__enter__(), "head must be from -1 to 0; got 1"),
    (lambda _: composed(build_model(1), TOKENS), "model must have 2 blocks; got 1"),
    (lambda _: copy_circuit(build_model(1)), "model must have 2 blocks; got 1"),
    (lambda m: match_circuit(m, -1), "distance must be 0 or more; got -1"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_a_wrong_value_is_named(model, call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call(model)


def test_a_wrong_type_is_named(model) -> None:
    with pytest.raises(TypeError, match=r"tokens must be a tensor of integers; got torch\.float32"):
        induction_targets(torch.ones(2, 3))
    with pytest.raises(TypeError, match="tokens must be a tensor of integers; got list"):
        induction_targets([[1]])
    with pytest.raises(TypeError, match="key must be True or False; got 1"):
        composed(model, TOKENS, key=1)
