"""Causal and padding masks: which keys they let a query see, and that nothing else leaks."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_docs import (
    attention_weights,
    causal_mask,
    invert_mask,
    mask_to_additive,
    mask_to_boolean,
    padding_mask,
    scaled_dot_product_attention,
)
from docs._tools.blocks import ROOT
from tests.kit import load_exhibit, normal

proof = settings(derandomize=True, deadline=None, max_examples=200)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LENGTH = st.integers(0, 7)


# --- causal ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "m", "offset", "wanted"),
    [
        (3, None, 0, ["100", "110", "111"]),
        (2, 4, 0, ["1000", "1100"]),
        (2, 4, 1, ["1100", "1110"]),
        (2, 4, 2, ["1110", "1111"]),
        (2, 4, -1, ["0000", "1000"]),
        (4, 2, 0, ["10", "11", "11", "11"]),
        (4, 2, -2, ["00", "00", "10", "11"]),
        (4, 2, 5, ["11", "11", "11", "11"]),
        (4, 2, -4, ["00", "00", "00", "00"]),
    ],
)
def test_causal_mask_is_this_matrix(n: int, m: int | None, offset: int, wanted: list[str]) -> None:
    mask = causal_mask(n, m, offset=offset)
    assert mask.dtype == torch.bool
    assert ["".join(map(str, row)) for row in mask.int().tolist()] == wanted


@proof
@given(LENGTH, LENGTH, st.integers(-9, 9))
def test_causal_mask_lets_query_i_see_key_j_up_to_i_plus_offset(
    n: int, m: int, offset: int
) -> None:
    mask = causal_mask(n, m, offset=offset)
    assert mask.shape == (n, m)
    assert mask.tolist() == [[j <= i + offset for j in range(m)] for i in range(n)]


@pytest.mark.parametrize(("n", "m"), [(5, 7), (7, 5), (6, 6)])
def test_causal_mask_by_default_is_pytorchs_is_causal(n: int, m: int) -> None:
    query, key, value = normal(2, 3, n, 4), normal(2, 3, m, 4, seed=1), normal(2, 3, m, 8, seed=2)
    wanted = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    for found in (
        scaled_dot_product_attention(query, key, value, causal_mask(n, m)),
        scaled_dot_product_attention(query, key, value, is_causal=True),
    ):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("n", "m"), [(2, 7), (1, 7), (5, 5)])
def test_causal_mask_aligned_at_the_end_decodes_the_last_queries(n: int, m: int) -> None:
    query, key, value = normal(3, m, 4), normal(3, m, 4, seed=1), normal(3, m, 6, seed=2)
    whole = scaled_dot_product_attention(query, key, value, is_causal=True)
    mask = causal_mask(n, m, offset=m - n)
    last = scaled_dot_product_attention(query[:, m - n :], key, value, mask)
    torch.testing.assert_close(last, whole[:, m - n :], rtol=0, atol=1e-14)


@pytest.mark.parametrize("offset", [-2, 0, 3])
def test_no_gradient_flows_back_from_a_forbidden_key(offset: int) -> None:
    n, m = 5, 7
    query, key, value = normal(n, 4), normal(m, 4, seed=1), normal(m, 6, seed=2)
    reach = torch.autograd.functional.jacobian(
        lambda k, v: scaled_dot_product_attention(query, k, v, causal_mask(n, m, offset=offset)),
        (key, value),
    )
    allowed = causal_mask(n, m, offset=offset)
    seen_value = reach[1].abs().amax((1, 3)) > 0  # n e m e → n m
    assert seen_value.equal(allowed)
    seen_key = reach[0].abs().amax((1, 3)) > 0  # n e m d → n m
    # the only key that a query sees has weight 1 whatever it is
    assert seen_key.equal(allowed & (allowed.sum(-1, keepdim=True) > 1))


def test_causal_self_attention_never_looks_ahead() -> None:
    x = normal(6, 4)
    jacobian = torch.autograd.functional.jacobian(
        lambda x: scaled_dot_product_attention(x, x, x, is_causal=True), x
    )
    reach = jacobian.abs().amax((1, 3))  # t d s d → t s
    assert (reach > 0).equal(torch.ones(6, 6).tril().bool())


def test_causal_mask_is_made_where_it_is_asked_for() -> None:
    assert causal_mask(2, 3).device.type == "cpu"
    assert causal_mask(2, 3, device="meta").device.type == "meta"
    assert causal_mask(2, 3, device=torch.device("meta")).device.type == "meta"


# --- padding ---------------------------------------------------------------------------------


@proof
@given(st.lists(LENGTH, max_size=5), st.none() | st.integers(0, 3))
def test_padding_mask_is_true_at_the_first_tokens_of_each_row(
    lengths: list[int], spare: int | None
) -> None:
    longest = max(lengths, default=0)
    max_len = None if spare is None else longest + spare
    width = longest + (spare or 0)
    wanted = [[j < length for j in range(width)] for length in lengths]
    for given_lengths in (lengths, tuple(lengths), torch.tensor(lengths, dtype=torch.int32)):
        mask = padding_mask(given_lengths, max_len)
        assert mask.dtype == torch.bool
        assert mask.shape == (len(lengths), width)
        assert mask.tolist() == wanted


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_padding_mask_takes_lengths_of_any_integer_type(dtype: torch.dtype) -> None:
    lengths = torch.tensor([3, 0, 2], dtype=dtype)
    assert padding_mask(lengths, 300)[:, :4].int().tolist() == [
        [1, 1, 1, 0],
        [0, 0, 0, 0],
        [1, 1, 0, 0],
    ]


def test_padding_mask_takes_any_sequence_of_ints() -> None:
    for lengths in (range(3), list(np.arange(3)), (0, 1, 2)):
        assert padding_mask(lengths).tolist() == [[False, False], [True, False], [True, True]]


def test_padding_mask_does_not_change_its_lengths() -> None:
    lengths = torch.tensor([3, 1])
    padding_mask(lengths, 5)
    assert lengths.tolist() == [3, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_padding_mask_is_made_where_its_lengths_are(device: str) -> None:
    lengths = torch.tensor([3, 1], device=device)
    with torch.device("meta"):  # not where new tensors go by default
        assert padding_mask(lengths).device == lengths.device


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("garbage", [1e4, -1e4])
def test_appending_masked_keys_changes_nothing(side: str, garbage: float) -> None:
    lengths, n, extra = [7, 3, 5], 4, 2
    query, key, value = normal(3, n, 8), normal(3, 7, 8, seed=1), normal(3, 7, 6, seed=2)
    mask = padding_mask(lengths, 7 + extra)
    key, value = (F.pad(t, (0, 0, 0, extra), value=garbage) for t in (key, value))
    for tensor in (key, value):
        tensor[~mask] = garbage
    if side == "left":
        mask, key, value = mask.flip(1), key.flip(1), value.flip(1)
    padded = scaled_dot_product_attention(query, key, value, mask[:, None, :])
    headed = scaled_dot_product_attention(
        *(t[:, None] for t in (query, key, value)), mask[:, None, None, :]
    )
    torch.testing.assert_close(headed[:, 0], padded, rtol=0, atol=1e-15)
    for index, length in enumerate(lengths):
        real = slice(0, length) if side == "right" else slice(7 + extra - length, None)
        alone = scaled_dot_product_attention(query[index], key[index, real], value[index, real])
        torch.testing.assert_close(padded[index], alone, rtol=0, atol=1e-14)


def test_no_gradient_flows_to_padding() -> None:
    mask = padding_mask([2, 0, 4], 5)
    query = normal(3, 7, 8)
    key, value = normal(3, 5, 8, seed=1).requires_grad_(), normal(3, 5, 6, seed=2).requires_grad_()
    output = scaled_dot_product_attention(query, key, value, mask[:, None, :])
    for gradient in torch.autograd.grad(output.sin().sum(), (key, value)):
        assert gradient.isfinite().all()
        assert (gradient.abs().amax(-1) > 0).equal(mask)


def test_masks_combine_with_and() -> None:
    query, key, value = normal(3, 5, 8), normal(3, 5, 8, seed=1), normal(3, 5, 6, seed=2)
    padding = padding_mask([5, 2, 0])[:, None, :]
    together = scaled_dot_product_attention(query, key, value, padding & causal_mask(5))
    flagged = scaled_dot_product_attention(query, key, value, padding, is_causal=True)
    torch.testing.assert_close(together, flagged, rtol=0, atol=0)
    assert not flagged[2].any()


def test_a_mask_with_more_axes_than_the_scores_is_refused() -> None:
    query, key, value = normal(3, 5, 8), normal(3, 5, 8, seed=1), normal(3, 5, 6, seed=2)
    mask = padding_mask([5, 2, 0])[:, None, None, :]
    with pytest.raises(ValueError, match=r"attn_mask must have 2 to 3 axes, .*got shape \(3, 1,"):
        scaled_dot_product_attention(query, key, value, mask)


# --- one form to another ---------------------------------------------------------------------

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
shapes = st.lists(st.integers(0, 4), max_size=4)


def random_mask(shape: list[int], seed: int = 0) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6


@proof
@given(shapes, st.integers(0, 99), st.sampled_from(FLOATS))
def test_converters_undo_each_other(shape: list[int], seed: int, dtype: torch.dtype) -> None:
    mask = random_mask(shape, seed)
    additive = mask_to_additive(mask, dtype)
    assert additive.dtype == dtype
    assert additive.shape == mask.shape
    flat = zip(mask.flatten().tolist(), additive.flatten().tolist(), strict=True)
    assert all(entry == (0.0 if may else -math.inf) for may, entry in flat)
    assert mask_to_boolean(additive).equal(mask)
    assert mask_to_boolean(mask).equal(mask)
    for integer in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        assert mask_to_boolean(mask.to(integer)).equal(mask)
    assert invert_mask(mask).tolist() == mask.logical_not().tolist()
    assert invert_mask(invert_mask(mask)).equal(mask)


def test_to_additive_is_float32_unless_told_otherwise() -> None:
    assert mask_to_additive(causal_mask(2)).dtype == torch.float32
    assert mask_to_boolean(torch.tensor([-0.0, -math.inf])).tolist() == [True, False]


def test_converters_leave_their_argument_alone() -> None:
    mask = causal_mask(3)
    for convert in (mask_to_additive, mask_to_boolean, invert_mask):
        convert(mask).zero_() if convert is not mask_to_boolean else convert(mask)
        assert mask.equal(causal_mask(3))


@pytest.mark.parametrize("device", [*DEVICES, "meta"])
def test_converted_masks_stay_on_their_device(device: str) -> None:
    mask = causal_mask(2, 3, device=device)
    assert mask_to_additive(mask).device == mask.device
    assert invert_mask(mask).device == mask.device
    assert device == "meta" or mask_to_boolean(mask.int()).device == mask.device


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (torch.ones(2), "mask must be 0 (attends) or -inf in a float mask; got 1.0"),
        (torch.tensor([0.0, -1e9]), "mask must be 0 (attends) or -inf in a float mask; got -1000"),
        (torch.tensor([math.inf]), "mask must be 0 (attends) or -inf in a float mask; got inf"),
        (torch.tensor([math.nan]), "mask must be 0 (attends) or -inf in a float mask; got nan"),
        (torch.tensor([0, 2]), "mask must be 1 (attends) or 0 in an integer mask; got 2"),
        (torch.tensor([-1, 1]), "mask must be 1 (attends) or 0 in an integer mask; got -1"),
    ],
)
def test_to_boolean_refuses_what_no_boolean_equals(value: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        mask_to_boolean(value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mask_to_boolean([1, 0]), "mask must be a torch.Tensor; got list"),
        (
            lambda: mask_to_boolean(torch.ones(2, dtype=torch.complex64)),
            "mask must be boolean, integer or floating-point; got torch.complex64",
        ),
        (lambda: mask_to_additive([True]), "mask must be a torch.Tensor; got list"),
        (lambda: mask_to_additive(torch.ones(2)), "mask must be torch.bool; got torch.float32"),
        (
            lambda: mask_to_additive(causal_mask(2), torch.int32),
            "dtype must be float16, bfloat16, float32 or float64; got torch.int32",
        ),
        (
            lambda: mask_to_additive(causal_mask(2), "float32"),
            "dtype must be float16, bfloat16, float32 or float64; got 'float32'",
        ),
        (lambda: invert_mask(None), "mask must be a torch.Tensor; got NoneType"),
        (lambda: invert_mask(torch.tensor([1])), "mask must be torch.bool; got torch.int64"),
    ],
)
def test_converters_refuse_other_types(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match="^" + re.escape(message) + "$"):
        call()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_additive_and_boolean_masks_attend_alike(dtype: torch.dtype) -> None:
    query, key, value = normal(3, 5, 8), normal(3, 7, 8, seed=1), normal(3, 7, 6, seed=2)
    mask = causal_mask(5, 7, offset=2) & padding_mask([7, 2, 0])[:, None, :]
    found = scaled_dot_product_attention(query, key, value, mask_to_additive(mask, dtype))
    wanted = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-15)
    assert not found[2].any()


@pytest.mark.parametrize("need_weights", [False, True])
def test_inverted_masks_are_what_torchs_module_wants(*, need_weights: bool) -> None:
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64)
    x, source = normal(3, 5, 8), normal(3, 7, 8, seed=1)
    causal, padding = causal_mask(5, 7, offset=2), padding_mask([7, 4, 1])
    wanted = torch.cat([
        module(x[b : b + 1, i : i + 1], source[b : b + 1, :seen], source[b : b + 1, :seen])[0]
        for b, length in enumerate([7, 4, 1])
        for i in range(5)
        for seen in [min(length, i + 3)]
    ]).view(3, 5, 8)  # fmt: skip
    found, _ = module(
        x,
        source,
        source,
        key_padding_mask=invert_mask(padding),
        attn_mask=invert_mask(causal),
        need_weights=need_weights,
    )
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


def test_causal_mask_is_torchs_square_subsequent_mask() -> None:
    wanted = torch.nn.Transformer.generate_square_subsequent_mask(6)
    assert mask_to_additive(causal_mask(6)).equal(wanted)


@pytest.mark.parametrize(("n", "m"), [(2, 5), (5, 2), (4, 4)])
def test_flex_attention_makes_the_same_masks(n: int, m: int) -> None:
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    lengths = torch.tensor([2, 0, 1])
    made = flex.create_mask(
        lambda b, _, i, j: (j <= i + m - n) & (j < lengths[b]), 3, None, n, m, device="cpu"
    )
    ours = causal_mask(n, m, offset=m - n) & padding_mask(lengths, m)[:, None, None, :]
    assert made.equal(ours)


@pytest.mark.parametrize(("n", "m"), [(2, 5), (4, 4)])
def test_causal_mask_at_the_end_is_torchs_lower_right(n: int, m: int) -> None:
    bias = pytest.importorskip("torch.nn.attention.bias").causal_lower_right(n, m)
    query, key = normal(1, 1, n, 8), normal(1, 1, m, 8, seed=1)
    wanted = F.scaled_dot_product_attention(query, key, key, bias)
    mask = causal_mask(n, m, offset=m - n)
    found = scaled_dot_product_attention(query, key, key, mask)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)


@proof
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 99))
def test_masking_is_cutting_out_and_rows_sum_to_one_or_zero(n: int, m: int, seed: int) -> None:
    query, key, value = normal(n, 4, seed=seed), normal(m, 4), normal(m, 3, seed=1)
    mask = random_mask([n, m], seed)
    found = scaled_dot_product_attention(query, key, value, mask)
    for i in range(n):
        if mask[i].any():
            seen = query[i : i + 1], key[mask[i]], value[mask[i]]
            wanted = F.scaled_dot_product_attention(*seen)[0]
        else:
            wanted = torch.zeros(3).double()
        torch.testing.assert_close(found[i], wanted, rtol=0, atol=1e-12)
    weights = attention_weights(query, key, mask)
    assert not weights[~mask].any()
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double(), rtol=0, atol=1e-12)


# --- fills -----------------------------------------------------------------------------------


@pytest.mark.parametrize("fill", [-1e9, -1e20])
def test_only_float16_refuses_large_fills(fill: float) -> None:
    nothing = torch.zeros(3, dtype=torch.bool)
    with pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(3, dtype=torch.float16).masked_fill(~nothing, fill)
    for dtype in (torch.bfloat16, torch.float32):
        scores = torch.arange(3, dtype=dtype).masked_fill(~nothing, fill)
        assert len(torch.softmax(scores, -1).unique()) == 1  # uniform


# --- exhibits --------------------------------------------------------------------------------

EXHIBITS = ROOT / "attn_docs" / "exhibits" / "foundations"
MENDED = {
    "inverted_mask": ("masked_fill(mask, ", "masked_fill(~mask, "),
    "zero_one_added": (
        "mask.to(scores.dtype)",
        "scores.new_zeros(scores.shape).masked_fill(~mask, float('-inf'))",
    ),
    "mask_on_query_axis": ("is_word[:, :, None]", "is_word[:, None, :]"),
    "four_axis_mask": ("is_word[:, None, None, :]", "is_word[:, None, :]"),
    "finite_fill": ("dim=-1)", "dim=-1).masked_fill(~mask, 0.0)"),
}
every_exhibit = pytest.mark.parametrize("name", sorted(MENDED))


def attention_of(name: str, *, mended: bool) -> Callable[..., torch.Tensor]:
    return load_exhibit(f"foundations/{name}", MENDED[name], mended=mended).attention


@every_exhibit
def test_exhibits_are_wrong_and_mending_one_line_mends_them(name: str) -> None:
    query, key, value = normal(3, 4, 8), normal(3, 4, 8, seed=1), normal(3, 4, 8, seed=2)
    # an empty text where that is the bug; no full text, which the inverted mask would empty
    is_word = padding_mask([3, 2, 0 if name == "finite_fill" else 1], max_len=4)
    wanted = F.scaled_dot_product_attention(query, key, value, is_word[:, None, :])
    wrong = attention_of(name, mended=False)(query, key, value, is_word)
    assert wrong.isfinite().all()
    if name == "four_axis_mask":
        assert wrong.shape == (3, *wanted.shape)
        for b in range(3):  # each text's own mask stands on the diagonal
            torch.testing.assert_close(wrong[b, b], wanted[b], rtol=0, atol=1e-12)
    else:
        assert wrong.shape == wanted.shape
        assert (wrong - wanted).abs().max() > 0.05
    right = attention_of(name, mended=True)(query, key, value, is_word)
    torch.testing.assert_close(right, wanted, rtol=0, atol=1e-12)


def test_a_finite_fill_makes_an_empty_row_the_mean() -> None:
    query, key, value = normal(2, 4, 8), normal(2, 4, 8, seed=1), normal(2, 4, 8, seed=2)
    found = attention_of("finite_fill", mended=False)(query, key, value, padding_mask([4, 0]))
    torch.testing.assert_close(found[1], value[1].mean(0).expand(4, 8), rtol=0, atol=1e-12)


@pytest.mark.formula(
    r"""W = \operatorname{softmax}(S + M)
    \qquad
    M_{ij} =
    \begin{cases} 0 & \text{mask}_{ij} = 1 \\ -\infty & \text{mask}_{ij} = 0 \end{cases}"""
)
def test_the_formula_is_the_weights() -> None:
    n, m, d = 3, 5, 4
    query, key = normal(n, d, seed=1), normal(m, d, seed=2)
    mask = causal_mask(n, m, offset=1)
    S = query.numpy() @ key.numpy().T / d**0.5
    M = np.array([[0 if mask[i, j] == 1 else -np.inf for j in range(m)] for i in range(n)])
    W = np.exp(S + M) / np.exp(S + M).sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(mask_to_additive(mask).numpy(), M)
    np.testing.assert_allclose(attention_weights(query, key, mask).numpy(), W, rtol=0, atol=1e-12)


@pytest.mark.formula(
    r"""\text{causal}_{ij} = [\, j \le i \,]
    \qquad
    \text{padding}_{bj} = [\, j < \text{length}_b \,]"""
)
def test_the_formulas_are_the_two_masks() -> None:
    n, m, length = 3, 5, [4, 0, 5, 1]
    causal = [[j <= i for j in range(m)] for i in range(n)]
    padding = [[j < length[b] for j in range(m)] for b in range(len(length))]
    assert causal_mask(n, m).tolist() == causal
    assert padding_mask(length, m).tolist() == padding


# --- PyTorch's module --------------------------------------------------------------------------


@pytest.mark.parametrize("num_heads", [1, 2])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("need_weights", [True, False])
def test_the_module_gives_nan_on_an_empty_row_where_the_page_says_so(
    num_heads: int, training: bool, need_weights: bool
) -> None:
    """By default, and on the fast path: in evaluation, with an even number of heads."""
    module = torch.nn.MultiheadAttention(4, num_heads, batch_first=True).train(training)
    x = normal(1, 3, 4, dtype=torch.float32)
    with torch.set_grad_enabled(training):
        output, _ = module(x, x, x, attn_mask=causal_mask(3), need_weights=need_weights)
    fast_path = not training and num_heads % 2 == 0
    assert output[0].isnan().any(-1).tolist() == [False, False, need_weights or fast_path]


# --- What PyTorch does, as the page says -------------------------------------------------------


@pytest.mark.parametrize(
    ("add", "replace", "spoiled"),
    [
        (True, False, [[False, True], [True, True], [True, True]]),
        (True, True, [[False, True], [True, True], [False, False]]),
        (False, False, [[False, False], [False, False], [True, True]]),
        (False, True, [[False, False], [False, False], [False, False]]),
    ],
)
def test_nan_reaches_the_gradients_that_the_page_names(
    add: bool, replace: bool, spoiled: list[list[bool]]
) -> None:
    mask = torch.tensor([[True, True], [False, False]])
    query, key, value = leaves = [normal(2, 4).requires_grad_() for _ in range(3)]
    scores = query @ key.T
    hidden = scores + mask_to_additive(mask, scores.dtype) if add else None
    weights = (scores.masked_fill(~mask, -torch.inf) if hidden is None else hidden).softmax(-1)
    ((weights.nan_to_num() if replace else weights) @ value).sum().backward()
    found = [leaf.grad.isnan().any(-1).tolist() for leaf in leaves if leaf.grad is not None]
    assert found == spoiled


def test_nan_among_padded_values_comes_through() -> None:
    query, key, value = (normal(1, 3, 4) for _ in range(3))
    value[0, 2] = torch.nan
    mask = padding_mask([2], 3)[:, None, :]
    for attend in (scaled_dot_product_attention, F.scaled_dot_product_attention):
        assert attend(query, key, value, mask).isnan().all()


def test_a_causal_flag_beside_a_mask_is_taken_with_four_axes_only() -> None:
    query, key, value = (normal(2, 2, 3, 4) for _ in range(3))
    mask = padding_mask([3, 2])[:, None, None, :]
    attend = F.scaled_dot_product_attention
    wanted = attend(query, key, value, mask & causal_mask(3))
    torch.testing.assert_close(attend(query, key, value, mask, is_causal=True), wanted)
    with pytest.raises(RuntimeError, match="Explicit attn_mask should not be set when is_causal"):
        attend(query[:, 0], key[:, 0], value[:, 0], mask[:, 0], is_causal=True)
