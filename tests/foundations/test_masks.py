"""Causal and padding masks: which keys they let a query see, and that nothing else leaks."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_docs import causal_mask, padding_mask, scaled_dot_product_attention

proof = settings(derandomize=True, deadline=None, max_examples=200)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LENGTH = st.integers(0, 7)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


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
