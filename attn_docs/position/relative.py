"""Relative positions as a number for each distance, added to the scores through `attn_mask`."""

import math

import torch
from torch import Tensor, nn

from attn_docs._checks import (
    INT_DTYPES,
    check_flag,
    check_float_dtype,
    check_length,
    check_size,
)


def alibi_slopes(num_heads: int) -> Tensor:
    r"""Return how much each head takes off a score for one token of distance.

    $$\lambda_i = 2^{-8i/P} \quad (i = 1, \dots, P) \qquad
    \lambda_{P+i} = 2^{-4(2i-1)/P} \quad (i = 1, \dots, h - P) \qquad
    P = 2^{\lfloor \log_2 h \rfloor}$$

    With a power of two heads this is one geometric series down to 2⁻⁸. Otherwise the authors'
    code, and BLOOM's and MPT's after it, fills up with every other slope of twice as many heads:
    with 12 heads the ninth slope is 0.7071, after 0.0039. The paper gives the first rule only.

    Args:
        num_heads: Number of heads h.

    Returns:
        (num_heads,), float32, all between 0 and 1.

    Raises:
        TypeError: If `num_heads` is not an int.
        ValueError: If it is below 1.

    Example:
        ```python
        from attn_docs import alibi_slopes

        print([round(1 / slope) for slope in alibi_slopes(8).tolist()])
        #> [2, 4, 8, 16, 32, 64, 128, 256]
        print([round(slope, 4) for slope in alibi_slopes(12)[7:10].tolist()])
        #> [0.0039, 0.7071, 0.3536]
        ```

    Reference:
        Press et al., "Train Short, Test Long: Attention with Linear Biases Enables Input Length
        Extrapolation", section 3, arXiv:2108.12409 (2021), and its code.
    """
    return torch.tensor(_slopes(num_heads), dtype=torch.float32)


def _slopes(num_heads: int) -> list[float]:
    check_size("num_heads", num_heads)
    power = 1 << (int(num_heads).bit_length() - 1)  # P, the power of two that is not above h
    own = [2 ** (-8 * i / power) for i in range(1, power + 1)]
    between = [2 ** (-4 * i / power) for i in range(1, 2 * (num_heads - power), 2)]
    return own + between


