"""Multi-head attention: several small attentions side by side, their results mixed."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import (
    check_axes,
    check_callable,
    check_context,
    check_divides,
    check_dropout,
    check_flag,
    check_heads,
    check_instance,
    check_optional_flag,
    check_positions,
    check_scale,
    check_sequence,
    check_size,
)
from attn_docs.heads import _torch
from attn_docs.heads._masks import cache_mask, head_mask, window_mask
from attn_docs.heads._options import (
    cache_dtype,
    check_rotary,
    check_rotary_cached,
    gated,
    has_biases,
    normed,
    one_hot,
    set_options,
)
from attn_docs.memory._checks import check_cache, check_window
from attn_docs.memory.kv_cache import ContextCache, KVCache
from attn_docs.position.rotary import RotaryEmbedding


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    r"""Cut the last axis into heads and put the heads before the length.

    $$\text{split}(x)_{b,h,n,i} = x_{b,\,n,\,h \cdot d + i} \qquad d = \text{head\_dim}$$

    Args:
        x: (batch, length, num_heads·head_dim).
        num_heads: How many heads.

    Returns:
        (batch, num_heads, length, head_dim), a view of the same memory.

    Raises:
        TypeError: If `x` is not a floating-point tensor, or `num_heads` not an int.
        ValueError: If `x` does not have 3 axes, or `num_heads` does not divide the last.

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

    $$\text{merge}(x)_{b,\,n,\,h \cdot d + i} = x_{b,h,n,i} \qquad d = \text{head\_dim}$$

    Args:
        x: (batch, num_heads, length, head_dim).

    Returns:
        (batch, length, num_heads·head_dim). A view where the memory allows, else a copy.

    Raises:
        TypeError: If `x` is not a floating-point tensor.
        ValueError: If `x` does not have 4 axes.

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

    Each projection holds the matrices of all heads in one layer: head i's are its rows i·head_dim
    to (i+1)·head_dim. With `num_kv_heads`, query heads share keys and values: see
    `GroupedQueryAttention`, and for a single key head `MultiQueryAttention`.

    Args:
        embed_dim: Size of the vectors that come in and go out.
        num_heads: Number of heads h.
        num_kv_heads: Number of key heads and of value heads g, a divisor of `num_heads`;
            `num_heads` if None.
        kv_dim: Size of the vectors attended to; `embed_dim` if None.
        head_dim: Size of a head; `embed_dim / num_heads` if None.
        bias: Whether the four projections add a bias.
        qkv_bias: Whether those of queries, keys and values do; as `bias` says if None.
        out_bias: Whether that of the output does; as `bias` says if None.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        scale: Factor on the scores; what `attend` takes for itself, 1/√head_dim, if None.
        window: How many positions a query sees, its own and those before; all if None. A cache
            must have the same.
        keep_first: How many of the first positions it sees besides, as `KVCache` keeps them; 0
            without a window. Rows that are padded have their padding after these.
        attend: The attention function, called as PyTorch's, with `enable_gqa=True` where heads
            share keys. Pass `attn_docs.scaled_dot_product_attention` to see the formula at work.
        rotary: Rotates queries and keys by their positions; none are used if None.
        q_norm: Normalises the queries of each head before they are rotated, as
            `torch.nn.RMSNorm(head_dim)` does in Qwen3; called with (batch, h, n, head_dim).
        k_norm: The same for keys, which a cache holds normalised; (batch, g, m, head_dim).
        v_norm: The same for values.
        gate: Called with `x`; the sigmoid of what it returns multiplies what the heads return,
            before `out_proj`. `torch.nn.Linear(embed_dim, h)` makes one factor for each head, one
            with h·head_dim outputs a factor for each element.

    Attributes:
        q_proj: Linear layer from `embed_dim` to h·head_dim.
        k_proj: Linear layer from `kv_dim` to g·head_dim.
        v_proj: Linear layer from `kv_dim` to g·head_dim.
        out_proj: Linear layer from h·head_dim to `embed_dim`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `num_kv_heads` does not divide `num_heads`, `num_heads`
            does not divide `embed_dim` and `head_dim` is None, or `dropout`, `scale` or
            `keep_first` is out of range.

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
        qkv_bias: bool | None = None,
        out_bias: bool | None = None,
        dropout: float = 0.0,
        scale: float | None = None,
        window: int | None = None,
        keep_first: int = 0,
        attend: Callable[..., Tensor] = F.scaled_dot_product_attention,
        rotary: RotaryEmbedding | None = None,
        q_norm: nn.Module | None = None,
        k_norm: nn.Module | None = None,
        v_norm: nn.Module | None = None,
        gate: nn.Module | None = None,
    ) -> None:
        super().__init__()
        kv_dim = embed_dim if kv_dim is None else kv_dim
        head_dim = check_heads(embed_dim, num_heads, kv_dim, head_dim)
        qkv_bias, out_bias = has_biases(bias, qkv_bias, out_bias)
        check_dropout(dropout)
        check_scale(scale)
        check_window(window, keep_first)
        check_callable("attend", attend)
        check_rotary(rotary, head_dim)
        for name, module in (("q", q_norm), ("k", k_norm), ("v", v_norm)):
            check_instance(f"{name}_norm", module, nn.Module)
        check_instance("gate", gate, nn.Module)
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        check_size("num_kv_heads", num_kv_heads)
        check_divides("num_kv_heads", num_kv_heads, "num_heads", num_heads)
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.head_dim = head_dim
        self.dropout = dropout
        self.scale = scale
        self.window = window
        self.keep_first = keep_first
        self.attend, self.rotary = attend, rotary
        self.q_proj = nn.Linear(embed_dim, num_heads * head_dim, bias=qkv_bias)
        self.k_proj = nn.Linear(kv_dim, num_kv_heads * head_dim, bias=qkv_bias)
        self.v_proj = nn.Linear(kv_dim, num_kv_heads * head_dim, bias=qkv_bias)
        self.out_proj = nn.Linear(num_heads * head_dim, embed_dim, bias=out_bias)
        self.q_norm, self.k_norm, self.v_norm, self.gate = q_norm, k_norm, v_norm, gate

    def forward(
        self,
        x: Tensor,
        context: Tensor | ContextCache | None = None,
        *,
        attn_mask: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
        positions: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each vector of `x` attend to the vectors of `context`, or of `x` itself.

        Args:
            x: (batch, n, embed_dim), in the weights' dtype.
            context: (batch, m, kv_dim), same dtype, or what `cache_context` made of it; `x` if
                None.
            attn_mask: Boolean, True where a query may attend, or additive (float32 or the
                weights' dtype). (n, m), (batch, n, m) or (batch, heads, n, m), each axis 1 or
                in full.
            key_padding_mask: Boolean (batch, m), True where the key is not padding: as Hugging
                Face's `attention_mask`, and the opposite of PyTorch's argument of this name.
            is_causal: If True, query i sees keys 0 to i; the masks hold as well. With a cache,
                `x` goes on where the cache ends: the last query sees every key. If None, True
                with a cache, else False. There is no causal order between `x` and a context.
            need_weights: If True, the weights are returned as well, by a second attention with
                the m × m identity as values: slow, for looking at.
            cache: Keys and values of the positions before `x`; those of `x` are added. Then m,
                in masks and weights, counts all positions so far, cached or not.
            positions: Integers, 0 or more, for `rotary`; (n,) or (batch, n); if None, from 0 or
                from the cache's length on. Reading their values waits for the device, so compiled
                code does not check them.

        Returns:
            (batch, n, embed_dim); with `need_weights` also the weights of each head, before
            dropout, (batch, heads, n, m).

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If shapes do not fit, the cache has no room or another window, there is a
                context with a cache, a window, `rotary` or `is_causal`, or a cache with
                `DynamicScaling`. The cache is unchanged.
        """
        n, m = self._check(x, context, is_causal, need_weights, cache, positions)
        is_causal = cache is not None if is_causal is None else is_causal

        query = normed(self.q_norm, split_heads(self.q_proj(x), self.num_heads))  # b h n d
        key, value = self._key_value(x if context is None else context)  # b g m d
        if self.rotary is not None:
            positions = torch.arange(m - n, m, device=x.device) if positions is None else positions
            query, key = self.rotary.rotate(query, key, positions)

        scores_shape = (x.size(0), self.num_heads, n, m)
        mask = head_mask(attn_mask, key_padding_mask, scores_shape, query, self.keep_first)
        shown = cache.key_positions(n) if cache is not None and need_weights else None
        if cache is None:
            window = self.window, self.keep_first
            mask, is_causal = window_mask(mask, window, n, m, is_causal, x.device)
        else:
            mask, is_causal = cache_mask(mask, cache, n, is_causal)
            all_keys, all_values = cache.update(key.to(cache.key.dtype), value.to(cache.key.dtype))
            key, value = all_keys.to(key.dtype), all_values.to(key.dtype)
        options: dict[str, float] = {} if self.scale is None else {"scale": self.scale}
        if self.num_kv_heads != self.num_heads:
            options["enable_gqa"] = True
        dropout_p = self.dropout if self.training else 0.0
        heads = self.attend(query, key, value, mask, dropout_p, is_causal, **options)  # b h n d
        heads = merge_heads(heads)  # b n h·d
        if self.gate is not None:
            heads = gated(heads, self.gate(x), self.num_heads)
        output: Tensor = self.out_proj(heads)  # b n embed_dim
        if not need_weights:
            return output
        # the weighted mean of the rows of the identity is the weights themselves
        identity = one_hot(shown, m, like=key)
        return output, self.attend(query, key, identity, mask, 0.0, is_causal, **options)

    def cache_context(self, context: Tensor) -> ContextCache:
        """Return the keys and values of a context, to be given in its place to many calls.

        Args:
            context: (batch, m, kv_dim), in the weights' dtype.

        Raises:
            TypeError: If `context` is not a tensor of that dtype.
            ValueError: If its shape does not fit, or there are rotary positions or a window.
        """
        kv_dim, weight = self.k_proj.in_features, self.k_proj.weight
        self._refuse_context(None, None)
        check_sequence("context", context, "kv_dim", kv_dim, weight)
        return ContextCache(*self._key_value(context))

    def new_cache(self, batch: int, capacity: int, *, dtype: torch.dtype | None = None) -> KVCache:
        """Return an empty cache for this layer: its heads, window and device.

        Args:
            batch: Number of sequences.
            capacity: How many positions there is room for.
            dtype: That of keys and values; if None, the one this layer computes in, which under
                autocast is autocast's.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a size is below 1.
        """
        weight = self.k_proj.weight
        dtype = cache_dtype(dtype, weight)
        sizes = (batch, self.num_kv_heads, self.head_dim, capacity)
        return KVCache(
            *sizes,
            dtype=dtype,
            device=weight.device,
            window=self.window,
            keep_first=self.keep_first,
        )

    def _key_value(self, context: Tensor | ContextCache) -> tuple[Tensor, Tensor]:
        if isinstance(context, ContextCache):
            return context.key, context.value
        # every query reads all keys and values: a copy with a head's rows in a row pays
        key = split_heads(self.k_proj(context), self.num_kv_heads).contiguous()  # b g m d
        value = split_heads(self.v_proj(context), self.num_kv_heads).contiguous()  # b g m d
        return normed(self.k_norm, key), normed(self.v_norm, value)

    def _refuse_context(self, cache: KVCache | None, is_causal: bool | None) -> None:
        others = {"a cache": cache, "rotary positions": self.rotary, "a window": self.window}
        for name, value in others.items():
            if value is not None:
                raise ValueError(f"context must be None with {name}; got a context")
        if is_causal:
            raise ValueError("is_causal must be False or None with a context; got True")

    def _check(
        self,
        x: Tensor,
        context: Tensor | ContextCache | None,
        is_causal: bool | None,
        need_weights: bool,
        cache: KVCache | None,
        positions: Tensor | None,
    ) -> tuple[int, int]:
        """Check all but the masks; return how many queries there are, and how many keys."""
        check_sequence("x", x, "embed_dim", self.q_proj.in_features, self.q_proj.weight)
        check_optional_flag("is_causal", is_causal)
        check_flag("need_weights", need_weights)
        if context is not None:
            self._refuse_context(cache, is_causal)
        n = x.size(1)
        if isinstance(context, ContextCache):
            check_cache(context.key, x, self.num_kv_heads, "head_dim", self.head_dim)
            m = context.key.size(2)
        else:
            attended = x if context is None else context
            weight = self.k_proj.weight
            m = check_context(x, attended, "kv_dim", self.k_proj.in_features, weight)[2]
        if positions is not None:
            if self.rotary is None:
                raise ValueError("positions must be None without rotary; got positions")
            check_positions(positions, x.size(0), n)
        check_instance("cache", cache, KVCache)
        if cache is not None:
            check_rotary_cached(self.rotary)
            check_cache(cache.key, x, self.num_kv_heads, "head_dim", self.head_dim)
            for name in ("window", "keep_first") if self.window is not None else ():
                ours, theirs = getattr(self, name), getattr(cache, name)
                if ours != theirs:
                    raise ValueError(f"cache must have {name} {ours}, as the module; got {theirs}")
            m += cache.length
        return n, m

    def extra_repr(self) -> str:
        """Say what was set."""
        return set_options(
            self,
            "num_heads",
            "num_kv_heads",
            "head_dim",
            "dropout",
            "scale",
            "window",
            "keep_first",
        )

    @classmethod
    def from_torch(cls, module: nn.MultiheadAttention) -> "MultiHeadAttention":
        """Return a module with the weights of `torch.nn.MultiheadAttention`.

        The call differs: always `(batch, length, embed_dim)`, a boolean mask is True where a
        query *may* attend, and the weights are those of each head.

        Args:
            module: PyTorch's module, with `kdim` equal to `vdim`, and without `add_bias_kv` and
                `add_zero_attn`.

        Raises:
            TypeError: If `module` is not a `torch.nn.MultiheadAttention`.
            ValueError: If it has what this class does not have.
        """
        if cls is not MultiHeadAttention:
            raise TypeError(f"from_torch makes a MultiHeadAttention; got {cls.__name__}")
        return _torch.from_torch(cls, module)

    def to_torch(self) -> nn.MultiheadAttention:
        """Return a `torch.nn.MultiheadAttention`, batch first, with this module's weights.

        PyTorch's module always attends with its own function, whatever `attend` was here.

        Raises:
            ValueError: If heads share keys and values, num_heads·head_dim is not `embed_dim`, the
                biases are set apart, there is a scale, a window, a norm or a gate, or positions
                are rotary: PyTorch's module has none of these.
        """
        return _torch.to_torch(self)
