"""Multi-head latent attention: the cache holds one short vector for each token, not its heads."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import (
    check_axes,
    check_callable,
    check_dropout,
    check_flag,
    check_float_dtype,
    check_instance,
    check_optional_flag,
    check_positions,
    check_same_kind,
    check_scale,
    check_sequence,
    check_size,
)
from attn_docs.foundations._padding import and_mask
from attn_docs.foundations.masks import causal_mask
from attn_docs.heads._masks import head_mask
from attn_docs.heads._options import (
    cache_dtype,
    check_rotary,
    check_rotary_cached,
    one_hot,
    set_options,
)
from attn_docs.heads.multi_head import merge_heads, split_heads
from attn_docs.memory._checks import check_cache, check_crop, check_room, check_rows_of_batch
from attn_docs.position.rotary import RotaryEmbedding


class LatentCache:
    """Room for the latent vector and the rotary key of every token that a layer has seen.

    Given to `MultiHeadLatentAttention` as `cache=`, one for each layer; the layer's `new_cache`
    makes one that fits it. A token takes kv_rank + rope_dim elements, whatever the number of
    heads.

    Under autograd, gradients flow as without a cache. For that each call copies the cache and
    keeps the graph of all calls before it: generate text under `torch.no_grad()`.

    Args:
        batch: Number of sequences.
        kv_rank: Size of the latent vector.
        rope_dim: Size of the rotary key.
        capacity: How many tokens there is room for.
        dtype: The layer's dtype.
        device: The layer's device; PyTorch's default if None.

    Attributes:
        entries: (batch, 1, capacity, kv_rank + rope_dim): latent vector, then rotary key.
        length: How many tokens have been seen.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1.

    Example:
        ```python
        from attn_docs import LatentCache

        cache = LatentCache(batch=1, kv_rank=512, rope_dim=64, capacity=1000)
        print(cache.nbytes)  # 1000 tokens of 576 elements of 4 bytes
        #> 2304000
        ```

    Reference:
        DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv:2405.04434 (2024).
    """

    def __init__(
        self,
        batch: int,
        kv_rank: int,
        rope_dim: int,
        capacity: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
    ) -> None:
        sizes = {"batch": batch, "kv_rank": kv_rank, "rope_dim": rope_dim, "capacity": capacity}
        for name, size in sizes.items():
            check_size(name, size)
        check_float_dtype("dtype", dtype)
        shape = (batch, 1, capacity, kv_rank + rope_dim)
        self.entries = torch.zeros(shape, dtype=dtype, device=device)
        self.capacity = capacity
        self.length = 0

    @property
    def nbytes(self) -> int:
        """How many bytes the entries take, used or not."""
        return self.entries.nbytes

    def reset(self) -> None:
        """Forget all tokens, and the graph of how they were computed; the memory stays."""
        self.entries = self.entries.detach()
        self.length = 0

    def crop(self, length: int) -> None:
        """Forget the tokens from `length` on, as `KVCache.crop` does."""
        check_crop(length, self.length, self.capacity)
        self.length = length

    def select(self, rows: Tensor) -> None:
        """Keep only some sequences of the batch, in a new order, as `KVCache.select` does."""
        check_rows_of_batch(rows)
        self.entries = self.entries[rows]

    def __repr__(self) -> str:
        """Return sizes and how much is in use."""
        batch, _, capacity, size = self.entries.shape
        return (
            f"LatentCache({batch=}, kv_rank + rope_dim={size}, length={self.length}, "
            f"{capacity=}, {self.entries.dtype}, {self.entries.device})"
        )

    def update(self, entries: Tensor) -> Tensor:
        """Cache the entries of the next tokens; return all so far.

        Args:
            entries: (batch, 1, n, kv_rank + rope_dim), in the cache's dtype.

        Returns:
            (batch, 1, m, kv_rank + rope_dim), a view of the cache.

        Raises:
            TypeError: If `entries` has the wrong type or dtype.
            ValueError: If its shape does not fit, or there is no room. The cache is as before.
        """
        check_axes("entries", entries, "batch", "1", "length", "kv_rank + rope_dim")
        check_same_kind("entries", entries, "the cache", self.entries)
        batch, _, _, size = self.entries.shape
        start, end = self.length, self.length + entries.size(2)
        if entries.shape != (batch, 1, end - start, size):
            raise ValueError(
                f"entries must have shape {(batch, 1, end - start, size)}; "
                f"got {tuple(entries.shape)}"
            )
        check_room(start, end - start, self.capacity)
        if torch.is_grad_enabled() and (entries.requires_grad or self.entries.requires_grad):
            # what earlier calls have read must not change: their gradients need it
            self.entries = self.entries.clone()
        self.entries[:, :, start:end] = entries
        self.length = end
        return self.entries[:, :, :end]


class MultiHeadLatentAttention(nn.Module):
    r"""Multi-head attention that computes keys and values from one short vector for each token.

    $$c_s = \operatorname{norm}(x_s W^{DKV}) \qquad k^R_s = x_s W^{KR} R_s \qquad
    k_{i,s} = [\,c_s W^{UK}_i,\; k^R_s\,] \qquad v_{i,s} = c_s W^{UV}_i$$

    A vector is a row and multiplies a matrix from the left; R rotates by position. Only $c_s$ and
    $k^R_s$, the one rotary key that all heads share, are cached.

    The naive form computes every head's keys and values. The absorbed form moves $W^{UK}_i$ to the
    query and $W^{UV}_i$ behind the mixing, and attends to the cached vectors themselves: the same
    result, and no keys and values.

    Args:
        embed_dim: Size of the vectors that come in and go out.
        num_heads: Number of heads h.
        kv_rank: Size of the latent vector that keys and values are computed from.
        q_rank: Size of the latent vector that queries are computed from; if None, one layer,
            `q_proj`, computes them from the input.
        head_dim: Size of the part of queries and keys without position.
        rope_dim: Size of the part that is rotated; even.
        value_dim: Size of a head's values.
        theta: Base θ of the rotary angles.
        interleaved: Whether rotary pairs are neighbouring elements, as in DeepSeek's code.
        rotary: Rotary positions of size `rope_dim`, in place of `theta` and `interleaved`: with
            `scaling=` for longer texts, and `interleaved=True` for DeepSeek's weights.
        dropout: Probability, from 0 up to but not 1, that a weight is dropped in training.
        scale: Factor on the scores, in both forms; 1/√(head_dim + rope_dim) if None.
        attend: The attention function, called as PyTorch's.

    Attributes:
        q_proj: Linear layer from `embed_dim` to h·(head_dim + rope_dim); only without `q_rank`.
        q_a_proj: Linear layer from `embed_dim` to `q_rank`; only with `q_rank`.
        q_a_norm: RMS normalisation of the query's latent vector; only with `q_rank`.
        q_b_proj: Linear layer from `q_rank` to h·(head_dim + rope_dim); only with `q_rank`.
        kv_a_proj: Linear layer from `embed_dim` to kv_rank + rope_dim.
        kv_a_norm: RMS normalisation of the latent vector.
        kv_b_proj: Linear layer from `kv_rank` to h·(head_dim + value_dim).
        out_proj: Linear layer from h·value_dim to `embed_dim`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, `rope_dim` is odd, or `dropout` or `theta` is out of
            range, `scale` is not finite, or `rotary` has another size or comes with one of the two
            that it replaces.

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadLatentAttention

        torch.manual_seed(0)
        attend = MultiHeadLatentAttention(24, 3, kv_rank=8, head_dim=6, rope_dim=4, value_dim=5)
        x, cache = torch.randn(2, 5, 24), attend.new_cache(batch=2, capacity=5)
        steps = [attend(x[:, [t]], cache=cache) for t in range(5)]
        print(torch.allclose(torch.cat(steps, dim=1), attend(x, is_causal=True), atol=1e-6))
        #> True
        ```

    Reference:
        DeepSeek-AI, "DeepSeek-V2", section 2.1, arXiv:2405.04434 (2024).
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        kv_rank: int,
        q_rank: int | None = None,
        head_dim: int,
        rope_dim: int,
        value_dim: int,
        theta: float = 10000.0,
        interleaved: bool = True,
        rotary: RotaryEmbedding | None = None,
        dropout: float = 0.0,
        scale: float | None = None,
        attend: Callable[..., Tensor] = F.scaled_dot_product_attention,
    ) -> None:
        super().__init__()
        sizes = {"embed_dim": embed_dim, "num_heads": num_heads, "kv_rank": kv_rank}
        sizes |= {"head_dim": head_dim, "rope_dim": rope_dim, "value_dim": value_dim}
        for name, size in sizes.items():
            check_size(name, size)
        if rope_dim % 2:
            raise ValueError(f"rope_dim must be even; got {rope_dim}")
        check_dropout(dropout)
        check_scale(scale)
        check_callable("attend", attend)
        if scale is None and isinstance(attend, partial):
            scale = attend.keywords.get("scale")  # the absorbed form would not know it
        self.num_heads = num_heads
        self.kv_rank, self.head_dim = kv_rank, head_dim
        self.rope_dim, self.value_dim = rope_dim, value_dim
        self.dropout = dropout
        self.scale = scale
        self.attend = attend
        self.rotary = _rotary(rotary, rope_dim, theta, interleaved)
        query_dim = num_heads * (head_dim + rope_dim)
        if q_rank is None:
            self.q_proj = nn.Linear(embed_dim, query_dim, bias=False)
        else:
            check_size("q_rank", q_rank)
            self.q_a_proj = nn.Linear(embed_dim, q_rank, bias=False)
            self.q_a_norm = nn.RMSNorm(q_rank, eps=1e-6)
            self.q_b_proj = nn.Linear(q_rank, query_dim, bias=False)
        self.q_rank = q_rank
        self.kv_a_proj = nn.Linear(embed_dim, kv_rank + rope_dim, bias=False)
        self.kv_a_norm = nn.RMSNorm(kv_rank, eps=1e-6)
        self.kv_b_proj = nn.Linear(kv_rank, num_heads * (head_dim + value_dim), bias=False)
        self.out_proj = nn.Linear(num_heads * value_dim, embed_dim, bias=False)

    def forward(
        self,
        x: Tensor,
        *,
        attn_mask: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
        need_weights: bool = False,
        cache: LatentCache | None = None,
        positions: Tensor | None = None,
        absorb: bool | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let each vector of `x` attend to the vectors of `x`, and to those in the cache.

        Args:
            x: (batch, n, embed_dim), in the weights' dtype.
            attn_mask: Boolean, True where a query may attend, or additive (float32 or the
                weights' dtype). (n, m), (batch, n, m) or (batch, heads, n, m), each axis 1 or
                in full.
            key_padding_mask: Boolean (batch, m), True where the key is not padding: as Hugging
                Face's `attention_mask`, and the opposite of PyTorch's argument of this name.
            is_causal: If True, query i sees keys 0 to i; the masks hold as well. With a cache,
                `x` goes on where the cache ends: the last query sees every key. If None, True
                with a cache, else False.
            need_weights: If True, the weights are returned as well. They take a second attention
                over an m × m identity, which is slow: for looking at.
            cache: What was cached of the tokens before `x`; `x` is added. m counts all.
            positions: Integers, 0 or more; (n,) or (batch, n); if None, from 0 or from the
                cache's length on. Reading their values waits for the device, so what a compiler
                traces does not check them.
            absorb: Which form computes: True for the absorbed one, False for the naive one; if
                None, the one with fewer multiplications: absorbed for few queries after a long
                cache.

        Returns:
            (batch, n, embed_dim); with `need_weights` also the weights of each head, before
            dropout, (batch, heads, n, m).

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If shapes do not fit, the cache has no room, or there is one with
                `DynamicScaling`. A cache is as before.
        """
        seen = self._check(x, is_causal, need_weights, cache, positions, absorb)
        batch, n, m = x.size(0), x.size(1), seen + x.size(1)
        is_causal = cache is not None if is_causal is None else is_causal
        mask = head_mask(attn_mask, key_padding_mask, (batch, self.num_heads, n, m), x)
        if absorb is None:
            absorb = self._absorbed_multiplies_less(n, m)
        if positions is None:
            positions = torch.arange(seen, m, device=x.device)

        query = split_heads(self._query(x), self.num_heads)  # b h n head_dim+rope_dim
        query, query_rope = _cut(query, self.head_dim)
        latent, key_rope = _cut(self.kv_a_proj(x).unsqueeze(1), self.kv_rank)  # b 1 n …
        query_rope, key_rope = self.rotary.rotate(query_rope, key_rope, positions)  # … rope_dim
        entries = torch.cat((self.kv_a_norm(latent), key_rope), dim=-1)
        if cache is not None:  # b 1 m kv_rank+rope_dim
            entries = cache.update(entries.to(cache.entries.dtype)).to(entries.dtype)

        if is_causal and (seen or mask is not None):
            is_causal, allowed = False, causal_mask(n, m, offset=seen, device=x.device)
            mask = and_mask(mask, allowed)
        if absorb:  # every head attends to the entries: multi-query attention
            query = torch.einsum("bhnd,hdc->bhnc", query, self._up()[0])  # b h n kv_rank
            key = value = entries
            scale = (self.head_dim + self.rope_dim) ** -0.5 if self.scale is None else self.scale
            options: dict[str, float] = {"scale": scale, "enable_gqa": True}
        else:  # every head gets keys and values of its own: multi-head attention
            key, value = self._up_project(entries)
            options = {} if self.scale is None else {"scale": self.scale}
        query = torch.cat((query, query_rope), dim=-1)
        dropout_p = self.dropout if self.training else 0.0
        heads = self.attend(query, key, value, mask, dropout_p, is_causal, **options)
        if absorb:
            heads = torch.einsum("bhnc,hec->bhne", heads[..., : self.kv_rank], self._up()[1])
        output: Tensor = self.out_proj(merge_heads(heads[..., : self.value_dim]))  # b n embed_dim
        if not need_weights:
            return output
        identity = one_hot(None, m, like=key)  # its rows' weighted mean is the weights themselves
        return output, self.attend(query, key, identity, mask, 0.0, is_causal, **options)

    def new_cache(
        self, batch: int, capacity: int, *, dtype: torch.dtype | None = None
    ) -> LatentCache:
        """Return an empty cache for this layer: its sizes and device.

        Args:
            batch: Number of sequences.
            capacity: How many tokens there is room for.
            dtype: That of the entries; if None, the one this layer computes in, which under
                autocast is autocast's.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If a size is below 1.
        """
        weight = self.kv_a_proj.weight
        dtype = cache_dtype(dtype, weight)
        sizes = (batch, self.kv_rank, self.rope_dim, capacity)
        return LatentCache(*sizes, dtype=dtype, device=weight.device)

    def extra_repr(self) -> str:
        """Return what was set."""
        return set_options(
            self,
            "num_heads",
            "head_dim",
            "rope_dim",
            "value_dim",
            "kv_rank",
            "q_rank",
            "dropout",
            "scale",
        )

    def _query(self, x: Tensor) -> Tensor:
        if self.q_rank is None:
            query: Tensor = self.q_proj(x)
        else:
            query = self.q_b_proj(self.q_a_norm(self.q_a_proj(x)))
        return query

    def _up_project(self, entries: Tensor) -> tuple[Tensor, Tensor]:
        """Return each head's keys and values, up-projected from the cached entries."""
        latent, key_rope = _cut(entries, self.kv_rank)
        both = split_heads(self.kv_b_proj(latent.squeeze(1)), self.num_heads)
        key, value = _cut(both, self.head_dim)  # b h m head_dim, b h m value_dim
        key = torch.cat((key, key_rope.expand(-1, self.num_heads, -1, -1)), dim=-1)
        # fused kernels want keys and values of one size: values are padded, and cut once mixed
        return key, F.pad(value, (0, max(0, key.size(-1) - self.value_dim)))

    def _up(self) -> tuple[Tensor, Tensor]:
        """Return each head's matrices from the latent vector to keys and to values."""
        size = self.head_dim + self.value_dim
        weight = self.kv_b_proj.weight.view(self.num_heads, size, self.kv_rank)
        return weight[:, : self.head_dim], weight[:, self.head_dim :]

    def _absorbed_multiplies_less(self, n: int, m: int) -> bool:
        """Count the multiplications of a head, both forms, for n queries and m positions."""
        up = self.kv_rank * (self.head_dim + self.value_dim)  # of kv_b_proj, for one vector
        naive = m * up + n * m * (self.head_dim + self.rope_dim + self.value_dim)
        absorbed = n * up + n * m * (self.kv_rank + self.rope_dim + self.kv_rank)
        return absorbed < naive

    def _check(
        self,
        x: Tensor,
        is_causal: bool | None,
        need_weights: bool,
        cache: LatentCache | None,
        positions: Tensor | None,
        absorb: bool | None,
    ) -> int:
        """Check the call; return how many positions came before."""
        weight = self.kv_a_proj.weight
        check_sequence("x", x, "embed_dim", self.kv_a_proj.in_features, weight)
        check_optional_flag("is_causal", is_causal)
        check_flag("need_weights", need_weights)
        check_optional_flag("absorb", absorb)
        if positions is not None:
            check_positions(positions, x.size(0), x.size(1))
        check_instance("cache", cache, LatentCache)
        if cache is None:
            return 0
        check_rotary_cached(self.rotary)
        check_cache(cache.entries, x, 1, "kv_rank + rope_dim", self.kv_rank + self.rope_dim)
        return cache.length


def _cut(x: Tensor, size: int) -> tuple[Tensor, Tensor]:
    return x[..., :size], x[..., size:]


def _rotary(
    rotary: RotaryEmbedding | None, rope_dim: int, theta: float, interleaved: bool
) -> RotaryEmbedding:
    """Return the rotary positions that were given, or those of the two settings."""
    if rotary is None:
        return RotaryEmbedding(rope_dim, theta=theta, interleaved=interleaved)
    check_rotary(rotary, rope_dim)
    for name, value, default in (("theta", theta, 10000.0), ("interleaved", interleaved, True)):
        if value != default:
            raise ValueError(f"{name} must be left at {default} with rotary; got {value!r}")
    return rotary
