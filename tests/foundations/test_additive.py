"""Additive attention against loops over pairs, its symmetries, and its exhibits."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attn_docs import AdditiveAttention
from attn_docs.examples.foundations.additive import answer_self
from attn_docs.testing import check_module
from docs._tools.page import page_module
from tests.kit import load_exhibit, normal

tables = page_module("foundations/additive", "tables")

B, N, M, Q, K, H, E = 2, 3, 5, 4, 6, 7, 8


def inputs() -> list[Tensor]:
    return [normal(B, N, Q, seed=1), normal(B, M, K, seed=2), normal(B, M, E, seed=3)]


def module(query_dim: int = Q, key_dim: int = K, hidden_dim: int = H) -> AdditiveAttention:
    attend = AdditiveAttention(query_dim, key_dim, hidden_dim).double()
    with torch.no_grad():
        for seed, parameter in enumerate(attend.parameters(), 10):
            parameter.copy_(normal(*parameter.shape, seed=seed))
    return attend


def loops(
    parameters: list[Tensor], query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attend pair by pair: no linear layer, no broadcast, no softmax of PyTorch's."""
    w_q, w_k, w_v = parameters
    outputs, weights = [], []
    for batch, i in itertools.product(range(query.size(0)), range(query.size(1))):
        powers = []
        for j in range(key.size(1)):
            inside = w_q.mv(query[batch, i]) + w_k.mv(key[batch, j])
            power = w_v[0].dot((inside.exp() - (-inside).exp()) / (2 * inside.cosh())).exp()
            powers.append(power if mask is None or mask[i, j] else 0 * power)
        row = torch.stack(powers) / sum(powers)
        weights.append(row)
        outputs.append(sum(w * v for w, v in zip(row, value[batch], strict=True)))
    shape = query.shape[:2]
    return torch.stack(outputs).unflatten(0, shape), torch.stack(weights).unflatten(0, shape)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_values_and_gradients_equal_loops(
    dtype: torch.dtype, tolerance: float, masked: bool
) -> None:
    mask = normal(N, M, seed=4) > -0.5 if masked else None
    attend = module()
    leaves = [*attend.parameters(), *(t.requires_grad_() for t in inputs())]
    wanted, wanted_weights = loops(leaves[:3], *leaves[3:], mask)
    cotangent = normal(B, N, E, seed=5)
    wanted_gradients = torch.autograd.grad(wanted, leaves, cotangent)

    attend = module().to(dtype)
    leaves = [*attend.parameters(), *(t.to(dtype).requires_grad_() for t in inputs())]
    output, weights = attend(*leaves[3:], mask, need_weights=True)
    gradients = torch.autograd.grad(output, leaves, cotangent.to(dtype))
    found = (output, weights, *gradients)
    for mine, reference in zip(found, (wanted, wanted_weights, *wanted_gradients), strict=True):
        assert mine.dtype == dtype
        largest = max(reference.abs().max().item(), 1.0)
        assert (mine.double() - reference).abs().max().item() <= 2 * tolerance * largest


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.permutations(range(1, 8)))
def test_any_sizes_fit(sizes: list[int]) -> None:
    b, n, m, q, k, h, e = sizes
    attend = module(q, k, h)
    query, key, value = normal(b, n, q), normal(b, m, k, seed=1), normal(b, m, e, seed=2)
    output, weights = attend(query, key, value, need_weights=True)
    wanted, wanted_weights = loops(list(attend.parameters()), query, key, value)
    torch.testing.assert_close(output, wanted, atol=1e-12, rtol=0)
    torch.testing.assert_close(weights, wanted_weights, atol=1e-12, rtol=0)
    assert sum(p.numel() for p in attend.parameters()) == h * (1 + q + k)
    assert tables.parameters(q, k, h) == h * (1 + q + k)


def test_layers_have_no_bias() -> None:
    assert {name: tuple(p.shape) for name, p in module().named_parameters()} == {
        "q_proj.weight": (H, Q),
        "k_proj.weight": (H, K),
        "score_proj.weight": (1, H),
    }


def test_subtracting_is_adding_with_the_other_sign() -> None:
    attend = module()
    query, key, _ = inputs()
    asked, offered = attend.q_proj(query).unsqueeze(2), attend.k_proj(key).unsqueeze(1)
    subtracted = attend.score_proj(torch.tanh(asked - offered)).squeeze(-1)
    assert not torch.allclose(subtracted, attend.score(query, key))
    with torch.no_grad():
        attend.k_proj.weight.neg_()
    torch.testing.assert_close(subtracted, attend.score(query, key), atol=1e-12, rtol=0)


def test_score_is_odd_and_bounded() -> None:
    attend = module()
    query, key, _ = inputs()
    torch.testing.assert_close(attend.score(-query, -key), -attend.score(query, key))
    bound = attend.score_proj.weight.abs().sum()
    assert attend.score(1e6 * query, 1e6 * key).abs().max() <= bound * (1 + 1e-12)


