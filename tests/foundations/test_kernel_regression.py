"""Kernel regression against a plain double loop, PyTorch's attention and its own limits."""

import math
import re
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attn_docs import GaussianAttention, KernelRegression, nadaraya_watson
from attn_docs.exhibits.foundations import fitted_on_itself, inverse_width, kernel_over_queries
from docs._tools.blocks import ROOT
from tests.kit import normal

proof = settings(derandomize=True, deadline=None, max_examples=60)
EXHIBITS = {
    inverse_width: ("* width", "/ width"),
    kernel_over_queries: ("dim=0", "dim=1"),
    fitted_on_itself: (
        "regression(x, x, y)",
        "regression(x, x, y, attn_mask=~torch.eye(len(x), dtype=torch.bool))",
    ),
}


def inputs(n: int = 5, m: int = 7) -> list[Tensor]:
    return [normal(count, seed=seed) for seed, count in enumerate((n, m, m))]


def loop(query: Tensor, keys: Tensor, values: Tensor, width: Tensor, allowed: Tensor) -> Tensor:
    """One pair at a time, with the kernel and no softmax; a query without pairs gets zero."""
    outputs = []
    for i in range(len(query)):
        top = bottom = query.new_zeros(())
        for j in range(len(keys)):
            if allowed[i, j]:
                kernel = torch.exp(-((query[i] - keys[j]) ** 2) / (2 * width**2))
                top, bottom = top + kernel * values[j], bottom + kernel
        outputs.append(top / bottom if allowed[i].any() else top)
    return torch.stack(outputs)


def pytorch(query: Tensor, keys: Tensor, values: Tensor, width: Tensor, allowed: Tensor) -> Tensor:
    """PyTorch's dot-product attention on scaled queries, what is the key's alone as its mask."""
    bias = (-keys.square() / (2 * width**2)).expand(len(query), -1)
    bias = bias.masked_fill(~allowed, -math.inf)
    columns = (query / width**2)[:, None], keys[:, None], values[:, None]
    return F.scaled_dot_product_attention(*columns, bias, scale=1.0)[:, 0]


def ours(query: Tensor, keys: Tensor, values: Tensor, width: Tensor, allowed: Tensor) -> Tensor:
    return nadaraya_watson(query, keys, values, width=width, attn_mask=allowed)


def with_gradients(regression, leaves: list[Tensor], allowed: Tensor) -> list[Tensor]:
    """Return the output, and the gradients that a fixed cotangent gives."""
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    output = regression(*leaves, allowed)
    cotangent = torch.arange(len(output)).to(output) % 7 - 3
    return [output.detach(), *torch.autograd.grad(output, leaves, cotangent)]


@st.composite
def calls(draw: st.DrawFn) -> tuple[list[Tensor], Tensor]:
    """Draw queries, pairs, a width and which pairs a query may use: at least one."""
    n, m = draw(st.permutations(range(1, 8)))[:2]
    seed = draw(st.integers(0, 2**16))
    width = torch.tensor(draw(st.floats(0.4, 3.0)), dtype=torch.float64)
    allowed = normal(n, m, seed=seed + 3) < draw(st.sampled_from([0.0, 9.0]))
    allowed[:, draw(st.integers(0, m - 1))] = True
    leaves = [normal(n, seed=seed), normal(m, seed=seed + 1), normal(m, seed=seed + 2), width]
    return leaves, allowed


# --- agrees with independent implementations -------------------------------------------------


@settings(proof, max_examples=25)
@given(calls())
def test_values_and_gradients_equal_a_plain_double_loop(call) -> None:
    found, wanted = with_gradients(ours, *call), with_gradients(loop, *call)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


@proof
@given(calls())
def test_values_and_gradients_equal_pytorchs_attention(call) -> None:
    found, wanted = with_gradients(ours, *call), with_gradients(pytorch, *call)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-12, rtol=1e-12)


