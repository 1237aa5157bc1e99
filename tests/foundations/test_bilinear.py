"""Bilinear attention against PyTorch's bilinear form, its variance, and its exhibits."""

import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attn_docs import BilinearAttention, DotProductAttention
from docs._tools.page import page_module
from tests.kit import load_exhibit, normal

tables = page_module("foundations/bilinear", "tables")

B, N, M, Q, K, E = 2, 3, 5, 4, 6, 7


def inputs() -> list[Tensor]:
    return [normal(B, N, Q, seed=1), normal(B, M, K, seed=2), normal(B, M, E, seed=3)]


def module(query_dim: int = Q, key_dim: int = K, **options: float) -> BilinearAttention:
    attend = BilinearAttention(query_dim, key_dim, **options).double()
    with torch.no_grad():
        attend.weight.copy_(normal(query_dim, key_dim, seed=10))
    return attend


def reference(
    weight: Tensor, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attend with PyTorch's own bilinear form, one pair at a time."""
    (b, n, q), (m, k) = query.shape, key.shape[1:]
    left = query[:, :, None].expand(b, n, m, q).reshape(-1, q)
    right = key[:, None].expand(b, n, m, k).reshape(-1, k)
    powers = (F.bilinear(left, right, weight[None]).view(b, n, m) / (q * k) ** 0.25).exp()
    if mask is not None:
        powers = powers * mask
    weights = powers / powers.sum(-1, keepdim=True)
    return torch.einsum("bnm,bme->bne", weights, value), weights


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_values_and_gradients_equal_pytorchs_bilinear_form(
    dtype: torch.dtype, tolerance: float, masked: bool
) -> None:
    mask = normal(N, M, seed=4) > -0.5 if masked else None
    cotangent = normal(B, N, E, seed=5)
    leaves = [module().weight, *(t.requires_grad_() for t in inputs())]
    wanted, wanted_weights = reference(*leaves, mask)
    wanted_gradients = torch.autograd.grad(wanted, leaves, cotangent)

    attend = module().to(dtype)
    leaves = [attend.weight, *(t.to(dtype).requires_grad_() for t in inputs())]
    output, weights = attend(*leaves[1:], mask, need_weights=True)
    gradients = torch.autograd.grad(output, leaves, cotangent.to(dtype))
    found = (output, weights, *gradients)
    for mine, exact in zip(found, (wanted, wanted_weights, *wanted_gradients), strict=True):
        assert mine.dtype == dtype
        largest = max(exact.abs().max().item(), 1.0)
        assert (mine.double() - exact).abs().max().item() <= 2 * tolerance * largest


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.permutations(range(1, 8)))
def test_any_sizes_fit(sizes: list[int]) -> None:
    b, n, m, q, k, e, _ = sizes
    query, key, value = normal(b, n, q), normal(b, m, k, seed=1), normal(b, m, e, seed=2)
    attend = module(q, k)
    output, weights = attend(query, key, value, need_weights=True)
    wanted, wanted_weights = reference(attend.weight, query, key, value)
    torch.testing.assert_close(output, wanted, atol=1e-12, rtol=0)
    torch.testing.assert_close(weights, wanted_weights, atol=1e-12, rtol=0)
    assert sum(p.numel() for p in attend.parameters()) == q * k == tables.parameters(q, k)


def test_identity_is_the_scaled_dot_product() -> None:
    attend = BilinearAttention(Q, Q).double()
    with torch.no_grad():
        attend.weight.copy_(torch.eye(Q))
    query, key, value = normal(B, N, Q), normal(B, M, Q, seed=1), normal(B, M, E, seed=2)
    torch.testing.assert_close(
        attend(query, key, value), DotProductAttention()(query, key, value), atol=1e-13, rtol=0
    )
    wanted = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(attend(query, key, value), wanted, atol=1e-13, rtol=0)


@pytest.mark.parametrize("d", [1, 4, 7, 64])
def test_divisor_is_the_root_of_d_for_equal_sizes(d: int) -> None:
    assert BilinearAttention(d, d).divisor == pytest.approx(math.sqrt(d), rel=1e-15)


@pytest.mark.parametrize(("q", "k"), [(4, 6), (16, 64), (128, 32)])
def test_score_starts_with_variance_one(q: int, k: int) -> None:
    torch.manual_seed(0)
    modules = [BilinearAttention(q, k) for _ in range(200)]
    entries = torch.stack([attend.weight.detach() for attend in modules])
    assert entries.var().item() == pytest.approx((q * k) ** -0.5, rel=0.06)
    assert entries.mean().item() == pytest.approx(0, abs=0.03)
    scores = torch.stack(
        [attend.score(torch.randn(8, 6, q), torch.randn(8, 6, k)).detach() for attend in modules]
    )
    assert scores.var().item() == pytest.approx(1, rel=0.06)


def test_the_plain_start_without_a_divisor_gives_the_same_scores() -> None:
    attend = BilinearAttention(16, 48).double()
    plain = attend.weight.detach() / attend.divisor
    assert plain.std().item() == pytest.approx(1 / (16 * 48) ** 0.5, rel=0.1)
    query, key = normal(1, 5, 16), normal(1, 7, 48, seed=1)
    torch.testing.assert_close(query @ plain @ key.mT, attend.score(query, key))


