"""Attention with a cache against attention that computes everything anew, and what is refused."""

import itertools
import math
import random
import re
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention.bias import causal_lower_right
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    causal_mask,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
    split_heads,
)
from attn_docs.testing import Adapter, check_module
from docs._kit.measured import load as stored
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal

benchmark = page_module("memory/kv-cache", "benchmark")
tables = page_module("memory/kv-cache", "tables")

B, H, D, E = 2, 6, 4, 10  # texts, query heads, head size, embed_dim
KINDS = {"multi-head": 6, "grouped": 3, "multi-query": 1}
kinds = pytest.mark.parametrize("kind", KINDS)
proof = settings(derandomize=True, deadline=None, max_examples=40)


def make(
    kind: str, *, rotary: object = False, dtype: torch.dtype = torch.float64, **options: object
) -> MultiHeadAttention:
    torch.manual_seed(0)
    turn = RotaryEmbedding(D) if rotary is True else rotary or None
    options = {"head_dim": D, "rotary": turn, **options}
    if kind == "multi-head":
        module = MultiHeadAttention(E, H, **options)
    elif kind == "multi-query":
        module = MultiQueryAttention(E, H, **options)
    else:
        module = GroupedQueryAttention(E, H, KINDS[kind], **options)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module.to(dtype)


def room(
    module: MultiHeadAttention, capacity: int, *, batch: int = B, **options: object
) -> KVCache:
    options = {"dtype": module.q_proj.weight.dtype, **options}
    return KVCache(batch, module.num_kv_heads, module.head_dim, capacity, **options)


def in_steps(
    module: MultiHeadAttention,
    x: Tensor,
    sizes: tuple[int, ...],
    cache: KVCache,
    *,
    mask: Tensor | None = None,
    positions: Tensor | None = None,
    **options: object,
) -> Tensor:
    """Decode in pieces; a mask (…, n, m) of the whole text is cut into the pieces' rows."""
    outputs, start = [], 0
    for size in sizes:
        end = start + size
        given = dict(options)
        if mask is not None:
            rows = mask if mask.size(-2) == 1 else mask[..., start:end, :]
            given["attn_mask"] = rows if mask.size(-1) == 1 else rows[..., :end]
        if positions is not None:
            given["positions"] = positions[..., start:end]
        outputs.append(module(x[:, start:end], cache=cache, **given))
        start = end
    return torch.cat(outputs, dim=1)


# --- independent implementations -------------------------------------------------------------


def turned(x: Tensor, positions: Tensor) -> Tensor:
    """Rotary positions by complex numbers: pair i is the numbers i and i + d/2."""
    half = x.size(-1) // 2
    angle = positions.double()[:, None] * 10000.0 ** (-torch.arange(half).double() / half)
    pairs = torch.complex(x[..., :half].double(), x[..., half:].double())
    pairs = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.cat((pairs.real, pairs.imag), dim=-1).to(x.dtype)


def anew(
    module: MultiHeadAttention,
    x: Tensor,
    *,
    rotary: bool = False,
    window: int | None = None,
    first: tuple[int, ...] = (0,) * B,
) -> Tensor:
    """For each new word project all words so far and attend from the last; nothing is kept.

    `first` is where each text begins: before it is padding, whose rows are zeros.
    """
    group, output = module.num_heads // module.num_kv_heads, torch.zeros_like(x)
    for b, begin in enumerate(first):
        for t in range(begin, x.size(1)):
            words = x[b, begin : t + 1]
            query = F.linear(words[-1:], module.q_proj.weight, module.q_proj.bias)
            key = F.linear(words, module.k_proj.weight, module.k_proj.bias)
            value = F.linear(words, module.v_proj.weight, module.v_proj.bias)
            places = torch.arange(len(words))
            heads = []
            for i in range(module.num_heads):
                part = slice(i * D, (i + 1) * D)
                shared = slice(i // group * D, (i // group + 1) * D)
                q, k, v = query[:, part], key[:, shared], value[:, shared]
                if rotary:
                    q, k = turned(q, places[-1:]), turned(k, places)
                kept = slice(None) if window is None else slice(-window, None)
                weights = (q @ k[kept].T / math.sqrt(D)).softmax(-1)
                heads.append(weights @ v[kept])
            made = F.linear(torch.cat(heads, 1), module.out_proj.weight, module.out_proj.bias)
            output[b, t] = made[0]
    return output


class DynamicCache:
    """Hugging Face's: keys and values of each layer grow by concatenation."""

    def __init__(self) -> None:
        self.key_cache: list[Tensor] = []
        self.value_cache: list[Tensor] = []

    def get_seq_length(self, layer: int = 0) -> int:
        return self.key_cache[layer].shape[-2] if len(self.key_cache) > layer else 0

    def update(self, key: Tensor, value: Tensor, layer: int) -> tuple[Tensor, Tensor]:
        if len(self.key_cache) <= layer:
            self.key_cache.append(key)
            self.value_cache.append(value)
        else:
            self.key_cache[layer] = torch.cat([self.key_cache[layer], key], dim=-2)
            self.value_cache[layer] = torch.cat([self.value_cache[layer], value], dim=-2)
        return self.key_cache[layer], self.value_cache[layer]


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def llama_layer(module: MultiHeadAttention, hidden: Tensor, past: DynamicCache) -> Tensor:
    """Attention as in Hugging Face's Llama: rotary, grouped, cached, eager."""
    batch, n, _ = hidden.shape
    shape = (batch, n, -1, module.head_dim)
    query = F.linear(hidden, module.q_proj.weight).view(shape).transpose(1, 2)
    key = F.linear(hidden, module.k_proj.weight).view(shape).transpose(1, 2)
    value = F.linear(hidden, module.v_proj.weight).view(shape).transpose(1, 2)
    seen = past.get_seq_length()
    position_ids = torch.arange(seen, seen + n).to(hidden.dtype)
    inverse = 1.0 / 10000.0 ** (torch.arange(0, D, 2).to(hidden.dtype) / D)
    angles = torch.outer(position_ids, inverse)
    embedding = torch.cat((angles, angles), dim=-1)
    cos, sin = embedding.cos(), embedding.sin()
    query = query * cos + rotate_half(query) * sin
    key = key * cos + rotate_half(key) * sin
    key, value = past.update(key, value, 0)
    times = module.num_heads // module.num_kv_heads
    key, value = key.repeat_interleave(times, 1), value.repeat_interleave(times, 1)
    scores = query @ key.transpose(2, 3) * module.head_dim**-0.5
    later = torch.full((n, seen + n), -math.inf, dtype=hidden.dtype).triu(seen + 1)
    weights = (scores + later).softmax(-1)
    heads = (weights @ value).transpose(1, 2).reshape(batch, n, -1)
    return F.linear(heads, module.out_proj.weight)


# --- cached is full --------------------------------------------------------------------------


@kinds
@pytest.mark.parametrize("rotary", [False, True])
@pytest.mark.parametrize("window", [None, 1, 3, 8])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_cache_gives_what_computing_anew_gives(
    kind: str, rotary: bool, window: int | None, dtype: torch.dtype
) -> None:
    module, x = make(kind, rotary=rotary), normal(B, 7, E)
    wanted = anew(module, x, rotary=rotary, window=window)
    module, x = module.to(dtype), x.to(dtype)
    for sizes in ((7,), (1,) * 7, (3, 1, 1, 2), (2, 4, 1)):
        found = in_steps(module, x, sizes, room(module, 7, window=window), is_causal=True)
        scale = 1 if dtype == torch.float64 else wanted.abs().max().item()
        tolerance = 1e-12 if dtype == torch.float64 else 1e-6
        assert error(found.double() / scale, wanted / scale) <= tolerance


@proof
@given(data=st.data())
def test_any_way_to_cut_a_text_gives_what_the_whole_gives(data: st.DataObject) -> None:
    draw = data.draw
    kind, rotary = draw(st.sampled_from(list(KINDS))), draw(st.booleans())
    sizes = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=6)))
    n, batch = sum(sizes), draw(st.integers(1, 3))
    window = draw(st.none() | st.integers(1, n + 2))
    # a ring needs no room for the whole text
    least = 1 if window is not None and window < n else n
    capacity = draw(st.integers(max(least, min(window or n, n)), n + 3))
    dtype = draw(st.sampled_from([torch.float64, torch.float32]))
    module = make(kind, rotary=rotary, dtype=dtype, attend=draw(st.sampled_from(ATTEND)))
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(0.2)
    x = normal(batch, n, E, dtype=dtype)
    mask = causal_mask(n) if window is None else sliding_window_mask(n, window=window)
    whole, weights = module(x, attn_mask=mask, need_weights=True)
    cache = room(module, capacity, batch=batch, window=window)
    outputs, start = [], 0
    for size in sizes:
        output, part = module(
            x[:, start : start + size], is_causal=True, cache=cache, need_weights=True
        )
        assert part.shape == (batch, H, size, start + size)
        assert error(part, weights[:, :, start : start + size, : start + size]) <= 1e-6
        outputs.append(output)
        start += size
    assert cache.length == n
    tolerance = 1e-12 if dtype == torch.float64 else 1e-6
    assert error(torch.cat(outputs, 1), whole) <= tolerance * max(1, whole.abs().max().item())