@proof
@given(calls())
def test_float32_is_near_float64(call) -> None:
    leaves, allowed = call
    single = [leaf.float() for leaf in leaves]
    output = ours(*single, allowed)
    assert output.dtype == torch.float32
    exact = ours(*(leaf.double() for leaf in single), allowed)
    torch.testing.assert_close(output.double(), exact, atol=2e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rounds_only_the_result(dtype: torch.dtype) -> None:
    half = [tensor.to(dtype) for tensor in inputs()]
    found = nadaraya_watson(*half, width=0.3, need_weights=True)
    wanted = nadaraya_watson(*(t.float() for t in half), width=0.3, need_weights=True)
    for one, other in zip(found, wanted, strict=True):
        assert one.equal(other.to(dtype))


def test_it_is_gaussian_attention_on_vectors_of_one_component() -> None:
    tensors = inputs()
    attend = GaussianAttention(0.6)
    wanted, weights = attend(*(t[None, :, None] for t in tensors), need_weights=True)
    output, found = nadaraya_watson(*tensors, width=0.6, need_weights=True)
    torch.testing.assert_close(output, wanted[0, :, 0], atol=1e-12, rtol=0)
    torch.testing.assert_close(found, weights[0], atol=1e-12, rtol=0)


# --- properties ------------------------------------------------------------------------------


@proof
@given(calls())
def test_weights_are_a_distribution_over_the_pairs_and_make_the_output(call) -> None:
    (query, keys, values, width), allowed = call
    output, weights = nadaraya_watson(
        query, keys, values, width=width, attn_mask=allowed, need_weights=True
    )
    assert weights.shape == (len(query), len(keys))
    assert (weights >= 0).all()
    assert (weights[~allowed] == 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones_like(query), atol=1e-14, rtol=0)
    torch.testing.assert_close(weights @ values, output, atol=1e-14, rtol=0)
    assert (output <= values.max() + 1e-12).all()
    assert (output >= values.min() - 1e-12).all()


def test_a_very_large_width_gives_the_mean() -> None:
    query, keys, values = inputs()
    output = nadaraya_watson(query, keys, values, width=1e8)
    torch.testing.assert_close(output, values.mean().expand(5), atol=1e-12, rtol=0)


def test_a_very_small_width_gives_the_nearest_value_and_ties_share() -> None:
    query, keys, values = inputs()
    nearest = (query[:, None] - keys).abs().argmin(1)
    output = nadaraya_watson(query, keys, values, width=1e-3)
    torch.testing.assert_close(output, values[nearest], atol=1e-12, rtol=0)
    tie = nadaraya_watson(
        torch.tensor([2.0]), torch.tensor([0.0, 1, 3]), torch.tensor([2.0, 4, 10]), width=1e-3
    )
    assert tie.item() == 7


def test_order_of_pairs_and_a_shift_of_all_places_change_nothing() -> None:
    query, keys, values = inputs()
    output = nadaraya_watson(query, keys, values)
    order = torch.tensor([3, 6, 0, 5, 1, 2, 4])
    moved = nadaraya_watson(query + 2, keys[order] + 2, values[order])
    torch.testing.assert_close(moved, output, atol=1e-12, rtol=0)
    stretched = nadaraya_watson(3 * query, 3 * keys, values, width=3)
    torch.testing.assert_close(stretched, output, atol=1e-12, rtol=0)


def test_a_query_that_may_use_no_pair_gets_zero_with_finite_gradients() -> None:
    leaves = [tensor.requires_grad_() for tensor in inputs()]
    mask = torch.ones(5, 1, dtype=torch.bool)
    mask[2] = False
    output = nadaraya_watson(*leaves, attn_mask=mask)
    assert output[2] == 0
    assert all(g.isfinite().all() for g in torch.autograd.grad(output.sum(), leaves))


def test_no_queries_and_no_pairs() -> None:
    assert nadaraya_watson(*inputs(n=0)).shape == (0,)
    assert nadaraya_watson(*inputs(m=0)).equal(torch.zeros(5).double())


# --- the module ------------------------------------------------------------------------------


def test_module_has_the_functions_numbers_at_its_width() -> None:
    tensors, mask = inputs(), normal(5, 7) < 0
    regression = KernelRegression(0.7).double()
    wanted = nadaraya_watson(*tensors, width=0.7, attn_mask=mask, need_weights=True)
    for found, other in zip(regression(*tensors, mask, need_weights=True), wanted, strict=True):
        torch.testing.assert_close(found, other, atol=1e-6, rtol=0)
    assert regression(*tensors).equal(nadaraya_watson(*tensors, width=regression.width))


def test_learnable_or_not_the_state_has_one_name_and_only_one_is_trained() -> None:
    learned, fixed = KernelRegression(0.7), KernelRegression(2.0, learnable=False)
    assert [name for name, _ in learned.named_parameters()] == ["log_width"]
    assert list(fixed.parameters()) == []
    fixed.load_state_dict(learned.state_dict())
    assert fixed.width.item() == pytest.approx(0.7)


def test_width_stays_above_zero_after_a_large_step() -> None:
    regression = KernelRegression(1.0)
    regression(*(t.float() for t in inputs())).sum().backward()
    assert regression.log_width.grad.abs() > 0
    with torch.no_grad():
        regression.log_width -= 20
    assert 0 < regression.width < 1e-8


def wave() -> tuple[Tensor, Tensor]:
    x = torch.linspace(0, 6, 40, dtype=torch.float64)
    return x, 2 * torch.sin(x) + 0.5 * normal(40)


def leave_one_out(x: Tensor, y: Tensor, width: float) -> float:
    """Predict each value from a list that does not hold it."""
    errors = []
    for i in range(len(x)):
        keep = [j for j in range(len(x)) if j != i]
        prediction = nadaraya_watson(x[i : i + 1], x[keep], y[keep], width=width)
        errors.append((prediction - y[i]).square().item())
    return sum(errors) / len(errors)


def test_a_mask_without_the_diagonal_leaves_one_out() -> None:
    x, y = wave()
    others = ~torch.eye(40, dtype=torch.bool)
    found = F.mse_loss(nadaraya_watson(x, x, y, width=0.3, attn_mask=others), y).item()
    assert found == pytest.approx(leave_one_out(x, y, 0.3), abs=1e-12)


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"query": [1.0]}, TypeError, "query must be a torch.Tensor; got list"),
        (
            {"keys": torch.arange(7)},
            TypeError,
            "keys must be float16, bfloat16, float32 or float64; got torch.int64",
        ),
        (
            {"query": torch.tensor(1.0).double()},
            ValueError,
            "query must have at least 1 axes; got shape ()",
        ),
        ({"keys": normal(7, 1)}, ValueError, "keys must have 1 axis; got shape (7, 1)"),
        (
            {"values": normal(6)},
            ValueError,
            "values must have one number for each of the 7 keys; got 6",
        ),
        (
            {"values": normal(7).float()},
            TypeError,
            "values must have query's dtype torch.float64; got torch.float32",
        ),
        ({"width": 0.0}, ValueError, "width must be above 0; got 0.0"),
        ({"width": torch.tensor(-2.0)}, ValueError, "width must be above 0; got -2.0"),
        ({"width": "wide"}, TypeError, "width must be an int or a float; got 'wide'"),
        ({"width": math.inf}, ValueError, "width must be finite; got inf"),
        (
            {"width": torch.ones(1, 2)},
            ValueError,
            "width must be a number or a tensor of no axes; got shape (1, 2)",
        ),
        (
            {"attn_mask": torch.ones(7, 5, dtype=torch.bool)},
            ValueError,
            (
                "attn_mask must have 2 to 2 axes, each 1 or that of the scores (5, 7) counted from "
                "the right; got shape (7, 5)"
            ),
        ),
        ({"need_weights": 1}, TypeError, "need_weights must be True or False; got 1"),
    ],
)
def test_errors_name_argument_rule_and_value(change, kind, message) -> None:
    call = dict(zip(("query", "keys", "values"), inputs(), strict=True)) | change
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        nadaraya_watson(**call)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((0,), ValueError, "width must be above 0; got 0"),
        ((None,), TypeError, "width must be an int or a float; got None"),
        ((1.0, "no"), TypeError, "learnable must be True or False; got 'no'"),
    ],
)
def test_module_refuses_what_is_no_width(arguments, kind, message) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        KernelRegression(*arguments)


