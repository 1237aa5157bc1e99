"""Latent attention against independent implementations; its cache, its errors, its bugs."""

import itertools
import math
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import (
    LatentCache,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    causal_mask,
    grouped_query_attention_broadcast,
    padding_mask,
    scaled_dot_product_attention,
)
from attn_docs.testing import Adapter, check_module
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.kit import Copies, error, load_exhibit, normal

benchmark = page_module("heads/latent", "benchmark")
tables = page_module("heads/latent", "tables")

INF = math.inf
EMBED, HEADS, KV_RANK, HEAD_DIM, ROPE_DIM, VALUE_DIM, Q_RANK = 24, 3, 8, 6, 4, 5, 7
SIZES = {
    "kv_rank": KV_RANK,
    "head_dim": HEAD_DIM,
    "rope_dim": ROPE_DIM,
    "value_dim": VALUE_DIM,
}
proof = settings(derandomize=True, deadline=None, max_examples=30)
forms = pytest.mark.parametrize("absorb", [False, True], ids=["naive", "absorbed"])
ranks = pytest.mark.parametrize("q_rank", [None, Q_RANK], ids=["q_proj", "q_rank"])


def build(dtype: torch.dtype = torch.float64, **options: object) -> MultiHeadLatentAttention:
    """Build a module whose norms have gains that are not 1, as after training."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = MultiHeadLatentAttention(EMBED, HEADS, **(SIZES | options)).to(dtype)
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if "norm" in name:
                    parameter.uniform_(0.5, 2.0)
                else:
                    parameter.mul_(3.0)  # scores as large as those of a trained model
    return module


def cache_of(batch: int = 2, capacity: int = 7, **options: object) -> LatentCache:
    options = {"dtype": torch.float64} | options
    return LatentCache(batch, KV_RANK, ROPE_DIM, capacity, **options)


# --- independent implementations -------------------------------------------------------------


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def rotate_half(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def rotary_halves(x: Tensor, positions: Tensor, theta: float, *, interleaved: bool) -> Tensor:
    """As Hugging Face: pairs are brought into halves first, and the score does not mind."""
    b, h, s, d = x.shape
    if interleaved:
        x = x.view(b, h, s, d // 2, 2).transpose(4, 3).reshape(b, h, s, d)
    inverse = 1.0 / (theta ** (torch.arange(0, d, 2).to(x) / d))
    angles = positions.to(x)[..., None] * inverse
    table = torch.cat((angles, angles), dim=-1)
    cos, sin = (f[:, None] if f.ndim == 3 else f for f in (table.cos(), table.sin()))
    return x * cos + rotate_half(x) * sin


def queries(module: MultiHeadLatentAttention, x: Tensor) -> Tensor:
    if module.q_rank is None:
        return F.linear(x, module.q_proj.weight)
    compressed = rms(F.linear(x, module.q_a_proj.weight), module.q_a_norm.weight)
    return F.linear(compressed, module.q_b_proj.weight)


def bias_of(mask: Tensor | None, n: int, m: int, *, causal: bool) -> Tensor:
    """Write a mask, and that the last query sees every key, as one that is added."""
    bias = torch.zeros(1, 1, n, m, dtype=torch.float64)
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask
        additive = mask if mask.is_floating_point() else (~mask).double() * -1e30
        bias = bias + additive
    if causal:
        future = torch.ones(n, m).triu(m - n + 1).bool()
        bias = bias + torch.zeros(n, m).double().masked_fill(future, -INF)
    return bias


def hugging_face(
    module: MultiHeadLatentAttention, x: Tensor, positions: Tensor, bias: Tensor
) -> Tensor:
    """Attend as DeepSeek-V3 does in Hugging Face: unpacked, half-split, one rotary key expanded."""
    batch, length, _ = x.shape
    d, r, e = module.head_dim, module.rope_dim, module.value_dim
    theta, interleaved = module.rotary.theta, module.rotary.interleaved
    q_states = queries(module, x).view(batch, length, -1, d + r).transpose(1, 2)
    q_pass, q_rot = torch.split(q_states, [d, r], dim=-1)
    compressed_kv = F.linear(x, module.kv_a_proj.weight)
    k_pass, k_rot = torch.split(compressed_kv, [module.kv_rank, r], dim=-1)
    k_pass = F.linear(rms(k_pass, module.kv_a_norm.weight), module.kv_b_proj.weight)
    k_pass = k_pass.view(batch, length, -1, d + e).transpose(1, 2)
    k_pass, value_states = torch.split(k_pass, [d, e], dim=-1)
    k_rot = k_rot.view(batch, 1, length, r)
    q_rot = rotary_halves(q_rot, positions, theta, interleaved=interleaved)
    k_rot = rotary_halves(k_rot, positions, theta, interleaved=interleaved)
    k_rot = k_rot.expand(*k_pass.shape[:-1], -1)
    query_states = torch.cat((q_pass, q_rot), dim=-1)
    key_states = torch.cat((k_pass, k_rot), dim=-1)
    scores = torch.matmul(query_states, key_states.transpose(2, 3)) * (d + r) ** -0.5 + bias
    weights = F.softmax(scores, dim=-1)
    output = torch.matmul(weights, value_states).transpose(1, 2).contiguous()
    return F.linear(output.reshape(batch, length, -1), module.out_proj.weight)


def rotary_complex(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """As DeepSeek: neighbours are one complex number, (batch, length, heads, size)."""
    size = x.size(-1)
    angles = positions.double()[..., None] / theta ** (torch.arange(0, size, 2).double() / size)
    turns = torch.polar(torch.ones_like(angles), angles)
    turns = turns.view(-1, x.size(1), 1, size // 2)
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3)


def deepseek(
    module: MultiHeadLatentAttention,
    x: Tensor,
    positions: Tensor,
    bias: Tensor,
    *,
    naive: bool = False,
    kept: list[Tensor] | None = None,
) -> Tensor:
    """Attend as DeepSeek-V3's inference code does, both of its forms, with einsum."""
    d, r, e = module.head_dim, module.rope_dim, module.value_dim
    q = queries(module, x).view(*x.shape[:2], module.num_heads, d + r)
    q_nope, q_pe = torch.split(q, [d, r], dim=-1)
    q_pe = rotary_complex(q_pe, positions, module.rotary.theta)
    kv, k_pe = torch.split(F.linear(x, module.kv_a_proj.weight), [module.kv_rank, r], dim=-1)
    k_pe = rotary_complex(k_pe.unsqueeze(2), positions, module.rotary.theta).squeeze(2)
    kv = rms(kv, module.kv_a_norm.weight)
    if kept is not None:
        kept.append(torch.cat((kv, k_pe), -1))
        kv, k_pe = torch.cat(kept, 1).split((module.kv_rank, r), -1)
    wkv_b = module.kv_b_proj.weight.view(module.num_heads, d + e, module.kv_rank)
    scale = (d + r) ** -0.5
    if naive:
        unpacked = torch.einsum("btc,hdc->bthd", kv, wkv_b)
        k_nope, v = torch.split(unpacked, [d, e], dim=-1)
        k = torch.cat((k_nope, k_pe.unsqueeze(2).expand(-1, -1, module.num_heads, -1)), dim=-1)
        scores = torch.einsum("bshd,bthd->bsht", torch.cat((q_nope, q_pe), -1), k) * scale
    else:
        q_nope = torch.einsum("bshd,hdc->bshc", q_nope, wkv_b[:, :d])
        scores = torch.einsum("bshc,btc->bsht", q_nope, kv)
        scores = (scores + torch.einsum("bshr,btr->bsht", q_pe, k_pe)) * scale
    weights = (scores + bias.transpose(1, 2)).softmax(dim=-1)
    if naive:
        output = torch.einsum("bsht,bthd->bshd", weights, v)
    else:
        output = torch.einsum("bsht,btc->bshc", weights, kv)
        output = torch.einsum("bshc,hdc->bshd", output, wkv_b[:, -e:])
    return F.linear(output.flatten(2), module.out_proj.weight)


