"""Right functions in the conventions that are in use: none of them raises an alarm."""

import importlib
import math
from functools import partial
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from attn_docs.testing import check_attention
from tests.testing.plain import found, plain

sdpa = F.scaled_dot_product_attention


LOW = -6e4  # no score is lower, and float16 holds it


def on(backend):
    def attend(query, key, value, attn_mask=None, *, is_causal=False, scale=None):
        with sdpa_kernel(backend):
            return sdpa(query, key, value, attn_mask, is_causal=is_causal, scale=scale)

    return attend


def annotated(query, key, value, mask=None, dropout=None):
    """Returns the output and the weights; the mask is 0 where a query may not attend."""
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if dropout is not None:
        weights = F.dropout(weights, dropout)
    return torch.matmul(weights, value), weights


def flash(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, return_lse=False):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    y = sdpa(
        q, k, v, dropout_p=dropout_p, is_causal=causal, scale=softmax_scale, enable_gqa=True
    ).transpose(1, 2)
    return (y, q.logsumexp(-1)) if return_lse else y


def single(query, key, value, attn_mask=None, is_causal=False):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if is_causal:
        scores = scores.masked_fill(~torch.ones_like(scores, dtype=torch.bool).tril(), -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    return scores.softmax(-1, torch.float32).nan_to_num(0.0).to(value.dtype) @ value


def all_single(query, key, value):
    return plain(query.float(), key.float(), value.float()).to(query.dtype)


def online(block):
    """Softmax block by block, with a common maximum; the triangle by position."""

    def attend(query, key, value, attn_mask=None, is_causal=False):
        n, m = query.size(-2), key.size(-2)
        best = query.new_full((*query.shape[:-1], 1), LOW)
        total, output = torch.zeros_like(best), query.new_zeros(*query.shape[:-1], value.size(-1))
        for j in range(0, m, block):
            keys, values = key[..., j : j + block, :], value[..., j : j + block, :]
            scores = query @ keys.mT / query.size(-1) ** 0.5
            if is_causal:
                below = torch.arange(j, min(j + block, m)) <= torch.arange(n)[:, None]
                scores = scores.masked_fill(~below, LOW)
            if attn_mask is not None:
                scores = scores.masked_fill(~attn_mask[..., j : j + block], LOW)
            higher = torch.maximum(best, scores.amax(-1, keepdim=True))
            weights, shrink = (scores - higher).exp(), (best - higher).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            output, best = output * shrink + weights @ values, higher
        return output / total

    return attend


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value):
        weights = (query @ key.mT / query.size(-1) ** 0.5).softmax(-1)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value

    @staticmethod
    def backward(ctx, grad):
        query, key, value, weights = ctx.saved_tensors
        inner = grad @ value.mT
        inner = weights * (inner - (inner * weights).sum(-1, keepdim=True))
        inner = inner / query.size(-1) ** 0.5
        return inner @ key, inner.mT @ query, weights.mT @ grad


def added(q, k, v, attn_bias=None):
    scores = q @ k.mT / q.size(-1) ** 0.5
    return (scores if attn_bias is None else scores + attn_bias).softmax(-1) @ v