ATTEND = [F.scaled_dot_product_attention, scaled_dot_product_attention]


@pytest.mark.parametrize("sizes", [(7,), (1,) * 7, (4, 3), (2, 1, 4)])
@pytest.mark.parametrize("kind", ["multi-head", "grouped", "multi-query"])
def test_a_cache_gives_what_hugging_faces_gives(kind: str, sizes: tuple[int, ...]) -> None:
    module, x, past = make(kind, rotary=True, bias=False), normal(B, 7, E), DynamicCache()
    wanted = torch.cat([llama_layer(module, new, past) for new in x.split(sizes, dim=1)], 1)
    cache = room(module, 9)
    assert error(in_steps(module, x, sizes, cache, is_causal=True), wanted) <= 1e-12
    assert error(cache.key[:, :, :7], past.key_cache[0]) <= 1e-12
    assert error(cache.value[:, :, :7], past.value_cache[0]) <= 1e-12
    assert not cache.key[:, :, 7:].any()


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("sizes", [(7,), (1,) * 7, (3, 1, 3), (5, 2)])
def test_without_is_causal_a_chunk_sees_all_of_itself(
    window: int | None, sizes: tuple[int, ...]
) -> None:
    module, x = make("grouped"), normal(B, 7, E)
    found = in_steps(module, x, sizes, room(module, 7, window=window), is_causal=False)
    end = torch.tensor([e for e, size in zip(itertools.accumulate(sizes), sizes, strict=True)
                        for _ in range(size)])  # fmt: skip
    keys, queries = torch.arange(7), torch.arange(7)[:, None]
    mask = keys < end[:, None]
    if window is not None:
        mask &= keys > queries - window
    assert error(found, module(x, attn_mask=mask)) <= 1e-12


@pytest.mark.parametrize("kind", ["grouped"])
@pytest.mark.parametrize("window", [None, 2, 4])
@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize(
    "shape", [(7, 7), (1, 7), (B, 7, 7), (B, 1, 7), (B, H, 7, 7), (B, 1, 1, 7), (1, H, 7, 1)]
)
def test_a_mask_has_a_column_for_each_position(
    kind: str, window: int | None, additive: bool, shape: tuple[int, ...]
) -> None:
    module, x = make(kind, rotary=True), normal(B, 7, E)
    mask = normal(*shape, seed=3)
    if not additive:
        mask = (mask > -0.5) | torch.eye(7, dtype=torch.bool)[-shape[-2] :, -shape[-1] :]
    full = causal_mask(7) if window is None else sliding_window_mask(7, window=window)
    four = mask.unsqueeze(1) if mask.ndim == 3 else mask
    both = four.masked_fill(~full, -math.inf) if additive else four & full
    wanted = module(x, attn_mask=both)
    for sizes in ((7,), (1,) * 7, (3, 1, 1, 2), (2, 5)):
        cache = room(module, 7, window=window)
        found = in_steps(module, x, sizes, cache, mask=mask, is_causal=True)
        assert error(found, wanted) <= 1e-12


@kinds
@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("sizes", [(7,), (1,) * 7, (4, 1, 1, 1), (3, 4)])
def test_a_text_padded_on_the_left_gives_what_it_gives_alone(
    kind: str, window: int | None, sizes: tuple[int, ...]
) -> None:
    module, x, first = make(kind, rotary=True), normal(B, 7, E), (0, 3)
    word = padding_mask([7, 4]).flip(1)
    positions = (word.cumsum(1) - 1).clamp(min=0)
    wanted = anew(module, x, rotary=True, window=window, first=first)
    mask = word[:, None, None, :]
    for places in (positions, None):  # only differences of positions count
        found = in_steps(
            module, x, sizes, room(module, 7, window=window), mask=mask, positions=places,
            is_causal=True,
        )  # fmt: skip
        for b, begin in enumerate(first):
            assert error(found[b, begin:], wanted[b, begin:]) <= 1e-12
    without = in_steps(module, x, sizes, room(module, 7, window=window), is_causal=True)
    assert error(without[1, 3:], wanted[1, 3:]) > 1e-3


