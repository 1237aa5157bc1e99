"""Rescaled rotary frequencies against transformers', their properties, errors and exhibits."""

import itertools
import math
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek

from attn_docs import (
    DynamicScaling,
    GroupedQueryAttention,
    LinearScaling,
    Llama3Scaling,
    MultiHeadAttention,
    NTKScaling,
    ProportionalScaling,
    RotaryEmbedding,
    YaRNScaling,
    apply_rotary,
    rotary_frequencies,
)
from attn_docs.position._frequencies import RotaryScaling
from docs._kit.examples import example
from tests.conftest import ROOT
from tests.kit import error, load_exhibit, normal

THETAS = [100.0, 10000, 150000.0, 500000.0, 1e6, 8e6]
FACTORS = [1, 1.5, 2.0, 4.0, 8, 32.0, 40.0]
ORIGINALS = [64, 2048, 4096, 8192, 32768, 262144]
RULES = [
    LinearScaling(4.0),
    NTKScaling(4.0),
    DynamicScaling(4.0, 20),
    YaRNScaling(4.0, 20),
    YaRNScaling(4.0, 20, mscale=0.707, mscale_all_dim=1.3),
    Llama3Scaling(4.0, 20),
    ProportionalScaling(0.5, 2.0),
]
names = [f"{type(rule).__name__}{i}" for i, rule in enumerate(RULES)]
rules = pytest.mark.parametrize("rule", RULES, ids=names)


# --- the frequencies are transformers' --------------------------------------------------------


def theirs(
    kind: str,
    dim: int,
    theta: float,
    *,
    length: int | None = None,
    longest: int = 4096,
    **set_: object,
) -> tuple[Tensor, float]:
    """Return what transformers makes of a configuration with these settings."""
    config = SimpleNamespace(
        head_dim=dim,
        hidden_size=7 * dim,
        num_attention_heads=7,
        max_position_embeddings=longest,
        rope_parameters={"rope_type": kind, "rope_theta": theta} | set_,
        standardize_rope_params=lambda: None,
    )
    return ROPE_INIT_FUNCTIONS[kind](config, seq_len=length)


def bases(dims: list[int]) -> Iterator[tuple[int, float, float]]:
    return itertools.product(dims, THETAS, FACTORS)


def same(rule: RotaryScaling, dim: int, theta: float, wanted: tuple, length: int | None = None):
    found, factor = rotary_frequencies(dim, theta, rule, length)
    assert found.dtype == torch.float32
    assert torch.equal(found, wanted[0]), (rule, dim, theta)
    assert factor == wanted[1], (rule, dim, theta)


def test_linear_is_transformers_to_the_last_bit() -> None:
    for dim, theta, factor in bases([2, 4, 6, 64, 96, 128, 256]):
        wanted = theirs("linear", dim, theta, factor=factor)
        same(LinearScaling(factor), dim, theta, wanted)


def test_dynamic_is_transformers_to_the_last_bit() -> None:
    for dim, theta, factor in bases([4, 6, 64, 128]):
        for original, length in itertools.product((2048, 4096), (None, 1, 2048, 2049, 5000, 99999)):
            wanted = theirs("dynamic", dim, theta, factor=factor, longest=original, length=length)
            rule = DynamicScaling(factor, original)
            same(rule, dim, theta, wanted, length)
            same(rule.at(original if length is None else length), dim, theta, wanted)


def test_yarn_is_transformers_to_the_last_bit() -> None:
    betas = [(32, 1), (8, 2.5)]
    for dim, theta, factor in bases([2, 4, 64, 128]):
        for original, (fast, slow), truncate in itertools.product(ORIGINALS, betas, (True, False)):
            set_ = {"factor": factor, "beta_fast": fast, "beta_slow": slow, "truncate": truncate}
            wanted = theirs("yarn", dim, theta, original_max_position_embeddings=original, **set_)
            rule = YaRNScaling(factor, original, fast, slow, truncate=truncate)
            same(rule, dim, theta, wanted)


