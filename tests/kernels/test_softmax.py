"""The softmax at once and in blocks against PyTorch's, and what makes it safe."""

import math
import random
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import Tensor

from attn_docs import OnlineSoftmax, stable_softmax
from attn_docs.testing import check_attention
from tests.kit import error, load_exhibit, normal

INF = math.inf
MENDS = {
    "maximum_from_zero": ("query.new_zeros(query.shape[:-1])", "query[..., 0] * 0 - torch.inf"),
    "accumulator_not_rescaled": ("= mixed +", "= shrink[..., None] * mixed +"),
    "maximum_of_block": ("scores.amax(-1)", "torch.maximum(top, scores.amax(-1))"),
    "maximum_of_all_rows": ("scores.amax()", "scores.amax(-1)"),
    "masked_block_of_nan": ("base = new", "base = new.masked_fill(new == -torch.inf, 0)"),
}
exhibits = pytest.mark.parametrize("name", [name for name in MENDS if "masked" not in name])


def in_blocks(scores: Tensor, values: Tensor, sizes: list[int]) -> OnlineSoftmax:
    softmax = OnlineSoftmax()
    for s, v in zip(scores.split(sizes, -1), values.split(sizes, -2), strict=True):
        softmax.update(s, v)
    return softmax


def calls(count: int, seed: int = 0) -> list[tuple[Tensor, Tensor, list[int]]]:
    """Return random scores, some of −∞, and values, their keys cut at random places."""
    rng, made = random.Random(seed), []  # noqa: S311
    for index in range(count):
        leading = rng.choice([(), (2,), (2, 3), (1, 0)])
        n, m, e = rng.randint(1, 6), rng.randint(1, 17), rng.randint(1, 5)
        scores = normal(*leading, n, m, seed=index) * rng.choice([1, 30, 400])
        if rng.random() < 0.5:
            scores = scores.masked_fill(normal(*leading, n, m, seed=-index - 1) > 0, -INF)
        cuts = sorted(rng.choices(range(m + 1), k=rng.randint(0, 5)))  # blocks of 0 keys too
        sizes = [end - start for start, end in zip([0, *cuts], [*cuts, m], strict=True)]
        made.append((scores, normal(*leading, m, e, seed=index + 1), sizes))
    return made