def test_order_of_the_keys_does_not_matter() -> None:
    attend = module()
    query, key, value = inputs()
    order = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(
        attend(query, key[:, order], value[:, order]), attend(query, key, value)
    )


def test_hidden_layer_is_n_by_m_by_h_and_kept_for_the_gradient() -> None:
    attend = AdditiveAttention(Q, K, H)
    query, key, value = (t.float() for t in inputs())
    kept: list[Tensor] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        attend(query, key, value)
    largest = max(kept, key=lambda t: t.nbytes)
    assert largest.shape == (B, N, M, H)
    assert largest.nbytes == B * tables.hidden_bytes(N, M, H)


def test_dropout_drops_weights_in_training_only() -> None:
    torch.manual_seed(0)
    attend = AdditiveAttention(Q, K, H, dropout=0.5).double()
    query, key, value = inputs()
    output, dropped = attend(query, key, value, need_weights=True)
    whole = attend.eval()(query, key, value, need_weights=True)[1]
    assert (dropped == 0).any()
    torch.testing.assert_close(dropped[dropped != 0], 2 * whole[dropped != 0])
    torch.testing.assert_close(output, dropped @ value)
    assert (whole > 0).all()


def test_query_that_may_attend_to_nothing_gets_zeros() -> None:
    query, key, value = inputs()
    output = module()(query, key, value, torch.zeros(N, M, dtype=torch.bool))
    assert (output == 0).all()


def test_numbers_are_those_of_the_worked_example() -> None:
    found = tables.numbers()
    assert float(found["tanh_one"]) == pytest.approx(math.tanh(1), abs=5e-5)
    assert float(found["score_the"]) == pytest.approx(math.tanh(1) + math.tanh(2), abs=5e-5)
    assert found["score_cat"] == found["tanh_two"]


ERRORS = {
    "query_dim must be 1 or more; got 0": lambda: AdditiveAttention(0, K, H),
    "key_dim must be 1 or more; got -1": lambda: AdditiveAttention(Q, -1, H),
    "hidden_dim must be an int; got 7.0": lambda: AdditiveAttention(Q, K, 7.0),
    "dropout must be 0 or more and below 1; got 1": lambda: AdditiveAttention(Q, K, H, dropout=1),
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
    "additive_without_tanh": ("asked[:, None] + offered", "torch.tanh(asked[:, None] + offered)"),
    "additive_without_pairs": ("(asked + offered)", "(asked[:, None] + offered)"),
}


def run(name: str, *arguments: Tensor, mended: bool) -> Tensor:
    exhibit = load_exhibit(f"foundations/{name}", MENDED[name], mended=mended)
    return exhibit.attention(*arguments)


@pytest.mark.parametrize("name", MENDED)
def test_exhibit_has_the_right_shape_and_is_wrong_until_its_line_is_mended(name: str) -> None:
    query, key, value = normal(5, Q), normal(5, K, seed=1), normal(5, E, seed=2)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    attend = module()
    w_q, w_k, w_v = (p.detach() for p in attend.parameters())
    expected = attend(query[None], key[None], value[None], mask)[0].detach()
    arguments = (query, key, value, w_q, w_k, w_v[0], mask)
    wrong = run(name, *arguments, mended=False)
    assert wrong.shape == expected.shape
    assert not torch.allclose(wrong, expected, atol=0.1)
    torch.testing.assert_close(run(name, *arguments, mended=True), expected, atol=1e-12, rtol=0)


def test_without_tanh_all_queries_get_the_same() -> None:
    arguments = normal(N, Q), normal(M, K, seed=1), torch.eye(M).double()
    weights = run(
        "additive_without_tanh",
        *arguments,
        *(
            p.detach()
            for p in (module().q_proj.weight, module().k_proj.weight, module().score_proj.weight[0])
        ),
        mended=False,
    )
    torch.testing.assert_close(weights, weights[:1].expand(N, M), atol=1e-12, rtol=0)


@pytest.mark.formula(r"s(q, k) = u^\top \tanh(W_q q + W_k k)")
def test_the_formula_is_the_score() -> None:
    attend, (queries, keys, _) = module(), inputs()
    W_q, W_k, w_v = (parameter.detach().numpy() for parameter in attend.parameters())
    scores = attend.score(queries, keys).detach().numpy()
    for text, i, j in itertools.product(range(B), range(N), range(M)):
        q, k = queries[text, i].numpy(), keys[text, j].numpy()
        a = w_v @ np.tanh(W_q @ q + W_k @ k)
        np.testing.assert_allclose(scores[text, i, j], a[0], rtol=0, atol=1e-12)


def test_the_checker_sees_that_without_tanh_the_query_does_not_count() -> None:
    class Linear(answer_self.AdditiveSelfAttention):
        def forward(self, x: Tensor) -> Tensor:
            pairs = self.q_proj(x)[:, :, None] + self.k_proj(x)[:, None]
            return self.score_proj(pairs).squeeze(-1).softmax(-1) @ self.v_proj(x)

    causes = {f.property: f.cause for f in check_module(Linear(), embed_dim=16).failures}
    assert "the weights do not depend on the query" in causes["attends"]