@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"attention_factor": 1.0},
        {"attention_factor": 0.5, "mscale": 1.0, "mscale_all_dim": 0.3},
        {"mscale": 1.0, "mscale_all_dim": 1.0},
        {"mscale": 0.707, "mscale_all_dim": 0.707},
        {"mscale": 1.0, "mscale_all_dim": 0.8},
    ],
)
def test_yarns_factor_is_transformers(factor: float, given: dict) -> None:
    original = {"original_max_position_embeddings": 4096}
    wanted = theirs("yarn", 64, 10000.0, factor=factor, **original, **given)
    same(YaRNScaling(factor, 4096, **given), 64, 10000.0, wanted)


def test_the_ratio_of_both_mscales_and_the_layers_share_are_the_pages_formula() -> None:
    ratio = r"a = \frac{1 + m \ln s / 10}{1 + m_{\text{all}} \ln s / 10}"
    for page in ("index.md", "index.zh.md"):
        text = (ROOT / "docs/position/rotary-scaling" / page).read_text(encoding="utf-8")
        assert ratio in text
    for s, m, m_all in itertools.product((4.0, 16.0, 40.0), (0.707, 1.0), (0.8, 1.0)):
        above, below = 1 + m * math.log(s) / 10, 1 + m_all * math.log(s) / 10
        rule = YaRNScaling(s, 4096, mscale=m, mscale_all_dim=m_all)
        assert rotary_frequencies(64, 10000.0, rule)[1] == pytest.approx(above / below)
        given = {"rope_type": "yarn", "factor": s, "mscale": m, "mscale_all_dim": m_all}
        assert deepseek.yarn_apply_mscale(given, 1.0) == pytest.approx(below**2)


def test_llama3_is_transformers_to_the_last_bit() -> None:
    bounds = [(1.0, 4.0), (1, 4), (0.5, 7.0)]
    for dim, theta, factor in bases([2, 4, 64, 128]):
        for original, (low, high) in itertools.product(ORIGINALS, bounds):
            set_ = {"low_freq_factor": low, "high_freq_factor": high, "factor": factor}
            wanted = theirs("llama3", dim, theta, original_max_position_embeddings=original, **set_)
            same(Llama3Scaling(factor, original, low, high), dim, theta, wanted)


def test_proportional_is_transformers_to_the_last_bit() -> None:
    for dim, theta, factor in bases([8, 64, 96, 256, 512]):
        for share in (0.25, 0.3, 0.5, 0.9, 1.0, 1):
            wanted = theirs("proportional", dim, theta, factor=factor, partial_rotary_factor=share)
            same(ProportionalScaling(share, factor), dim, theta, wanted)


def test_without_a_rule_they_are_transformers_default() -> None:
    for dim, theta in itertools.product([2, 4, 64, 128], THETAS):
        same(None, dim, theta, theirs("linear", dim, theta, factor=1.0))


# --- written out, one number at a time, in float64 --------------------------------------------