def test_positions_need_not_be_those_of_the_cache() -> None:
    module, x = make("grouped", rotary=True), normal(B, 5, E)
    places = torch.tensor([0, 2, 3, 7, 20])
    wanted = module(x, is_causal=True, positions=places)
    assert error(wanted, module(x, is_causal=True)) > 1e-3
    for same in (places, places.expand(B, 5), places.int()):
        found = in_steps(module, x, (2, 1, 2), room(module, 5), positions=same, is_causal=True)
        assert error(found, wanted) <= 1e-12


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_stays_near_the_truth(dtype: torch.dtype) -> None:
    module, x = make("grouped", rotary=True), normal(B, 7, E)
    wanted = module(x, is_causal=True)
    module, cache = module.to(dtype), room(module, 7, dtype=dtype)
    found = in_steps(module, x.to(dtype), (3, 1, 1, 1, 1), cache, is_causal=True)
    assert found.dtype == cache.key.dtype == dtype
    assert error(found.double(), wanted) <= 0.05 * wanted.abs().max()


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("sizes", [(7,), (3, 1, 1, 2), (1,) * 7, (2, 5)])
def test_gradients_are_those_without_a_cache(sizes: tuple[int, ...], window: int | None) -> None:
    module, x = make("grouped", rotary=True), normal(B, 7, E).requires_grad_()
    leaves = (x, *module.parameters())
    found = in_steps(module, x, sizes, room(module, 7, window=window))
    mask = sliding_window_mask(7, window=7 if window is None else window)
    wanted = module(x, attn_mask=mask)
    for mine, its in zip(
        torch.autograd.grad(found.square().sum(), leaves),
        torch.autograd.grad(wanted.square().sum(), leaves),
        strict=True,
    ):
        assert error(mine, its) <= 1e-10 * max(1, its.abs().max())


def test_without_autograd_a_cache_is_written_in_place_and_keeps_no_graph() -> None:
    module, x = make("grouped"), normal(B, 5, E)
    cache = room(module, 5)
    with torch.no_grad():
        place = cache.key.data_ptr()
        module(x[:, :3], cache=cache)
        assert (cache.key.data_ptr(), cache.key.requires_grad) == (place, False)
    module(x[:, 3:], cache=cache)
    assert cache.key.requires_grad
    cache.reset()
    assert not cache.key.requires_grad
    assert not cache.value.requires_grad


def test_a_step_does_not_change_earlier_outputs_and_reset_starts_again() -> None:
    module, x, cache = make("grouped"), normal(B, 7, E), room(make("grouped"), 7, window=3)
    once = in_steps(module, x, (2, 1, 1, 3), cache, is_causal=True)
    assert cache.length == 7
    cache.reset()
    assert cache.length == 0
    assert in_steps(module, x, (2, 1, 1, 3), cache, is_causal=True).equal(once)


@kinds
def test_the_checks_for_any_module_pass(kind: str) -> None:
    def step(module: nn.Module, x: Tensor, cache: KVCache | None) -> tuple[Tensor, KVCache]:
        cache = room(module, 64, batch=x.size(0), dtype=x.dtype) if cache is None else cache
        return module(x, is_causal=True, cache=cache), cache

    adapter = Adapter(step=step, context=None)
    options = {"embed_dim": E, "num_heads": H, "positions": True, "adapter": adapter}
    report = check_module(make(kind, rotary=True), **options)
    (found,) = (f for f in report.findings if f.property == "cache")
    assert report.passed, report
    assert found.verdict == "pass"


# --- the cache -------------------------------------------------------------------------------


def test_what_a_cache_has() -> None:
    cache = KVCache(2, 3, 5, 8)
    assert cache.key.shape == cache.value.shape == (2, 3, 8, 5)
    assert cache.key.dtype == cache.value.dtype == torch.float32
    assert cache.key.device.type == cache.value.device.type == "cpu"
    assert cache.key.data_ptr() != cache.value.data_ptr()
    assert not cache.key.any()
    assert not cache.value.any()
    assert (cache.capacity, cache.window, cache.length) == (8, None, 0)
    assert cache.nbytes == 2 * 2 * 3 * 8 * 5 * 4
    one = KVCache(1, 1, 1, 1, window=1)
    assert (one.key.shape, one.capacity, one.window) == ((1, 1, 1, 1), 1, 1)


@pytest.mark.parametrize(
    "sizes",
    [
        (2, 3, 4, 8, None, torch.float32),
        (16, 8, 128, 8192, None, torch.bfloat16),
        (1, 8, 128, 8192, 4096, torch.bfloat16),
    ],
)
def test_the_bytes_are_those_of_the_formula(sizes: tuple) -> None:
    batch, heads, size, capacity, window, dtype = sizes
    cache = KVCache(batch, heads, size, capacity, dtype=dtype, window=window, device="meta")
    slots = capacity if window is None else min(capacity, window)
    assert cache.key.device.type == cache.value.device.type == "meta"
    assert cache.key.size(2) == slots
    assert cache.key.dtype == cache.value.dtype == dtype
    assert cache.nbytes == 2 * batch * heads * slots * size * dtype.itemsize


@pytest.mark.parametrize(("capacity", "window", "slots"), [(8, 3, 3), (3, 8, 3), (4, 4, 4)])
def test_slots_are_the_smaller_of_capacity_and_window(
    capacity: int, window: int, slots: int
) -> None:
    assert KVCache(1, 1, 1, capacity, window=window).key.size(2) == slots


def numbered(start: int, count: int) -> tuple[Tensor, Tensor]:
    """Return keys that are their positions and values ten times that, as (1, 1, count, 1)."""
    places = torch.arange(float(start), start + count).view(1, 1, count, 1)
    return places, 10 * places