def loops(
    module: MultiHeadLatentAttention, x: Tensor, positions: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor]:
    """Attend one sequence, head, query and key at a time; return the weights too."""
    batch, length, _ = x.shape
    d, r, e, h = module.head_dim, module.rope_dim, module.value_dim, module.num_heads
    bias = bias.expand(batch, h, length, length)
    up = module.kv_b_proj.weight

    def turn(vector: Tensor, position: float) -> Tensor:
        numbers = []
        for i in range(r // 2):
            angle = position * module.rotary.theta ** (-2 * i / r)
            a, b = vector[2 * i], vector[2 * i + 1]
            numbers.append(a * math.cos(angle) - b * math.sin(angle))
            numbers.append(a * math.sin(angle) + b * math.cos(angle))
        return torch.stack(numbers)

    rows, all_weights = [], []
    for b in range(batch):
        where = positions if positions.ndim == 1 else positions[b]
        down = [module.kv_a_proj.weight @ x[b, s] for s in range(length)]
        latent = [rms(entry[: module.kv_rank], module.kv_a_norm.weight) for entry in down]
        key_rope = [turn(entry[module.kv_rank :], where[s].item()) for s, entry in enumerate(down)]
        for t in range(length):
            q, heads = queries(module, x[b, t]), []
            for i in range(h):
                own = q[i * (d + r) : (i + 1) * (d + r)]
                own_rope = turn(own[d:], where[t].item())
                rows_of_head = up[i * (d + e) : (i + 1) * (d + e)]
                scores = torch.stack(
                    [own[:d] @ (rows_of_head[:d] @ latent[s]) + own_rope @ key_rope[s]
                     for s in range(length)]
                )  # fmt: skip
                weights = (scores / math.sqrt(d + r) + bias[b, i, t]).softmax(0)
                all_weights.append(weights)
                heads.append(
                    sum(weights[s] * (rows_of_head[d:] @ latent[s]) for s in range(length))
                )
            rows.append(module.out_proj.weight @ torch.cat(heads))
    weights = torch.stack(all_weights).view(batch, length, h, length).transpose(1, 2)
    return torch.stack(rows).view(batch, length, -1), weights


def with_gradients(
    function: Callable[[Tensor], Tensor], module: nn.Module, x: Tensor
) -> list[Tensor]:
    leaf = x.detach().requires_grad_()
    output = function(leaf)
    loss = (output * output.detach().cos()).sum()
    return [output, *torch.autograd.grad(loss, (leaf, *module.parameters()))]


def assert_same(
    module: nn.Module,
    one: Callable[[Tensor], Tensor],
    other: Callable[[Tensor], Tensor],
    x: Tensor,
    tolerance: float = 1e-12,
) -> None:
    found, wanted = (with_gradients(function, module, x) for function in (one, other))
    for mine, theirs in zip(found, wanted, strict=True):
        size = max(1.0, theirs.abs().max().item())
        assert error(mine, theirs) / size <= tolerance


# --- both forms are what they ought to be ----------------------------------------------------


@forms
@ranks
@pytest.mark.parametrize("kind", ["none", "causal", "boolean", "additive", "both"])
def test_a_form_is_hugging_faces_and_deepseeks(absorb: bool, q_rank: int | None, kind: str) -> None:
    module, x = build(q_rank=q_rank), normal(2, 5, EMBED)
    mask = {
        "boolean": normal(2, HEADS, 5, 5, seed=3) > -1,
        "additive": normal(2, 5, 5, seed=3),
        "both": torch.tensor([[True] * 5, [True] * 3 + [False] * 2])[:, None, None],
    }.get(kind)
    causal = kind in ("causal", "both")
    bias = bias_of(mask, 5, 5, causal=causal)
    positions = torch.arange(5)

    def ours(x: Tensor) -> Tensor:
        return module(x, attn_mask=mask, is_causal=causal, absorb=absorb)

    assert_same(module, ours, lambda x: hugging_face(module, x, positions, bias), x)
    for naive in (False, True):
        theirs = deepseek(module, x, positions, bias, naive=naive)
        assert error(ours(x), theirs) <= 1e-12
    assert_same(module, ours, lambda x: deepseek(module, x, positions, bias), x)


@forms
@ranks
def test_a_form_is_the_loop_over_everything(absorb: bool, q_rank: int | None) -> None:
    module, x = build(q_rank=q_rank, theta=50.0), normal(2, 4, EMBED)
    positions = torch.tensor([[3, 0, 9, 5], [0, 1, 2, 7]])
    mask = normal(2, 4, 4, seed=5)
    bias = bias_of(mask, 4, 4, causal=True)
    options = {"attn_mask": mask, "is_causal": True, "positions": positions, "absorb": absorb}
    assert_same(
        module,
        lambda x: module(x, **options),
        lambda x: loops(module, x, positions, bias)[0],
        x,
    )
    output, weights = module(x, need_weights=True, **options)
    wanted = loops(module, x, positions, bias)
    assert error(output, wanted[0]) <= 1e-12
    assert error(weights, wanted[1]) <= 1e-12


@proof
@given(data=st.data())
def test_the_two_forms_agree_at_all_sizes(data: st.DataObject) -> None:
    b, n, h, c, d, e = (data.draw(st.integers(1, 5)) for _ in range(6))
    r = data.draw(st.sampled_from([2, 4, 6]))
    torch.manual_seed(data.draw(st.integers(0, 9)))
    module = MultiHeadLatentAttention(
        11, h, kv_rank=c, head_dim=d, rope_dim=r, value_dim=e,
        q_rank=data.draw(st.sampled_from([None, 3])),
        interleaved=data.draw(st.booleans()),
    ).double()  # fmt: skip
    x = normal(b, n, 11)
    options = {"is_causal": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        options["attn_mask"] = normal(b, 1, n, n, seed=1)
    assert_same(
        module,
        lambda x: module(x, absorb=True, **options),
        lambda x: module(x, absorb=False, **options),
        x,
    )


@forms
@pytest.mark.parametrize("value_dim", [5, 10, 13])
@pytest.mark.parametrize("attend", [F.scaled_dot_product_attention, scaled_dot_product_attention])
def test_values_may_be_narrower_or_wider_than_keys(
    absorb: bool, value_dim: int, attend: Callable
) -> None:
    module, x = build(value_dim=value_dim, attend=attend), normal(2, 5, EMBED)
    bias = bias_of(None, 5, 5, causal=True)
    wanted = hugging_face(module, x, torch.arange(5), bias)
    output, weights = module(x, is_causal=True, absorb=absorb, need_weights=True)
    assert error(output, wanted) <= 1e-12
    assert weights.shape == (2, HEADS, 5, 5)
    assert error(weights.sum(-1), torch.ones(2, HEADS, 5).double()) <= 1e-12
    assert not weights.triu(1).any()


@pytest.mark.parametrize(("value_dim", "size"), [(5, 10), (10, 10), (13, 13)])
def test_narrow_values_are_widened_to_the_keys_size(value_dim: int, size: int) -> None:
    seen = []

    def watch(query: Tensor, key: Tensor, value: Tensor, *rest: object) -> Tensor:
        seen.append((key.size(-1), value.size(-1)))
        return F.scaled_dot_product_attention(query, key, value, *rest)

    build(value_dim=value_dim, attend=watch)(normal(2, 5, EMBED), absorb=False)
    assert seen == [(HEAD_DIM + ROPE_DIM, size)]


@forms
def test_pairs_may_be_halves(absorb: bool) -> None:
    module, x = build(interleaved=False), normal(2, 5, EMBED)
    bias = bias_of(None, 5, 5, causal=False)
    wanted = hugging_face(module, x, torch.arange(5), bias)
    assert error(module(x, absorb=absorb), wanted) <= 1e-12
    assert error(module(x, absorb=absorb), build()(x)) > 0.1


@forms
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_lower_precision_keeps_its_dtype_and_is_close(absorb: bool, dtype: torch.dtype) -> None:
    module, x = build(dtype), normal(2, 5, EMBED).to(dtype)
    exact = build().double()
    exact.load_state_dict(module.state_dict())
    found, wanted = module(x, absorb=absorb), exact(x.double(), absorb=absorb)
    assert found.dtype == dtype
    scale = wanted.abs().max().item()
    assert error(found.double(), wanted) / scale <= max(8 * torch.finfo(dtype).eps, 1e-6)


@forms
def test_only_the_difference_of_positions_counts(absorb: bool) -> None:
    module, x = build(), normal(2, 5, EMBED)
    wanted = module(x, is_causal=True, absorb=absorb)
    for positions in (torch.arange(5) + 1000, torch.arange(5).expand(2, 5) + 77):
        found = module(x, is_causal=True, absorb=absorb, positions=positions)
        assert error(found, wanted) <= 1e-9
    spread = module(x, is_causal=True, absorb=absorb, positions=torch.arange(5) * 2)
    assert error(spread, wanted) > 0.01


@forms
def test_an_empty_row_gives_zeros_and_no_nan(absorb: bool) -> None:
    module, x = build(attend=scaled_dot_product_attention), normal(2, 5, EMBED).requires_grad_()
    mask = torch.ones(2, 1, 5, 5, dtype=torch.bool)
    mask[1, :, 2] = False
    output = module(x, attn_mask=mask, absorb=absorb)
    assert not output[1, 2].any()
    output.sum().backward()
    assert x.grad.isfinite().all()


@forms
def test_dropout_is_on_the_weights_in_training_only(absorb: bool) -> None:
    module, x = build(dropout=0.5), normal(2, 5, EMBED)
    plain = build()
    with torch.random.fork_rng():
        torch.manual_seed(1)
        output, weights = module(x, absorb=absorb, need_weights=True)
        assert error(output, plain(x, absorb=absorb)) > 0.1
        draws = module(x.repeat(1500, 1, 1), absorb=absorb).unflatten(0, (1500, 2))
    assert error(weights, plain(x, need_weights=True)[1]) <= 1e-12  # before dropout
    spread = draws.std(0) / len(draws) ** 0.5
    assert ((draws.mean(0) - plain(x)).abs() <= 5 * spread).all()
    module.eval()
    assert error(module(x, absorb=absorb), plain(x)) <= 1e-12
    cache = cache_of()
    module(x[:, :3], is_causal=True, cache=cache, absorb=absorb)
    wanted = plain(x, is_causal=True)[:, 3:]
    assert error(module(x[:, 3:], is_causal=True, cache=cache, absorb=absorb), wanted) <= 1e-12


# --- the cache -------------------------------------------------------------------------------


def in_chunks(
    module: MultiHeadLatentAttention,
    x: Tensor,
    sizes: Sequence[int],
    cache: LatentCache,
    **options: object,
) -> Tensor:
    outputs, start = [], 0
    for size in sizes:
        chunk = x[:, start : start + size]
        outputs.append(module(chunk, is_causal=True, cache=cache, **options))
        start += size
    return torch.cat(outputs, 1)


CHUNKS = [(7,), (1,) * 7, (4, 1, 1, 1), (1, 3, 3), (2, 5)]


@ranks
@pytest.mark.parametrize("absorb", [None, False, True])
@pytest.mark.parametrize("sizes", CHUNKS)
def test_cached_is_full_for_every_chunking(
    q_rank: int | None, absorb: bool | None, sizes: tuple[int, ...]
) -> None:
    module, x = build(q_rank=q_rank), normal(2, 7, EMBED)
    wanted = module(x, is_causal=True)
    cache = cache_of()
    assert error(in_chunks(module, x, sizes, cache, absorb=absorb), wanted) <= 1e-12
    assert cache.length == 7
    cache.reset()
    assert cache.length == 0
    assert error(in_chunks(module, x, sizes, cache, absorb=absorb), wanted) <= 1e-12


@pytest.mark.parametrize("sizes", CHUNKS)
def test_cached_is_full_in_float32(sizes: tuple[int, ...]) -> None:
    module, x = build(torch.float32), normal(2, 7, EMBED).float()
    wanted = module(x, is_causal=True)
    found = in_chunks(module, x, sizes, LatentCache(2, KV_RANK, ROPE_DIM, 7))
    assert error(found, wanted) / wanted.abs().max().item() <= 1e-6


@forms
def test_the_cache_holds_what_deepseeks_holds_and_no_more(absorb: bool) -> None:
    module, x, kept = build(), normal(2, 5, EMBED), []
    cache = cache_of()
    for t in range(5):
        step = x[:, [t]]
        bias = torch.zeros(1, 1, 1, t + 1)
        wanted = deepseek(module, step, torch.tensor([t]), bias, kept=kept)
        found = module(step, is_causal=True, cache=cache, absorb=absorb)
        assert error(found, wanted) <= 1e-12
    assert cache.entries.shape == (2, 1, 7, KV_RANK + ROPE_DIM)
    assert error(cache.entries[:, 0, :5], torch.cat(kept, 1)) <= 1e-12
    assert not cache.entries[:, :, 5:].any()
    assert cache.nbytes == 2 * 7 * (KV_RANK + ROPE_DIM) * 8


@forms
def test_weights_and_masks_count_all_positions(absorb: bool) -> None:
    module, x = build(), normal(2, 7, EMBED)
    mask = normal(2, HEADS, 7, 7, seed=2) > -1
    mask[..., 0] = True
    wanted, weights = module(x, attn_mask=mask, is_causal=True, need_weights=True)
    cache = cache_of()
    options = {"is_causal": True, "cache": cache, "need_weights": True, "absorb": absorb}
    for start, end in ((0, 3), (3, 4), (4, 7)):
        part = mask[:, :, start:end, :end]
        found = module(x[:, start:end], attn_mask=part, **options)
        assert error(found[0], wanted[:, start:end]) <= 1e-12
        assert error(found[1], weights[:, :, start:end, :end]) <= 1e-12


@forms
def test_without_is_causal_a_chunk_sees_all_of_itself_and_all_before(absorb: bool) -> None:
    module, x = build(), normal(2, 7, EMBED)
    mask = causal_mask(7)
    mask[3:, 3:] = True
    wanted = module(x, attn_mask=mask)
    cache = cache_of()
    options = {"cache": cache, "absorb": absorb, "is_causal": False}
    found = [module(x[:, a:b], **options) for a, b in ((0, 3), (3, 7))]
    mask[:3, :3] = True
    wanted = module(x, attn_mask=mask)
    assert error(torch.cat(found, 1), wanted) <= 1e-12


@forms
def test_left_padded_rows_are_as_if_alone(absorb: bool) -> None:
    module, x = build(), normal(2, 7, EMBED)
    cache, pad = cache_of(), torch.tensor([0, 2])  # the second row has two words fewer
    seen = torch.arange(7) >= pad[:, None]
    positions = (torch.arange(7) - pad[:, None]).clamp(min=0)
    x[1, :2] = 1e4  # whatever stands in the padding
    outputs = []
    for start, end in ((0, 4), (4, 5), (5, 7)):
        outputs.append(
            module(
                x[:, start:end],
                attn_mask=seen[:, None, None, :end] | torch.eye(7).bool()[start:end, :end],
                is_causal=True,
                cache=cache,
                positions=positions[:, start:end],
                absorb=absorb,
            )
        )
    found = torch.cat(outputs, 1)
    assert error(found[:1], module(x[:1], is_causal=True)) <= 1e-12
    assert error(found[1:, 2:], module(x[1:, 2:], is_causal=True)) <= 1e-12


def test_right_padding_changes_nothing() -> None:
    module, x = build(), normal(2, 5, EMBED)
    mask = padding_mask([5, 3])[:, None, None]
    wanted = module(x[1:, :3])
    assert error(module(x, attn_mask=mask)[1:, :3], wanted) <= 1e-12


def test_an_update_returns_all_so_far() -> None:
    cache = LatentCache(2, 3, 2, 4)
    first, second = normal(2, 1, 3, 5).float(), normal(2, 1, 1, 5, seed=1).float()
    assert cache.update(first).equal(first)
    found = cache.update(second)
    assert found.equal(torch.cat((first, second), 2))
    assert found.data_ptr() == cache.entries.data_ptr()
    assert (cache.capacity, cache.length, cache.nbytes) == (4, 4, 2 * 4 * 5 * 4)
    assert LatentCache(1, 2, 2, 1).entries.dtype == torch.float32
    assert LatentCache(1, 2, 2, 1, dtype=torch.float16, device="meta").entries.is_meta
    assert not LatentCache(1, 2, 2, 1).entries.any()


def test_nothing_is_made_on_the_device_that_is_only_the_default() -> None:
    module, x, cache = build(), normal(2, 5, EMBED), cache_of()
    with torch.device("meta"):
        for absorb in (False, True):
            for options in ({"cache": cache}, {"attn_mask": causal_mask(5, device="cpu")}):
                output, weights = module(
                    x, is_causal=True, need_weights=True, absorb=absorb, **options
                )
                assert (output.device.type, weights.device.type) == ("cpu", "cpu")
                cache.reset()


# --- which form ------------------------------------------------------------------------------


def form_of(module: MultiHeadLatentAttention, call: Callable[[], object]) -> str:
    """Return what the attention function is given: one head of keys, or as many as queries."""
    seen = []

    def watch(query: Tensor, key: Tensor, *rest: object, **options: object) -> Tensor:
        seen.append("absorbed" if key.size(1) == 1 else "naive")
        return F.scaled_dot_product_attention(query, key, *rest, **options)

    module.attend = watch
    call()
    assert len(set(seen)) == 1
    return seen[0]


def test_absorb_says_which_form_computes() -> None:
    module, x = build(), normal(2, 5, EMBED)
    assert form_of(module, lambda: module(x, absorb=True, need_weights=True)) == "absorbed"
    assert form_of(module, lambda: module(x, absorb=False, need_weights=True)) == "naive"


@pytest.mark.parametrize("sizes", [(8, 6, 4, 5), (6, 7, 4, 5), (16, 6, 4, 7), (12, 3, 2, 9)])
def test_the_form_that_is_picked_multiplies_less(sizes: tuple[int, ...]) -> None:
    c, d, r, e = sizes
    module = MultiHeadLatentAttention(
        EMBED, HEADS, kv_rank=c, head_dim=d, rope_dim=r, value_dim=e
    ).double()
    all_sizes = tables.Sizes(EMBED, HEADS, c, Q_RANK, d, r, e)
    for n in range(1, 12):
        for m in range(n, 60):
            counts = [tables.flops(all_sizes, n, m, absorb=absorb) for absorb in (True, False)]
            assert module._absorbed_multiplies_less(n, m) == (counts[0] < counts[1])


@pytest.mark.parametrize(("seen", "n", "form"), [(0, 5, "naive"), (50, 1, "absorbed"),
                                                 (50, 9, "naive"), (1, 9, "naive")])  # fmt: skip
def test_few_queries_after_a_long_cache_are_absorbed(seen: int, n: int, form: str) -> None:
    module = build(kv_rank=16)
    cache = LatentCache(2, 16, ROPE_DIM, 60, dtype=torch.float64)
    cache.length = seen
    assert form_of(module, lambda: module(normal(2, n, EMBED), cache=cache)) == form


def test_without_a_cache_deepseeks_sizes_are_computed_naively() -> None:
    module = build(kv_rank=32)
    assert form_of(module, lambda: module(normal(1, 5, EMBED))) == "naive"


# --- limiting cases --------------------------------------------------------------------------


def test_the_absorbed_form_is_multi_query_attention() -> None:
    module, x = build(), normal(2, 5, EMBED)
    cache = cache_of(capacity=5)
    wanted = module(x, is_causal=True, cache=cache)
    entries = cache.entries[:, 0]  # one key head for all, its size kv_rank + rope_dim
    up = module.kv_b_proj.weight.view(HEADS, -1, KV_RANK)
    query = module.q_proj(x).view(2, 5, HEADS, -1).transpose(1, 2)
    turned = module.rotary(query[..., HEAD_DIM:], torch.arange(5))
    heads = []
    for i in range(HEADS):
        absorbed = torch.cat((query[:, i, :, :HEAD_DIM] @ up[i, :HEAD_DIM], turned[:, i]), -1)
        scores = absorbed @ entries.transpose(1, 2) / math.sqrt(HEAD_DIM + ROPE_DIM)
        weights = scores.masked_fill(~causal_mask(5), -INF).softmax(-1)
        heads.append(weights @ entries[..., :KV_RANK] @ up[i, HEAD_DIM:].T)
    assert error(module.out_proj(torch.cat(heads, -1)), wanted) <= 1e-12


@forms
def test_with_room_for_all_and_no_norm_it_is_any_multi_head_attention(absorb: bool) -> None:
    torch.manual_seed(0)
    theirs = MultiHeadAttention(EMBED, HEADS, bias=False).double()
    d = EMBED // HEADS
    ours = MultiHeadLatentAttention(
        EMBED, HEADS, kv_rank=HEADS * 2 * d, head_dim=d, rope_dim=2, value_dim=d
    ).double()
    ours.kv_a_norm = nn.Identity()
    keys_and_values = torch.cat(
        [layer.weight.view(HEADS, d, EMBED) for layer in (theirs.k_proj, theirs.v_proj)], 1
    )
    with torch.no_grad():
        queries = theirs.q_proj.weight.view(HEADS, d, EMBED) * math.sqrt((d + 2) / d)
        ours.q_proj.weight.copy_(F.pad(queries, (0, 0, 0, 2)).flatten(0, 1))
        ours.kv_a_proj.weight.copy_(F.pad(keys_and_values.flatten(0, 1), (0, 0, 0, 2)))
        ours.kv_b_proj.weight.copy_(torch.eye(HEADS * 2 * d))
        ours.out_proj.weight.copy_(theirs.out_proj.weight)
    x = normal(2, 5, EMBED)
    assert error(ours(x, is_causal=True, absorb=absorb), theirs(x, is_causal=True)) <= 1e-12


@ranks
def test_the_projections_have_deepseeks_names_and_sizes(q_rank: int | None) -> None:
    module = MultiHeadLatentAttention(EMBED, HEADS, q_rank=q_rank, **SIZES)
    sizes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    query = (
        {"q_proj.weight": (30, 24)}
        if q_rank is None
        else {"q_a_proj.weight": (7, 24), "q_a_norm.weight": (7,), "q_b_proj.weight": (30, 7)}
    )
    assert sizes == query | {
        "kv_a_proj.weight": (12, 24),
        "kv_a_norm.weight": (8,),
        "kv_b_proj.weight": (33, 8),
        "out_proj.weight": (24, 15),
    }
    kept = (module.num_heads, module.kv_rank, module.q_rank, module.head_dim)
    assert kept == (HEADS, KV_RANK, q_rank, HEAD_DIM)
    assert (module.rope_dim, module.value_dim, module.dropout) == (ROPE_DIM, VALUE_DIM, 0.0)
    assert (module.rotary.head_dim, module.rotary.theta) == (ROPE_DIM, 10000.0)
    assert module.rotary.interleaved
    assert module.attend is F.scaled_dot_product_attention
    assert module.kv_a_norm.eps == 1e-6
    assert q_rank is None or module.q_a_norm.eps == 1e-6


def test_query_compression_keeps_nothing_in_the_cache() -> None:
    kept = []
    for q_rank in (None, Q_RANK):
        cache = cache_of()
        build(q_rank=q_rank)(normal(2, 7, EMBED), cache=cache)
        kept.append(cache.nbytes)
    assert kept[0] == kept[1]


def test_the_checker_finds_nothing_wrong_with_the_cache() -> None:
    def step(module: nn.Module, x: Tensor, cache: LatentCache | None) -> tuple[Tensor, LatentCache]:
        dtype = module.out_proj.weight.dtype
        cache = cache or LatentCache(x.size(0), KV_RANK, ROPE_DIM, 64, dtype=dtype)
        return module(x, is_causal=True, cache=cache), cache

    module = MultiHeadLatentAttention(EMBED, HEADS, **SIZES)
    report = check_module(
        module, embed_dim=EMBED, causal=True, positions=True, adapter=Adapter(step=step)
    )
    verdicts = {finding.property: finding.verdict for finding in report.findings}
    assert report.passed
    for name in ("cache", "causality", "prefix", "padding", "mask used", "mask polarity", "batch"):
        assert verdicts[name] == "pass"


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"embed_dim": 0}, ValueError, "embed_dim must be 1 or more; got 0"),
        ({"num_heads": 0}, ValueError, "num_heads must be 1 or more; got 0"),
        ({"kv_rank": 0}, ValueError, "kv_rank must be 1 or more; got 0"),
        ({"head_dim": -1}, ValueError, "head_dim must be 1 or more; got -1"),
        ({"rope_dim": 0}, ValueError, "rope_dim must be 1 or more; got 0"),
        ({"value_dim": 0}, ValueError, "value_dim must be 1 or more; got 0"),
        ({"q_rank": 0}, ValueError, "q_rank must be 1 or more; got 0"),
        ({"q_rank": True}, TypeError, "q_rank must be an int; got True"),
        ({"kv_rank": 2.0}, TypeError, "kv_rank must be an int; got 2.0"),
        ({"rope_dim": 5}, ValueError, "rope_dim must be even; got 5"),
        ({"dropout": 1.0}, ValueError, "dropout must be 0 or more and below 1; got 1.0"),
        ({"theta": 0.0}, ValueError, "theta must be above 0; got 0.0"),
        ({"interleaved": 1}, TypeError, "interleaved must be True or False; got 1"),
        ({"attend": 3}, TypeError, "attend must be callable; got 3"),
    ],
)
def test_bad_construction_is_refused(options: dict, kind: type, message: str) -> None:
    arguments = {"embed_dim": EMBED, "num_heads": HEADS} | SIZES | options
    with pytest.raises(kind) as caught:
        MultiHeadLatentAttention(**arguments)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"batch": 0}, ValueError, "batch must be 1 or more; got 0"),
        ({"kv_rank": 0}, ValueError, "kv_rank must be 1 or more; got 0"),
        ({"rope_dim": "4"}, TypeError, "rope_dim must be an int; got '4'"),
        ({"capacity": 0}, ValueError, "capacity must be 1 or more; got 0"),
        (
            {"dtype": torch.int64},
            TypeError,
            "dtype must be float16, bfloat16, float32 or float64; got torch.int64",
        ),
    ],
)
def test_a_bad_cache_is_refused(options: dict, kind: type, message: str) -> None:
    arguments = {"batch": 2, "kv_rank": 8, "rope_dim": 4, "capacity": 7} | options
    with pytest.raises(kind) as caught:
        LatentCache(**arguments)
    assert str(caught.value) == message


