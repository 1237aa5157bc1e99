"""Attention with loops and plain numbers: what one would do with pencil and paper."""

import math
from collections.abc import Sequence

from attn_docs._checks import check_query_key_value_rows

Rows = Sequence[Sequence[float]]


def attention_by_hand(
    query: Rows, key: Rows, value: Rows
) -> tuple[list[list[float]], list[list[float]]]:
    r"""Compute attention one number at a time, without tensors.

    $$w_{ij} = \frac{\exp(q_i \cdot k_j / \sqrt{d})}{\sum_{l=1}^{m} \exp(q_i \cdot k_l / \sqrt{d})}
    \qquad o_i = \sum_{j=1}^{m} w_{ij}\, v_j$$

    Args:
        query: n rows of d numbers.
        key: m rows of d numbers.
        value: m rows of e numbers.

    Returns:
        The output, n rows of e numbers, and the weights, n rows of m numbers.

    Raises:
        TypeError: If an argument is not a sequence of rows of numbers.
        ValueError: If there is no key, a number is not finite, a row has the wrong length, or
            keys and values differ in number.

    Example:
        ```python
        from attn_docs import attention_by_hand

        output, weights = attention_by_hand([[0.0, 2.0]], [[1.0, 0.0], [0.0, 1.0]], [[1.0], [3.0]])
        print([round(w, 4) for w in weights[0]], round(output[0][0], 4))
        #> [0.1956, 0.8044] 2.6089
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", equation 1, arXiv:1706.03762 (2017).
    """
    check_query_key_value_rows(query, key, value)
    head_dim, value_dim = len(key[0]), len(value[0])
    output, weights = [], []
    for q in query:
        scores = []
        for k in key:
            dot = sum(q[c] * k[c] for c in range(head_dim))
            scores.append(dot / math.sqrt(head_dim))
        powers = [math.exp(s - max(scores)) for s in scores]  # same weights, no overflow
        row = [p / sum(powers) for p in powers]
        weights.append(row)
        pairs = range(len(key))
        mixed = [sum(row[j] * value[j][c] for j in pairs) for c in range(value_dim)]
        output.append(mixed)
    return output, weights
