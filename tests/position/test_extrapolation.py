"""One decoder with each kind of position: oracle, cache, padding, the task, changes, exhibits."""

import math
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import AutoModelForCausalLM
from transformers.models.cohere2.configuration_cohere2 import Cohere2Config
from transformers.models.gemma2.configuration_gemma2 import Gemma2Config
from transformers.models.granite.configuration_granite import GraniteConfig

from attn_docs import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    MultiHeadAttention,
    NTKScaling,
    RelativeBias,
    RotaryEmbedding,
    YaRNScaling,
    alibi_slopes,
    apply_rotary,
    rotary_frequencies,
    sinusoidal,
    t5_bucket,
)
from attn_docs.model import Block, DecoderModel
from attn_docs.model.induction import load_model
from attn_docs.position.extrapolation import (
    BUCKETS,
    CONTENT,
    EMBED_DIM,
    FILLER,
    HEADS,
    KINDS,
    MAX_DISTANCE,
    SEGMENT,
    TRAINED,
    build_model,
    changed,
    diluted,
    recall_accuracy,
    recall_at,
    recall_tokens,
    told,
    train,
    train_further,
)
from docs._kit.examples import example
from tests.kit import error, load_exhibit

every_kind = pytest.mark.parametrize("kind", KINDS)
RULES = {
    "plain": None,
    "linear": LinearScaling(3.0),
    "ntk": NTKScaling(3.0),
    "dynamic": DynamicScaling(2.0, TRAINED).at(70),
    "yarn": YaRNScaling(3.0, TRAINED),
    "llama3": Llama3Scaling(3.0, TRAINED),
}
proof = settings(derandomize=True, deadline=None, max_examples=40)


