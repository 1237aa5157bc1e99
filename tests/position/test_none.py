"""Attention without positions: what no order changes, what two layers tell, models that do so."""

import importlib
import itertools
import math
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import AutoModelForCausalLM
from transformers.models.smollm3.modeling_smollm3 import SmolLM3Attention, SmolLM3RotaryEmbedding

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    RotaryEmbedding,
    rotary_to_half_split,
    scaled_dot_product_attention,
)
from attn_docs.model import MLP, Block, DecoderModel
from docs._kit import measured
from docs._kit.examples import example
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal, parse, read_off

tables, figures, bench = (
    page_module("position/none", name) for name in ("tables", "figures", "benchmark")
)
STORED = measured.load(bench.__file__)

proof = settings(derandomize=True, deadline=None, max_examples=40)
orders = st.permutations(range(6))


def looped(query: Tensor, key: Tensor, value: Tensor, *, causal: bool) -> Tensor:
    """Attend with loops over single numbers, for (n, d), (n, d), (n, e)."""
    n, d = query.shape
    rows = []
    for i in range(n):
        seen = range(i + 1) if causal else range(n)
        powers = [
            math.exp(sum(float(query[i, c] * key[j, c]) for c in range(d)) / math.sqrt(d))
            for j in seen
        ]
        rows.append(sum(p * value[j] for p, j in zip(powers, seen, strict=True)) / sum(powers))
    return torch.stack(rows)


def block(heads: int, *, mlp: bool = True, rotary: RotaryEmbedding | None = None) -> Block:
    norms = [nn.LayerNorm(12), nn.LayerNorm(12)]
    attention = MultiHeadAttention(12, heads, rotary=rotary)
    return Block(attention, MLP(12) if mlp else None, norms[0], norms[1] if mlp else None).double()


def stack(layers: int, **options: object) -> Callable[..., Tensor]:
    torch.manual_seed(0)
    blocks = [block(3, **options) for _ in range(layers)]

    def run(x: Tensor, *, is_causal: bool = True) -> Tensor:
        for each in blocks:
            x = each(x, is_causal=is_causal)
        return x

    return run


# --- the formulas --------------------------------------------------------------------------------


@pytest.mark.formula(
    r"\operatorname{softmax}\bigl(\Pi Q\, (\Pi K)^\top / \sqrt{d}\bigr)\, \Pi V"
    r" = \Pi \operatorname{softmax}(Q K^\top / \sqrt{d})\, \Pi^\top \Pi V"
    r" = \Pi \operatorname{softmax}(Q K^\top / \sqrt{d})\, V"
)
@proof
@given(orders)
def test_a_permutation_comes_out_in_front(order: list[int]) -> None:
    query, key, value = normal(6, 4), normal(6, 4, seed=1), normal(6, 5, seed=2)
    moved = torch.eye(6, dtype=torch.float64)[order]
    left = ((moved @ query) @ (moved @ key).T / math.sqrt(4)).softmax(-1) @ (moved @ value)
    weights = (query @ key.T / math.sqrt(4)).softmax(-1)
    assert error(left, moved @ weights @ moved.T @ moved @ value) < 1e-12
    assert error(left, moved @ looped(query, key, value, causal=False)) < 1e-12
    assert error(left, scaled_dot_product_attention(query, key, value)[order]) < 1e-12


@pytest.mark.formula(
    r"o_n = \frac{\sum_{j \le n} \exp(s_j)\, v_j}{\sum_{j \le n} \exp(s_j)} "
    r"\qquad s_j = \frac{q_n \cdot k_j}{\sqrt{d}}"
)
@proof
@given(st.permutations(range(6)))
def test_the_last_output_is_two_sums_without_an_order(order: list[int]) -> None:
    query, key, value = normal(6, 4), normal(6, 4, seed=1), normal(6, 5, seed=2)
    s = torch.tensor([float(query[-1] @ key[j]) / math.sqrt(4) for j in order]).double()
    output = (s.exp()[:, None] * value[order]).sum(0) / s.exp().sum()
    assert error(output, looped(query, key, value, causal=True)[-1]) < 1e-6
    ours = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert error(ours, looped(query, key, value, causal=True)) < 1e-12