WRONG_MASK = (
    "attn_mask must have 2 to 4 axes, each 1 or that of the scores (2, 3, 4, 6) counted from the "
    "right; got shape (4, 4)"
)


def refused(call: Callable[[], object], cache: LatentCache, kind: type, message: str) -> None:
    """Check the error, and that the cache is as before."""
    entries, length = cache.entries.clone(), cache.length
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
    assert cache.entries.equal(entries)
    assert cache.length == length


@pytest.mark.parametrize(
    ("entries", "kind", "message"),
    [
        (3, TypeError, "entries must be a torch.Tensor; got int"),
        (
            torch.zeros(2, 3, 12),
            ValueError,
            "entries must have 4 axes (batch, 1, length, kv_rank + rope_dim); got shape (2, 3, 12)",
        ),
        (
            torch.zeros(2, 1, 3, 12),
            TypeError,
            "entries must have the cache's dtype torch.float64; got torch.float32",
        ),
        (
            torch.zeros(3, 1, 3, 12).double(),
            ValueError,
            "entries must have shape (2, 1, 3, 12); got (3, 1, 3, 12)",
        ),
        (
            torch.zeros(2, 3, 3, 12).double(),
            ValueError,
            "entries must have shape (2, 1, 3, 12); got (2, 3, 3, 12)",
        ),
        (
            torch.zeros(2, 1, 3, 11).double(),
            ValueError,
            "entries must have shape (2, 1, 3, 12); got (2, 1, 3, 11)",
        ),
        (
            torch.zeros(2, 1, 0, 12).double(),
            ValueError,
            "the number of new positions must be 1 or more; got 0",
        ),
        (
            torch.zeros(2, 1, 6, 12).double(),
            ValueError,
            "the cache must have room for 8 positions, 2 seen and 6 new; got capacity 7",
        ),
    ],
)
def test_a_bad_update_is_refused(entries: object, kind: type, message: str) -> None:
    cache = cache_of()
    cache.update(normal(2, 1, 2, 12))
    refused(lambda: cache.update(entries), cache, kind, message)
    assert cache.update(normal(2, 1, 5, 12)).shape == (2, 1, 7, 12)


