"""The KV cache: keys and values are computed once, stored, and read by every later query."""

from dataclasses import dataclass

import torch
from torch import Tensor

from attn_docs._checks import (
    check_axes,
    check_flag,
    check_float_dtype,
    check_length,
    check_same_kind,
    check_size,
)
from attn_docs.foundations.masks import causal_mask
from attn_docs.memory._checks import check_crop, check_room, check_rows_of_batch, check_window


class KVCache:
    """Room for the keys and values of every position that a module has seen.

    Given to `MultiHeadAttention`, `MultiQueryAttention` or `GroupedQueryAttention` as `cache=`,
    one for each layer; the layer's `new_cache` makes one that fits it. All room is taken at once,
    so a new position costs one write. Rows of a batch share their length: shorter rows are padded,
    and a mask hides the padding.

    With a `window` only the last `window` positions are cached, the newest in the slot of the
    oldest (a ring buffer): there are min(capacity, window) slots, and a position's slot is its
    remainder after division by their number. With `keep_first` the first positions have slots of
    their own before the ring and stay for ever. Each key keeps the position that it had in the
    text, also when there is a gap behind the first ones.

    Under autograd, gradients flow as without a cache. For that each call copies the cache and
    keeps the graph of all calls before it: generate text under `torch.no_grad()`.

    Args:
        batch: Number of sequences.
        num_kv_heads: Number of key heads and of value heads.
        head_dim: Size of a head.
        capacity: How many positions there is room for.
        dtype: The dtype of keys and values: the module's.
        device: The device of keys and values: the module's; PyTorch's default if None.
        window: How many positions a query sees, its own among them; all if None.
        keep_first: How many of the first positions it sees besides; 0 without a window.

    Attributes:
        key: (batch, num_kv_heads, slots, head_dim).
        value: (batch, num_kv_heads, slots, head_dim).
        length: How many positions have been seen.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1, or `keep_first` is negative or given without a window.

    Example:
        ```python
        import torch

        from attn_docs import KVCache, MultiHeadAttention

        torch.manual_seed(0)
        attend, x = MultiHeadAttention(embed_dim=12, num_heads=3), torch.randn(2, 5, 12)
        cache = KVCache(batch=2, num_kv_heads=3, head_dim=4, capacity=8)
        steps = [attend(x[:, [t]], is_causal=True, cache=cache) for t in range(5)]
        print(torch.allclose(torch.cat(steps, dim=1), attend(x, is_causal=True), atol=1e-6))
        #> True
        ```

    Reference:
        Shazeer, "Fast Transformer Decoding: One Write-Head is All You Need", section 2.4,
        arXiv:1911.02150 (2019); the window: Jiang et al., "Mistral 7B", section 2,
        arXiv:2310.06825 (2023); the first positions: Xiao et al., "Efficient Streaming Language
        Models with Attention Sinks", section 3.2, arXiv:2309.17453 (2023).
    """

    def __init__(
        self,
        batch: int,
        num_kv_heads: int,
        head_dim: int,
        capacity: int,
        *,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str | None = None,
        window: int | None = None,
        keep_first: int = 0,
    ) -> None:
        sizes = {"batch": batch, "num_kv_heads": num_kv_heads, "head_dim": head_dim}
        for name, size in (sizes | {"capacity": capacity}).items():
            check_size(name, size)
        check_window(window, keep_first)
        check_float_dtype("dtype", dtype)
        slots = capacity if window is None else min(capacity, keep_first + window)
        self.key = torch.zeros(batch, num_kv_heads, slots, head_dim, dtype=dtype, device=device)
        self.value = torch.zeros_like(self.key)
        self.capacity = capacity
        self.window = window
        self.keep_first = keep_first
        self.length = 0

    @property
    def nbytes(self) -> int:
        """How many bytes the keys and values take, used or not."""
        return self.key.nbytes + self.value.nbytes

    def reset(self) -> None:
        """Forget all positions and their graph; the memory stays allocated."""
        self.key, self.value = self.key.detach(), self.value.detach()
        self.length = 0

    def crop(self, length: int) -> None:
        """Forget the positions from `length` on, as when proposed tokens are rejected.

        Args:
            length: How many positions stay, 0 or more, at most those that were seen.

        Raises:
            TypeError: If `length` is not an int.
            ValueError: If it is negative or above the cache's, or a ring has begun
                to overwrite: it can then only be reset.
        """
        check_crop(length, self.length, self.key.size(2))
        self.length = length

    def select(self, rows: Tensor) -> None:
        """Pick sequences of the batch, in a new order: beams, or rows that are not finished.

        Args:
            rows: Integers (new_batch,), each the number of a sequence; one may come repeatedly.

        Raises:
            TypeError: If `rows` holds no integers.
            ValueError: If it does not have one axis, or is empty.
            IndexError: If there is no such sequence.
        """
        check_rows_of_batch(rows)
        self.key, self.value = self.key[rows], self.value[rows]

    def __repr__(self) -> str:
        """Say sizes and fill."""
        batch, num_kv_heads, _, head_dim = self.key.shape
        window = "" if self.window is None else f"window={self.window}, "
        window += f"keep_first={self.keep_first}, " if self.keep_first else ""
        return (
            f"KVCache({batch=}, {num_kv_heads=}, {head_dim=}, length={self.length}, "
            f"capacity={self.capacity}, {window}{self.key.dtype}, {self.key.device})"
        )

    def key_positions(self, new: int) -> Tensor:
        """Return the positions of the keys that `update` returns for `new` more.

        Args:
            new: How many positions are about to be added, 1 or more.

        Returns:
            int64 (m,), in the order of the keys.

        Raises:
            TypeError: If `new` is not an int.
            ValueError: If `new` is below 1, or there is no room.
        """
        self._check_room(new)
        slots, kept, device = self.key.size(2), self.keep_first, self.key.device
        end = self.length + new
        if end <= slots:
            return torch.arange(end, device=device)
        first = torch.arange(min(kept, self.length), device=device)
        if new == 1:  # the ring as it lies
            slot = torch.arange(kept, slots, device=device)
            return torch.cat((first, end - 1 - (end - 1 - slot) % (slots - kept)))
        oldest = max(len(first), self.length - (slots - kept) + 1)
        return torch.cat((first, torch.arange(oldest, end, device=device)))

    def visible(self, new: int, *, is_causal: bool = True) -> Tensor | None:
        """Return which keys that `update` returns the queries of `new` more positions may see.

        Args:
            new: How many positions are about to be added, 1 or more.
            is_causal: If True, none sees a later position; a window hides old ones either way,
                but never the first ones that are kept.

        Returns:
            Boolean (new, m), in the order of the `key_positions`, True where a query may attend;
            None if each sees every key.

        Raises:
            TypeError: If an argument has the wrong type.
            ValueError: If `new` is below 1, or there is no room.
        """
        check_flag("is_causal", is_causal)
        self._check_room(new)
        end = self.length + new  # m
        in_window = self.window is None or end <= self.window + self.keep_first
        if new == 1 or (in_window and not is_causal):
            return None
        keys = self.key_positions(new)
        queries = torch.arange(self.length, end, device=keys.device).unsqueeze(1)  # new 1
        allowed = keys <= queries if is_causal else torch.ones_like(keys <= queries)
        if self.window is None:
            return allowed
        return allowed & ((keys > queries - self.window) | (keys < self.keep_first))

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Store keys and values of the next positions; return those that their queries may see.

        Args:
            key: (batch, num_kv_heads, n, head_dim), in the cache's dtype.
            value: The same shape and dtype.

        Returns:
            Keys and values, (batch, num_kv_heads, m, head_dim), of the `key_positions`: all so
            far, or with a full window those that one of the n queries sees. Views of the cache,
            except for several positions at once in a full window, which are copies.

        Raises:
            TypeError: If an argument has the wrong type or dtype.
            ValueError: If the shapes do not fit, or there is no room. The cache is as before.
        """
        for name, new in (("key", key), ("value", value)):
            check_axes(name, new, "batch", "num_kv_heads", "length", "head_dim")
            check_same_kind(name, new, "the cache", self.key)
            wanted = (self.key.size(0), self.key.size(1), key.size(2), self.key.size(3))
            if new.shape != wanted:
                raise ValueError(f"{name} must have shape {wanted}; got {tuple(new.shape)}")
        n, slots, start = key.size(2), self.key.size(2), self.length
        self._check_room(n)
        ring, end = slots - self.keep_first, start + n
        if end <= slots or n == 1:
            first = start if end <= slots else self.keep_first + (start - self.keep_first) % ring
            self._write(slice(first, first + n), key, value)
            self.length = end
            return self.key[:, :, :end], self.value[:, :, :end]
        # the new ones would overwrite keys that the first of their queries still sees
        positions = self.key_positions(n)
        old = self._slots(positions[:-n])
        key = torch.cat((self.key[:, :, old], key), dim=2)
        value = torch.cat((self.value[:, :, old], value), dim=2)
        stays = torch.arange(len(positions), device=key.device)
        stays = torch.cat((stays[: self.keep_first], stays[self.keep_first :][-ring:]))
        self._write(self._slots(positions[stays]), key[:, :, stays], value[:, :, stays])
        self.length = end
        return key, value

    def _slots(self, positions: Tensor) -> Tensor:
        """Return where positions lie once the ring is in use."""
        kept = self.keep_first
        around = kept + (positions - kept) % (self.key.size(2) - kept)
        return torch.where(positions < kept, positions, around)

    def _write(self, places: slice | Tensor, key: Tensor, value: Tensor) -> None:
        if torch.is_grad_enabled() and (key.requires_grad or self.key.requires_grad):
            # what earlier calls have read must stay as it was for their gradients
            self.key, self.value = self.key.clone(), self.value.clone()
        self.key[:, :, places], self.value[:, :, places] = key, value

    def _check_room(self, new: int) -> None:
        check_size("the number of new positions", new)
        if self.window is None or self.keep_first + self.window > self.capacity:
            check_room(self.length, new, self.capacity)


@dataclass(frozen=True)
class ContextCache:
    """The keys and values of a context, computed once for all queries, as in cross-attention.

    Made by a layer's `cache_context`, and given to that layer instead of the context. Gradients
    flow through it to the context and to the projections.

    Attributes:
        key: (batch, num_kv_heads, m, head_dim).
        value: (batch, num_kv_heads, m, head_dim).

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadAttention

        torch.manual_seed(0)
        attend = MultiHeadAttention(embed_dim=12, num_heads=3, kv_dim=8)
        x, context = torch.randn(2, 5, 12), torch.randn(2, 7, 8)
        cached = attend.cache_context(context)
        steps = [attend(x[:, [t]], cached) for t in range(5)]  # the context is projected once
        print(torch.allclose(torch.cat(steps, dim=1), attend(x, context), atol=1e-6))
        #> True
        ```

    Reference:
        Vaswani et al., "Attention Is All You Need", section 3.2.3, arXiv:1706.03762 (2017).
    """

    key: Tensor
    value: Tensor

    @property
    def nbytes(self) -> int:
        """How many bytes the keys and values take."""
        return self.key.nbytes + self.value.nbytes

    def select(self, rows: Tensor) -> "ContextCache":
        """Return a cache of some sequences of the batch, as `KVCache.select` picks them."""
        check_rows_of_batch(rows)
        return ContextCache(self.key[rows], self.value[rows])

    def __repr__(self) -> str:
        """Say sizes and fill."""
        batch, num_kv_heads, length, head_dim = self.key.shape
        return (
            f"ContextCache({batch=}, {num_kv_heads=}, {head_dim=}, {length=}, "
            f"{self.key.dtype}, {self.key.device})"
        )


def sliding_window_mask(
    query_len: int,
    key_len: int | None = None,
    *,
    window: int,
    keep_first: int = 0,
    offset: int = 0,
    device: torch.device | str | None = None,
) -> Tensor:
    r"""Let each query see the last `window` keys up to its own position, and the first ones.

    $$\text{mask}_{ij} = \bigl[\, j \le p_i \text{ and } (j > p_i - \text{window} \text{ or }
    j < \text{keep\_first}) \,\bigr] \qquad p_i = i + \text{offset}$$

    Args:
        query_len: Number of queries n, 0 or more.
        key_len: Number of keys m, 0 or more; `query_len` if None.
        window: How many keys a query sees, its own among them.
        keep_first: How many of the first keys every query sees besides, once it has come to them.
        offset: Position of the first query. key_len − query_len aligns the last query with the
            last key.
        device: Where the mask is made; PyTorch's default if None.

    Returns:
        Boolean (n, m), True where a query may attend.

    Raises:
        TypeError: If an argument is not an int.
        ValueError: If a length or `keep_first` is negative or `window` is below 1.

    Example:
        ```python
        from attn_docs import sliding_window_mask

        print(sliding_window_mask(4, window=2).int())
        #> tensor([[1, 0, 0, 0],
        #>         [1, 1, 0, 0],
        #>         [0, 1, 1, 0],
        #>         [0, 0, 1, 1]], dtype=torch.int32)
        ```

    Reference:
        Beltagy et al., "Longformer: The Long-Document Transformer", section 3.1,
        arXiv:2004.05150 (2020); the first keys: Xiao et al., "Efficient Streaming Language Models
        with Attention Sinks", arXiv:2309.17453 (2023).
    """
    check_size("window", window)
    check_length("keep_first", keep_first)
    up_to_own = causal_mask(query_len, key_len, offset=offset, device=device)
    too_old = causal_mask(query_len, key_len, offset=offset - window, device=device)
    too_old[:, :keep_first] = False
    return up_to_own & ~too_old  # n m
