"""Attention with any score: against PyTorch, plain loops, kernel regression; and its exhibits."""

import inspect
import math
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import DotProductAttention, GaussianAttention, ScoreAttention
from docs._kit.measured import load as load_measured
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.foundations.test_scaled_dot_product import DEVICES, error, normal, proof
from tests.kit import load_exhibit

benchmark = page_module("foundations/scoring-functions", "benchmark")
tables = page_module("foundations/scoring-functions", "tables")

INF = math.inf
WIDTH = 0.7
HALF = [torch.float16, torch.bfloat16]
MECHANISMS = {"dot": DotProductAttention(), "gaussian": GaussianAttention(WIDTH)}
mechanisms = pytest.mark.parametrize("attend", MECHANISMS.values(), ids=list(MECHANISMS))


def inputs(
    b: int = 2, n: int = 5, m: int = 7, d: int = 4, e: int = 6, seed: int = 0
) -> list[Tensor]:
    shapes = (b, n, d), (b, m, d), (b, m, e)
    return [normal(*shape, seed=10 * seed + i) for i, shape in enumerate(shapes)]


def masks(b: int = 2, n: int = 5, m: int = 7) -> dict[str, Tensor | None]:
    """One mask of each kind; in the boolean and the additive ones, query 2 may see nothing."""
    kept = normal(b, n, m, seed=5) > 0
    kept[:, min(2, n - 1)] = False
    return {
        "none": None,
        "boolean": kept,
        "two axes": kept[0],
        "padding": torch.arange(m) < torch.arange(m - b + 1, m + 1).view(b, 1, 1),
        "additive": normal(b, n, m, seed=6).where(kept, -INF),
    }


def additive(mask: Tensor | None, like: Tensor) -> Tensor:
    """Return a mask as numbers that are added to the scores."""
    if mask is None:
        return like.new_zeros(())
    if mask.dtype == torch.bool:
        return like.new_zeros(mask.shape).masked_fill(~mask, -INF)
    return mask


