"""Multi-head attention: several small attentions side by side, their results mixed."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import (
    check_axes,
    check_cache,
    check_callable,
    check_context,
    check_divides,
    check_dropout,
    check_flag,
    check_heads,
    check_instance,
    check_positions,
    check_sequence,
    check_size,
)
from attn_docs.foundations.masks import causal_mask
from attn_docs.heads import _torch
from attn_docs.heads._masks import and_mask, cache_mask, head_mask
from attn_docs.memory.kv_cache import KVCache
from attn_docs.position.rotary import RotaryEmbedding


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    r"""Cut the last axis into heads and put the heads before the length.

    $$\text{split}(x)_{b,h,n,d} = x_{b,\,n,\,h \cdot D + d} \qquad D = \text{head\_dim}$$

    Args:
        x: (batch, length, num_heads·head_dim).
        num_heads: How many heads.

    Returns:
        (batch, num_heads, length, head_dim), a view of the same memory.

    Raises:
        TypeError: If `x` is no floating-point tensor, or `num_heads` no int.
        ValueError: If `x` has not 3 axes, or `num_heads` does not divide the last.

    Example:
        ```python
        import torch

        from attn_docs import split_heads

        x = torch.arange(12.0).view(1, 2, 6)
        print(split_heads(x, 2))
        #> tensor([[[[ 0.,  1.,  2.],
        #>           [ 6.,  7.,  8.]],
        #>
        #>          [[ 3.,  4.,  5.],
        #>           [ 9., 10., 11.]]]])
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.2, arXiv:1706.03762 (2017).
    """
    check_axes("x", x, "batch", "length", "embed_dim")
    check_size("num_heads", num_heads)
    check_divides("num_heads", num_heads, "x's last size", x.size(-1))
    batch, length, size = x.shape
    x = x.view(batch, length, num_heads, size // num_heads)  # b n h d
    return x.transpose(1, 2)  # b h n d


def merge_heads(x: Tensor) -> Tensor:
    r"""Put the heads side by side again: the inverse of `split_heads`.

    $$\text{merge}(x)_{b,\,n,\,h \cdot D + d} = x_{b,h,n,d} \qquad D = \text{head\_dim}$$

    Args:
        x: (batch, num_heads, length, head_dim).

    Returns:
        (batch, length, num_heads·head_dim). A view where the memory allows, else a copy.

    Raises:
        TypeError: If `x` is no floating-point tensor.
        ValueError: If `x` has not 4 axes.

    Example:
        ```python
        import torch

        from attn_docs import merge_heads, split_heads

        x = torch.randn(2, 5, 12)
        print(torch.equal(merge_heads(split_heads(x, 3)), x))
        #> True
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.2, arXiv:1706.03762 (2017).
    """
    check_axes("x", x, "batch", "heads", "length", "head_dim")
    return x.transpose(1, 2).flatten(2)  # b n h·d


class MultiHeadAttention(nn.Module):
    r"""Several heads, each with projections of its own, attend side by side.

    $$\operatorname{head}_i = \operatorname{Attention}(X W^Q_i, C W^K_i, C W^V_i) \qquad
    Y = \operatorname{Concat}(\operatorname{head}_1, \dots, \operatorname{head}_h) W^O$$

    Each projection keeps the matrices of all heads in one layer: head i's are its rows i·head_dim
    to (i+1)·head_dim. The scale is 1/√head_dim. With `num_kv_heads`, query heads share keys and
    values: see `GroupedQueryAttention`, and for a single key head `MultiQueryAttention`.

    Args:
        embed_dim: Size of the vectors that come in and go out.
        num_heads: Number of heads h.
        num_kv_heads: Number of key heads and of value heads g, a divisor of `num_heads`;
            `num_heads` if None.
        kv_dim: Size of the vectors attended to; `embed_dim` if None.
        head_dim: Size of a head; `embed_dim / num_heads` if None.
        bias: Whether the four projections add a bias.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        attend: The attention function, called as PyTorch's, with `enable_gqa=True` where heads
            share keys. Pass `attn_docs.scaled_dot_product_attention` to see the formula at work.
        rotary: Turns queries and keys by their positions; none are used if None.

    Attributes:
        q_proj: Linear layer from `embed_dim` to h·head_dim.
        k_proj: Linear layer from `kv_dim` to g·head_dim.
        v_proj: Linear layer from `kv_dim` to g·head_dim.
        out_proj: Linear layer from h·head_dim to `embed_dim`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `num_kv_heads` does not divide `num_heads`, `num_heads`
            does not divide `embed_dim` and `head_dim` is None, or `dropout` is out of range.

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadAttention

        attend = MultiHeadAttention(embed_dim=12, num_heads=3)
        x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 12)
        output, weights = attend(x, context, need_weights=True)
        print(tuple(output.shape), tuple(weights.shape))
        #> (2, 5, 12) (2, 3, 5, 7)
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.2, arXiv:1706.03762 (2017).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        kv_dim: int | None = None,
        head_dim: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        attend: Callable[..., Tensor] = F.scaled_dot_product_attention,
        rotary: RotaryEmbedding | None = None,
    ) -> None:
        super().__init__()
        kv_dim = embed_dim if kv_dim is None else kv_dim
        head_dim = check_heads(embed_dim, num_heads, kv_dim, head_dim)
        check_flag("bias", bias)
        check_dropout(dropout)
        check_callable("attend", attend)
        check_instance("rotary", rotary, RotaryEmbedding)
        if rotary is not None and rotary.head_dim != head_dim:
            raise ValueError(f"rotary must have head_dim {head_dim}; got {rotary.head_dim}")
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_size("num_kv_heads", num_kv_heads)
        check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        self.dropout = dropout
        self.attend = attend
        self.rotary = rotary
        self.q_proj = nn.Linear(embed_dim, num_heads * head_dim, bias=bias)
        self.k_proj = nn.Linear(kv_dim, num_kv_heads * head_dim, bias=bias)
        self.v_proj = nn.Linear(kv_dim, num_kv_heads * head_dim, bias=bias)
        self.out_proj = nn.Linear(num_heads * head_dim, embed_dim, bias=bias)

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        cache: KVCache | None = None,
        positions: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each vector of `x` attend to the vectors of `context`, or of `x` itself.

        Args:
            x: (batch, n, embed_dim), in the weights' dtype.
            context: (batch, m, kv_dim), same dtype; `x` if None.
            attn_mask: Boolean, True where a query may attend, or additive (float32 or the
                weights' dtype). (n, m), (batch, n, m) or (batch, heads, n, m), each axis 1 or
                in full: (batch, 1, 1, m) for padding.
            is_causal: If True, query i sees keys 0 to i; with `attn_mask`, both hold. With a
                cache, `x` goes on where the cache ends: the last query sees every key.
            need_weights: If True, the weights are returned as well.
            cache: Keys and values of the positions before `x`; those of `x` are added. Then m,
                in masks and weights, counts all positions so far, kept or not.
            positions: Integers, 0 or more, for `rotary`; (n,) or (batch, n); if None, from 0 or
                from the cache's length on.

        Returns:
            (batch, n, embed_dim); with `need_weights` also the weights of each head, before
            dropout, (batch, heads, n, m).

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If shapes do not fit, the cache has no room, or there is a context with a
                cache or with `rotary`. A cache is as before.
        """
        context = x if context is None else self._check_context(context, cache)
        n, m = self._check(x, context, is_causal, need_weights, cache, positions)

        query = split_heads(self.q_proj(x), self.num_heads)  # b h n d
        # every query reads all keys and values: a copy with a head's rows in a row pays
        key = split_heads(self.k_proj(context), self.num_kv_heads).contiguous()  # b g m d
        value = split_heads(self.v_proj(context), self.num_kv_heads).contiguous()  # b g m d
        if self.rotary is not None:
            positions = torch.arange(m - n, m, device=x.device) if positions is None else positions
            query, key = self.rotary(query, positions), self.rotary(key, positions)

        mask = head_mask(attn_mask, (x.size(0), self.num_heads, n, m), query)
        kept = None  # the keys' positions, where they are not 0 to m
        if cache is not None:
            kept = cache.key_positions(n)
            mask, is_causal = cache_mask(mask, cache, kept, n, is_causal)
            key, value = cache.update(key, value)
        elif mask is not None and is_causal:
            mask, is_causal = and_mask(mask, causal_mask(n, m, device=x.device)), False
        options = {"enable_gqa": True} if self.num_kv_heads != self.num_heads else {}
        dropout_p = self.dropout if self.training else 0.0
        heads = self.attend(query, key, value, mask, dropout_p, is_causal, **options)  # b h n d
        output: Tensor = self.out_proj(merge_heads(heads))  # b n embed_dim
        if not need_weights:
            return output
        # the weighted mean of the rows of the identity is the weights themselves
        kept = torch.arange(m, device=x.device) if kept is None else kept
        identity = F.one_hot(kept, m).to(key.dtype).expand(*key.shape[:2], -1, -1)
        return output, self.attend(query, key, identity, mask, 0.0, is_causal, **options)

    def _check_context(self, context: Tensor, cache: KVCache | None) -> Tensor:
        for name, value in (("a cache", cache), ("rotary positions", self.rotary)):
            if value is not None:
                raise ValueError(f"context must be None with {name}; got a context")
        return context

    def _check(
        self,
        x: Tensor,
        context: Tensor,
        is_causal: bool,
        need_weights: bool,
        cache: KVCache | None,
        positions: Tensor | None,
    ) -> tuple[int, int]:
        """Check all but the mask; return how many queries there are, and how many keys."""
        check_sequence("x", x, "embed_dim", self.q_proj.in_features, self.q_proj.weight)
        kv_dim, kv_weight = self.k_proj.in_features, self.k_proj.weight
        batch, n, m = check_context(x, context, "kv_dim", kv_dim, kv_weight)
        check_flag("is_causal", is_causal)
        check_flag("need_weights", need_weights)
        if positions is not None:
            if self.rotary is None:
                raise ValueError("positions must be None without rotary; got positions")
            check_positions(positions, batch, n)
        check_instance("cache", cache, KVCache)
        if cache is not None:
            check_cache(cache.key, x, self.num_kv_heads, "head_dim", self.head_dim)
            m += cache.length
        return n, m

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Return a module with the weights of `torch.nn.MultiheadAttention`.

        The call differs: `(batch, length, embed_dim)` always, a boolean mask is True where a
        query *may* attend, and the weights are per head.

        Args:
            module: PyTorch's module, with `kdim` equal to `vdim`, and without `add_bias_kv` and
                `add_zero_attn`.

        Raises:
            TypeError: If `module` is no `torch.nn.MultiheadAttention`.
            ValueError: If it has what this class has not.
        """
        if cls is not MultiHeadAttention:
            raise TypeError(f"from_torch makes a MultiHeadAttention; got {cls.__name__}")
        return _torch.from_torch(cls, module)

    def to_torch(self) -> nn.MultiheadAttention:
        """Return a `torch.nn.MultiheadAttention`, batch first, with this module's weights.

        PyTorch's module always attends with its own function: a changed `attend` is not kept.

        Raises:
            ValueError: If heads share keys and values, num_heads·head_dim is not `embed_dim`, or
                positions are rotary: PyTorch's module has none of these.
        """
        return _torch.to_torch(self)
