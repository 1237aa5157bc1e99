"""Masks, True where a query may attend: causal, padding, and the forms that others use."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attn_docs._checks import (
    check_boolean,
    check_float_dtype,
    check_int,
    check_length,
    check_lengths,
    check_mask_values,
)
from attn_docs._renamed import renamed


def causal_mask(
    query_len: int,
    key_len: int | None = None,
    *,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Return the mask that lets each query see only the keys up to its own position.

    $$\text{mask}_{ij} = \bigl[\, j \le i + \text{offset} \,\bigr]$$

    Query 0 is level with key `offset`. The default, 0, aligns the *first* query with the
    first key, as `is_causal=True` does in PyTorch. `offset = key_len - query_len` aligns the
    *last* query with the last key, which is what decoding with a cache needs:

        n=2, m=4   offset=0    1 0 0 0     offset=2   1 1 1 0
                               1 1 0 0                1 1 1 1

        n=4, m=2   offset=0    1 0         offset=-2  0 0
                               1 1                    0 0
                               1 1                    1 0
                               1 1                    1 1

    Args:
        query_len: Number of queries n, 0 or more.
        key_len: Number of keys m, 0 or more; `query_len` if None.
        offset: How many keys before query 0 it may see besides key 0; may be negative.
        device: Where the mask is made.

    Returns:
        Boolean tensor of shape (n, m), True where the query may attend.

    Raises:
        TypeError: If a length or the offset is not an int.
        ValueError: If a length is negative.

    Example:
        ```python
        from attn_docs import causal_mask

        print(causal_mask(2, 4, offset=2).int())
        #> tensor([[1, 1, 1, 0],
        #>         [1, 1, 1, 1]], dtype=torch.int32)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """
    check_length("query_len", query_len)
    key_len = query_len if key_len is None else key_len
    check_length("key_len", key_len)
    check_int("offset", offset)
    i = torch.arange(query_len, device=device).unsqueeze(1)  # n 1
    j = torch.arange(key_len, device=device)  # m
    return j <= i + offset  # n m


def padding_mask(lengths: Tensor | Sequence[int], max_len: int | None = None) -> Tensor:
    r"""Return the mask that hides the padding after each sequence of a batch.

    $$\text{mask}_{bj} = \bigl[\, j < \text{lengths}_b \,\bigr]$$

    The result has one row a sequence and one column a key. Scores have more axes, and the
    caller adds them: `mask[:, None, :]` for scores (batch, n, m) and `mask[:, None, None, :]`
    for scores (batch, heads, n, m).

    Args:
        lengths: How many real tokens each sequence has: integers of shape (batch,).
        max_len: Length the batch is padded to; the longest of `lengths` if None.

    Returns:
        Boolean tensor of shape (batch, max_len), True at real tokens, on `lengths`' device.

    Raises:
        TypeError: If `lengths` does not hold integers or `max_len` is not an int.
        ValueError: If `lengths` has not one axis, or a length is negative or above `max_len`.

    Example:
        ```python
        from attn_docs import padding_mask

        print(padding_mask([3, 1]).int())
        #> tensor([[1, 1, 1],
        #>         [1, 0, 0]], dtype=torch.int32)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """
    lengths, max_len = check_lengths(lengths, max_len)
    return torch.arange(max_len, device=lengths.device) < lengths.unsqueeze(1)  # b m


def mask_to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    r"""Return the mask as numbers to add to the scores.

    $$M = 0 \text{ where the query may attend, } -\infty \text{ where it may not}$$

    Args:
        mask: Boolean, any shape, True where the query may attend.
        dtype: Dtype of the result: float16, bfloat16, float32 or float64.

    Returns:
        Tensor of `mask`'s shape and device, holding 0 and −∞.

    Raises:
        TypeError: If `mask` is not a boolean tensor, or `dtype` not a floating-point dtype.

    Example:
        ```python
        from attn_docs import causal_mask, mask_to_additive

        print(mask_to_additive(causal_mask(3)))
        #> tensor([[0., -inf, -inf],
        #>         [0., 0., -inf],
        #>         [0., 0., 0.]])
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """
    check_boolean("mask", mask)
    check_float_dtype("dtype", dtype)
    zeros = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return zeros.masked_fill(~mask, float("-inf"))


def mask_to_boolean(mask: Tensor) -> Tensor:
    r"""Return the mask as booleans, from integers 1 and 0 or from additive 0 and −∞.

    $$\text{mask} = [\, x = 1 \,] \text{ for integers, } [\, x = 0 \,] \text{ for floats}$$

    An integer 0 forbids and a float 0 allows, so a mask of floats 0 and 1 is refused: it may
    be meant either way. Other additive values shift a score, and no boolean can say that.

    Args:
        mask: Any shape: integers, 1 where the query may attend, as in Hugging Face's
            `attention_mask`; or floats, −∞ where it may not; or boolean already.

    Returns:
        Boolean tensor of `mask`'s shape and device, True where the query may attend.

    Raises:
        TypeError: If `mask` is not a tensor, or neither boolean, integer nor floating-point.
        ValueError: If an integer is neither 0 nor 1, or a float neither 0 nor −∞.

    Example:
        ```python
        import torch

        from attn_docs import mask_to_boolean

        print(mask_to_boolean(torch.tensor([1, 1, 0])))
        #> tensor([ True,  True, False])
        print(mask_to_boolean(torch.tensor([0.0, 0.0, -torch.inf])))
        #> tensor([ True,  True, False])
        ```

    Reference:
        Hugging Face Transformers, glossary, "attention mask"; Vaswani et al., "Attention Is
        All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """
    check_mask_values("mask", mask)
    return mask == 0 if mask.is_floating_point() else mask != 0


def invert_mask(mask: Tensor) -> Tensor:
    r"""Turn a mask whose True attends into one whose True blocks, and back.

    $$\text{result} = \neg\, \text{mask}$$

    `torch.nn.MultiheadAttention` and `torch.nn.Transformer` want the second kind, as `attn_mask`
    and as `key_padding_mask`. Twice inverted is the mask again.

    Args:
        mask: Boolean, any shape, True where the query may attend. Integers are refused: for
            them `~1` is −2, not 0.

    Returns:
        Boolean tensor of `mask`'s shape and device.

    Raises:
        TypeError: If `mask` is not a boolean tensor.

    Example:
        ```python
        from attn_docs import invert_mask, padding_mask

        print(invert_mask(padding_mask([3, 1])))
        #> tensor([[False, False, False],
        #>         [False,  True,  True]])
        ```

    Reference:
        PyTorch, documentation of `torch.nn.MultiheadAttention`.
    """
    check_boolean("mask", mask)
    return ~mask


__getattr__ = renamed(__name__)