# --- exhibits --------------------------------------------------------------------------------


def mended(bug: ModuleType) -> dict:
    """Run an exhibit with its marked line mended; return what it defines."""
    path = ROOT / "attn_docs" / "exhibits" / "foundations" / f"{bug.__name__.split('.')[-1]}.py"
    source = path.read_text(encoding="utf-8")
    (line,) = [line for line in source.splitlines() if "# wrong: " in line]
    assert source.startswith('"""Bug: ')
    wrong, right = EXHIBITS[bug]
    assert line.count(wrong) == 1
    scope: dict = {}
    exec(source.replace(line, line.replace(wrong, right)), scope)  # noqa: S102 - our own file
    return scope


@pytest.mark.parametrize("bug", [inverse_width, kernel_over_queries])
def test_exhibit_has_the_shape_not_the_numbers_and_mending_its_line_mends_them(bug) -> None:
    query, keys, values = inputs()
    expected = nadaraya_watson(query, keys, values, width=0.6)
    wrong = bug.regression(query, keys, values, 0.6)
    assert wrong.shape == expected.shape
    assert (wrong - expected).abs().max() > 0.05
    right = mended(bug)["regression"](query, keys, values, 0.6)
    torch.testing.assert_close(right, expected, atol=1e-12, rtol=0)