@pytest.mark.parametrize(
    ("x", "options", "kind", "message"),
    [
        ((2, 4, 23), {}, ValueError, "x must have embed_dim 24 as its last size; got 23"),
        (
            (2, 24),
            {},
            ValueError,
            "x must have 3 axes (batch, length, embed_dim); got shape (2, 24)",
        ),
        ((3, 4, 24), {}, ValueError, "x must have the cache's batch 2; got 3"),
        (
            (2, 6, 24),
            {},
            ValueError,
            "the cache must have room for 8 positions, 2 seen and 6 new; got capacity 7",
        ),
        ((2, 4, 24), {"is_causal": 1}, TypeError, "is_causal must be True or False; got 1"),
        ((2, 4, 24), {"need_weights": 1}, TypeError, "need_weights must be True or False; got 1"),
        ((2, 4, 24), {"absorb": 1}, TypeError, "absorb must be True or False; got 1"),
        (
            (2, 4, 24),
            {"attn_mask": torch.ones(4, 4).bool()},
            ValueError,
            WRONG_MASK,
        ),
        (
            (2, 4, 24),
            {"attn_mask": [True]},
            TypeError,
            "attn_mask must be a torch.Tensor or None; got list",
        ),
        (
            (2, 4, 24),
            {"positions": torch.arange(3)},
            ValueError,
            "positions must have shape (length,) = (4,) or (batch, length) = (2, 4); got (3,)",
        ),
        (
            (2, 4, 24),
            {"positions": torch.arange(4) - 1},
            ValueError,
            "positions must be 0 or more; got -1",
        ),
        (
            (2, 4, 24),
            {"positions": torch.arange(4.0)},
            TypeError,
            "positions must hold integers; got torch.float32",
        ),
    ],
)
@pytest.mark.parametrize("absorb", [False, True])
def test_a_bad_call_is_refused_and_the_cache_is_as_before(
    x: tuple, options: dict, kind: type, message: str, absorb: bool
) -> None:
    module, cache, text = build(), cache_of(), normal(2, 7, EMBED)
    options = {"absorb": absorb, "is_causal": True} | options
    module(text[:, :2], cache=cache)
    refused(lambda: module(torch.ones(x).double(), cache=cache, **options), cache, kind, message)
    found = module(text[:, 2:], is_causal=True, cache=cache)
    wanted = build()(text, is_causal=True)[:, 2:]
    assert error(found, wanted) <= 1e-12  # and decoding goes on