@proof
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8),
    window=st.none() | st.integers(1, 9),
    causal=st.booleans(),
)
def test_positions_and_masks_say_what_is_returned(
    sizes: list[int], window: int | None, causal: bool
) -> None:
    cache, start = KVCache(1, 1, 1, sum(sizes), window=window), 0
    for size in sizes:
        places, visible = cache.key_positions(size), cache.visible(size, is_causal=causal)
        assert places.dtype == torch.int64
        key, value = cache.update(*numbered(start, size))
        assert key.flatten().tolist() == places.tolist()
        assert value.flatten().tolist() == [10 * place for place in places.tolist()]
        for i in range(size):
            at = start + i
            least = 0 if window is None else max(0, at - window + 1)
            most = at if causal else start + size - 1
            wanted = [least <= place <= most for place in places.tolist()]
            assert sum(wanted) == most + 1 - least  # none that may be seen is missing
            assert (wanted if visible is None else visible[i].tolist()) == wanted
        assert visible is None or visible.any(0).all() or not causal  # none is returned in vain
        start += size
        assert cache.length == start
    slots = cache.key.size(2)
    kept = {int(n) for n in cache.key.flatten().tolist()[: min(start, slots)]}
    assert kept == set(range(max(0, start - slots), start))


def test_matrices_by_hand() -> None:
    cache = KVCache(1, 1, 1, 5)
    cache.update(*numbered(0, 2))
    assert cache.visible(2).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert cache.visible(1) is None
    assert cache.visible(3, is_causal=False) is None
    ring = KVCache(1, 1, 1, 9, window=3)
    ring.update(*numbered(0, 4))
    assert ring.key.flatten().tolist() == [3, 1, 2]
    assert ring.key_positions(1).tolist() == [3, 4, 2]
    assert ring.key_positions(3).tolist() == [2, 3, 4, 5, 6]
    wanted = [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1]]
    assert ring.visible(3).int().tolist() == wanted
    wanted = [[1, 1, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 1, 1, 1]]
    assert ring.visible(3, is_causal=False).int().tolist() == wanted
    assert ring.visible(1) is None
    full = KVCache(1, 1, 1, 9, window=3)
    assert full.visible(3, is_causal=False) is None
    assert full.visible(3).int().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert full.visible(4, is_causal=False).int().tolist()[3] == [0, 1, 1, 1]


@pytest.mark.parametrize(("n", "m"), [(1, 4), (2, 4), (3, 4), (4, 4), (2, 9)])
def test_the_alignment_is_pytorchs_other_one(n: int, m: int) -> None:
    """`causal_lower_right` levels the last query with the last key, `is_causal` does not."""
    cache, query = KVCache(1, 1, D, m, dtype=torch.float64), normal(1, 1, n, D)
    key, value = normal(2, 1, 1, m, D, seed=1).unbind()
    if n < m:
        cache.update(key[:, :, : m - n], value[:, :, : m - n])
    visible = cache.visible(n)
    mask = torch.ones(n, m, dtype=torch.bool) if visible is None else visible
    assert mask.equal(causal_mask(n, m, offset=m - n))
    kept = cache.update(key[:, :, m - n :], value[:, :, m - n :])
    found = F.scaled_dot_product_attention(query, *kept, visible)
    wanted = F.scaled_dot_product_attention(query, key, value, causal_lower_right(n, m))
    assert error(found, wanted) <= 1e-12
    top_left = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert (error(top_left, wanted) <= 1e-12) == (n == m)


def test_nothing_moves_and_nothing_is_copied() -> None:
    for window in (None, 4):
        cache = KVCache(B, 3, D, 8, window=window)
        places = (cache.key.data_ptr(), cache.value.data_ptr())
        slots = cache.key.size(2)
        for t in range(8):
            key, value = cache.update(*normal(2, B, 3, 1, D, seed=t).float().unbind())
            assert (key.data_ptr(), value.data_ptr()) == places
            assert key.size(2) == value.size(2) == min(t + 1, slots)
        assert (cache.key.data_ptr(), cache.value.data_ptr()) == places
        assert cache.key.shape == (B, 3, slots, D)
        cache.reset()
        for size in (slots - 2, 2):  # several at once, until it is just full
            key, value = cache.update(*normal(2, B, 3, size, D).float().unbind())
            assert (key.data_ptr(), value.data_ptr()) == places