def by_hand(rule: RotaryScaling, dim: int, theta: float, length: int) -> list[float]:
    """Return the frequencies as the formulas of the page say."""
    found = []
    for i in range(dim // 2):
        omega = theta ** (-2 * i / dim)
        if isinstance(rule, (NTKScaling, DynamicScaling)):
            s, original = rule.factor, getattr(rule, "original_length", None)
            if original is not None:
                s = s * max(length, original) / original - (s - 1)
            omega *= s ** (-2 * i / (dim - 2))
        elif isinstance(rule, ProportionalScaling):
            omega = omega / rule.factor if i < math.floor(rule.share * dim / 2) else 0.0
        else:
            omega = divided(rule, i, omega, dim, theta)
        found.append(omega)
    return found


def divided(rule: RotaryScaling, i: int, omega: float, dim: int, theta: float) -> float:
    """Return a frequency between that without a rule and that divided by the factor."""
    gamma = 1.0
    if isinstance(rule, YaRNScaling):
        ends = [
            dim * math.log(rule.original_length / (2 * math.pi * turns)) / (2 * math.log(theta))
            for turns in (rule.beta_fast, rule.beta_slow)
        ]
        fast, slow = max(math.floor(ends[0]), 0), math.ceil(ends[1])
        gamma = min(max((i - fast) / (slow - fast), 0), 1)
    if isinstance(rule, Llama3Scaling):
        turns = rule.original_length * omega / (2 * math.pi)
        kept = (turns - rule.low_freq_factor) / (rule.high_freq_factor - rule.low_freq_factor)
        gamma = 1 - min(max(kept, 0), 1)
    return (1 - gamma) * omega + gamma * omega / rule.factor


@rules
def test_float64_is_the_formula(rule: RotaryScaling) -> None:
    for dim, theta, length in itertools.product((6, 16), (30.0, 1e4), (7, 20, 53)):
        found, _ = rotary_frequencies(dim, theta, rule, length, dtype=torch.float64)
        wanted = torch.tensor(by_hand(rule, dim, theta, length), dtype=torch.float64)
        assert found.dtype == torch.float64
        assert error(found / found[0], wanted / wanted[0]) <= 1e-13
        assert found[0].item() == pytest.approx(wanted[0].item(), rel=1e-13)


def rotated_by_hand(x: Tensor, positions: Tensor, omegas: list[float], factor: float) -> Tensor:
    """Rotate halves with these frequencies, one pair after the other."""
    out, half = x.clone(), len(omegas)
    for (n, p), (i, omega) in itertools.product(enumerate(positions.tolist()), enumerate(omegas)):
        a, b = x[:, :, n, i], x[:, :, n, i + half]
        cos, sin = factor * math.cos(p * omega), factor * math.sin(p * omega)
        out[:, :, n, i], out[:, :, n, i + half] = a * cos - b * sin, a * sin + b * cos
    return out


@rules
def test_a_rotation_is_the_loop_values_and_gradients(rule: RotaryScaling) -> None:
    x, positions = normal(2, 3, 5, 10), torch.tensor([0, 3, 52, 9, 9])
    omegas = by_hand(rule, 8, 30.0, 53)
    factor = rotary_frequencies(8, 30.0, rule)[1]
    layer = RotaryEmbedding(10, theta=30.0, scaling=rule, rotary_dim=8)

    def ways(x: Tensor) -> list[Tensor]:
        return [
            rotated_by_hand(x, positions, omegas, factor),
            apply_rotary(x, positions, theta=30.0, scaling=rule, rotary_dim=8),
            layer(x, positions),
            layer.rotate(x, x, positions)[1],
        ]

    leaf = x.requires_grad_()
    wanted, *found = ways(leaf)
    weights = normal(2, 3, 5, 10, seed=1)
    slope = torch.autograd.grad((wanted * weights).sum(), leaf, retain_graph=True)[0]
    for output in found:
        assert error(output, wanted) <= 1e-12
        gradient = torch.autograd.grad((output * weights).sum(), leaf, retain_graph=True)[0]
        assert error(gradient, slope) <= 1e-12


@rules
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision_rounds_once(rule: RotaryScaling, dtype: torch.dtype) -> None:
    x, positions = normal(2, 3, 5, 8).to(dtype), torch.tensor([0, 3, 52, 9, 9])
    found = apply_rotary(x, positions, scaling=rule)
    assert found.dtype == dtype
    assert found.equal(apply_rotary(x.float(), positions, scaling=rule).to(dtype))


# --- properties -------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [4, 64])
def test_factor_one_is_plain(dim: int) -> None:
    plain, _ = rotary_frequencies(dim, 10000.0, dtype=torch.float64)
    for rule in (
        LinearScaling(1),
        NTKScaling(1),
        DynamicScaling(1, 20),
        YaRNScaling(1, 4096),
        Llama3Scaling(1, 8192),
        ProportionalScaling(1),
    ):
        found, factor = rotary_frequencies(dim, 10000.0, rule, 20, dtype=torch.float64)
        assert factor == 1.0
        assert ((found / plain) - 1).abs().max() <= 1e-14


def test_dynamic_with_factor_one_still_grows_with_the_text() -> None:
    rule = DynamicScaling(1, 20)
    assert [rule.at(n).factor for n in (1, 20, 30, 40)] == [1, 1, 1.5, 2]


@rules
def test_scores_depend_on_the_distance_alone(rule: RotaryScaling) -> None:
    query, key = normal(2, 1, 3, 1, 8).unbind()
    scores = []
    for start in (0, 11):
        ends = torch.tensor([40]), torch.tensor([40 - 29 + start])
        if isinstance(rule, DynamicScaling):
            rule = rule.at(52)
        q = apply_rotary(query, ends[0] + start, scaling=rule)
        scores.append((q * apply_rotary(key, ends[1], scaling=rule)).sum(-1))
    assert error(*scores) <= 1e-12


def test_yarn_multiplies_scores_by_the_square_of_its_factor() -> None:
    rule = YaRNScaling(4.0, 4096)
    flat = YaRNScaling(4.0, 4096, attention_factor=1.0)
    query, key = normal(2, 1, 3, 5, 8).unbind()
    scores = []
    for scaling in (rule, flat):
        layer = RotaryEmbedding(8, scaling=scaling)
        q, k = layer.rotate(query, key, torch.arange(5))
        scores.append(q @ k.mT)
    assert error(scores[0], scores[1] * (0.1 * math.log(4) + 1) ** 2) <= 1e-12


def test_dynamic_takes_the_length_from_the_largest_position_of_all_rows() -> None:
    rule, x = DynamicScaling(4.0, 20), normal(2, 3, 5, 8)
    positions = torch.stack((torch.arange(5), torch.arange(5) + 48))
    found = apply_rotary(x, positions, scaling=rule)
    assert error(found, apply_rotary(x, positions, scaling=rule.at(53))) <= 1e-12
    alone = apply_rotary(x[:1], positions[0], scaling=rule)
    assert alone.equal(apply_rotary(x[:1], positions[0]))
    assert error(found[:1], alone) > 0.01
    assert apply_rotary(x[:, :, :0], positions[0, :0], scaling=rule).shape == (2, 3, 0, 8)


def test_a_repr_says_the_rule() -> None:
    assert repr(RotaryEmbedding(8, scaling=LinearScaling(4.0))) == (
        "RotaryEmbedding(8, theta=10000.0, rotary_dim=8, interleaved=False, "
        "scaling=LinearScaling(factor=4.0))"
    )


def test_rules_are_values() -> None:
    assert len({LinearScaling(4.0), LinearScaling(4.0), NTKScaling(4.0)}) == 2
    with pytest.raises(AttributeError):
        LinearScaling(4.0).factor = 2.0


# --- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "message", "make"),
    [
        (ValueError, "factor must be 1 or more; got 0.5", lambda: LinearScaling(0.5)),
        (ValueError, "factor must be 1 or more; got 0.5", lambda: NTKScaling(0.5)),
        (ValueError, "factor must be 1 or more; got 0", lambda: DynamicScaling(0, 20)),
        (ValueError, "factor must be 1 or more; got 0.5", lambda: YaRNScaling(0.5, 20)),
        (ValueError, "factor must be 1 or more; got 0.5", lambda: Llama3Scaling(0.5, 20)),
        (ValueError, "factor must be 1 or more; got 0.5", lambda: ProportionalScaling(0.5, 0.5)),
        (ValueError, "factor must be finite; got inf", lambda: LinearScaling(math.inf)),
        (TypeError, "factor must be an int or a float; got '4'", lambda: LinearScaling("4")),
        (TypeError, "original_length must be an int; got 20.0", lambda: DynamicScaling(2, 20.0)),
        (ValueError, "original_length must be 1 or more; got 0", lambda: YaRNScaling(2, 0)),
        (ValueError, "original_length must be 1 or more; got 0", lambda: Llama3Scaling(2, 0)),
        (ValueError, "length must be 1 or more; got 0", lambda: DynamicScaling(2, 20).at(0)),
        (
            ValueError,
            "beta_fast must be above beta_slow = 32; got 1",
            lambda: YaRNScaling(2, 20, beta_fast=1, beta_slow=32),
        ),
        (
            ValueError,
            "beta_slow must be above 0; got 0",
            lambda: YaRNScaling(2, 20, beta_slow=0),
        ),
        (
            ValueError,
            "attention_factor must be above 0; got 0.0",
            lambda: YaRNScaling(2, 20, attention_factor=0.0),
        ),
        (
            ValueError,
            "mscale and mscale_all_dim must both be given, or neither; got 0.707 and None",
            lambda: YaRNScaling(2, 20, mscale=0.707),
        ),
        (
            ValueError,
            "mscale_all_dim must be above 0; got 0",
            lambda: YaRNScaling(2, 20, mscale=1, mscale_all_dim=0),
        ),
        (
            TypeError,
            "truncate must be True or False; got 1",
            lambda: YaRNScaling(2, 20, truncate=1),
        ),
        (
            ValueError,
            "high_freq_factor must be above low_freq_factor = 4.0; got 1.0",
            lambda: Llama3Scaling(8.0, 8192, 4.0, 1.0),
        ),
        (
            ValueError,
            "low_freq_factor must be above 0; got 0",
            lambda: Llama3Scaling(8.0, 8192, 0),
        ),
        (ValueError, "share must be above 0; got 0", lambda: ProportionalScaling(0)),
        (
            ValueError,
            "share must be above 0 and at most 1; got 1.5",
            lambda: ProportionalScaling(1.5),
        ),
    ],
)
def test_a_bad_rule_is_refused(kind: type, message: str, make) -> None:
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("kind", "message", "given"),
    [
        (ValueError, "dim must be even; got 7", {"dim": 7}),
        (ValueError, "dim must be 1 or more; got 0", {"dim": 0}),
        (TypeError, "dim must be an int; got 8.0", {"dim": 8.0}),
        (ValueError, "theta must be above 0; got 0", {"theta": 0}),
        (
            TypeError,
            "scaling must be a RotaryScaling or None; got str",
            {"scaling": "llama3"},
        ),
        (
            ValueError,
            "dim must be 4 or more with NTKScaling; got 2",
            {"dim": 2, "scaling": NTKScaling(2)},
        ),
        (
            ValueError,
            "dim must be 4 or more with DynamicScaling; got 2",
            {"dim": 2, "scaling": DynamicScaling(2, 20)},
        ),
        (
            ValueError,
            "theta must be above 1 with YaRNScaling; got 1",
            {"theta": 1, "scaling": YaRNScaling(2, 20)},
        ),
        (
            ValueError,
            "share must leave a pair of dim = 8; got 0.1",
            {"scaling": ProportionalScaling(0.1)},
        ),
        (ValueError, "length must be 1 or more; got 0", {"length": 0}),
        (
            TypeError,
            "dtype must be torch.float32 or torch.float64; got torch.float16",
            {"dtype": torch.float16},
        ),
    ],
)
def test_frequencies_that_do_not_exist_are_refused(kind: type, message: str, given: dict) -> None:
    with pytest.raises(kind) as caught:
        rotary_frequencies(**({"dim": 8, "theta": 10000.0} | given))
    assert str(caught.value) == message