@pytest.mark.parametrize(
    ("cache", "kind", "message"),
    [
        ([], TypeError, "cache must be a LatentCache or None; got list"),
        (
            LatentCache(2, 9, 4, 7, dtype=torch.float64),
            ValueError,
            "cache must have kv_rank + rope_dim 12, as the module; got 13",
        ),
        (
            LatentCache(2, 8, 4, 7),
            TypeError,
            "cache must have x's dtype torch.float64; got torch.float32",
        ),
    ],
)
def test_a_cache_that_does_not_fit_is_refused(cache: object, kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        build()(normal(2, 5, EMBED), cache=cache)
    assert str(caught.value) == message
    assert getattr(cache, "length", 0) == 0


def test_a_wrong_dtype_is_refused() -> None:
    module = build()
    with pytest.raises(TypeError) as caught:
        module(torch.zeros(2, 5, EMBED))
    assert str(caught.value) == "x must have the weight's dtype torch.float64; got torch.float32"


# --- tables and benchmark --------------------------------------------------------------------


def test_the_numbers_of_the_chapter() -> None:
    numbers = tables.numbers()
    wanted = {
        "cached": 512 + 64,
        "token_bytes": 61 * (512 + 64) * 2,
        "multi_head": 128 * (128 + 128),
        "eight_heads": 2 * 8 * 128,
        "times_own": round(128 * 320 / 576),
        "times_multi_head": round(128 * 256 / 576),
        # n with m (up-projections) + 320 n m = n (absorbed) + 1088 n m, m = 8192
        "even": round(8192 * 512 * 256 / (512 * 256 + (1088 - 320) * 8192)),
    }
    assert {name: int(numbers[name].replace(",", "")) for name in wanted} == wanted
    assert (wanted["token_bytes"], wanted["times_own"]) == (70272, 71)
    assert numbers["groups"] == str((512 + 64) / (2 * 128)) == "2.25"
    cache = LatentCache(1, 512, 64, 1, dtype=torch.bfloat16)
    assert cache.nbytes * tables.LAYERS == wanted["token_bytes"]


def test_what_a_form_makes_is_what_its_attention_function_is_given() -> None:
    sizes = tables.Sizes(EMBED, HEADS, KV_RANK, Q_RANK, HEAD_DIM, ROPE_DIM, VALUE_DIM)
    for absorb in (False, True):
        seen = []

        def watch(
            query: Tensor, key: Tensor, value: Tensor, *rest: object, **more: object
        ) -> Tensor:
            mixed = F.scaled_dot_product_attention(query, key, value, *rest, **more)
            seen.extend((query, key, value, mixed))  # noqa: B023 - called within the round
            return mixed

        build(attend=watch)(normal(1, 5, EMBED), absorb=absorb)
        query, key, value, mixed = seen
        if absorb:
            found = query.numel() + mixed[..., :KV_RANK].numel()
        else:
            found = key.numel() + value[..., :VALUE_DIM].numel()
        assert tables.made(sizes, 5, 5, absorb=absorb) == found


def test_the_flops_of_the_table_are_those_of_deepseeks_forms() -> None:
    module = build(q_rank=Q_RANK)
    for n, seen in ((1, 6), (3, 4), (7, 0)):
        kept = [normal(1, seen, KV_RANK + ROPE_DIM)]
        x, bias = normal(1, n, EMBED), torch.zeros(1, 1, n, seen + n)
        sizes = tables.Sizes(EMBED, HEADS, KV_RANK, Q_RANK, HEAD_DIM, ROPE_DIM, VALUE_DIM)
        for naive in (False, True):
            with FlopCounterMode(display=False) as counter:
                deepseek(module, x, torch.arange(n), bias, naive=naive, kept=kept[:])
            wanted = tables.flops(sizes, n, n + seen, absorb=not naive)
            projected = tables.projection_flops(sizes, n)
            assert counter.get_total_flops() == wanted + projected


def test_the_benchmark_measures_forms_that_agree() -> None:
    attend, steps = benchmark.prepare(9, embed_dim=EMBED, num_heads=HEADS, **SIZES)
    outputs = [step() for step in steps.values()]
    assert isinstance(attend, MultiHeadLatentAttention)
    for output in outputs[1:]:
        assert error(output, outputs[0]) <= 1e-5


# --- exhibits --------------------------------------------------------------------------------

FOLDER = ROOT / "attn_docs" / "exhibits" / "heads"
MENDED = {
    "latent_turned_keys": (
        "rotate(join(without, rotary))",
        "join(without, rotate(rotary))",
    ),
    "latent_turned_latent": ("rotate(attend.kv_a_norm(latent))", "attend.kv_a_norm(latent)"),
    "latent_no_rotary": (
        "torch.zeros(x.size(1), dtype=torch.int64)",
        "torch.arange(x.size(1))",
    ),
    "latent_scale_of_content": ("attend.head_dim", "attend.head_dim + attend.rope_dim"),
    "latent_scale_of_entry": ("entries.size(-1)", "attend.head_dim + attend.rope_dim"),
    "latent_parts_swapped": (
        "query_rope, query = both.split((r, d), -1)",
        "query, query_rope = both.split((d, r), -1)",
    ),
    "latent_norm_missing": (
        "up_project(attend, latent)",
        "up_project(attend, attend.kv_a_norm(latent))",
    ),
    "latent_norm_over_rotary": ("entry.size(-1)", "attend.kv_rank"),
    "latent_normed_twice": ("attend.kv_a_norm(cached)", "cached"),
    "latent_half_split": ("False", "True"),
    "latent_unpacked_cache": ("(key, value)", "(latent, key_rope)"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"heads/{name}", MENDED[name], mended=mended)


def test_every_exhibit_of_latent_attention_is_here() -> None:
    assert {path.stem for path in FOLDER.glob("latent_*.py")} == set(MENDED)


@pytest.mark.parametrize("name", sorted(set(MENDED) - {"latent_unpacked_cache"}))
def test_the_shape_is_right_the_numbers_are_not_and_mending_the_line_mends_them(name: str) -> None:
    module, x = build(), normal(2, 5, EMBED)
    wanted = module(x, is_causal=True)
    wrong = load(name, mended=False).attention(module, x)
    assert wrong.shape == wanted.shape
    assert error(wrong, wanted) > 0.05
    assert error(load(name, mended=True).attention(module, x), wanted) <= 1e-12


def test_an_unpacked_cache_has_right_numbers_and_saves_nothing() -> None:
    module, x = build(), normal(2, 5, EMBED)
    kept = {}
    for mended in (False, True):
        exhibit = load("latent_unpacked_cache", mended=mended)
        output, kept[mended] = exhibit.attention(module, x)
        assert error(output, module(x, is_causal=True)) <= 1e-12
    cache = cache_of(capacity=5)
    module(x, is_causal=True, cache=cache)
    assert kept[True] == cache.nbytes == 2 * 5 * 12 * 8
    assert kept[False] == 2 * 5 * HEADS * (HEAD_DIM + ROPE_DIM + VALUE_DIM) * 8


def test_a_norm_twice_is_not_seen_while_the_gain_is_one() -> None:
    module, x = build(), normal(2, 5, EMBED) * 10
    with torch.no_grad():
        module.kv_a_norm.weight.fill_(1.0)
    found = load("latent_normed_twice", mended=False).attention(module, x)
    assert error(found, module(x, is_causal=True)) < 1e-3


def test_without_turning_the_order_of_earlier_words_is_lost() -> None:
    module, x = build(), normal(2, 5, EMBED)
    other = x[:, [2, 0, 3, 1, 4]]
    wrong = load("latent_no_rotary", mended=False)
    assert error(wrong.attention(module, x)[:, 4], wrong.attention(module, other)[:, 4]) <= 1e-12
    assert error(module(x, is_causal=True)[:, 4], module(other, is_causal=True)[:, 4]) > 0.05


def test_a_turned_latent_gives_values_that_depend_on_the_position() -> None:
    module, x = build(), normal(2, 5, EMBED)
    wrong = load("latent_turned_latent", mended=False)
    # where every word is the same, the output is that word's value, whatever the weights
    same = x[:, :1].expand(-1, 5, -1)
    assert error(module(same, is_causal=True)[:, 4], module(same, is_causal=True)[:, 0]) <= 1e-12
    found = wrong.attention(module, same)
    assert error(found[:, 4], found[:, 0]) > 0.05


# --- the formulas of the page -----------------------------------------------------------------


def in_letters(*, absorb: bool) -> SimpleNamespace:
    """Call a module whose sizes all differ; return its matrices, and what it made of each letter.

    Linear layers store the transpose of what the formulas write, where a row multiplies from the
    left.
    """
    n, D, h, c, a, d, r, e = 5, 13, 3, 8, 9, 7, 4, 10
    torch.manual_seed(0)
    found, seen = SimpleNamespace(n=n, h=h, d=d, r=r), {}

    def attend(query: Tensor, key: Tensor, value: Tensor, *rest: object, **more: object) -> Tensor:
        seen.update(query=query[0], key=key[0])
        return F.scaled_dot_product_attention(query, key, value, *rest, **more)

    sizes = {"head_dim": d, "rope_dim": r, "value_dim": e, "theta": 100.0, "attend": attend}
    module = MultiHeadLatentAttention(D, h, kv_rank=c, q_rank=a, **sizes).double()
    nn.init.uniform_(module.kv_a_norm.weight, 0.5, 2.0)  # as after training
    module.out_proj.register_forward_pre_hook(lambda _, inputs: seen.update(o=inputs[0][0]))
    cache = LatentCache(1, c, r, capacity=n, dtype=torch.float64)
    found.x = normal(n, D, seed=1)
    module(found.x[None], is_causal=True, cache=cache, absorb=absorb)

    found.query, found.key = seen["query"], seen["key"]
    found.o = seen["o"].view(n, h, e)
    found.c, found.kR = cache.entries[0, 0].split([c, r], dim=-1)
    found.W_DKV, found.W_KR = module.kv_a_proj.weight.T.split([c, r], dim=1)
    up = module.kv_b_proj.weight.view(h, d + e, c).mT
    found.W_UK, found.W_UV = up.split([d, e], dim=2)
    found.gain = module.kv_a_norm.weight
    return found


def norm_of(x: Tensor, gain: Tensor) -> Tensor:
    return x / (x.square().mean() + 1e-6).sqrt() * gain


def R(t: int) -> Tensor:
    """Return the matrix that rotates a row of two pairs of neighbours by position t."""
    angles = [t * 100.0 ** (-2 * i / 4) for i in range(2)]
    pairs = [[[math.cos(w), math.sin(w)], [-math.sin(w), math.cos(w)]] for w in angles]
    return torch.block_diag(*torch.tensor(pairs, dtype=torch.float64))


@pytest.mark.formula(r"""
c_s = \operatorname{norm}(x_s W^{DKV}) \qquad k^R_s = x_s W^{KR} R_s
""")
def test_the_formula_of_what_is_cached() -> None:
    f = in_letters(absorb=True)
    for s in range(f.n):
        assert error(f.c[s], norm_of(f.x[s] @ f.W_DKV, f.gain)) <= 1e-12
        assert error(f.kR[s], f.x[s] @ f.W_KR @ R(s)) <= 1e-12


@pytest.mark.formula(r"""
\text{score}_{i,s} = \frac{q_i \bigl(c_s W^{UK}_i\bigr)^\top + q^R_i\, {k^R_s}^\top}{\sqrt{d + d_r}}
= \frac{\bigl(q_i {W^{UK}_i}^\top\bigr) c_s^\top + q^R_i\, {k^R_s}^\top}{\sqrt{d + d_r}}
""")
def test_the_formula_of_scores_is_what_both_forms_compare() -> None:
    naive, f = in_letters(absorb=False), in_letters(absorb=True)
    for t, i, s in itertools.product(range(f.n), range(f.h), range(f.n)):
        q, qR = naive.query[i, t].split([f.d, f.r])
        rotary, root = qR @ f.kR[s], math.sqrt(f.d + f.r)
        one = (q @ (f.c[s] @ f.W_UK[i]) + rotary) / root
        other = ((q @ f.W_UK[i].T) @ f.c[s] + rotary) / root
        assert error(one, naive.query[i, t] @ naive.key[i, s] / root) <= 1e-12
        assert error(other, f.query[i, t] @ f.key[0, s] / root) <= 1e-12
        assert error(one, other) <= 1e-12


@pytest.mark.formula(r"""
o_i = \sum_s w_{i,s} \bigl(c_s W^{UV}_i\bigr) = \Bigl(\sum_s w_{i,s}\, c_s\Bigr) W^{UV}_i
""")
def test_the_formula_of_what_a_head_returns() -> None:
    naive, f = in_letters(absorb=False), in_letters(absorb=True)
    for t, i in itertools.product(range(f.n), range(f.h)):
        scores = naive.query[i, t] @ naive.key[i, : t + 1].T / math.sqrt(f.d + f.r)
        w = scores.softmax(0)
        one = sum(w[s] * (f.c[s] @ f.W_UV[i]) for s in range(t + 1))
        other = sum(w[s] * f.c[s] for s in range(t + 1)) @ f.W_UV[i]
        for o in (naive.o[t, i], f.o[t, i]):
            assert error(o, one) <= 1e-12
            assert error(o, other) <= 1e-12


# --- copies ----------------------------------------------------------------------------------


def test_the_fallback_kernel_copies_the_cache_for_every_head_and_the_broadcast_form_does_not() -> (
    None
):
    x, outputs, entry = normal(2, 9, 24), [], 6 + 4
    for attend in (F.scaled_dot_product_attention, grouped_query_attention_broadcast):
        torch.manual_seed(0)
        module = MultiHeadLatentAttention(
            24, 4, kv_rank=6, head_dim=5, rope_dim=4, value_dim=5, attend=attend
        ).double()
        cache = LatentCache(2, 6, 4, 9, dtype=torch.float64)
        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
            module(x[:, :8], is_causal=True, cache=cache)
            with Copies() as copies:
                outputs.append(module(x[:, 8:], cache=cache, absorb=True))
        large = [shape for shape in copies.shapes if math.prod(shape) >= 2 * 9 * entry]
        assert large == ([] if len(outputs) == 2 else 2 * [(2, 1, 4, 9, entry)])
    assert error(*outputs) <= 1e-12


def test_what_the_copies_take_at_the_sizes_of_deepseek_v3() -> None:
    numbers = tables.numbers()
    assert numbers["gpu_cache"] == f"{8192 * 576 * 2 // 2**20} MiB"
    assert numbers["gpu_copies"] == f"{2 * 128 * 8192 * 576 * 2 / 2**30:.4g} GiB"