class Largest(TorchDispatchMode):
    """Remember the size of the largest tensor that is made, views left out."""

    def __init__(self) -> None:
        super().__init__()
        self.size = 0

    def __torch_dispatch__(
        self, func: Callable, types: tuple, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and not func.is_view and "_" not in func.name()[-1:]:
            self.size = max(self.size, result.numel() if result._base is None else 0)
        return result


@torch.no_grad()
@pytest.mark.parametrize("window", [None, 512])
def test_a_new_word_makes_nothing_as_large_as_the_cache(window: int | None) -> None:
    module = make("grouped", rotary=True, dtype=torch.float32)
    cache = room(module, 1024, window=window)
    in_steps(module, normal(B, 1000, E).float(), (1000,), cache, is_causal=True)
    with Largest() as largest:
        module(normal(B, 1, E).float(), is_causal=True, cache=cache)
    assert largest.size < cache.key.numel() / 2


def test_a_ring_never_fills() -> None:
    module, x = make("multi-query", rotary=True), normal(B, 40, E)
    cache = room(module, 3, window=3)
    found = in_steps(module, x, (1,) * 10 + (7, 13, 2, 8), cache, is_causal=True)
    wanted = module(x, attn_mask=sliding_window_mask(40, window=3))
    assert error(found, wanted) <= 1e-12
    assert cache.length == 40
    assert cache.key.size(2) == 3


def test_order_in_the_ring_does_not_matter() -> None:
    cache, query = KVCache(B, 3, D, 9, dtype=torch.float64, window=4), normal(B, 3, 1, D)
    key, value = normal(2, B, 3, 7, D, seed=1).unbind()
    for t in range(7):
        ring = cache.update(key[:, :, t : t + 1], value[:, :, t : t + 1])
    assert not ring[0].equal(key[:, :, -4:])
    found = F.scaled_dot_product_attention(query, *ring)
    wanted = F.scaled_dot_product_attention(query, key[:, :, -4:], value[:, :, -4:])
    assert error(found, wanted) <= 1e-12


def test_a_cache_made_in_inference_mode_is_not_advanced_outside() -> None:
    with torch.inference_mode():
        cache = KVCache(1, 1, 1, 4)
        ring = KVCache(1, 1, 1, 4, window=2)
    for kept in (cache, ring):
        with pytest.raises(RuntimeError, match=r"[Ii]nference"):
            kept.update(*numbered(0, 1))
        assert kept.length == 0
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        ring.update(*numbered(0, 3))
    assert ring.length == 0


def test_what_is_made_on_the_way_is_made_where_the_cache_is() -> None:
    module, x = make("grouped", rotary=True), normal(B, 7, E)
    caches = [room(module, 7), room(module, 7, window=2)]
    with torch.device("meta"):  # not where new tensors go by default
        for cache in caches:
            for size in (1, 2, 1, 3):
                new = x[:, :size]
                places, visible = cache.key_positions(size), cache.visible(size)
                assert places.device.type == "cpu"
                assert visible is None or visible.device.type == "cpu"
                output, weights = module(new, is_causal=True, cache=cache, need_weights=True)
                assert output.device.type == weights.device.type == "cpu"


# --- what is refused, and the cache as before ------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"batch": 0}, ValueError, "batch must be 1 or more; got 0"),
        ({"num_kv_heads": -1}, ValueError, "num_kv_heads must be 1 or more; got -1"),
        ({"head_dim": 2.0}, TypeError, "head_dim must be an int; got 2.0"),
        ({"capacity": None}, TypeError, "capacity must be an int; got None"),
        ({"capacity": 0}, ValueError, "capacity must be 1 or more; got 0"),
        ({"window": 0}, ValueError, "window must be 1 or more; got 0"),
        ({"window": True}, TypeError, "window must be an int; got True"),
        (
            {"dtype": torch.int64},
            TypeError,
            "dtype must be float16, bfloat16, float32 or float64; got torch.int64",
        ),
        (
            {"dtype": "float32"},
            TypeError,
            "dtype must be float16, bfloat16, float32 or float64; got 'float32'",
        ),
    ],
)
def test_bad_construction(arguments: dict, kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        KVCache(**{"batch": 2, "num_kv_heads": 3, "head_dim": 4, "capacity": 5, **arguments})
    assert str(caught.value) == message


def state(cache: KVCache) -> tuple[int, Tensor, Tensor]:
    return cache.length, cache.key.clone(), cache.value.clone()


def assert_as_before(cache: KVCache, before: tuple[int, Tensor, Tensor]) -> None:
    assert cache.length == before[0]
    assert cache.key.equal(before[1])
    assert cache.value.equal(before[2])


def zeros(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape, dtype=dtype)


NEW = "the number of new positions must be "
UPDATES = [
    (zeros(2, 3, 1), None, ValueError,
     "key must have 4 axes (batch, num_kv_heads, length, head_dim); got shape (2, 3, 1)"),
    (None, zeros(3, 1, 4), ValueError,
     "value must have 4 axes (batch, num_kv_heads, length, head_dim); got shape (3, 1, 4)"),
    (zeros(1, 3, 1, 4), None, ValueError, "key must have shape (2, 3, 1, 4); got (1, 3, 1, 4)"),
    (zeros(2, 6, 1, 4), None, ValueError, "key must have shape (2, 3, 1, 4); got (2, 6, 1, 4)"),
    (zeros(2, 3, 1, 5), None, ValueError, "key must have shape (2, 3, 1, 4); got (2, 3, 1, 5)"),
    (None, zeros(2, 3, 1, 5), ValueError, "value must have shape (2, 3, 1, 4); got (2, 3, 1, 5)"),
    (None, zeros(2, 3, 2, 4), ValueError, "value must have shape (2, 3, 1, 4); got (2, 3, 2, 4)"),
    (zeros(2, 3, 1, 4).double(), None, TypeError,
     "key must have the cache's dtype torch.float32; got torch.float64"),
    (None, zeros(2, 3, 1, 4).half(), TypeError,
     "value must have the cache's dtype torch.float32; got torch.float16"),
    (zeros(2, 3, 1, 4).to("meta"), None, ValueError,
     "key must be on the cache's device cpu; got meta"),
    (zeros(2, 3, 1, 4).long(), None, TypeError,
     "key must be float16, bfloat16, float32 or float64; got torch.int64"),
    ([1.0], None, TypeError, "key must be a torch.Tensor; got list"),
    (None, "x", TypeError, "value must be a torch.Tensor; got str"),
    (zeros(2, 3, 0, 4), zeros(2, 3, 0, 4), ValueError, NEW + "1 or more; got 0"),
]  # fmt: skip


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("index", range(len(UPDATES)))
def test_a_refused_update_changes_nothing(index: int, window: int | None) -> None:
    key, value, kind, message = UPDATES[index]
    good = zeros(2, 3, 1, 4)
    cache = KVCache(2, 3, 4, 5, window=window)
    cache.update(*normal(2, 2, 3, 3, 4).float().unbind())
    before = state(cache)
    with pytest.raises(kind) as caught:
        cache.update(good if key is None else key, good if value is None else value)
    assert str(caught.value) == message
    assert_as_before(cache, before)


def test_a_full_cache_says_what_room_is_missing_and_takes_what_fits() -> None:
    cache = KVCache(1, 1, 1, 5, window=9)
    cache.update(*numbered(0, 3))
    before = state(cache)
    message = "the cache must have room for 6 positions, 3 seen and 3 new; got capacity 5"
    for call in (
        lambda: cache.update(*numbered(3, 3)),
        lambda: cache.key_positions(3),
        lambda: cache.visible(3),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            call()
        assert_as_before(cache, before)
    key, _ = cache.update(*numbered(3, 2))
    assert key.flatten().tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(
        ValueError, match=r"room for 6 positions, 5 seen and 1 new; got capacity 5$"
    ):
        cache.update(*numbered(5, 1))
    assert cache.length == 5


@pytest.mark.parametrize("window", [None, 2, 9])
@pytest.mark.parametrize(
    ("new", "kind", "message"),
    [
        (0, ValueError, NEW + "1 or more; got 0"),
        (-1, ValueError, NEW + "1 or more; got -1"),
        ("1", TypeError, NEW + "an int; got '1'"),
        (True, TypeError, NEW + "an int; got True"),
    ],
)
def test_how_many_are_new_is_checked(
    window: int | None, new: object, kind: type, message: str
) -> None:
    cache = KVCache(1, 1, 1, 5, window=window)
    for call in (cache.key_positions, cache.visible):
        with pytest.raises(kind) as caught:
            call(new)
        assert str(caught.value) == message
    with pytest.raises(TypeError, match=r"^is_causal must be True or False; got 1$"):
        cache.visible(1, is_causal=1)


def bad_calls() -> dict[str, tuple[dict, type, str]]:
    x, mask = normal(B, 2, E), "attn_mask must "
    other = KVCache(B, 2, D, 5, dtype=torch.float64)
    return {
        "overflow": (
            {"x": normal(B, 3, E)},
            ValueError,
            "the cache must have room for 6 positions, 3 seen and 3 new; got capacity 5",
        ),
        "no words": ({"x": x[:, :0]}, ValueError, NEW + "1 or more; got 0"),
        "batch": ({"x": x[:1]}, ValueError, "x must have the cache's batch 2; got 1"),
        "dtype": (
            {"x": x.float()},
            TypeError,
            "x must have the weight's dtype torch.float64; got torch.float32",
        ),
        "embed_dim": ({"x": x[..., :9]}, ValueError, "x must have embed_dim 10 as its last size"),
        "mask of the new words alone": (
            {"attn_mask": causal_mask(2)},
            ValueError,
            mask + "have 2 to 4 axes, each 1 or that of the scores (2, 6, 2, 5) counted from the",
        ),
        "mask dtype": ({"attn_mask": torch.ones(2, 5).long()}, TypeError, mask + "be torch.bool"),
        "positions' shape": (
            {"positions": torch.arange(5)},
            ValueError,
            "positions must have shape (length,) = (2,) or (batch, length) = (2, 2); got (5,)",
        ),
        "positions' sign": (
            {"positions": torch.tensor([-1, 0])},
            ValueError,
            "positions must be 0 or more; got -1",
        ),
        "positions' dtype": (
            {"positions": torch.zeros(2)},
            TypeError,
            "positions must hold integers; got torch.float32",
        ),
        "positions' class": (
            {"positions": [3, 4]},
            TypeError,
            "positions must be a torch.Tensor; got list",
        ),
        "context": ({"context": x}, ValueError, "context must be None with a cache; got a context"),
        "is_causal": ({"is_causal": 1}, TypeError, "is_causal must be True or False; got 1"),
        "need_weights": (
            {"need_weights": 1},
            TypeError,
            "need_weights must be True or False; got 1",
        ),
        "no cache": (
            {"cache": (other.key, other.value)},
            TypeError,
            "cache must be a KVCache or None; got tuple",
        ),
        "heads": (
            {"cache": other},
            ValueError,
            "cache must have num_kv_heads 3, as the module; got 2",
        ),
        "head_dim": (
            {"cache": KVCache(B, 3, 5, 5)},
            ValueError,
            "cache must have head_dim 4, as the module; got 5",
        ),
        "cache dtype": (
            {"cache": KVCache(B, 3, D, 5)},
            TypeError,
            "cache must have x's dtype torch.float64; got torch.float32",
        ),
    }


@pytest.mark.parametrize("name", bad_calls())
def test_a_refused_call_loses_nothing(name: str) -> None:
    arguments, kind, message = bad_calls()[name]
    module, x = make("grouped", rotary=True), normal(B, 5, E)
    cache = room(module, 5)
    start = module(x[:, :3], is_causal=True, cache=cache)
    before = state(cache)
    given = arguments.get("cache")
    other = state(given) if isinstance(given, KVCache) else None
    with pytest.raises(kind, match=f"^{re.escape(message)}"):
        module(**{"x": x[:, 3:], "is_causal": True, "cache": cache, **arguments})
    assert_as_before(cache, before)
    if other is not None:
        assert_as_before(given, other)
    rest = module(x[:, 3:], is_causal=True, cache=cache)
    assert error(torch.cat((start, rest), 1), module(x, is_causal=True)) <= 1e-12


@kinds
def test_positions_and_context_with_and_without_rotary(kind: str) -> None:
    x, places = normal(B, 2, E), torch.arange(2)
    with pytest.raises(ValueError, match=r"^positions must be None without rotary; got positions$"):
        make(kind)(x, positions=places)
    with pytest.raises(
        ValueError, match=r"^context must be None with rotary positions; got a context$"
    ):
        make(kind, rotary=True)(x, x)
    with pytest.raises(ValueError, match=r"^rotary must have head_dim 4; got 6$"):
        make(kind, rotary=RotaryEmbedding(6))
    with pytest.raises(TypeError, match=r"^rotary must be a RotaryEmbedding or None; got float$"):
        make(kind, rotary=10000.0)


@kinds
def test_rotary_in_a_module_turns_queries_and_keys(kind: str) -> None:
    module, x = make(kind, rotary=True), normal(B, 7, E)
    assert error(module(x, is_causal=True), anew(module, x, rotary=True)) <= 1e-12
    assert error(module(x, is_causal=True), anew(module, x)) > 1e-3


def test_hundreds_of_random_bad_calls_leave_a_cache_that_can_go_on() -> None:
    choose = random.Random(0)  # noqa: S311 - no secret
    module, x = make("grouped", rotary=True), normal(B, 8, E)
    wanted, calls = module(x, is_causal=True), list(bad_calls().values())
    cache, outputs = room(module, 8), []
    for t in range(8):
        for _ in range(20):
            arguments, kind, message = choose.choice(calls)
            if "capacity" in message or "attn_mask" in arguments or "context" in arguments:
                continue  # what is wrong there depends on the length
            before = state(cache)
            with pytest.raises(kind):
                module(**{"x": x[:, :2], "is_causal": True, "cache": cache, **arguments})
            assert_as_before(cache, before)
        outputs.append(module(x[:, t : t + 1], is_causal=True, cache=cache))
    assert error(torch.cat(outputs, 1), wanted) <= 1e-12


# --- the mask of a sliding window ------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 2, 3, 9])
@pytest.mark.parametrize(("n", "m"), [(0, 0), (1, 1), (4, 4), (2, 5), (5, 2), (4, None)])
@pytest.mark.parametrize("offset", [0, 3, -1])
def test_a_window_is_the_last_keys(window: int, n: int, m: int | None, offset: int) -> None:
    found = sliding_window_mask(n, m, window=window, offset=offset)
    keys = range(n if m is None else m)
    wanted = [[i + offset - window < j <= i + offset for j in keys] for i in range(n)]
    assert found.dtype == torch.bool
    assert found.tolist() == wanted
    assert sliding_window_mask(n, m, window=window).equal(
        sliding_window_mask(n, m, window=window, offset=0)
    )


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        ((3,), {"window": 0}, ValueError, "window must be 1 or more; got 0"),
        ((3,), {"window": 1.5}, TypeError, "window must be an int; got 1.5"),
        ((-1,), {"window": 1}, ValueError, "query_len must be 0 or more; got -1"),
        ((1, -2), {"window": 1}, ValueError, "key_len must be 0 or more; got -2"),
        ((1, 2), {"window": 1, "offset": None}, TypeError, "offset must be an int; got None"),
    ],
)
def test_bad_arguments_of_the_window(
    arguments: tuple, options: dict, kind: type, message: str
) -> None:
    with pytest.raises(kind) as caught:
        sliding_window_mask(*arguments, **options)
    assert str(caught.value) == message