def test_only_the_product_of_the_projections_counts() -> None:
    x, y, w_q, w_k, mix = (
        normal(*shape, seed=seed)
        for seed, shape in enumerate([(3, 8), (5, 8), (8, 4), (8, 4), (4, 4)])
    )
    wanted = (x @ w_q) @ (y @ w_k).T
    found = (x @ (w_q @ mix)) @ (y @ (w_k @ mix.inverse().T)).T
    torch.testing.assert_close(found, wanted)


def test_variance_over_pairs_is_the_squared_norm_of_the_matrix() -> None:
    weight, query, key = normal(Q, K), normal(200_000, Q, seed=1), normal(200_000, K, seed=2)
    measured = ((query @ weight) * key).sum(-1).var()
    assert measured.item() == pytest.approx(weight.square().sum().item(), rel=0.03)


def test_projections_are_a_matrix_of_low_rank() -> None:
    x, y, w_q, w_k = (normal(*s, seed=i) for i, s in enumerate(((3, 9), (5, 9), (9, 2), (9, 2))))
    attend = module(9, 9)
    with torch.no_grad():
        attend.weight.copy_(w_q @ w_k.T)
    projected = (x @ w_q) @ (y @ w_k).T / attend.divisor
    torch.testing.assert_close(attend.score(x[None], y[None])[0], projected, atol=1e-12, rtol=0)
    assert torch.linalg.matrix_rank(attend.weight) == 2


def test_dropout_drops_weights_in_training_only() -> None:
    torch.manual_seed(0)
    attend = module(dropout=0.5)
    query, key, value = inputs()
    output, dropped = attend(query, key, value, need_weights=True)
    whole = attend.eval()(query, key, value, need_weights=True)[1]
    assert (dropped == 0).any()
    torch.testing.assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
    torch.testing.assert_close(output, dropped @ value)


def test_query_that_may_attend_to_nothing_gets_zeros() -> None:
    query, key, value = inputs()
    assert (module()(query, key, value, torch.zeros(N, M, dtype=torch.bool)) == 0).all()


def test_numbers_are_those_of_the_worked_example() -> None:
    found = {name: float(text.replace(",", "")) for name, text in tables.numbers().items()}
    assert found["divisor"] ** 4 == pytest.approx(6, rel=1e-3)
    assert found["score_cat"] * found["divisor"] == pytest.approx(2, rel=1e-3)
    assert found["free"] == 768**2
    assert found["factored"] == 2 * 768 * 64


ERRORS = {
    "query_dim must be 1 or more; got 0": lambda: BilinearAttention(0, K),
    "key_dim must be an int; got 6.0": lambda: BilinearAttention(Q, 6.0),
    "dropout must be 0 or more and below 1; got 1": lambda: BilinearAttention(Q, K, dropout=1),
    "query must have query_dim 4 as its last size; got 6": (
        lambda: module()(normal(B, N, K), normal(B, M, K), normal(B, M, E))
    ),
    "key must have key_dim 6 as its last size; got 4": (
        lambda: module()(normal(B, N, Q), normal(B, M, Q), normal(B, M, E))
    ),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_name_argument_rule_and_value(message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        ERRORS[message]()
    assert str(caught.value) == message


# --- the exhibits are wrong in their one marked line -----------------------------------------

MENDED = {
    "bilinear_transposed": ("query @ weight.T", "query @ weight"),
    "bilinear_wrong_divisor": ("weight.numel() ** 0.5", "weight.numel() ** 0.25"),
}


@pytest.mark.parametrize("name", MENDED)
def test_exhibit_has_the_right_shape_and_is_wrong_until_its_line_is_mended(name: str) -> None:
    attend = module(Q, Q)
    arguments = normal(B, N, Q), normal(B, M, Q, seed=1), normal(B, M, E, seed=2)
    expected = attend(*arguments).detach()
    outputs = []
    for mended in (False, True):
        exhibit = load_exhibit(f"foundations/{name}", MENDED[name], mended=mended)
        outputs.append(exhibit.attention(*arguments, attend.weight.detach()))
    assert outputs[0].shape == expected.shape
    assert not torch.allclose(outputs[0], expected, atol=0.1)
    torch.testing.assert_close(outputs[1], expected, atol=1e-12, rtol=0)


@pytest.mark.formula(
    r"s(q, k) = \frac{q^\top W k}{(d_q d_k)^{1/4}}"
    r"= \frac{1}{(d_q d_k)^{1/4}} \sum_{i=1}^{d_q} \sum_{j=1}^{d_k} q_i W_{ij} k_j"
)
def test_the_formula_is_the_score() -> None:
    attend, (queries, keys, _) = module(), inputs()
    W, d_q, d_k = attend.weight.detach().numpy(), Q, K
    scores = attend.score(queries, keys).detach().numpy()
    for text, i, j in itertools.product(range(B), range(N), range(M)):
        q, k = queries[text, i].numpy(), keys[text, j].numpy()
        pairs = sum(q[a] * W[a, b] * k[b] for a in range(d_q) for b in range(d_k))
        for a in (q.T @ W @ k / (d_q * d_k) ** 0.25, pairs / (d_q * d_k) ** 0.25):
            np.testing.assert_allclose(scores[text, i, j], a, rtol=0, atol=1e-12)