def alibi_bias(
    num_heads: int,
    query_len: int,
    key_len: int | None = None,
    *,
    offset: int = 0,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Take off the scores a head's slope for each token between query and key (ALiBi).

    $$B_{h,i,j} = -\lambda_h\, \lvert\, i + \text{offset} - j \,\rvert$$

    It goes into an attention function or module as `attn_mask`. It forbids nothing, so say
    `is_causal=True` as well where later keys are to be hidden.

    Args:
        num_heads: Number of query heads.
        query_len: Number of queries n, 0 or more.
        key_len: Number of keys m; offset + query_len, all up to the last query, if None.
        offset: Position of the first query: with a cache its `length`.
        dtype: That of the numbers. Modules cast a mask to the dtype of their queries; for
            PyTorch's function do it yourself, as kernels of CUDA refuse or misread another one.
        device: Where it is made; PyTorch's default if None.

    Returns:
        (1, num_heads, n, m).

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `num_heads` is below 1, or a length or the offset is negative.

    Example:
        ```python
        from attn_docs import alibi_bias

        print(alibi_bias(2, 3)[0, 0])  # of the first of two heads, whose slope is 1/16
        #> tensor([[ 0.0000, -0.0625, -0.1250],
        #>         [-0.0625,  0.0000, -0.0625],
        #>         [-0.1250, -0.0625,  0.0000]])
        ```

    Reference:
        Press et al., "Train Short, Test Long: Attention with Linear Biases Enables Input Length
        Extrapolation", section 3, arXiv:2108.12409 (2021).
    """
    check_float_dtype("dtype", dtype)
    slopes = torch.tensor(_slopes(num_heads), dtype=dtype, device=device).view(1, -1, 1, 1)
    query, key = _positions(query_len, key_len, offset, device)
    distance = (query.unsqueeze(-1) - key).abs()  # n m
    return slopes * -distance  # 1 h n m


def t5_bucket(
    distance: Tensor, *, num_buckets: int = 32, max_distance: int = 128, bidirectional: bool
) -> Tensor:
    r"""Return the bucket that a distance shares a learned number with, as in T5.

    $$\operatorname{bucket}(r) = \begin{cases} r & r < E \\
    \min\bigl(E + \bigl\lfloor \tfrac{\ln(r/E)}{\ln(R/E)} (N - E) \bigr\rfloor,\, N - 1\bigr)
    & r \ge E \end{cases}$$

    N is `num_buckets` and R `max_distance`. The first E = N/2 distances r = 0, 1, 2, … have a
    bucket each. From there on buckets grow geometrically, and R and all beyond share the last.

    If `bidirectional`, N is half of `num_buckets` and r the distance without its sign: keys
    after the query have the second half. Otherwise r counts backwards, and keys after the query,
    which a causal mask hides, have bucket 0. This is `_relative_position_bucket` of transformers.

    Args:
        distance: Integers of any shape: position of the key minus position of the query, so
            negative for a key that came before.
        num_buckets: How many numbers a head learns, 2 or more; if `bidirectional`, even and 4 or
            more.
        max_distance: From where on distances are no longer told apart; above E.
        bidirectional: True where queries see both sides, as in an encoder.

    Returns:
        int64, the shape of `distance`, from 0 to num_buckets − 1.

    Raises:
        TypeError: If an argument has the wrong type or `distance` holds no integers.
        ValueError: If `num_buckets` or `max_distance` is too small, or odd where it must be even.

    Example:
        ```python
        import torch

        from attn_docs import t5_bucket

        distance = torch.tensor([-200, -9, -8, -1, 0, 1, 8, 9])
        print(t5_bucket(distance, bidirectional=True).tolist())
        #> [15, 8, 8, 1, 0, 17, 24, 24]
        print(t5_bucket(distance, bidirectional=False).tolist())
        #> [31, 9, 8, 1, 0, 0, 0, 0]
        ```

    Reference:
        Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
        Transformer", section 2.1, arXiv:1910.10683 (2019), and its code.
    """
    if not isinstance(distance, Tensor):
        raise TypeError(f"distance must be a torch.Tensor; got {type(distance).__name__}")
    if distance.dtype not in INT_DTYPES:
        raise TypeError(f"distance must hold integers; got {distance.dtype}")
    buckets, exact = _check_buckets(num_buckets, max_distance, bidirectional)
    distance = distance.long()
    back = distance.abs() if bidirectional else (-distance).clamp(min=0)
    # in float32 and in this order, as transformers does it: the edges fall in the same places
    share = torch.log(back.clamp(min=1).float() / exact) / math.log(max_distance / exact)
    far = exact + (share * (buckets - exact)).long()
    found = torch.where(back < exact, back, far.clamp(max=buckets - 1))
    return found + buckets * (distance > 0) if bidirectional else found


class RelativeBias(nn.Module):
    r"""A learned number for each head and bucket of distances, added to the scores, as in T5.

    $$B_{h,i,j} = W_{\operatorname{bucket}(j - i - \text{offset}),\, h}$$

    Call it once, and give the result to all layers as `attn_mask`: in T5 they share it. T5 does
    not scale its scores, so its layers are `MultiHeadAttention(…, bias=False, scale=1.0)`.

    Args:
        num_heads: Number of query heads.
        num_buckets: How many numbers a head learns; see `t5_bucket`.
        max_distance: From where on distances are no longer told apart.
        bidirectional: True where queries see both sides, as in T5's encoder; False in a decoder.

    Attributes:
        relative_attention_bias: Embedding (num_buckets, num_heads), with T5's name. Zeros at
            first: no position counts more than another.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a number is too small, or `num_buckets` odd where it must be even.

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadAttention, RelativeBias

        bias = RelativeBias(num_heads=3, bidirectional=False)
        layers = [MultiHeadAttention(12, 3) for _ in range(2)]
        x, mask = torch.randn(2, 5, 12), bias(5)
        for layer in layers:
            x = x + layer(x, attn_mask=mask, is_causal=True)
        print(tuple(mask.shape), bias.relative_attention_bias)
        #> (1, 3, 5, 5) Embedding(32, 3)
        ```

    Reference:
        Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text
        Transformer", section 2.1, arXiv:1910.10683 (2019), and its code.
    """

    def __init__(
        self,
        num_heads: int,
        *,
        num_buckets: int = 32,
        max_distance: int = 128,
        bidirectional: bool,
    ) -> None:
        super().__init__()
        check_size("num_heads", num_heads)
        _check_buckets(num_buckets, max_distance, bidirectional)
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.bidirectional = bidirectional
        self.relative_attention_bias = nn.Embedding(num_buckets, num_heads)
        nn.init.zeros_(self.relative_attention_bias.weight)

    def forward(self, query_len: int, key_len: int | None = None, *, offset: int = 0) -> Tensor:
        """Return the bias of queries and keys of these positions.

        Args:
            query_len: Number of queries n, 0 or more.
            key_len: Number of keys m; offset + query_len, all up to the last query, if None.
            offset: Position of the first query: with a cache its `length`.

        Returns:
            (1, num_heads, n, m), in the weight's dtype; gradients flow to it.

        Raises:
            TypeError: If an argument is not an int.
            ValueError: If one is negative.
        """
        weight = self.relative_attention_bias.weight
        query, key = _positions(query_len, key_len, offset, weight.device)
        buckets = t5_bucket(
            key - query.unsqueeze(-1),  # n m
            num_buckets=self.num_buckets,
            max_distance=self.max_distance,
            bidirectional=self.bidirectional,
        )
        bias: Tensor = self.relative_attention_bias(buckets)  # n m h
        return bias.permute(2, 0, 1).unsqueeze(0)  # 1 h n m

    def extra_repr(self) -> str:
        """Say what was set."""
        return f"max_distance={self.max_distance}, bidirectional={self.bidirectional}"


def _positions(
    query_len: int, key_len: int | None, offset: int, device: torch.device | str | None
) -> tuple[Tensor, Tensor]:
    """Check the lengths; return the positions of queries and keys."""
    check_length("query_len", query_len)
    check_length("offset", offset)
    key_len = offset + query_len if key_len is None else key_len
    check_length("key_len", key_len)
    query = torch.arange(offset, offset + query_len, device=device)  # n
    return query, torch.arange(key_len, device=device)  # m


def _check_buckets(num_buckets: int, max_distance: int, bidirectional: bool) -> tuple[int, int]:
    """Return how many buckets a side has, and how many of them hold a single distance."""
    check_size("num_buckets", num_buckets)
    check_size("max_distance", max_distance)
    check_flag("bidirectional", bidirectional)
    if bidirectional and num_buckets % 2:
        raise ValueError(f"num_buckets must be even if bidirectional; got {num_buckets}")
    side = num_buckets // 2 if bidirectional else num_buckets
    if side < 2:
        least = 4 if bidirectional else 2
        raise ValueError(f"num_buckets must be {least} or more; got {num_buckets}")
    exact = side // 2
    if max_distance <= exact:
        raise ValueError(f"max_distance must be above {exact}; got {max_distance}")
    return side, exact