def test_a_window_is_made_on_its_device() -> None:
    assert sliding_window_mask(2, window=1, device="meta").device.type == "meta"
    assert sliding_window_mask(2, window=1).device.type == "cpu"


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "causal_with_cache": ("True", "cache is None"),
    "cache_overwritten": ("first = 0", "first = past"),
    "window_off_by_one": ("<= WINDOW", "< WINDOW"),
    "position_zero": (
        "torch.arange(query.size(2))",
        "torch.arange(past, past + query.size(2))",
    ),
    "keys_at_the_end": ("torch.full((m,), m - 1)", "torch.arange(m)"),
    "turned_again": ("new = 0", "new = m - n"),
    "ring_in_order": ("torch.arange(m)[-cache.window :]", "cache.key_positions(1)"),
    "one_cache_for_all_layers": (
        "[KVCache(*sizes)] * len(layers)",
        "[KVCache(*sizes) for _ in layers]",
    ),
    "padding_seen": ("mask = None", "mask = attn_mask[..., :end]"),
}
STEPPED = ["causal_with_cache", "cache_overwritten", "window_off_by_one", "position_zero",
           "keys_at_the_end", "turned_again"]  # fmt: skip
TURNED = STEPPED[3:]


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"memory/{name}", MENDED[name], mended=mended)