@pytest.mark.formula(r"c_i = \frac{1}{i}")
def test_equal_scores_count() -> None:
    alike, mark = torch.zeros(1, 300, 2), torch.eye(300)[:1].mT[None]  # b n 2, b n 1
    counter = F.scaled_dot_product_attention(alike, alike, mark, is_causal=True)
    assert counter.flatten().tolist() == pytest.approx([1 / i for i in range(1, 301)], rel=1e-6)


def test_the_counter_of_a_kernel_confuses_no_earlier_than_rounding_does() -> None:
    n = 400
    alike, mark = torch.zeros(1, 1, n, 8), torch.zeros(1, 1, n, 8)
    mark[0, 0, 0, 0] = 1
    inputs = (alike.bfloat16(), alike.bfloat16(), mark.bfloat16())
    counter = F.scaled_dot_product_attention(*inputs, is_causal=True)[0, 0, :, 0]
    shared = int((counter[1:] == counter[:-1]).nonzero()[0]) + 1
    assert shared == tables.first_shared(torch.bfloat16) == 190


# --- one layer, two layers -----------------------------------------------------------------------


@pytest.mark.parametrize("heads", [1, 2, 6])
@pytest.mark.parametrize("mlp", [False, True])
def test_one_layer_does_not_tell_the_order_and_its_gradient_neither(heads: int, mlp: bool) -> None:
    torch.manual_seed(heads)
    layer, order = block(heads, mlp=mlp), [4, 1, 3, 0, 2, 5, 6]
    x = normal(2, 7, 12).requires_grad_()
    found = []
    for tokens in (x, x[:, order]):
        last = layer(tokens, is_causal=True)[:, -1]
        found.append((last, torch.autograd.grad(last.cos().sum(), x)[0]))
    for pair in zip(*found, strict=True):
        assert error(*pair) < 1e-12


def test_the_last_token_itself_is_told_apart() -> None:
    x = normal(1, 7, 12)
    run = stack(1)
    assert error(run(x)[:, -1], run(x[:, [0, 1, 2, 3, 4, 6, 5]])[:, -1]) > 1e-2


@pytest.mark.parametrize("layers", [2, 3])
def test_two_layers_tell_the_order(layers: int) -> None:
    x = normal(1, 7, 12)
    run = stack(layers)
    assert error(run(x)[:, -1], run(x[:, [1, 0, 2, 3, 4, 5, 6]])[:, -1]) > 1e-3


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_without_a_mask_no_depth_tells_the_order(layers: int) -> None:
    x, order = normal(1, 7, 12), [4, 6, 3, 0, 2, 5, 1]
    run = stack(layers)
    whole, shuffled = run(x, is_causal=False), run(x[:, order], is_causal=False)
    assert error(whole[:, order], shuffled) < 1e-12
    assert error(whole.mean(1), shuffled.mean(1)) < 1e-12


@pytest.mark.parametrize("layers", [1, 2, 5])
def test_equal_tokens_stay_equal_at_any_depth_unless_the_first_differs(layers: int) -> None:
    same = normal(1, 1, 12).expand(1, 9, 12)
    output = stack(layers)(same)
    assert error(output, output[:, :1].expand_as(output)) < 1e-12
    marked = torch.cat((normal(1, 1, 12, seed=5), same), dim=1)
    counted = stack(layers)(marked)[:, 1:]
    assert (counted[:, 1:] - counted[:, :-1]).abs().amax(-1).min() > 1e-4


def test_rotary_positions_tell_the_order_in_one_layer() -> None:
    torch.manual_seed(0)
    layer, x = block(3, rotary=RotaryEmbedding(4)), normal(1, 7, 12)
    last = [layer(each, is_causal=True)[:, -1] for each in (x, x[:, [1, 0, 2, 3, 4, 5, 6]])]
    assert error(*last) > 1e-3


def test_the_bags_hold_the_whole_order() -> None:
    """As the exercise says: i·μ_i − (i − 1)·μ_{i−1} is token i."""
    x = normal(9, 5)
    counts = torch.arange(1, 10).double()[:, None]
    means = x.cumsum(0) / counts
    before = torch.cat((torch.zeros(1, 5).double(), (counts * means)[:-1]))
    assert error(counts * means - before, x) < 1e-12


