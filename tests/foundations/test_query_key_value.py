"""Attention by hand: the worked numbers, and the same result with tensors."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_docs import (
    attention_by_hand,
    attention_weights,
    masked_softmax,
    scaled_dot_product_attention,
)

proof = settings(derandomize=True, deadline=None, max_examples=100)
SIZE = st.integers(1, 6)
NUMBER = st.floats(-9.0, 9.0) | st.integers(-9, 9)


def rows(count: int, size: int) -> st.SearchStrategy[list[list[float]]]:
    row = st.lists(NUMBER, min_size=size, max_size=size)
    return st.lists(row, min_size=count, max_size=count)


@proof
@given(st.data(), st.permutations(range(1, 7)))
def test_by_hand_equals_the_tensor_forms(data: st.DataObject, sizes: list[int]) -> None:
    n, m, d, e = sizes[:4]
    query, key, value = (data.draw(rows(*shape)) for shape in ((n, d), (m, d), (m, e)))
    output, weights = attention_by_hand(query, key, value)
    tensors = [torch.tensor(t, dtype=torch.float64) for t in (query, key, value)]
    for found, wanted in (
        (output, scaled_dot_product_attention(*tensors)),
        (output, F.scaled_dot_product_attention(*tensors)),
        (weights, attention_weights(*tensors[:2])),
    ):
        torch.testing.assert_close(
            torch.tensor(found, dtype=torch.float64), wanted, rtol=0, atol=1e-11
        )


def test_by_hand_each_row_of_weights_sums_to_one() -> None:
    _, weights = attention_by_hand([[1.0, 2.0], [3.0, -1.0]], [[0.5, 1.0]] * 3, [[1.0]] * 3)
    assert [sum(row) for row in weights] == [pytest.approx(1.0, abs=1e-15)] * 2


def test_by_hand_large_scores_do_not_overflow() -> None:
    output, weights = attention_by_hand([[1000.0]], [[1000.0], [0.0]], [[1.0], [3.0]])
    assert weights == [[1.0, 0.0]]
    assert output == [[1.0]]


def test_by_hand_takes_no_queries_and_values_of_no_numbers() -> None:
    assert attention_by_hand([], [[1.0, 2.0]], [[3.0]]) == ([], [])
    assert attention_by_hand([[1.0]], [[2.0]], [[]]) == ([[]], [[1.0]])


def test_the_attention_map_of_the_three_words() -> None:
    products = torch.tensor([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    wanted = torch.tensor(
        [[0.2645, 0.4711, 0.2645], [0.2645, 0.2645, 0.4711], [0.2192, 0.3904, 0.3904]]
    )
    # from the definition: one exp(1/√3) among ones, and two of them
    power = math.exp(1 / math.sqrt(3))
    one, two = 1 / (power + 2), 1 / (2 * power + 1)
    assert wanted[0].tolist() == pytest.approx([one, power * one, one], abs=5e-5)
    assert wanted[2].tolist() == pytest.approx([two, power * two, power * two], abs=5e-5)

    by_hand = attention_by_hand(products.tolist(), torch.eye(3).tolist(), [[0.0]] * 3)[1]
    for weights in (
        masked_softmax(products / math.sqrt(3)),
        attention_weights(products, torch.eye(3)),
        torch.tensor(by_hand),
    ):
        torch.testing.assert_close(weights, wanted, rtol=0, atol=5e-5)


def test_the_weighted_mean_of_the_three_words() -> None:
    weights = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]])
    values = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]]
    wanted = [0.1 * 1.0 + 0.1 * 0.5, 0.8 * 1.0 + 0.1 * 0.5, 0.1 * 0.5 + 0.8 * 0.3 + 0.1 * 0.8]
    assert wanted == pytest.approx([0.15, 0.85, 0.37])

    # queries whose softmax is those weights: their logarithms, the keys being unit rows
    query, key = weights.log() * math.sqrt(3), torch.eye(3)
    mixed = scaled_dot_product_attention(query, key, torch.tensor(values))
    by_hand = attention_by_hand(query.tolist(), key.tolist(), values)[0]
    assert mixed[1].tolist() == pytest.approx(wanted, abs=1e-6)
    assert by_hand[1] == pytest.approx(wanted, abs=1e-6)
    torch.testing.assert_close(mixed, weights @ torch.tensor(values))


@pytest.mark.formula(
    r"""w_{ij} = \frac{\exp(q_i \cdot k_j / \sqrt{d})}
    {\sum_{l=1}^{m} \exp(q_i \cdot k_l / \sqrt{d})}
    \qquad
    o_i = \sum_{j=1}^{m} w_{ij}\, v_j"""
)
def test_the_formula_is_weights_and_output() -> None:
    n, m, d, e = 3, 5, 4, 2
    numbers = np.random.default_rng(0)
    q, k, v = (numbers.normal(size=shape) for shape in ((n, d), (m, d), (m, e)))
    w = np.empty((n, m))
    for i in range(n):
        for j in range(m):
            total = sum(np.exp(q[i] @ k[l] / np.sqrt(d)) for l in range(m))
            w[i, j] = np.exp(q[i] @ k[j] / np.sqrt(d)) / total
    o = [sum(w[i, j] * v[j] for j in range(m)) for i in range(n)]
    output, weights = attention_by_hand(q.tolist(), k.tolist(), v.tolist())
    np.testing.assert_allclose(weights, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(output, o, rtol=0, atol=1e-12)