def stepped(exhibit: ModuleType, module: MultiHeadAttention, x: Tensor, sizes: tuple) -> Tensor:
    options = () if module.rotary is None else (module.rotary,)
    outputs, cache = [], None
    for new in x.split(sizes, dim=1):
        query = split_heads(module.q_proj(new), module.num_heads)
        layers = (module.k_proj, module.v_proj)
        kept = [split_heads(p(new), module.num_kv_heads) for p in layers]
        heads, cache = exhibit.step(query, *kept, cache, *options)
        outputs.append(module.out_proj(merge_heads(heads)))
    return torch.cat(outputs, dim=1)


@pytest.mark.parametrize("name", STEPPED)
def test_a_step_is_right_in_shape_and_wrong_in_numbers_and_mending_its_line_mends_it(
    name: str,
) -> None:
    rotary = name in TURNED
    module, x = make("grouped", rotary=rotary), normal(B, 7, E)
    window = 3 if name == "window_off_by_one" else None
    wanted = anew(module, x, rotary=rotary, window=window)
    wrong, right = (load(name, mended=mended) for mended in (False, True))
    for sizes in ((4, 1, 1, 1), (1,) * 7):
        found = stepped(wrong, module, x, sizes)
        assert error(found, wanted) > 1e-2
        assert error(found[:, :1], wanted[:, :1]) <= 1e-12
        assert error(stepped(right, module, x, sizes), wanted) <= 1e-12
    prefill = error(stepped(wrong, module, x, (7,)), wanted)
    assert (prefill > 1e-2) == (name in ("window_off_by_one", "keys_at_the_end"))


def test_one_query_with_is_causal_sees_key_0_alone() -> None:
    step = load("causal_with_cache", mended=False).step
    query, key, value = (normal(B, heads, 1, D, seed=heads) for heads in (6, 3, 3))
    old = normal(2, B, 3, 4, D, seed=1).unbind()
    heads, cache = step(query, key, value, old)
    assert error(heads, old[1][:, :, :1].repeat_interleave(2, 1)) <= 1e-12
    assert cache[0].size(2) == 5


def test_keys_that_all_stand_at_the_end_differ_from_the_whole_in_the_prefill_too() -> None:
    """The page's claim: cached and not cached agree at the last word, and both are wrong."""
    exhibit = load("keys_at_the_end", mended=False)
    module, x = make("grouped", rotary=True), normal(B, 7, E)
    whole, last = (stepped(exhibit, module, x, sizes)[:, -1] for sizes in ((7,), (6, 1)))
    assert error(whole, last) <= 1e-12
    assert error(whole, anew(module, x, rotary=True)[:, -1]) > 1e-2


def test_ring_in_order() -> None:
    query, key, value = (normal(B, heads, 7, D, seed=heads) for heads in (6, 3, 2))
    value = normal(B, 3, 7, D, seed=9)
    mask = torch.ones(B, 1, 1, 7, dtype=torch.bool)
    mask[1, ..., :4] = False  # padding on the left
    wanted = scaled_dot_product_attention(
        query, key, value, mask & sliding_window_mask(7, window=4), enable_gqa=True
    )
    for mended in (False, True):
        step = load("ring_in_order", mended=mended).step
        cache = KVCache(B, 3, D, 7, dtype=torch.float64, window=4)
        for t in range(7):
            new = [x[:, :, t : t + 1] for x in (query, key, value)]
            found = step(*new, cache, mask[..., : t + 1])
            right = error(found[0], wanted[0, :, t : t + 1]) <= 1e-12  # nothing hidden there
            assert right
            if t >= 4:
                assert (error(found[1], wanted[1, :, t : t + 1]) <= 1e-12) == mended


def test_one_cache_for_all_layers() -> None:
    torch.manual_seed(0)
    layers, x = [GroupedQueryAttention(E, H, 3, head_dim=D) for _ in range(3)], normal(B, 5, E)
    x = wanted = x.float()
    for layer in layers:
        wanted = wanted + layer(wanted, is_causal=True)
    for mended in (False, True):
        found = load("one_cache_for_all_layers", mended=mended).decode(layers, x)
        assert found.shape == wanted.shape
        assert (error(found, wanted) <= 1e-6) == mended
    shared = KVCache(B, 3, D, 5)  # an exact capacity notices
    steps = itertools.product(x.split(1, dim=1), layers)
    with pytest.raises(ValueError, match="got capacity 5"):
        list(itertools.starmap(lambda word, layer: layer(word, cache=shared), steps))