def test_the_core_names_who_chased() -> None:
    names = example("position/none/core")
    dog, cat = (names["WORDS"].index(word) for word in ("dog", "cat"))
    found = names["found"][-1]  # of the second sentence
    assert found[cat] == pytest.approx(1 / 3, abs=1e-6)
    assert found[dog] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    "pattern", [(True, False), (False, True, False), (True, True, True, False)]
)
def test_a_stack_of_both_kinds_gives_the_same_with_a_cache(pattern: tuple[bool, ...]) -> None:
    torch.manual_seed(0)
    blocks = [block(3, rotary=RotaryEmbedding(4) if rotated else None) for rotated in pattern]
    model = DecoderModel(17, 12, blocks).double()
    tokens = torch.randint(17, (2, 9))
    caches = model.new_caches(2, 9)
    parts = [model(part, caches=caches) for part in tokens.split([4, 1, 1, 3], dim=1)]
    assert error(torch.cat(parts, dim=1), model(tokens)) < 1e-12


# --- published models ----------------------------------------------------------------------------

SMALL = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 40,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "attn_implementation": "eager",
    "use_cache": False,
}
SMALLER = {
    "SmolLM3": {},
    "Llama 4": {
        "intermediate_size_mlp": 48,
        "num_local_experts": 2,
        "attn_temperature_tuning": False,
    },
    "Cohere2": {"sliding_window": 50},
    "EXAONE 4": {"sliding_window": 50},
    "AFMoE": {
        "sliding_window": 50,
        "num_experts": 2,
        "num_experts_per_tok": 1,
        "num_shared_experts": 1,
        "moe_intermediate_size": 16,
        "num_dense_layers": 4,
    },
}


def sees_order(attend: Callable[[Tensor], Tensor], size: int) -> bool:
    x = torch.randn(1, 9, size)
    last = [attend(each)[:, -1] for each in (x, x[:, [4, 1, 3, 0, 6, 2, 5, 7, 8]])]
    return not torch.allclose(*last, atol=1e-5)


@pytest.mark.parametrize("name", SMALLER)
def test_the_layers_said_to_have_no_positions_ignore_the_order(name: str) -> None:
    """Each attention layer of the model itself is given random vectors in two orders."""
    (model,) = (model for model in tables.MODELS if model.name == name)
    torch.manual_seed(0)
    config = type(model.config)(**SMALL, **SMALLER[name], num_hidden_layers=8)
    network = AutoModelForCausalLM.from_config(config).float().eval()
    base = network.model
    attends = [layer.self_attn for layer in base.layers]
    inputs: dict[int, dict] = {}
    for number, attend in enumerate(attends):
        attend.register_forward_pre_hook(
            lambda _, __, kwargs, number=number: inputs.setdefault(number, kwargs) and None,
            with_kwargs=True,
        )
    with torch.no_grad():
        network(torch.randint(3, 40, (1, 9)))
        found = [
            sees_order(lambda x, a=a, k=inputs[i]: a(**{**k, "hidden_states": x})[0], 32)
            for i, a in enumerate(attends)
        ]
    said = tables.layers_of(model._replace(config=config))
    assert found == [kind == "rotary" for kind in said]
    assert said == tables.layers_of(model)[:8]


@pytest.mark.parametrize(
    ("name", "attention"),
    [
        ("kimi_linear", "KimiLinearAttention"),
        ("glm5_next", "Glm5NextTextAttention"),
        ("jamba", "JambaAttention"),
    ],
)
def test_the_attention_of_the_hybrids_does_not_take_positions(name: str, attention: str) -> None:
    module = importlib.import_module(f"transformers.models.{name}.modeling_{name}")
    found = getattr(module, attention, None)
    assert found is not None, [each for each in dir(module) if "Attention" in each]
    assert "position_embeddings" not in found.forward.__code__.co_varnames


def test_mistral_large_reads_its_list_as_the_others_do() -> None:
    module = importlib.import_module("transformers.models.mistral_large4.modeling_mistral_large4")
    source = module.__loader__.get_source(module.__name__)
    assert source.count("self.use_rope = config.no_rope_layers[layer_idx]") == 2