def blocks(q, k, v, attention_mask=None):
    scores = q @ k.mT / q.size(-1) ** 0.5
    if attention_mask is not None:
        scores = scores.masked_fill(attention_mask[:, :, :, : k.size(-2)], -math.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ v


def halves(dtype):
    def attend(q, k, v, causal=False):
        if q.dtype != dtype:
            raise RuntimeError(f"only {dtype}")
        return sdpa(q, k, v, is_causal=causal)

    return attend


def by_blocks_of_16(q, k, v, causal=False, sm_scale=None):
    assert q.size(-2) % 16 == k.size(-2) % 16 == 0, "blocks of 16"
    assert q.size(-1) == v.size(-1) == 64, "heads of 64"
    return sdpa(q, k, v, is_causal=causal, scale=sm_scale)


def capped(cap):
    def attend(q, k, v, attn_mask=None, is_causal=False):
        scores = cap * (q @ k.mT / q.size(-1) ** 0.5 / cap).tanh()
        if is_causal:
            below = torch.ones_like(scores, dtype=torch.bool).tril()
            attn_mask = below if attn_mask is None else below & attn_mask
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        return scores.softmax(-1).nan_to_num(0.0) @ v

    return attend


def through(q, k, v, **options):
    return sdpa(q, k, v, **options)


def heads_alone(q, k, v, mask=None):
    """The axes (heads, length, size), as einsum writes them."""
    scores = torch.einsum("hnd,hmd->hnm", q, k) / q.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.einsum("hnm,hme->hne", scores.softmax(-1).nan_to_num(0.0), v)


def last_aligned(q, k, v, is_causal=False):
    n, m = q.size(-2), k.size(-2)
    below = torch.ones(n, m, dtype=torch.bool).tril(m - n)
    return plain(q, k, v, below if is_causal else None)


@torch.no_grad()
def inference(q, k, v, attn_mask=None, is_causal=False):
    return plain(q, k, v, attn_mask, is_causal)


FLASH = {"layout": "bnhd"}
NAMES = {"names": {"scale": "softmax_scale", "is_causal": "causal"}}
RIGHT = {
    "torch": (sdpa, {}),
    "math kernel": (on(SDPBackend.MATH), {}),
    "flash kernel": (on(SDPBackend.FLASH_ATTENTION), {"attn_mask": False}),
    "flash kernel in bfloat16": (
        on(SDPBackend.FLASH_ATTENTION),
        {"attn_mask": False, "dtype": torch.bfloat16},
    ),
    "math kernel in float16": (on(SDPBackend.MATH), {"dtype": torch.float16}),
    "annotated": (annotated, {}),
    "flash-attn": (flash, FLASH),
    "flash-attn, named": (flash, FLASH | NAMES),
    "flash-attn with lse": (partial(flash, return_lse=True), FLASH),
    "flash-attn in bfloat16": (flash, FLASH | {"dtype": torch.bfloat16}),
    "flash-attn in float16": (flash, FLASH | {"dtype": torch.float16}),
    "softmax in float32": (single, {}),
    "all in float32": (all_single, {}),
    "blocks of 16, online": (online(16), {}),
    "blocks of 64, online": (online(64), {}),
    "own backward": (
        Fused.apply,
        {
            "attn_mask": False,
            "is_causal": False,
            "dropout_p": False,
            "scale": False,
            "enable_gqa": False,
        },
    ),
    "additive": (added, {"mask_true": "added"}),
    "additive in float16": (added, {"mask_true": "added", "dtype": torch.float16}),
    "True blocks, four axes": (blocks, {"mask_true": "blocks"}),
    "bfloat16 only": (halves(torch.bfloat16), {}),
    "float16 only": (halves(torch.float16), {"dtype": torch.float16}),
    "float32 only": (halves(torch.float32), {}),
    "blocks and sizes": (
        by_blocks_of_16,
        {"head_dim": 64, "value_dim": 64, "lengths": [(32, 32), (16, 48)]},
    ),
    "blocks and sizes, one pair": (
        by_blocks_of_16,
        {"head_dim": 64, "value_dim": 64, "lengths": (32, 32), "dtype": torch.bfloat16},
    ),
    "soft-cap 30": (capped(30.0), {"softcap": 30.0}),
    "soft-cap 5": (capped(5.0), {"softcap": 5}),
    "by keywords": (through, {}),
    "heads alone": (heads_alone, {"layout": "hnd"}),
    "aligned with the last key": (last_aligned, {}),
    "inference": (inference, {"backward": False}),
}


@pytest.mark.filterwarnings("ignore:Flash attention")
@pytest.mark.filterwarnings("ignore:For dense input")
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_passes(name):
    attend, described = RIGHT[name]
    report = check_attention(attend, require=["oracle"], **described)
    assert report.passed, report


def said(report):
    return found(report, "oracle").evidence


MODELS = ("bert", "gpt2", "llama", "qwen3", "gemma2", "mistral", "phi", "whisper", "vit", "olmo2")


@pytest.mark.parametrize("model", MODELS)
def test_the_function_of_a_model_of_transformers_passes(model):
    pytest.importorskip("transformers")
    module = importlib.import_module(f"transformers.models.{model}.modeling_{model}")
    layer = torch.nn.Module()
    layer.num_key_value_groups, layer.head_dim, layer.scale_attn_weights = 1, 16, True
    layer.config = SimpleNamespace()
    report = check_attention(
        partial(module.eager_attention_forward, layer.eval()),
        names={"attn_mask": "attention_mask"} | ({} if model == "gpt2" else {"scale": "scaling"}),
        mask_true="added",
        dropout_p=False,
        output=lambda returned: returned[0].transpose(1, 2),
        require=["oracle"],
    )
    assert report.passed, report