def test_padding_seen() -> None:
    module, x, first = make("grouped"), normal(B, 7, E), (0, 3)
    mask = padding_mask([7, 4]).flip(1)[:, None, None, :]
    wanted = anew(module, x, first=first)
    for mended in (False, True):
        decode = load("padding_seen", mended=mended).decode
        found = decode(module, x, mask, room(module, 7))
        assert error(found[0], wanted[0]) <= 1e-12
        assert (error(found[1, 3:], wanted[1, 3:]) <= 1e-12) == mended


@pytest.mark.parametrize(
    ("name", "cause"),
    [("causal_with_cache", "aligned with the first key"), ("position_zero", "counted from 0")],
)
def test_the_checks_name_the_cause(name: str, cause: str) -> None:
    exhibit, rotary = load(name, mended=False), name in TURNED

    def step(module: MultiHeadAttention, x: Tensor, cache: object) -> tuple[Tensor, object]:
        query = split_heads(module.q_proj(x), H)
        kept = [split_heads(p(x), 3) for p in (module.k_proj, module.v_proj)]
        options = (module.rotary,) if rotary else ()
        heads, cache = exhibit.step(query, *kept, cache, *options)
        return module.out_proj(merge_heads(heads)), cache

    options = {"embed_dim": E, "num_heads": H, "positions": rotary}
    adapter = Adapter(step=step, context=None)
    report = check_module(make("grouped", rotary=rotary), **options, adapter=adapter)
    (failure,) = report.failures
    assert failure.property == "cache"
    assert cause in failure.cause


# --- tables and measurement ------------------------------------------------------------------


def test_the_keys_are_counted() -> None:
    for n in (1, 2, 9, 50):
        assert tables.keys_anew(n) == sum(range(1, n + 1))
    numbers = tables.numbers()
    assert (numbers["thousand"], numbers["rotated"]) == ("500,500", "5,050")


def test_the_sentences_say_what_was_measured() -> None:
    times, long = stored(benchmark.__file__)["per_word"], benchmark.LENGTHS[-1]
    cached, anew, cat, repeated, read = (
        times("time", way=way, words=long)
        for way in ("cached", "anew", "concatenated", "repeated", "read")
    )
    said = tables.numbers()
    assert float(said["times_anew"]) == pytest.approx(anew / cached, abs=5)
    assert float(said["of_cat"]) == pytest.approx(cat / cached, abs=0.05)
    assert float(said["of_repeat"]) == pytest.approx(repeated / cached, abs=0.5)
    assert said["reading"] == f"{read / cached:.0%}"


@torch.no_grad()
def test_what_is_measured_gives_the_same_numbers() -> None:
    ways = benchmark.steps(12)
    wanted = ways.anew()
    for way in (ways.cached, ways.concatenated, ways.repeated, ways.cached):
        assert error(way(), wanted) <= 1e-5
    assert ways.read().shape == (benchmark.BATCH, benchmark.HEADS, 1, 64)


# --- the formulas of the page -----------------------------------------------------------------


def step_in_letters(n: int) -> SimpleNamespace:
    """Call a module on s words, then on n more; return what the second call is made of.

    The words' vectors are rows, so matrices are multiplied from the right.
    """
    s, h, g, d, size = 4, 6, 2, 5, 11
    torch.manual_seed(0)
    found, seen = SimpleNamespace(s=s, n=n, h=h, g=g, d=d), {}

    def attend(query: Tensor, key: Tensor, value: Tensor, mask=None, *rest, **more) -> Tensor:
        seen.update(key=key[0].clone(), value=value[0].clone(), mask=mask)
        return scaled_dot_product_attention(query, key, value, mask, *rest, **more)

    module = GroupedQueryAttention(size, h, g, head_dim=d, bias=False, attend=attend).double()
    module.out_proj.register_forward_pre_hook(lambda _, inputs: seen.update(output=inputs[0][0]))
    cache = KVCache(1, g, d, capacity=s + n + 2, dtype=torch.float64)
    words = normal(1, s + n, size)
    module(words[:, :s], is_causal=True, cache=cache)
    found.K_cached, found.V_cached = cache.key[0, :, :s].clone(), cache.value[0, :, :s].clone()
    found.visible = cache.visible(n)
    module(words[:, s:], is_causal=True, cache=cache)
    found.X, found.K_all, found.V_all = words[0, s:], seen["key"], seen["value"]
    found.O, found.mask = seen["output"].split(d, dim=-1), seen["mask"]
    found.W_Q = [module.q_proj.weight[i * d : (i + 1) * d].T for i in range(h)]
    found.W_K = [module.k_proj.weight[j * d : (j + 1) * d].T for j in range(g)]
    found.W_V = [module.v_proj.weight[j * d : (j + 1) * d].T for j in range(g)]
    return found


@pytest.mark.formula(r"""
K_{\text{all}} = \begin{pmatrix} K_{\text{cached}} \\ X W_K \end{pmatrix}
\qquad
V_{\text{all}} = \begin{pmatrix} V_{\text{cached}} \\ X W_V \end{pmatrix}
""")
@torch.no_grad()
def test_the_formula_of_keys_and_values() -> None:
    f = step_in_letters(n=3)
    for j in range(f.g):
        assert error(f.K_all[j], torch.cat((f.K_cached[j], f.X @ f.W_K[j]))) <= 1e-12
        assert error(f.V_all[j], torch.cat((f.V_cached[j], f.X @ f.W_V[j]))) <= 1e-12


@pytest.mark.formula(r"""
O = \operatorname{softmax}\!\left( \frac{(X W_Q)\, K_{\text{all}}^\top}{\sqrt{d}} + M \right)
V_{\text{all}}
\qquad
M_{ij} = \begin{cases} 0 & j \le i + s \\ -\infty & \text{otherwise} \end{cases}
""")
@torch.no_grad()
def test_the_formula_of_a_step() -> None:
    f = step_in_letters(n=3)
    M = torch.tensor([[0.0 if j <= i + f.s else -math.inf for j in range(7)] for i in range(3)])
    for i in range(f.h):
        K_all, V_all = f.K_all[i // 3], f.V_all[i // 3]  # six heads read two
        wanted = torch.softmax(f.X @ f.W_Q[i] @ K_all.T / math.sqrt(f.d) + M, dim=-1) @ V_all
        assert error(f.O[i], wanted) <= 1e-12


@torch.no_grad()
def test_the_formula_of_the_mask() -> None:
    f = step_in_letters(n=3)
    wanted = [[j <= i + f.s for j in range(f.s + f.n)] for i in range(f.n)]
    assert f.visible.tolist() == f.mask.tolist() == wanted
    assert step_in_letters(n=1).mask is None  # one new word sees all, and M is zero