@pytest.mark.parametrize("scaling", ["llama3", {"factor": 8.0}, LinearScaling])
def test_a_layer_takes_rules_only(scaling: object) -> None:
    for make in (
        lambda: RotaryEmbedding(8, scaling=scaling),
        lambda: apply_rotary(normal(1, 1, 1, 8), torch.arange(1), scaling=scaling),
    ):
        with pytest.raises(TypeError, match="scaling must be a RotaryScaling or None; got"):
            make()


def test_a_layer_checks_its_size_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="dim must be 4 or more with NTKScaling; got 2"):
        RotaryEmbedding(8, scaling=NTKScaling(2), rotary_dim=2)


# --- exhibits ---------------------------------------------------------------------------------

MENDED = {
    "rule_forgotten": ("theta=500000.0)", "theta=500000.0, scaling=RULE)"),
    "factor_twice": ("factor**2 / size**0.5", "1 / size**0.5"),
    "dynamic_cached": ("rule.at(cache.length + x.size(1))", "rule.at(longest)"),
    "partial_for_proportional": ('{"rotary_dim": head_dim // 4}', '{"scaling": RULE}'),
}


def exhibited(name: str, module: ModuleType) -> tuple[Tensor, Tensor]:
    """Return what an exhibit finds and what it ought to, by the loops above."""
    torch.manual_seed(0)
    x, positions = normal(2, 7, 24), torch.arange(7) * 1500
    query, key, value = normal(3, 2, 3, 7, 8).unbind()
    if name == "rule_forgotten":
        rotary = RotaryEmbedding(8, theta=500000.0, scaling=Llama3Scaling(8.0, 8192))
        right = GroupedQueryAttention(24, 3, 1, bias=False, rotary=rotary).double()
        wrong = module.load(right.state_dict(), 24, 3, 1).double()
        return wrong(x, positions=positions), right(x, positions=positions)
    if name == "factor_twice":
        rule = YaRNScaling(40.0, 4096)
        omegas, factor = by_hand(rule, 8, 10000.0, 1), 0.1 * math.log(40) + 1
        rotated = (rotated_by_hand(t, positions, omegas, factor) for t in (query, key))
        right = F.scaled_dot_product_attention(*rotated, value, is_causal=True)
        return module.attention(query, key, value, positions, rule), right
    if name == "dynamic_cached":
        rule = DynamicScaling(4.0, 3)
        layer = MultiHeadAttention(24, 3, rotary=RotaryEmbedding(8, scaling=rule)).double()
        wanted, cache = layer(x, is_causal=True)[:, -1], layer.new_cache(2, 7)
        for t in range(7):
            found = module.step(layer, x[:, [t]], cache, rule, longest=7)
        return found[:, 0], wanted
    omegas = by_hand(ProportionalScaling(0.25), 8, 1e6, 1)
    return module.rotary(8)(query, positions), rotated_by_hand(query, positions, omegas, 1.0)