def test_fitted_on_itself_loses_the_width_and_leave_one_out_finds_it() -> None:
    x, y = wave()
    own, right = KernelRegression(), KernelRegression()
    assert fitted_on_itself.fit(own, x, y) < 1e-3
    assert own.width < 0.06
    loss = mended(fitted_on_itself)["fit"](right, x, y)
    width = right.width.item()
    assert loss == pytest.approx(leave_one_out(x, y, width), abs=1e-3)
    for factor in (0.5, 0.8, 1.25, 2):  # a lowest point
        assert leave_one_out(x, y, width) < leave_one_out(x, y, factor * width)


def test_the_width_begins_at_one() -> None:
    assert KernelRegression().width == 1


@pytest.mark.formula(
    r"""f(x) = \frac{\sum_{i=1}^{m} K(x - x_i)\, y_i}{\sum_{l=1}^{m} K(x - x_l)}
    \qquad
    K(u) = \exp\!\left(-\frac{u^2}{2\sigma^2}\right)"""
)
def test_the_formula_with_a_kernel_is_the_prediction() -> None:
    queries, xs, y = (points.tolist() for points in inputs())
    sigma, m = 0.6, len(xs)

    def K(u: float) -> float:
        return math.exp(-(u**2) / (2 * sigma**2))

    def f(x: float) -> float:
        return sum(K(x - xs[i]) * y[i] for i in range(m)) / sum(K(x - xs[l]) for l in range(m))

    found = nadaraya_watson(*inputs(), width=sigma).tolist()
    assert found == pytest.approx([f(x) for x in queries], rel=0, abs=1e-12)


@pytest.mark.formula(
    r"""f(x) = \sum_{i=1}^{m} \operatorname{softmax}_i\!\left(
    -\frac{1}{2}\left(\frac{x - x_i}{\sigma}\right)^{2}\right) y_i
    \qquad
    \operatorname{softmax}_i(s) = \frac{e^{s_i}}{\sum_{l} e^{s_l}}"""
)
def test_the_formula_with_a_softmax_is_the_prediction() -> None:
    queries, xs, y = (points.tolist() for points in inputs())
    sigma, m = 0.6, len(xs)

    def softmax(i: int, s: list[float]) -> float:
        return math.e ** s[i] / sum(math.e**s_l for s_l in s)

    def f(x: float) -> float:
        s = [-1 / 2 * ((x - x_i) / sigma) ** 2 for x_i in xs]
        return sum(softmax(i, s) * y[i] for i in range(m))

    found = nadaraya_watson(*inputs(), width=sigma).tolist()
    assert found == pytest.approx([f(x) for x in queries], rel=0, abs=1e-12)


@pytest.mark.parametrize("width", [0.3, 1.0, 2.5])
def test_the_squared_width_is_the_temperature(width: float) -> None:
    x, places = torch.linspace(0, 1, 4).double(), torch.linspace(0, 2, 6).double()
    scores = -(x.unsqueeze(-1) - places).square() / 2
    value = torch.randn(6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    wanted = torch.softmax(scores / width**2, -1) @ value
    torch.testing.assert_close(nadaraya_watson(x, places, value, width=width), wanted)