def reference(name: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """PyTorch's function; the Gaussian is a dot product with a fine for long keys."""
    bias = additive(mask, query)
    if name == "dot":
        bias = bias.expand(query.size(0), query.size(1), key.size(1))
        return F.scaled_dot_product_attention(query, key, value, bias)
    fine = key.square().sum(-1).unsqueeze(1) / (2 * WIDTH**2)
    return F.scaled_dot_product_attention(
        query, key, value, bias - fine.expand(-1, query.size(1), -1), scale=1 / WIDTH**2
    )


def loops(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Gaussian attention, one number at a time: outputs and weights."""
    (b, n, d), (m, e) = query.shape, value.shape[1:]
    bias = additive(mask, query).expand(b, n, m)
    output, weights = value.new_zeros(b, n, e), value.new_zeros(b, n, m)
    for batch in range(b):
        for i in range(n):
            powers = []
            for j in range(m):
                squares = [(query[batch, i, c] - key[batch, j, c]).item() ** 2 for c in range(d)]
                score = -sum(squares) / (2 * WIDTH**2) + bias[batch, i, j].item()
                powers.append(math.exp(score))
            for j in range(m):
                weights[batch, i, j] = powers[j] / sum(powers) if any(powers) else 0.0
                output[batch, i] += weights[batch, i, j] * value[batch, j]
    return output, weights


def with_gradients(attend: Callable[..., Tensor], tensors: list[Tensor]) -> list[Tensor]:
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    output = attend(*leaves)
    cotangent = (torch.arange(output.numel()) % 7 - 3).view(output.shape).to(output)
    return [output, *torch.autograd.grad(output, leaves, cotangent)]


# --- agrees with independent implementations -------------------------------------------------


@pytest.mark.parametrize("kind", masks())
@pytest.mark.parametrize("name", MECHANISMS)
def test_values_and_gradients_equal_pytorchs(name: str, kind: str) -> None:
    mask = masks()[kind]
    for seed in range(5):
        tensors = inputs(seed=seed)
        found = with_gradients(lambda *t: MECHANISMS[name](*t, mask), tensors)
        wanted = with_gradients(lambda *t: reference(name, *t, mask), tensors)
        assert max(map(error, found, wanted)) <= 1e-12
        single = mask.float() if mask is not None and mask.is_floating_point() else mask
        rough = with_gradients(
            lambda *t, m=single: MECHANISMS[name](*t, m), [t.float() for t in tensors]
        )
        assert all(t.dtype == torch.float32 for t in rough)
        assert max(map(error, rough, wanted)) <= 3e-6


@settings(proof, max_examples=40)
@given(
    st.permutations(range(1, 8)), st.sampled_from(list(MECHANISMS)), st.integers(0, 99), st.data()
)
def test_any_sizes_equal_pytorchs(sizes: list[int], name: str, seed: int, data: Any) -> None:
    b, n, m, d, e = sizes[:5]
    mask = masks(b, n, m)[data.draw(st.sampled_from(["none", "boolean", "additive"]))]
    tensors = inputs(b, n, m, d, e, seed)
    found = with_gradients(lambda *t: MECHANISMS[name](*t, mask), tensors)
    wanted = with_gradients(lambda *t: reference(name, *t, mask), tensors)
    assert max(map(error, found, wanted)) <= 1e-12


@pytest.mark.parametrize("kind", masks())
def test_gaussian_equals_a_double_loop(kind: str) -> None:
    tensors, mask = inputs(), masks()[kind]
    found = GaussianAttention(WIDTH)(*tensors, mask, need_weights=True)
    assert max(map(error, found, loops(*tensors, mask))) <= 1e-13


def test_gaussian_in_one_dimension_is_kernel_regression() -> None:
    x, y, new = normal(40, seed=1), normal(40, seed=2), normal(9, seed=3)
    kernel = torch.exp(-((new[:, None] - x[None, :]) ** 2) / (2 * 0.3**2))
    wanted = (kernel * y).sum(1) / kernel.sum(1)
    found = GaussianAttention(width=0.3)(new[None, :, None], x[None, :, None], y[None, :, None])
    assert error(found, wanted[None, :, None]) <= 1e-12


@mechanisms
def test_derivatives_are_those_of_finite_differences(attend: ScoreAttention) -> None:
    tensors = [t.requires_grad_() for t in inputs(b=1, n=2, m=3, d=2, e=2)]
    mask = torch.tensor([[False, False, False], [True, False, True]])
    assert torch.autograd.gradcheck(lambda *t: attend(*t, mask), tensors)
    assert torch.autograd.gradgradcheck(lambda *t: attend(*t, mask), tensors)


@pytest.mark.parametrize("device", DEVICES)
@mechanisms
def test_runs_where_its_tensors_are(attend: ScoreAttention, device: str) -> None:
    tensors, mask = inputs(), masks()["boolean"]
    moved = attend(*(t.to(device) for t in tensors), mask.to(device))
    assert moved.device.type == device
    assert error(moved.cpu(), attend(*tensors, mask)) <= 1e-12


# --- masks, weights and rows with nothing to attend to ---------------------------------------


@mechanisms
@pytest.mark.parametrize("kind", masks())
def test_weights_are_those_that_made_the_output(attend: ScoreAttention, kind: str) -> None:
    query, key, value = inputs()
    mask = masks()[kind]
    output, weights = attend(query, key, value, mask, need_weights=True)
    assert error(weights @ value, output) <= 1e-14
    allowed = (additive(mask, query) > -INF).expand(2, 5, 7)
    assert (weights[~allowed] == 0).all()
    assert (weights[allowed] > 0).all()
    assert error(weights.sum(-1), allowed.any(-1).double()) <= 1e-14
    assert attend(query, key, value, mask).equal(output)


@mechanisms
@pytest.mark.parametrize("kind", ["boolean", "additive"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_nothing_to_attend_to_gives_zeros_and_finite_gradients(
    attend: ScoreAttention, kind: str, dtype: torch.dtype
) -> None:
    mask = masks()[kind]
    mask = mask.to(dtype) if kind == "additive" else mask
    found = with_gradients(lambda *t: attend(*t, mask), [t.to(dtype) for t in inputs()])
    assert not found[0][:, 2].any()
    assert not found[1][:, 2].any()
    assert all(t.isfinite().all() and t.dtype == dtype for t in found)


@mechanisms
def test_a_masked_key_is_as_good_as_absent(attend: ScoreAttention) -> None:
    query, key, value = inputs()
    found = attend(query, key, value, (torch.arange(7) < 3).expand(5, 7))
    assert error(found, attend(query, key[:, :3], value[:, :3])) <= 1e-14


@mechanisms
def test_sizes_of_nothing(attend: ScoreAttention) -> None:
    assert attend(*inputs(m=0)).equal(torch.zeros(2, 5, 6).double())
    assert attend(*inputs(n=0)).shape == (2, 0, 6)
    assert attend(*inputs(b=0)).shape == (0, 5, 6)
    query, key, value = inputs(d=0)
    assert error(attend(query, key, value), value.mean(1, keepdim=True).expand(2, 5, 6)) <= 1e-15


# --- half precision --------------------------------------------------------------------------


@mechanisms
@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_rounds_only_the_result(attend: ScoreAttention, dtype: torch.dtype) -> None:
    half = [t.to(dtype) for t in inputs(n=33, m=65, d=24)]
    bias = normal(33, 65).to(dtype)
    for mask in (None, bias, bias.float(), bias > 0):
        single = mask.float() if mask is not None and mask.dtype == dtype else mask
        found = attend(*half, mask, need_weights=True)
        wanted = attend(*(t.float() for t in half), single, need_weights=True)
        for one, other in zip(found, wanted, strict=True):
            assert one.dtype == dtype
            assert one.equal(other.to(dtype))


@mechanisms
def test_large_scores_do_not_overflow_in_float16(attend: ScoreAttention) -> None:
    half = [(100 * t).half() for t in inputs(d=64)]
    with torch.no_grad():
        found = attend(*half)
        wanted = attend(*(t.double() for t in half))
    assert error(found, wanted) <= torch.finfo(torch.float16).eps


@pytest.mark.parametrize("dtype", HALF)
def test_a_score_with_half_parameters_works(dtype: torch.dtype) -> None:
    class Learned(ScoreAttention):
        def __init__(self) -> None:
            super().__init__()
            self.proj = nn.Linear(4, 3, bias=False)

        def score(self, query: Tensor, key: Tensor) -> Tensor:
            return query @ self.proj(key).mT

    query, key, value = inputs()
    attend = Learned().to(dtype)
    output, weights = attend(
        query[..., :3].to(dtype), key.to(dtype), value.to(dtype), need_weights=True
    )
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    assert (output.shape, weights.shape) == ((2, 5, 6), (2, 5, 7))


def test_scores_of_another_floating_dtype_are_taken() -> None:
    class Rough(ScoreAttention):
        def score(self, query: Tensor, key: Tensor) -> Tensor:
            return (query @ key.mT).to(self.kind)

    attend, tensors = Rough(), inputs()
    for attend.kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for mask in (None, masks()["additive"]):  # the mask alone would raise the dtype
            output, weights = attend(*tensors, mask, need_weights=True)
            assert output.dtype == weights.dtype == torch.float64


def test_gaussian_takes_very_large_and_small_widths() -> None:
    query, key, value = inputs()
    wide = GaussianAttention(1e200)(query, key, value)
    assert error(wide, value.mean(1, keepdim=True).expand(2, 5, 6)) <= 1e-14
    assert error(GaussianAttention(1e-150)(key, key, value), value) == 0


# --- dropout ---------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [DotProductAttention, GaussianAttention])
def test_dropout_drops_weights_in_training_and_nothing_in_eval(
    build: type[ScoreAttention],
) -> None:
    tensors, attend = inputs(b=50), build(dropout=0.25)
    plain = build()(*tensors, need_weights=True)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        output, weights = attend.train()(*tensors, need_weights=True)
    kept = weights != 0
    assert 0.7 < kept.double().mean() < 0.8
    assert error(weights[kept], plain[1][kept] / 0.75) <= 1e-14
    assert error(output, weights @ tensors[2]) <= 1e-14
    for found, wanted in zip(attend.eval()(*tensors, need_weights=True), plain, strict=True):
        assert found.equal(wanted)


# --- what each score ignores -----------------------------------------------------------------

ROTATION = torch.linalg.qr(normal(4, 4, seed=8)).Q


@mechanisms
def test_turning_queries_and_keys_together_changes_nothing(attend: ScoreAttention) -> None:
    query, key, value = inputs()
    found = attend(query @ ROTATION, key @ ROTATION, value)
    assert error(found, attend(query, key, value)) <= 1e-13


@mechanisms
def test_the_order_of_the_keys_does_not_matter(attend: ScoreAttention) -> None:
    query, key, value = inputs()
    order = torch.tensor([6, 2, 0, 5, 1, 3, 4])
    assert error(attend(query, key[:, order], value[:, order]), attend(query, key, value)) <= 1e-14


def test_shifts() -> None:
    (query, key, value), shift = inputs(), normal(4, seed=9)
    dot, gaussian = MECHANISMS.values()
    assert error(gaussian(query + shift, key + shift, value), gaussian(query, key, value)) <= 1e-13
    assert error(gaussian(query, key + shift, value), gaussian(query, key, value)) > 0.01
    assert error(dot(query, key + shift, value), dot(query, key, value)) <= 1e-13
    assert error(dot(query + shift, key + shift, value), dot(query, key, value)) > 0.01


def test_gaussian_of_single_precision_survives_a_shift_far_from_zero() -> None:
    query, key, value = (t.round(decimals=2) for t in inputs())
    near = GaussianAttention()(query, key, value)
    far = [(t * 64).round() / 64 + 4096 for t in (query, key)]  # exact in float32
    exact = GaussianAttention()(*(t - 4096 for t in far), value)
    assert error(GaussianAttention()(*(t.float() for t in far), value.float()), exact) <= 1e-6
    assert error(near, exact) <= 0.1


def test_at_unit_length_the_gaussian_is_the_scaled_dot_product() -> None:
    query, key, value = inputs(d=9)
    query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
    found = GaussianAttention(width=9**0.25)(query, key, value)
    assert error(found, DotProductAttention()(query, key, value)) <= 1e-14


def test_the_chapters_keys_each_win_once() -> None:
    cosine = F.cosine_similarity(tables.QUERY, tables.KEY, dim=-1)
    dot, gaussian = (
        a.score(tables.QUERY, tables.KEY)[0] for a in (DotProductAttention(), GaussianAttention())
    )
    assert (dot * 2**0.5).tolist() == [pytest.approx([14, 4, 10])]
    assert gaussian.tolist() == [[-8.5, -1.0, -0.5]]
    assert [int(s.argmax()) for s in (dot, cosine, gaussian)] == [0, 1, 2]


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_cost_tables_largest_array_is_the_one_that_is_made(name: str) -> None:
    sizes: list[int] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            result = func(*args, **(kwargs or {}))
            sizes.append(result.numel())
            return result

    query, key = torch.randn(1, 50, 4), torch.randn(1, 70, 4)
    with Watch():
        MECHANISMS[name].score(query, key)
    assert max(sizes) == tables.largest_array(name, 50, 70, 4)


def test_a_score_by_differences_takes_more_than_fifty_times_the_dot_products_time() -> None:
    stored = load_measured(tables.__file__)["scores"]
    assert [value["score"] for value in stored.values] == list(tables.SCORES)
    assert stored("time", score="dot") == 1
    assert min(stored("time", score=score) for score in ("gaussian", "l1")) > tables.LEAST
    assert stored("time", score="gaussian-expanded") < 3
    assert 3 < stored("time", score="gaussian-cdist") < stored("time", score="gaussian") / 3
    cells = [row.split(" | ")[-1] for row in tables.cost_table(stored, "en").splitlines()[2:8]]
    assert cells[0] == "1× |"
    assert cells[4] == cells[5] == f"> {tables.LEAST}× |"


def test_the_timed_scores_are_the_same_scores() -> None:
    query, key = normal(1, 30, 4), normal(1, 40, 4, seed=1)
    for name in ("gaussian-expanded", "gaussian-cdist"):
        assert (
            error(benchmark.SCORES[name](query, key), GaussianAttention().score(query, key)) < 1e-13
        )
    assert error(benchmark.SCORES["l1"](query, key), -torch.cdist(query, key, p=1)) < 1e-13


def test_cdist_makes_l1_without_the_array_of_differences() -> None:
    sizes = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            result = function(*args, **(kwargs or {}))
            sizes.append(result.numel())
            return result

    with Watch():
        torch.cdist(torch.randn(1, 50, 4), torch.randn(1, 70, 4), p=1)
    assert max(sizes) == 50 * 70


def test_l1_and_the_gaussian_choose_different_keys_of_the_pages_two() -> None:
    differences = torch.tensor([[5.0, 2.0], [4.0, 4.0]]) - torch.tensor([2.0, 2.0])
    assert differences.abs().sum(-1).tolist() == [3.0, 4.0]
    assert differences.square().sum(-1).tolist() == [9.0, 8.0]


def test_cdist_takes_the_expanded_form_by_itself_above_25_points() -> None:
    near = normal(31, 4)
    far = (near + 10_000).float()
    exact = torch.cdist(near[:1], near[1:], compute_mode=benchmark.DIFFERENCES)
    found = {keys: (torch.cdist(far[:1], far[1 : 1 + keys]) - exact[:, :keys]) for keys in (25, 26)}
    assert found[25].abs().max() < 0.1 < found[26].abs().max()


def test_no_code_of_the_chapter_lets_cdist_choose() -> None:
    for folder in ("foundations", "examples/foundations", "exhibits/foundations"):
        for path in (ROOT / "attn_docs" / folder).rglob("*.py"):
            for line in path.read_text(encoding="utf-8").splitlines():
                if "torch.cdist(" in line:
                    shown = path.name == "exercise_search.py"  # shows what happens
                    assert shown or "compute_mode" in line or "p=1" in line, path.name


# --- a well-behaved module -------------------------------------------------------------------


@mechanisms
def test_inputs_are_not_changed_and_need_not_be_contiguous(attend: ScoreAttention) -> None:
    tensors = [*inputs(), masks()["additive"]]
    before = [(t.clone(), t._version) for t in tensors]
    wanted = attend(*tensors)
    for tensor, (copy, version) in zip(tensors, before, strict=True):
        assert tensor.equal(copy)
        assert tensor._version == version
    assert error(attend(*(t.mT.contiguous().mT for t in tensors)), wanted) <= 1e-15


@mechanisms
def test_has_no_parameters_and_loads_nothing(attend: ScoreAttention) -> None:
    assert list(attend.parameters()) == []
    assert attend.state_dict() == {}


@mechanisms
def test_can_be_compiled_and_exported_for_any_sizes(attend: ScoreAttention) -> None:
    b, n, m = (torch.export.Dim(name) for name in "bnm")
    shapes = {"query": {0: b, 1: n}, "key": {0: b, 1: m}, "value": {0: b, 1: m}}
    exported = torch.export.export(attend, tuple(inputs()), dynamic_shapes=shapes).module()
    compiled = torch.compile(attend, backend="eager", fullgraph=True, dynamic=True)
    for n, m in ((5, 7), (9, 8)):
        tensors = inputs(3, n=n, m=m)
        wanted = attend(*tensors)
        assert error(exported(*tensors), wanted) <= 1e-12
        assert error(compiled(*tensors), wanted) <= 1e-12


def test_signatures_are_those_that_others_build_on() -> None:
    parameters = inspect.signature(ScoreAttention.forward).parameters
    names = ["query", "key", "value", "attn_mask", "key_padding_mask", "need_weights"]
    assert [*parameters][1:] == names
    assert parameters["need_weights"].kind is inspect.Parameter.KEYWORD_ONLY
    assert [*inspect.signature(ScoreAttention.score).parameters] == ["self", "query", "key"]
    assert (
        str(inspect.signature(DotProductAttention))
        == "(dropout: float = 0.0, *, scale: float | None = None) -> None"
    )
    gaussian = inspect.signature(GaussianAttention)
    assert str(gaussian) == "(width: float = 1.0, dropout: float = 0.0) -> None"


# --- refuses what is wrong -------------------------------------------------------------------

QUERY_OK, KEY_OK, VALUE_OK = torch.zeros(2, 5, 4), torch.zeros(2, 7, 4), torch.zeros(2, 7, 6)
CALL = {"query": QUERY_OK, "key": KEY_OK, "value": VALUE_OK}
MASK_RULE = (
    "attn_mask must have 2 to 3 axes, each 1 or that of the scores (2, 5, 7) counted from the right"
)
REFUSED = [
    ({"query": [1.0]}, TypeError, "query must be a torch.Tensor; got list"),
    (
        {"query": QUERY_OK.long()},
        TypeError,
        "query must be float16, bfloat16, float32 or float64; got torch.int64",
    ),
    (
        {"query": torch.zeros(5, 4)},
        ValueError,
        "query must have 3 axes (batch, length, size); got shape (5, 4)",
    ),
    (
        {"query": torch.zeros(2, 3, 5, 4)},
        ValueError,
        "query must have 3 axes (batch, length, size); got shape (2, 3, 5, 4)",
    ),
    (
        {"key": KEY_OK.double()},
        TypeError,
        "key must have query's dtype torch.float32; got torch.float64",
    ),
    ({"key": KEY_OK[:1]}, ValueError, "key must have query's batch 2; got 1"),
    ({"value": VALUE_OK[:1]}, ValueError, "value must have query's batch 2; got 1"),
    (
        {"value": VALUE_OK[:, :1]},
        ValueError,
        "value must have one row for each of the 7 keys; got 1",
    ),
    (
        {"key": KEY_OK[..., :1]},
        ValueError,
        "key must have query's size 4 as its last size; got 1",
    ),
    ({"need_weights": 1}, TypeError, "need_weights must be True or False; got 1"),
    (
        {"attn_mask": torch.ones(5, 7, dtype=torch.int32)},
        TypeError,
        "attn_mask must be torch.bool (True attends) or additive torch.float32; got torch.int32",
    ),
    (
        {"attn_mask": torch.ones(7).bool()},
        ValueError,
        f"{MASK_RULE}; got shape (7,)",
    ),
    (
        {"attn_mask": torch.ones(2, 1, 5, 7).bool()},
        ValueError,
        f"{MASK_RULE}; got shape (2, 1, 5, 7)",
    ),
]


@mechanisms
@pytest.mark.parametrize(("changed", "kind", "message"), REFUSED)
def test_each_message_names_argument_rule_and_value(
    attend: ScoreAttention, changed: dict, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        attend(**CALL | changed)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("build", "kind", "message"),
    [
        (
            lambda: DotProductAttention(1.0),
            ValueError,
            "dropout must be 0 or more and below 1; got 1.0",
        ),
        (
            lambda: DotProductAttention("a"),
            TypeError,
            "dropout must be an int or a float; got 'a'",
        ),
        (lambda: GaussianAttention(0.0), ValueError, "width must be above 0; got 0.0"),
        (lambda: GaussianAttention(-1), ValueError, "width must be above 0; got -1"),
        (lambda: GaussianAttention(math.nan), ValueError, "width must be finite; got nan"),
        (lambda: GaussianAttention(True), TypeError, "width must be an int or a float; got True"),
        (
            lambda: GaussianAttention(1.0, -0.1),
            ValueError,
            "dropout must be 0 or more and below 1; got -0.1",
        ),
    ],
)
def test_bad_construction_is_refused(
    build: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        build()
    assert str(caught.value) == message


def returning(result: Any) -> ScoreAttention:
    class Mistake(ScoreAttention):
        def score(self, *_: Tensor) -> Any:
            return result

    return Mistake()


@pytest.mark.parametrize(
    "shape", [(2, 7, 5), (5, 7), (1, 5, 7), (2, 1, 7), (2, 5, 1), (2, 5), (2, 5, 7, 1), ()]
)
def test_a_score_of_the_wrong_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="Mistake") as caught:
        returning(torch.zeros(shape))(**CALL)
    assert str(caught.value) == (
        f"Mistake.score must return shape (batch, n, m) = (2, 5, 7); got {shape}"
    )


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "Mistake.score must return a torch.Tensor; got NoneType"),
        (
            torch.zeros(2, 5, 7).bool(),
            "Mistake.score must return float16, bfloat16, float32 or float64; got torch.bool",
        ),
    ],
)
def test_a_score_that_is_no_number_is_refused(result: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        returning(result)(**CALL)
    assert str(caught.value) == message


def test_the_base_class_says_that_it_has_no_score() -> None:
    with pytest.raises(NotImplementedError) as caught:
        ScoreAttention()(**CALL)
    assert str(caught.value) == "ScoreAttention must define score(query, key)"


SIZES = {"b": 2, "n": 5, "m": 7, "d": 4, "e": 6}
AXES = {"query": "bnd", "key": "bmd", "value": "bme", "attn_mask": "bnm"}


@settings(proof, max_examples=300)
@given(st.data())
def test_random_wrong_calls_are_refused_never_broadcast(data: st.DataObject) -> None:
    shapes = {name: [SIZES[axis] for axis in axes] for name, axes in AXES.items()}
    wrong = data.draw(st.sampled_from(list(AXES)))
    change = data.draw(st.sampled_from(["size", "fewer axes", "more axes", "dtype", "no tensor"]))
    if change == "size":
        # a size of 1 would broadcast; in a mask that is allowed, and so is another value size
        axis = data.draw(st.sampled_from([0, 1] if wrong == "value" else [0, 1, 2]))
        sizes = [3, 8, 9] if wrong == "attn_mask" else [0, 1, 3, 8, 9]
        shapes[wrong][axis] = data.draw(st.sampled_from(sizes))
        if wrong == "query" and axis == 1:
            shapes[wrong][0] = 1
    elif change == "fewer axes":
        shapes[wrong] = shapes[wrong][-data.draw(st.sampled_from([1, 2])) :]
        if wrong == "attn_mask":
            shapes[wrong] = shapes[wrong][-1:]
    elif change == "more axes":
        shapes[wrong] = [data.draw(st.sampled_from([1, 2])), *shapes[wrong]]
    call: dict[str, Any] = {name: torch.zeros(shape) for name, shape in shapes.items()}
    if change == "dtype":
        kinds = [torch.int64, torch.float64, torch.complex64]
        call[wrong] = call[wrong].to(data.draw(st.sampled_from(kinds)))
    elif change == "no tensor":
        call[wrong] = data.draw(st.sampled_from([1.0, "x", [[0.0]]]))
    named = "query|key|value|attn_mask"
    attend = data.draw(st.sampled_from(list(MECHANISMS.values())))
    with pytest.raises((TypeError, ValueError), match=rf"^({named}) must .*; got ") as caught:
        attend(**call)
    # a wrong query or key may also be noticed by what it is compared with
    assert str(caught.value).startswith(wrong) or wrong in ("query", "key")


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "cosine_for_dot": ("F.normalize(query, dim=-1), F.normalize(key, dim=-1)", "query, key"),
    "forgotten_sign": ("differences.square()", "-differences.square()"),
    "transposed_score": ("bmn", "bnm"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"foundations/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", MENDED)
def test_an_exhibit_is_wrong_in_one_line(
    name: str,
) -> None:
    build = "Gaussian" if name == "forgotten_sign" else "DotProduct"
    wrong, right = (
        getattr(load_exhibit(f"foundations/{name}", MENDED[name], mended=mended), build)()
        for mended in (False, True)
    )
    right_one = GaussianAttention() if build == "Gaussian" else DotProductAttention()
    square = inputs(n=7)
    output, weights = wrong(*square, need_weights=True)
    assert (output.shape, weights.shape) == ((2, 7, 6), (2, 7, 7))
    assert error(weights.sum(-1), torch.ones(2, 7).double()) <= 1e-14
    assert error(output, right_one(*square)) > 0.05
    for tensors in (square, inputs()):
        assert error(right(*tensors), right_one(*tensors)) <= 1e-12
    if name == "transposed_score":
        with pytest.raises(ValueError, match=r"DotProduct\.score must return shape"):
            wrong(*inputs())
    else:
        assert wrong(*inputs()).shape == (2, 5, 6)


def test_the_farthest_key_wins_when_the_sign_is_forgotten() -> None:
    query, key, value = inputs()
    wrong = load_exhibit(
        "foundations/forgotten_sign", MENDED["forgotten_sign"], mended=False
    ).Gaussian()
    order = torch.cdist(query, key)[0, 0].argsort()
    weights = wrong(query, key, value, need_weights=True)[1][0, 0, order]
    assert all(near < far for near, far in pairwise(weights.tolist()))


@pytest.mark.formula(
    r"""o_i = \sum_{j=1}^{m} w_{ij}\, v_j,
    \qquad w_{ij} = \frac{e^{s(q_i, k_j)}}{\sum_{l=1}^{m} e^{s(q_i, k_l)}}"""
)
@mechanisms
def test_the_formula_is_output_and_weights(attend: ScoreAttention) -> None:
    queries, keys, values = inputs(b=1)
    output, weights = attend(queries, keys, values, need_weights=True)

    def a(q: Tensor, k: Tensor) -> Tensor:
        return attend.score(q.view(1, 1, -1), k.view(1, 1, -1)).squeeze()

    q, k, v = queries[0], keys[0], values[0]
    n, m = len(q), len(k)
    for i in range(n):
        powers = [math.e ** a(q[i], k[l]) for l in range(m)]
        w_i = [math.e ** a(q[i], k[j]) / sum(powers) for j in range(m)]
        o_i = sum(w_i[j] * v[j] for j in range(m))
        torch.testing.assert_close(weights[0, i], torch.stack(w_i), rtol=0, atol=1e-12)
        torch.testing.assert_close(output[0, i], o_i, rtol=0, atol=1e-12)