@pytest.mark.parametrize("name", sorted(MENDED))
def test_the_shape_is_right_the_numbers_are_not_and_mending_the_line_mends_them(name: str) -> None:
    for mended in (False, True):
        module = load_exhibit(f"position/{name}", MENDED[name], mended=mended)
        found, wanted = exhibited(name, module)
        assert found.shape == wanted.shape
        assert error(found, wanted) <= 1e-12 if mended else error(found, wanted) > 0.001


def test_mended_the_last_token_is_that_of_the_whole_text_at_every_length() -> None:
    rule, x = DynamicScaling(4.0, 3), normal(2, 7, 24)
    layer = MultiHeadAttention(24, 3, rotary=RotaryEmbedding(8, scaling=rule)).double()
    fixed = MultiHeadAttention(24, 3, rotary=RotaryEmbedding(8, scaling=rule.at(7))).double()
    fixed.load_state_dict(layer.state_dict())
    assert error(layer(x, is_causal=True), fixed(x, is_causal=True)) <= 1e-12
    shorter = [each(x[:, :5], is_causal=True) for each in (layer, fixed)]
    assert error(*shorter) > 0.001


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
\omega_i' = (1 - \gamma_i)\, \omega_i + \gamma_i\, \frac{\omega_i}{s}
\qquad \omega_i = \theta^{-2i/D}
""")
def test_the_formula_of_a_blend() -> None:
    D, theta, s = 16, 1e4, 4.0
    for gammas, rule in (
        ([1.0] * 8, LinearScaling(s)),
        ([0.0] * 8, LinearScaling(1)),
        (gammas_of_yarn(D, theta, 300), YaRNScaling(s, 300)),
        (gammas_of_llama(D, theta, 300), Llama3Scaling(s, 300)),
    ):
        found = rotary_frequencies(D, theta, rule, dtype=torch.float64)[0].tolist()
        for i, gamma in enumerate(gammas):
            omega = theta ** (-2 * i / D)
            assert found[i] == pytest.approx((1 - gamma) * omega + gamma * omega / s, rel=1e-13)


def gammas_of_yarn(D: int, theta: float, L: int) -> list[float]:
    def at(beta: float) -> float:
        return D * math.log(L / (2 * math.pi * beta)) / (2 * math.log(theta))

    first, last = max(math.floor(at(32)), 0), math.ceil(at(1))
    return [min(max((i - first) / (last - first), 0), 1) for i in range(D // 2)]


def gammas_of_llama(D: int, theta: float, L: int) -> list[float]:
    lambdas = [2 * math.pi / theta ** (-2 * i / D) for i in range(D // 2)]
    return [1 - min(max((L / wave - 1) / (4 - 1), 0), 1) for wave in lambdas]


@pytest.mark.formula(r"""
\gamma_i^{\text{YaRN}} = \operatorname{clip}\Bigl(\frac{i - i_{32}}{i_1 - i_{32}}, 0, 1\Bigr)
\qquad
i_\beta = \frac{D \ln (L / 2\pi\beta)}{2 \ln \theta}
""")
def test_the_formula_of_yarns_share() -> None:
    D, theta, L, s = 128, 500000.0, 8192, 8.0
    plain, found = (
        rotary_frequencies(D, theta, rule, dtype=torch.float64)[0]
        for rule in (None, YaRNScaling(s, L, truncate=False))
    )
    gammas = (1 - found / plain) / (1 - 1 / s)

    def i_(beta: float) -> float:
        return D * math.log(L / (2 * math.pi * beta)) / (2 * math.log(theta))

    for i, gamma in enumerate(gammas.tolist()):
        wanted = min(max((i - i_(32)) / (i_(1) - i_(32)), 0), 1)
        assert gamma == pytest.approx(wanted, abs=1e-12)
    for beta in (1, 32):  # the pair that turns so often within L
        assert L * theta ** (-2 * i_(beta) / D) / (2 * math.pi) == pytest.approx(beta)


@pytest.mark.formula(r"""
\gamma_i^{\text{Llama}} = 1 - \operatorname{clip}\Bigl(\frac{L / \lambda_i - 1}{4 - 1}, 0, 1\Bigr)
\qquad
\lambda_i = \frac{2\pi}{\omega_i}
""")
def test_the_formula_of_llamas_share() -> None:
    D, theta, L, s = 128, 500000.0, 8192, 8.0
    plain, found = (
        rotary_frequencies(D, theta, rule, dtype=torch.float64)[0]
        for rule in (None, Llama3Scaling(s, L))
    )
    gammas = (1 - found / plain) / (1 - 1 / s)
    assert error(gammas, torch.tensor(gammas_of_llama(D, theta, L)).double()) <= 1e-6
    assert 0 < sum(0 < gamma < 1 for gamma in gammas) < 10


def test_a_rule_without_its_factor_is_refused() -> None:
    """The page's program raises, as transformers does, and does not go on without a rule."""
    rule_of = example("position/rotary_scaling/from_config")["rule_of"]
    assert rule_of(None, 8192) is None
    for kind in ("yarn", "linear", "dynamic", "llama3"):
        with pytest.raises(KeyError, match="factor"):
            rule_of({"rope_type": kind}, 8192)
        with pytest.raises(TypeError, match="factor"):
            rule_of({"type": kind, "factor": None, "low_freq_factor": 1, "high_freq_factor": 4}, 99)