def drawn(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_model(kind: str) -> DecoderModel:
    torch.manual_seed(1)
    model = build_model(kind, rows=80).double().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


# --- an independent implementation -----------------------------------------------------------


def normed(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    spread = (centred.square().mean(-1, keepdim=True) + norm.eps).sqrt()
    return centred / spread * norm.weight + norm.bias


def bias_by_hand(kind: str, model: DecoderModel, n: int) -> Tensor:
    """Return what is added to each head's scores, one element at a time: (heads, n, n)."""
    slopes = [0.25, 0.0625, 0.015625, 0.00390625]
    rows = []
    for head in range(HEADS):
        for i in range(n):
            for j in range(n):
                number = torch.zeros((), dtype=torch.float64)
                if kind == "alibi":
                    number = number - slopes[head] * abs(i - j)
                if kind == "t5":
                    back = max(i - j, 0)
                    far = 8 + int(math.log(max(back, 1) / 8) / math.log(16 / 8) * 8)
                    bucket = back if back < 8 else min(far, 15)
                    number = model.position_bias.relative_attention_bias.weight[bucket, head]
                rows.append(number)
    return torch.stack(rows).view(HEADS, n, n)


def by_hand(kind: str, model: DecoderModel, tokens: Tensor) -> Tensor:
    """Return the logits of one sequence (n,), written out."""
    n, d = len(tokens), EMBED_DIM // HEADS
    x = model.token_embedding.weight[tokens]
    if kind == "learned":
        x = x + model.position_embedding.weight[:n]
    if kind == "sinusoidal":
        x = x + sinusoidal(torch.arange(n), EMBED_DIM)
    bias = bias_by_hand(kind, model, n)
    for block in model.blocks:
        y, attend = normed(x, block.attention_norm), block.attention
        mixed = []
        for head in range(HEADS):
            part = slice(head * d, (head + 1) * d)
            q, k, v = (y @ p.weight[part].T for p in (attend.q_proj, attend.k_proj, attend.v_proj))
            if kind == "rotary":
                rates = 10000.0 ** (-torch.arange(0, d, 2).double() / d)
                turn = torch.polar(torch.ones(()).double(), torch.outer(torch.arange(n), rates))
                q, k = (
                    torch.view_as_real(turn * torch.complex(*t.chunk(2, -1))).mT.flatten(1)
                    for t in (q, k)
                )
            scores = q @ k.T / math.sqrt(d) + bias[head]
            future = torch.ones(n, n, dtype=torch.bool).triu(1)
            weights = scores.masked_fill(future, float("-inf")).softmax(-1)
            mixed.append(weights @ v)
        x = x + torch.cat(mixed, -1) @ attend.out_proj.weight.T
    return normed(x, model.norm) @ model.output.weight.T


@every_kind
def test_each_kind_is_what_it_is_written_out_to_be_values_and_gradients(kind: str) -> None:
    model = random_model(kind)
    tokens = recall_tokens(1, drawn(), length=21).tokens
    found, wanted = model(tokens)[0], by_hand(kind, model, tokens[0])
    # sines are float32, as are ALiBi's numbers
    assert error(found, wanted) <= 1e-5
    loss = torch.randn(found.shape, generator=drawn(), dtype=torch.float64)
    parameters = dict(model.named_parameters())
    ours = torch.autograd.grad((found * loss).sum(), list(parameters.values()))
    theirs = torch.autograd.grad((wanted * loss).sum(), list(parameters.values()))
    for name, a, b in zip(parameters, ours, theirs, strict=True):
        assert error(a, b) <= 1e-5 * max(1.0, b.abs().max().item()), name


def test_the_kinds_differ_in_nothing_but_the_position() -> None:
    tokens = recall_tokens(2, drawn()).tokens
    states = {kind: build_model(kind).state_dict() for kind in KINDS}
    common = set.intersection(*(set(state) for state in states.values()))
    assert {name for state in states.values() for name in state if name not in common} == {
        "position_embedding.weight",
        "position_bias.relative_attention_bias.weight",
    }
    plain = random_model("none")
    logits = {}
    for kind in KINDS:
        model = random_model(kind)
        model.load_state_dict(plain.state_dict(), strict=False)
        logits[kind] = model(tokens)
    for kind in KINDS[1:]:
        assert error(logits[kind], logits["none"]) > 0.01


def test_t5s_last_bucket_is_met_in_training() -> None:
    found = t5_bucket(
        -torch.arange(TRAINED), num_buckets=BUCKETS, max_distance=MAX_DISTANCE, bidirectional=False
    )
    assert found.unique().tolist() == list(range(BUCKETS))
    assert alibi_slopes(HEADS).tolist() == [0.25, 0.0625, 0.015625, 0.00390625]


# --- the cache and padding -------------------------------------------------------------------


@every_kind
@proof
@given(cuts=st.lists(st.integers(1, 39), max_size=4, unique=True).map(sorted))
def test_cached_in_uneven_chunks_is_the_whole(kind: str, cuts: list[int]) -> None:
    model = random_model(kind)
    tokens = recall_tokens(2, drawn(), length=40).tokens
    caches = model.new_caches(2, 40)
    with torch.no_grad():
        chunks = tokens.tensor_split(cuts, dim=1)
        cached = torch.cat([model(chunk, caches=caches) for chunk in chunks], dim=1)
        assert error(cached, model(tokens)) <= 1e-9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("window", [None, 9])
def test_with_a_rule_and_a_window_too(rule: str, window: int | None) -> None:
    model = random_model("rotary")
    tokens = recall_tokens(2, drawn(), length=40).tokens
    with torch.no_grad(), changed(model, scaling=RULES[rule], window=window):
        caches = model.new_caches(2, 40)
        chunks = tokens.split([7, 1, 19, 13], dim=1)
        cached = torch.cat([model(chunk, caches=caches) for chunk in chunks], dim=1)
        assert error(cached, model(tokens)) <= 1e-9


@every_kind
def test_left_padding_changes_nothing_alone_or_with_a_cache(kind: str) -> None:
    model, padding = random_model(kind), (0, 3, 5)
    tokens = recall_tokens(3, drawn(), length=20).tokens
    with torch.no_grad():
        wanted = [model(tokens[[row], pad:]) for row, pad in enumerate(padding)]
        padded = torch.stack([tokens[row].roll(0) for row in range(3)])
        real = torch.arange(20) >= torch.tensor(padding)[:, None]
        padded = padded.masked_fill(~real, CONTENT)
        whole = model(padded, key_padding_mask=real)
        caches = model.new_caches(3, 20)
        cached = torch.cat(
            [
                model(padded[:, a:b], caches=caches, key_padding_mask=real[:, :b])
                for a, b in ((0, 9), (9, 10), (10, 20))
            ],
            dim=1,
        )
    for row, pad in enumerate(padding):
        assert error(whole[row, pad:], wanted[row][0]) <= 1e-6
        assert error(cached[row, pad:], wanted[row][0]) <= 1e-6


def test_a_float32_bias_beside_float64_queries_is_not_misread() -> None:
    attend, x = MultiHeadAttention(64, 4).double(), torch.randn(1, 40, 64).double()
    bias = torch.randn(1, 4, 40, 40)
    found = attend(x, attn_mask=bias)
    assert error(found, attend(x, attn_mask=bias.double())) <= 1e-12


@every_kind
def test_text_is_generated_as_without_a_cache(kind: str) -> None:
    model = random_model(kind)
    tokens = recall_tokens(2, drawn(), length=12).tokens
    found = model.generate(tokens, 8)
    for _ in range(8):
        tokens = torch.cat((tokens, model(tokens)[:, -1:].argmax(-1)), dim=1)
    assert found.equal(tokens)


def test_a_decoder_refuses_positions_given_twice_or_of_the_wrong_type() -> None:
    def block() -> Block:
        return Block(MultiHeadAttention(8, 2), None, nn.LayerNorm(8), None)

    for options, said in (
        ({"max_length": 4, "position_embedding": nn.Embedding(4, 8)}, "position_embedding must be"),
        ({"position_embedding": 3}, "position_embedding must be callable; got 3"),
        ({"position_bias": 3}, "position_bias must be callable; got 3"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            DecoderModel(5, 8, [block()], **options)
    model = DecoderModel(5, 8, [block()], max_length=4)
    tokens = torch.zeros(2, 3, dtype=torch.long)
    with pytest.raises(ValueError, match="key_padding_mask must have shape"):
        model(tokens, key_padding_mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(TypeError, match="key_padding_mask must be"):
        model(tokens, key_padding_mask=torch.ones(2, 3))


def test_a_table_that_ends_raises_an_error() -> None:
    model = build_model("learned")
    with pytest.raises(IndexError):
        model(recall_tokens(1, drawn(), length=TRAINED + 1).tokens)


# --- the task --------------------------------------------------------------------------------


def by_lookup(tokens: list[int], at: int) -> list[int]:
    """Return what followed earlier occurrences of the token before."""
    before = tokens[at - 1]
    return [tokens[i] for i in range(1, at) if tokens[i - 1] == before]


@given(seed=st.integers(0, 99), length=st.integers(2 * SEGMENT + 1, 70))
@proof
def test_what_is_known_follows_from_what_came_before(seed: int, length: int) -> None:
    tokens, known = recall_tokens(4, drawn(seed), length=length)
    assert tokens.shape == known.shape == (4, length)
    for row, where in zip(tokens.tolist(), known.tolist(), strict=True):
        assert any(where)
        for at in range(length):
            if where[at]:
                assert row[at] < CONTENT
                assert set(by_lookup(row, at)) == {row[at]}
            elif row[at] < CONTENT:  # in the first copy, or the first of a copy
                first = row[at - 1] >= CONTENT or at == 0
                assert first or row[at] not in by_lookup(row, at) or at >= SEGMENT
        assert max(row) < CONTENT + FILLER


def test_training_draws_all_distances_alike() -> None:
    tokens, _ = recall_tokens(4000, drawn())
    periods = []
    for row in tokens.tolist():
        first = next(i for i, token in enumerate(row) if token < CONTENT)
        periods.append(row.index(row[first], first + 1) - first)
    counts = torch.tensor(periods).bincount()
    assert (counts.nonzero().min(), counts.nonzero().max()) == (SEGMENT + 1, TRAINED - SEGMENT)
    assert counts[SEGMENT + 1 :].min() > 120


@given(length=st.integers(2 * SEGMENT, 90), seed=st.integers(0, 99))
@proof
def test_at_a_length_the_copy_is_where_it_was_asked_for(length: int, seed: int) -> None:
    least, most = SEGMENT, length - SEGMENT
    tokens, known = recall_at(3, drawn(seed), length=length, distance=(least, most))
    for row, where in zip(tokens.tolist(), known.tolist(), strict=True):
        first = row.index(row[-SEGMENT])
        assert least <= length - SEGMENT - first <= most
        assert row[first : first + SEGMENT] == row[-SEGMENT:]
        assert sum(token < CONTENT for token in row) == 2 * SEGMENT
        assert len(set(row[-SEGMENT:])) == SEGMENT
        assert where == [False] * (length - SEGMENT + 1) + [True] * (SEGMENT - 1)


def test_bad_sizes_are_refused_by_name() -> None:
    for call, said in (
        (lambda: recall_tokens(0, drawn()), "batch must be"),
        (lambda: recall_tokens(1, drawn(), length=10), "length must be at least 11; got 10"),
        (
            lambda: recall_at(1, drawn(), length=20, distance=(4, 9)),
            "distance must be from 5 to 15",
        ),
        (lambda: recall_at(1, drawn(), length=20, distance=(9, 16)), "distance must be"),
        (lambda: recall_at(1, drawn(), length=20, distance=(9, 8)), "distance must be"),
        (lambda: build_model("rope"), "kind must be one of none, learned, sinusoidal"),
        (lambda: build_model("learned", rows=0), "rows must be"),
        (lambda: train_further(build_model("none"), steps=0, length=20), "steps must be"),
        (
            lambda: train_further(build_model("none"), steps=1, length=20, learning_rate=0.0),
            "learning_rate must be",
        ),
        (lambda: diluted(1.0, 0), "keys must be"),
        (lambda: diluted(1.0, 5, trained=1), "trained must be at least 2; got 1"),
        (lambda: changed(build_model("none"), window=0).__enter__(), "window must be"),
        (lambda: changed(build_model("none"), sharper=0.0).__enter__(), "sharper must be"),
        (
            lambda: changed(build_model("none"), scaling=LinearScaling(2.0)).__enter__(),
            "scaling must be None without rotary positions; got a rule",
        ),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_accuracy_counts_what_can_be_known_alone() -> None:
    examples = recall_at(7, drawn(), length=TRAINED, distance=(6, 16))

    class Copies(DecoderModel):
        def forward(self, tokens: Tensor) -> Tensor:
            right = tokens.roll(-1, 1)
            right[:, -2] = CONTENT  # the last prediction is wrong
            return F.one_hot(right, CONTENT + FILLER).double()

    model = build_model("none")
    model.__class__ = Copies
    for chunk in (2, 32):
        assert recall_accuracy(model, examples, chunk=chunk) == pytest.approx(3 / 4)


def test_told() -> None:
    assert told(torch.tensor([0, 25, 26, 31, 32, 39])) == "azAF.."


# --- training --------------------------------------------------------------------------------


@every_kind
def test_training_repeats_itself_and_moves_every_weight(kind: str) -> None:
    start = train(kind, 3, steps=1)
    found = [train(kind, 3, steps=12, length=20, batch=4) for _ in range(2)]
    state = found[0].state_dict()
    for name, tensor in found[1].state_dict().items():
        assert tensor.equal(state[name])
        assert not tensor.equal(start.state_dict()[name])
    assert not found[0].training


def test_a_little_training_lowers_the_loss() -> None:
    tokens, known = recall_tokens(64, drawn(9))

    def loss(steps: int) -> float:
        model = train("rotary", 0, steps=steps, batch=16)
        with torch.no_grad():
            logits = model(tokens)[:, :-1][known[:, 1:]]
            return F.cross_entropy(logits, tokens[:, 1:][known[:, 1:]]).item()

    assert loss(150) < 0.8 * loss(1)


# --- changes without training ----------------------------------------------------------------


def test_what_was_changed_is_put_back_even_after_an_error() -> None:
    model = random_model("rotary")
    tokens = recall_tokens(2, drawn(), length=50).tokens
    before = model(tokens)
    with changed(model, scaling=NTKScaling(4.0), window=5, sharper=2):
        assert error(model(tokens), before) > 0.01
        with pytest.raises(ValueError, match="window"), changed(model, window=3):
            raise ValueError("window")
        assert model.blocks[0].attention.window == 5
    assert model(tokens).equal(before)
    with changed(model):
        assert error(model(tokens), before) <= 1e-12


@pytest.mark.parametrize("rule", RULES)
def test_a_changed_rule_is_that_of_a_layer_built_with_it(rule: str) -> None:
    model, scaling = random_model("rotary"), RULES[rule]
    tokens = recall_tokens(1, drawn(), length=70).tokens
    with changed(model, scaling=scaling):
        found = model(tokens)
    for block in model.blocks:
        block.attention.rotary = RotaryEmbedding(EMBED_DIM // HEADS, scaling=scaling)
    assert error(found, model(tokens)) <= 1e-12


def test_a_window_hides_and_sharper_multiplies_scores() -> None:
    model = random_model("none")
    tokens = recall_tokens(1, drawn(), length=30).tokens
    plain = model(tokens, need_weights=True)[1][0]
    with changed(model, window=7, sharper=1.5):
        weights = model(tokens, need_weights=True)[1][0]
    near = torch.ones(30, 30, dtype=torch.bool).tril().triu(-6)
    wanted = (1.5 * plain.log()).masked_fill(~near, float("-inf")).softmax(-1)
    assert error(weights, wanted) <= 1e-9


def test_the_shipped_model_breaks_and_a_window_mends_it() -> None:
    model = load_model()
    segment = torch.randint(32, (200, 16), generator=drawn())
    period = torch.randint(3, 17, (200, 1), generator=drawn())
    tokens = segment.gather(1, torch.arange(257) % period)

    @torch.no_grad()
    def accuracy(length: int = 256, **change: object) -> float:
        with changed(model, **change):
            best = model(tokens[:, :length])[:, -8:].argmax(-1)
        return (best == tokens[:, length - 7 : length + 1]).double().mean().item()

    assert accuracy() < 0.6
    assert accuracy(scaling=LinearScaling(8.0)) < 0.4
    assert accuracy(scaling=YaRNScaling(8.0, 32)) > 0.8
    assert accuracy(window=32) > 0.95
    plain = accuracy(64)  # a dip near factor 2, none at 3
    assert accuracy(64, scaling=YaRNScaling(2.0, 32)) < plain - 0.04
    assert accuracy(64, scaling=YaRNScaling(3.0, 32)) > plain - 0.01


# --- the formulas ----------------------------------------------------------------------------


@pytest.mark.formula(r"w = \frac{\exp z}{\exp z + m - 1}")
@given(lead=st.floats(-5, 20), keys=st.integers(1, 3000))
@proof
def test_dilution(lead: float, keys: int) -> None:
    scores = torch.zeros(keys, dtype=torch.float64)
    scores[0] = lead
    assert diluted(lead, keys) == pytest.approx(scores.softmax(0)[0].item(), rel=1e-9)
    w = math.exp(lead) / (math.exp(lead) + keys - 1)
    assert diluted(lead, keys) == pytest.approx(w, rel=1e-9)


@pytest.mark.formula(r"z' = \frac{\ln m}{\ln L}\, z")
@given(lead=st.floats(0.5, 20), keys=st.integers(33, 3000))
@proof
def test_sharpened_dilution(lead: float, keys: int) -> None:
    sharper = math.log(keys) / math.log(32) * lead
    assert diluted(lead, keys, trained=32) == pytest.approx(diluted(sharper, keys), rel=1e-9)
    assert diluted(lead, 20, trained=32) == diluted(lead, 20)


# --- exhibits --------------------------------------------------------------------------------

FIXES = {
    "factor_of_extended_length": ("length / extended", "length / trained"),
    "mean_over_positions": ("right.double()", "right[:, -last:].double()"),
    "length_with_padding": (
        "real.new_full((len(real),), real.size(1), dtype=int)",
        "real.sum(-1)",
    ),
}


def exhibited(name: str, module: ModuleType) -> tuple[Tensor, Tensor]:
    """Return what an exhibit finds and what it ought to."""
    if name == "factor_of_extended_length":
        rules = module.rule_for(131072, 4096, 32768), YaRNScaling(32.0, 4096)
        found, wanted = (rotary_frequencies(64, 1e4, rule)[0] for rule in rules)
        return found / wanted, torch.ones(32)
    if name == "mean_over_positions":
        right = torch.arange(40).expand(3, 40) < 36
        return torch.tensor(module.accuracy_at(right)), torch.tensor(0.5, dtype=torch.float64)
    real = torch.arange(200) >= torch.tensor([[0], [160]])
    wanted = torch.tensor([math.log(200), math.log(40)], dtype=torch.float64) / math.log(32)
    return module.sharper(real, 32), wanted


@pytest.mark.parametrize("name", sorted(FIXES))
def test_the_marked_line_is_what_is_wrong(name: str) -> None:
    for fixed in (False, True):
        module = load_exhibit(f"position/{name}", FIXES[name], mended=fixed)
        found, wanted = exhibited(name, module)
        assert found.shape == wanted.shape
        assert (error(found, wanted) <= 1e-6) == fixed


def test_a_bias_for_each_kind_goes_through_the_same_seam() -> None:
    bias = RelativeBias(HEADS, num_buckets=6, max_distance=9, bidirectional=False)
    nn.init.normal_(bias.relative_attention_bias.weight)
    rotated = apply_rotary(torch.randn(1, HEADS, 5, 16, generator=drawn()), torch.arange(5))
    mask = bias(5)
    both = F.scaled_dot_product_attention(rotated, rotated, rotated, mask)
    assert both.shape == rotated.shape


@pytest.mark.parametrize(
    ("config", "scaled"),
    [
        (Cohere2Config, {"logit_scale": 0.25}),
        (GraniteConfig, {"logits_scaling": 4.0}),
        (Gemma2Config, {"final_logit_softcapping": 0.5, "head_dim": 8}),
    ],
)
@torch.no_grad()
def test_the_losses_are_those_of_the_models_own_logits(config: type, scaled: dict) -> None:
    """Also of models that scale or cap their logits after the output layer."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "vocab_size": 60}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "pad_token_id": 0}
    ends = {"bos_token_id": 1, "eos_token_id": 2}
    model = AutoModelForCausalLM.from_config(config(**sizes, **heads, **ends, **scaled)).eval()
    for weight in (p for p in model.parameters() if p.dim() > 1):
        torch.nn.init.normal_(weight, std=0.5)
    tokens = torch.randint(3, 60, (4, 66))
    logits = model(tokens[:, :-1]).logits
    wanted = [
        F.cross_entropy(logits[:, places].mT, tokens[:, places + 1]).item()
        for places in torch.arange(65).chunk(8)
    ]
    losses = example("position/extrapolation/yours")["losses"]
    assert losses(model, tokens) == " ".join(f"{loss:.2f}" for loss in wanted)