def test_smollm3_is_ours_in_value_and_gradient() -> None:
    torch.manual_seed(0)
    (model,) = (model for model in tables.MODELS if model.name == "SmolLM3")
    config = type(model.config)(**SMALL, num_hidden_layers=4)
    angles = SmolLM3RotaryEmbedding(config)(
        torch.zeros(1, dtype=torch.float64), torch.arange(7)[None]
    )
    mask = torch.full((7, 7), -math.inf, dtype=torch.float64).triu(1)[None, None]
    for layer, entry in enumerate(config.no_rope_layers):
        theirs = SmolLM3Attention(config, layer).double()
        theta = config.rope_parameters["rope_theta"]
        rotary = RotaryEmbedding(8, theta=theta) if entry == 1 else None
        ours = GroupedQueryAttention(32, 4, 2, head_dim=8, bias=False, rotary=rotary).double()
        ours.load_state_dict(
            {n.replace("o_proj", "out_proj"): w for n, w in theirs.state_dict().items()}
        )
        x = normal(2, 7, 32).requires_grad_()
        outputs = ours(x, is_causal=True), theirs(x, angles, mask)[0]
        assert error(*outputs) < 1e-6  # transformers makes its angles in float32
        gradients = [torch.autograd.grad(out.cos().sum(), x)[0] for out in outputs]
        assert error(*gradients) < 1e-5


def test_a_layer_without_positions_is_blind_to_the_layout() -> None:
    """As the open exercise says."""
    torch.manual_seed(0)
    x = normal(2, 7, 12)
    for rotary, blind in ((None, True), (RotaryEmbedding(4), False)):
        attend = MultiHeadAttention(12, 3, rotary=rotary).double()
        before = attend(x, is_causal=True)
        for name in ("q_proj", "k_proj"):
            layer = getattr(attend, name)
            for part in ("weight", "bias"):
                rows = getattr(layer, part).data
                setattr(layer, part, nn.Parameter(rotary_to_half_split(rows, 3)))
        assert (error(attend(x, is_causal=True), before) < 1e-12) == blind


# --- exhibits ------------------------------------------------------------------------------------

MENDS = {
    "no_rope_inverted": ("entry == 0", "entry == 1"),
    "rotated_everywhere": ("rotary=rotary", "rotary=rotary if entry else None"),
    "positions_left_out": (
        "self.tokens(tokens)",
        "self.tokens(tokens) + self.positions.weight[: tokens.size(1)]",
    ),
}
mended_or_not = pytest.mark.parametrize("mended", [False, True])


@mended_or_not
@pytest.mark.parametrize("name", ["no_rope_inverted", "rotated_everywhere"])
def test_which_layers_rotate(name: str, mended: bool) -> None:
    module = load_exhibit(f"position/{name}", MENDS[name], mended=mended)
    torch.manual_seed(0)
    layers = module.layers([1, 1, 1, 0], 16, 2)
    found = [sees_order(lambda x, a=layer: a(x, is_causal=True), 16) for layer in layers]
    assert (found == [True, True, True, False]) == mended


@mended_or_not
def test_an_encoder_with_positions(mended: bool) -> None:
    module = load_exhibit("position/positions_left_out", MENDS["positions_left_out"], mended=mended)
    torch.manual_seed(0)
    model, tokens = module.Encoder(9, 16, 2, 9), torch.arange(9)[None]
    same = torch.allclose(model(tokens), model(tokens.flip(1)), atol=1e-5)
    model(tokens).square().sum().backward()
    assert same != mended
    assert (model.positions.weight.grad is not None) == mended


# --- what was measured, and the figures ----------------------------------------------------------


@pytest.mark.parametrize("seed", bench.SEEDS)
def test_what_the_page_says_of_the_trained_models_was_measured(seed: int) -> None:
    first = STORED["first"]
    for blind in ("one", "encoder"):
        assert first("right", model=blind, seed=seed) == 0.5
        assert first("alike", model=blind, seed=seed) == 1
    assert first("right", model="two", seed=seed) == 1
    assert first("right", model="mean", seed=seed) > 0.99
    assert first("right", model="rotary", seed=seed) > 0.95


def test_an_untrained_layer_gives_a_text_and_its_mirror_image_one_answer() -> None:
    tokens, first = bench.two_letters(50, torch.Generator().manual_seed(0))
    assert tokens.shape == (50, bench.LENGTH + 1)
    for letter in (0, 1):
        assert ((tokens == letter).sum(1) == 1).all()
    mirror = bench.mirrored(tokens)
    found = [(each == 0).int().argmax(1) < (each == 1).int().argmax(1) for each in (tokens, mirror)]
    assert torch.equal(found[0], first == 0)
    assert torch.equal(found[1], first == 1)
    for name, blind in (("one", True), ("two", False), ("encoder", True), ("rotary", False)):
        torch.manual_seed(0)
        model = bench.Reader(bench.FIRST[name], 2).double()
        assert (error(model(tokens)[:, -1], model(mirror)[:, -1]) < 1e-12) == blind