def formula(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return output and log-sum-exp as PyTorch computes them; rows of −∞ alone apart."""
    empty = (scores == -INF).all(-1)
    filled = scores.masked_fill(empty[..., None], 0.0)
    output = (torch.softmax(filled, -1) @ values).masked_fill(empty[..., None], 0.0)
    return output, torch.logsumexp(filled, -1).masked_fill(empty, -INF)


def gradients(
    function: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], scores: Tensor, values: Tensor
) -> list[Tensor]:
    leaves = [scores.detach().requires_grad_(), values.detach().requires_grad_()]
    output, lse = function(*leaves)
    loss = (output * output.detach().cos()).sum() + lse[lse > -INF].sin().sum()
    return [output, *torch.autograd.grad(loss, leaves)]


# --- agreement -------------------------------------------------------------------------------


def test_blocks_agree_with_the_formula_values_and_gradients() -> None:
    for scores, values, sizes in calls(200):
        softmax = in_blocks(scores, values, sizes)
        output, lse = formula(scores, values)
        assert error(softmax.result(), output) <= 1e-12
        seen = lse > -INF
        assert torch.equal(softmax.lse > -INF, seen)
        assert error(softmax.lse[seen], lse[seen]) <= 1e-12

        def online(s: Tensor, v: Tensor, sizes: list[int] = sizes) -> tuple[Tensor, Tensor]:
            found = in_blocks(s, v, sizes)
            return found.result(), found.lse

        pairs = zip(
            gradients(online, scores, values), gradients(formula, scores, values), strict=True
        )
        assert max(error(*pair) for pair in pairs) <= 1e-12


@pytest.mark.parametrize("dim", [-3, -2, -1, 0, 1, 2])
def test_at_once_it_is_pytorchs_softmax_values_and_gradients(dim: int) -> None:
    for size in (1, 40, 400):
        leaf = (normal(3, 4, 5, seed=size) * size).requires_grad_()
        one, other = stable_softmax(leaf, dim), torch.softmax(leaf, dim)
        assert error(one, other) <= 1e-15
        weight = normal(3, 4, 5, seed=9)
        pair = (torch.autograd.grad((x * weight).sum(), leaf)[0] for x in (one, other))
        assert error(*pair) <= 1e-15


def test_second_derivatives_are_right() -> None:
    scores, values = normal(2, 5).requires_grad_(), normal(5, 3, seed=1).requires_grad_()

    def function(s: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        softmax = in_blocks(s, v, [2, 2, 1])
        return softmax.result(), softmax.lse, stable_softmax(s)

    assert torch.autograd.gradcheck(function, (scores, values))
    assert torch.autograd.gradgradcheck(function, (scores, values))


def test_the_result_can_be_asked_for_between_the_blocks() -> None:
    scores, values, softmax = normal(3, 7), normal(7, 2, seed=1), OnlineSoftmax()
    for end, size in ((2, 2), (6, 4), (7, 1)):
        softmax.update(scores[:, end - size : end], values[end - size : end])
        assert error(softmax.result(), formula(scores[:, :end], values[:end])[0]) <= 1e-14


# --- range and precision -----------------------------------------------------------------------


@pytest.mark.parametrize("far", [-1e30, -1e4, 1e4, 1e30])
def test_scores_far_from_zero_neither_overflow_nor_vanish(far: float) -> None:
    scores, values = torch.tensor([[far, far, far * 1.5]]), torch.eye(3)
    wanted = torch.tensor([[0.5, 0.5, 0.0]] if far < 0 else [[0.0, 0.0, 1.0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        found = in_blocks(scores[:, order], values[order], [1, 1, 1])
        assert error(found.result(), wanted) == 0
    assert error(stable_softmax(scores), wanted) == 0


def test_after_a_masked_block_the_maximum_is_still_minus_infinity() -> None:
    scores, values = torch.tensor([[-INF, -200.0, -201.0]]), torch.eye(3)
    found = in_blocks(scores, values, [1, 2])
    assert error(found.result(), torch.softmax(scores, -1)) <= 1e-6
    assert error(found.lse, torch.logsumexp(scores, -1)) <= 1e-4


def test_a_row_of_minus_infinity_gives_zeros_and_zero_gradients() -> None:
    scores = torch.tensor([[-INF, -INF, -INF], [-INF, 1.0, 2.0]], requires_grad=True)
    values = torch.ones(3, 2, requires_grad=True)
    found = in_blocks(scores, values, [1, 2])
    assert found.result()[0].tolist() == [0, 0]
    assert found.lse[0] == -INF
    weights = stable_softmax(scores)
    assert weights[0].tolist() == [0, 0, 0]
    loss = found.result().sum() + found.lse[1] + weights.square().sum()
    for gradient in torch.autograd.grad(loss, (scores, values)):
        assert gradient.isfinite().all()
    assert torch.autograd.grad(stable_softmax(scores).sum(), scores)[0][0].tolist() == [0, 0, 0]


def test_no_keys_at_all() -> None:
    softmax = OnlineSoftmax()
    softmax.update(torch.zeros(2, 0), torch.zeros(0, 3))
    assert softmax.result().tolist() == [[0, 0, 0], [0, 0, 0]]
    assert softmax.lse.tolist() == [-INF, -INF]
    assert stable_softmax(torch.zeros(2, 0)).shape == (2, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32_and_rounded_once(dtype: torch.dtype) -> None:
    scores, values = normal(4, 3000, dtype=dtype), normal(3000, 8, seed=1, dtype=dtype)
    softmax = in_blocks(scores, values, [100] * 30)
    assert softmax.result().dtype == dtype
    assert softmax.lse.dtype == torch.float32
    exact = formula(scores.double(), values.double())[0]
    theirs = (torch.softmax(scores.float(), -1) @ values.float()).to(dtype)
    assert error(softmax.result().double(), exact) <= 2 * error(theirs.double(), exact)
    weights, wanted = stable_softmax(scores), torch.softmax(scores.double(), -1)
    assert weights.dtype == dtype
    assert error(weights.double(), wanted) <= error(wanted.to(dtype).double(), wanted) * 1.001


def test_float32_errs_no_more_than_twice_as_far_as_pytorch() -> None:
    exact, values = normal(64, 4096), normal(4096, 16, seed=1)
    truth = formula(exact, values)[0]
    theirs = formula(exact.float(), values.float())[0]
    for size in (128, 512, 4096):
        mine = in_blocks(exact.float(), values.float(), [size] * (4096 // size)).result()
        assert error(mine.double(), truth) <= 2 * error(theirs.double(), truth)


def test_inputs_need_not_be_contiguous_and_stay_as_they_were() -> None:
    scores, values = normal(7, 3).mT, normal(2, 7, seed=1).mT
    before = scores.clone(), values.clone()
    assert error(in_blocks(scores, values, [3, 4]).result(), formula(scores, values)[0]) <= 1e-14
    assert torch.equal(scores, before[0])
    assert torch.equal(values, before[1])


def test_nan_is_not_hidden() -> None:
    scores = torch.tensor([[0.0, math.nan], [0.0, 1.0]])
    found = in_blocks(scores, torch.ones(2, 1), [1, 1]).result()
    assert found[0].isnan().all()
    assert found[1].item() == 1


# --- the formulas of the chapter ----------------------------------------------------------------


def states() -> tuple[Tensor, Tensor, int]:
    return normal(9, seed=3), normal(9, 2, seed=4), 5  # scores, values, how many were seen


@pytest.mark.formula(r"""
\sum_{j \in A} \exp(s_j - t') = \sum_{j \in A} \exp(t - t') \exp(s_j - t)
= \exp(t - t')\, \ell
""")
def test_the_formula_of_the_old_sum_seen_from_the_new_maximum() -> None:
    s, _, seen = states()
    t, t_new = s[:seen].max(), s.max() + 1
    ell = (s[:seen] - t).exp().sum()
    one_by_one = ((t - t_new).exp() * (s[:seen] - t).exp()).sum()
    for found in (one_by_one, (t - t_new).exp() * ell):
        assert error((s[:seen] - t_new).exp().sum(), found) <= 1e-15


@pytest.mark.formula(r"""
t' = \max\bigl(t, \max_{j \in B} s_j\bigr)
\qquad \ell' = \exp(t - t')\, \ell + \sum_{j \in B} \exp(s_j - t')
""")
@pytest.mark.formula(r"o' = \exp(t - t')\, o + \sum_{j \in B} \exp(s_j - t')\, v_j")
@pytest.mark.formula(r"y = \frac{o}{\ell} \qquad \operatorname{lse} = t + \ln \ell")
def test_the_formula_of_a_block_and_of_the_end() -> None:
    s, v, seen = states()
    t = s[:seen].max()
    ell, o = (s[:seen] - t).exp().sum(), (s[:seen] - t).exp() @ v[:seen]
    t_new = max(t, s[seen:].max())
    ell_new = (t - t_new).exp() * ell + (s[seen:] - t_new).exp().sum()
    o_new = (t - t_new).exp() * o + (s[seen:] - t_new).exp() @ v[seen:]
    softmax = in_blocks(s[None], v, [seen, len(s) - seen])
    assert error(softmax.result()[0], o_new / ell_new) <= 1e-15
    assert error(softmax.lse[0], t_new + ell_new.log()) <= 1e-15


# --- errors --------------------------------------------------------------------------------------


def test_errors_name_argument_rule_and_value() -> None:
    with pytest.raises(ValueError, match=r"dim must be from -1 to 0; got 1"):
        stable_softmax(torch.zeros(3), dim=1)
    with pytest.raises(TypeError, match=r"scores must be float16, .*; got torch.int64"):
        stable_softmax(torch.zeros(3, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="update must be called with a block first"):
        OnlineSoftmax().result()
    with pytest.raises(RuntimeError, match="update must be called with a block first"):
        _ = OnlineSoftmax().lse
    with pytest.raises(ValueError, match=r"values must have shape \(…, block, e\) = \(3, e\)"):
        OnlineSoftmax().update(torch.zeros(2, 3), torch.zeros(4, 5))
    with pytest.raises(TypeError, match="values must have scores's dtype"):
        OnlineSoftmax().update(torch.zeros(2, 3), torch.zeros(3, 5, dtype=torch.float64))


@pytest.mark.parametrize(
    ("scores", "values", "says"),
    [
        (torch.zeros(4, 3), torch.zeros(3, 5), r"the rows \(2,\) of the blocks before; got \(4,\)"),
        (torch.zeros(2, 3), torch.zeros(3, 6), "the size 5 of the blocks before; got 6"),
        (torch.zeros(2, 3).double(), torch.zeros(3, 5).double(), "the dtype torch.float32"),
    ],
)
def test_a_block_unlike_the_one_before_is_refused(
    scores: Tensor, values: Tensor, says: str
) -> None:
    softmax = OnlineSoftmax()
    softmax.update(torch.zeros(2, 3), torch.zeros(3, 5))
    with pytest.raises((TypeError, ValueError), match=says):
        softmax.update(scores, values)


# --- the wrong versions ---------------------------------------------------------------------


def asked(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return query, key and value whose scaled scores are these."""
    m = scores.size(-1)
    values = torch.randn(m, 2, generator=torch.Generator().manual_seed(1))
    return scores * math.sqrt(m), torch.eye(m), values


def revealing(name: str) -> Tensor:
    """Return scores, two rows of eight keys in two blocks, that a wrong version gets wrong."""
    scores = normal(2, 8, seed=5, dtype=torch.float32)
    moves = {
        "maximum_from_zero": scores - 200,
        "accumulator_not_rescaled": scores + torch.tensor([0.0] * 4 + [3.0] * 4),
        "maximum_of_block": scores - torch.tensor([0.0] * 4 + [200.0] * 4),
        "maximum_of_all_rows": scores - torch.tensor([[0.0], [200.0]]),
    }
    return moves[name]


def load(name: str, *, mended: bool = False) -> ModuleType:
    return load_exhibit(f"kernels/{name}", MENDS[name], mended=mended)


@exhibits
def test_a_wrong_version_is_caught_and_its_mended_line_is_right(name: str) -> None:
    query, key, value = asked(revealing(name))
    wanted = torch.softmax(query @ key.mT / math.sqrt(8), -1) @ value
    assert torch.allclose(load(name, mended=True).attention(query, key, value), wanted, atol=1e-5)
    assert not torch.allclose(load(name).attention(query, key, value), wanted, atol=1e-2)
    assert check_attention(load(name, mended=True).attention).passed


@exhibits
def test_only_one_of_them_is_seen_with_normal_scores(name: str) -> None:
    query, key, value = asked(normal(2, 8, seed=5, dtype=torch.float32))
    wanted = torch.softmax(query @ key.mT / math.sqrt(8), -1) @ value
    found = load(name).attention(query, key, value)
    assert torch.allclose(found, wanted, atol=1e-5) == (name != "accumulator_not_rescaled")


def test_a_masked_first_block_makes_nan_and_its_mended_line_does_not() -> None:
    query, key, value = asked(normal(2, 8, seed=5, dtype=torch.float32))
    mask = torch.ones(2, 8, dtype=torch.bool)
    mask[1, :4] = False
    scores = (query @ key.mT / math.sqrt(8)).masked_fill(~mask, -INF)
    wanted = torch.softmax(scores, -1) @ value
    name = "masked_block_of_nan"
    assert load(name).attention(query, key, value, mask)[1].isnan().all()
    assert torch.allclose(load(name, mended=True).attention(query, key, value, mask), wanted)
    last = torch.ones(2, 8, dtype=torch.bool)
    last[1, 4:] = False  # masked later, nothing is wrong
    assert load(name).attention(query, key, value, last).isfinite().all()