def test_the_loss_falls_either_way_and_later_without_positions() -> None:
    plain, rotary = tables.plain_curve(), tables.rotary_curve()
    assert list(plain) == list(rotary)
    steps = [step for step in plain if step >= 25]
    assert all(plain[step] > rotary[step] for step in steps)
    assert all(plain[a] > plain[b] for a, b in itertools.pairwise(steps))


def test_a_rotary_model_without_its_rotation_is_worse_than_one_that_never_had_any() -> None:
    plain = tables.plain_curve()[max(tables.plain_curve())]
    assert min(tables.unrotated().values()) > 10 * plain


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bags_of_the_figure_are_what_each_word_has_seen(language: str) -> None:
    root = parse(figures.bags(language))
    for group in (g for g in root.iter("g") if "data-sentence" in g.attrib):
        words = figures.SENTENCES[int(group.attrib["data-sentence"])]
        bags = [e.attrib["data-bag"] for e in group.iter() if "data-bag" in e.attrib]
        assert bags == [" ".join(sorted(words[: i + 1])) for i in range(len(words))]


def test_the_layers_of_the_figure_are_those_of_the_configurations() -> None:
    root = parse(figures.stacks("en"))
    groups = {g.attrib["data-model"]: g for g in root.iter("g") if "data-model" in g.attrib}
    for model in tables.MODELS:
        cells = {
            float(x): path.attrib["data-kind"]
            for path in groups[model.name].iter("path")
            for x in re.findall(r"M([\d.]+)", path.attrib["d"])
        }
        assert [cells[x] for x in sorted(cells)] == tables.layers_of(model)
        assert len(cells) == model.config.num_hidden_layers


def test_the_curves_of_the_figure_are_the_measured_ones() -> None:
    root = parse(figures.story("en"))
    value = read_off(root, "y")
    for name, curve in (("none", tables.plain_curve()), ("rotary", tables.rotary_curve())):
        (part,) = (e for e in root.iter() if e.attrib.get("data-part") == name)
        path = next(e for e in part.iter("path"))
        first, last = path.attrib["d"].split()[2], path.attrib["d"].split()[-1]
        assert value(float(first.rpartition(",")[2])) == pytest.approx(curve[50], abs=1)
        assert value(float(last.rpartition(",")[2])) == pytest.approx(curve[figures.LAST], abs=1)


def test_a_layer_without_positions_reaches_far_and_a_window_keeps_what_is_near() -> None:
    for seed in bench.SEEDS:

        def found(name: str, place: str, length: int = bench.LONG, seed: int = seed) -> float:
            of = {"model": name, "place": place, "length": length, "seed": seed}
            return STORED["mixed"]("accuracy", **of)

        assert min(found(name, "near", bench.extrapolation.TRAINED) for name in bench.MIXED) > 0.99
        assert found("fourth", "start") > 0.95
        assert found("rotary", "start") < 0.7
        near_and_half = [found(name, p) for name in ("rotary", "fourth") for p in ("near", "half")]
        assert max(near_and_half) < 0.25
        assert found("narrow", "near") > 0.99  # the window's own merit
        assert max(found("narrow", place) for place in ("half", "start")) < 0.6
        assert min(found("window", place) for place in bench.PLACES) >= 0.9


def test_the_window_of_the_measurement_sees_itself_and_the_tokens_before() -> None:
    length = 40
    zeros, values = torch.zeros(1, 1, length, 4), torch.eye(length)[None, None]
    weights = bench.in_window(zeros, zeros, values, None, is_causal=True)[0, 0]
    i, j = torch.arange(length)[:, None], torch.arange(length)
    assert torch.equal(weights > 0, (j <= i) & (j > i - bench.WINDOW))


def test_only_the_layers_that_are_named_so_have_no_positions() -> None:
    for layers in bench.MIXED.values():
        blocks = bench.mixed_model(layers).blocks
        assert [b.attention.rotary is None for b in blocks] == [kind == "n" for kind in layers]
