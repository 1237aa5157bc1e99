"""Caches, contexts and whole functions with one thing wrong: each fails with the right cause."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import dropout

from attn_docs import GroupedQueryAttention, KVCache, RotaryEmbedding
from attn_docs.testing import Adapter, check_attention, check_module

DIM, HEADS, SIZE = 32, 4, 8
INF = math.inf


class Cached(nn.Module):
    """Causal attention with a cache of keys and values, and a flag for each bug."""

    def __init__(self, bug="", *, kv_heads=HEADS, positions=False):
        super().__init__()
        self.bug, self.kv_heads, self.positions = bug, kv_heads, positions
        self.q, self.o = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.k, self.v = (nn.Linear(DIM, kv_heads * SIZE) for _ in range(2))

    def rotate(self, x, start):
        """Turn each pair of numbers by an angle that grows with the position."""
        place = torch.arange(start, start + x.size(-2), dtype=x.dtype)
        angle = place[:, None] * 10.0 ** -torch.arange(0, SIZE // 2, dtype=x.dtype)
        a, b = x.chunk(2, -1)
        sin, cos = angle.sin(), angle.cos()
        return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)

    def forward(self, x, cache=None):
        return self.step(x, cache)[0]

    def step(self, x, cache):  # noqa: C901
        batch, n, _ = x.shape
        q = self.q(x).view(batch, n, HEADS, SIZE).transpose(1, 2)
        k, v = (f(x).view(batch, n, self.kv_heads, SIZE).transpose(1, 2) for f in (self.k, self.v))
        past = 0 if cache is None else cache[0].size(2)
        if self.positions:
            start = 0 if self.bug == "position from 0" else past
            q, k = self.rotate(q, start), self.rotate(k, start)
        if cache is not None and self.bug != "overwritten":
            if self.bug == "last only":
                cache = [t[:, :, -1:] for t in cache]
            k, v = (torch.cat([a, b], 2) for a, b in zip(cache, (k, v), strict=True))
        new = (k, v)
        if self.bug == "new twice" and past:
            k, v = (torch.cat([t, t[:, :, -n:]], 2) for t in (k, v))
        if self.bug == "old twice" and past:
            k, v = (torch.cat([t[:, :, :past], t], 2) for t in (k, v))
        if self.bug == "stored twice" and past:
            new = k, v = [torch.cat([t, t[:, :, -n:]], 2) for t in (k, v)]
        if self.bug == "values overwritten" and cache is not None:
            v = torch.cat([v[:, :, -n:]] * (k.size(2) // n + 1), 2)[:, :, : k.size(2)]
        if self.bug == "repeated, then stored":
            new = [t.repeat_interleave(HEADS // self.kv_heads, 1) for t in new]
        m = k.size(2)
        group = HEADS // k.size(1)
        k, v = (t.repeat_interleave(group, 1) for t in (k, v))
        offset = {"causal from the first": 0, "causal off": m}.get(self.bug, past)
        if self.bug in {"new twice", "stored twice", "old twice"}:
            offset = m - n
        if self.bug == "causal off" and not past:
            offset = 0
        mask = torch.ones(n, m, dtype=torch.bool).tril(offset)
        scores = (q @ k.mT / SIZE**0.5).masked_fill(~mask, -INF)
        output = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, DIM)
        return self.o(output), new


def check(bug, **options):
    positions = options.get("positions", False)
    adapter = Adapter(
        attn_mask=None, is_causal=None, context=None, step=lambda module, x, c: module.step(x, c)
    )
    module = Cached(bug, **options)
    return check_module(module, embed_dim=DIM, causal=True, positions=positions, adapter=adapter)


CACHES = {
    "overwritten": "the cache is overwritten, not extended",
    "last only": "part of the cache is lost",
    "causal from the first": "the causal mask is aligned with the first key",
    "causal off": "within a chunk the causal mask is not applied",
    "new twice": "the new keys and values are in the cache 2 times",
    "old twice": "the old keys and values are in the cache 2 times",
    "stored twice": "the new keys and values are in the cache 2 times",
    "values overwritten": "earlier keys and values are lost",
}


@pytest.mark.parametrize("bug", CACHES)
def test_a_wrong_cache_is_caught(bug):
    report = check(bug)
    assert {f.property: f.cause for f in report.failures}.keys() == {"cache"}, report
    assert CACHES[bug] in report.failures[0].cause, report


def test_a_chunk_whose_positions_start_again_is_caught():
    report = check("position from 0", positions=True)
    assert [f.property for f in report.failures] == ["cache"], report
    assert "positions are counted from 0" in report.failures[0].cause


def test_repeated_heads_in_the_cache_are_caught():
    report = check("repeated, then stored", kv_heads=2)
    assert [f.property for f in report.failures] == ["cache"], report
    assert "cannot go on from the cache" in report.failures[0].cause


@pytest.mark.parametrize("options", [{}, {"kv_heads": 2}, {"positions": True}])
def test_a_right_cache_passes(options):
    report = check("", **options)
    assert report.passed, report
    assert "cache" in {f.property for f in report.findings if f.verdict == "pass"}


def test_a_cache_that_refuses_chunks_is_judged_by_single_steps():
    def step(module, x, cache):
        if x.size(1) > 1:
            raise ValueError("one step at a time")
        return module.step(x, cache)

    adapter = Adapter(attn_mask=None, is_causal=None, context=None, step=step)
    report = check_module(Cached(), embed_dim=DIM, causal=True, adapter=adapter)
    finding = next(f for f in report.findings if f.property == "cache")
    assert finding.verdict == "pass"
    assert "one step at a time" in finding.evidence


class Cross(nn.Module):
    """Attention to a context, with a flag for each bug."""

    def __init__(self, bug="", *, fused=False):
        super().__init__()
        self.bug, self.fused = bug, fused
        self.to_q, self.to_out = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        if fused:
            self.to_kv = nn.Linear(DIM, 2 * DIM)
        else:
            self.to_k, self.to_v = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)

    def forward(self, x, context=None, attn_mask=None):
        bug = self.bug
        context = x if context is None or bug == "context ignored" else context
        q = self.to_q(context if bug == "query from context" else x)
        if self.fused:
            k, v = self.to_kv(context).chunk(2, -1)
        else:
            k = self.to_k(x if bug == "keys from x" else context)
            v = self.to_v(x if bug == "values from x" else context)
        if bug == "context cut":
            k, v = k[:, : x.size(1)], v[:, : x.size(1)]
        q, k, v = (t.unflatten(-1, (HEADS, SIZE)).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.mT / SIZE ** (0.0 if bug == "no scale" else 0.5)
        if attn_mask is not None and bug != "mask for self only":
            scores = scores.masked_fill(~attn_mask, -INF)
        if attn_mask is not None and bug == "mask for self only" and q.size(2) == k.size(2):
            scores = scores.masked_fill(~attn_mask, -INF)
        weights = scores.softmax(-2 if bug == "softmax over queries" else -1).nan_to_num(0.0)
        output = weights @ (k if bug == "value from key" else v)
        return self.to_out(output.transpose(1, 2).flatten(2))


CROSS = {
    "context ignored": ("cross-attention", "keys or values are made from x"),
    "query from context": ("cross-attention", "queries are made from the context"),
    "keys from x": ("cross-attention", "keys or values are made from x"),
    "values from x": ("cross-attention", "keys or values are made from x"),
    "context cut": ("cross-attention", "part of the context is cut off"),
    "mask for self only": ("cross-attention", "the mask is not applied to the keys of the context"),
    "no scale": ("scale", "scaled by 1 = 1"),
    "softmax over queries": ("weights", "over the queries"),
    "value from key": ("value projection", "the key projection"),
}


@pytest.mark.parametrize("bug", CROSS)
def test_a_wrong_cross_attention_is_caught(bug):
    report = check_module(Cross(bug), embed_dim=DIM)
    name, cause = CROSS[bug]
    found = {f.property: f.cause for f in report.failures}
    assert name in found, report
    assert cause in found[name], report


@pytest.mark.parametrize("fused", [False, True])
def test_a_right_cross_attention_passes(fused):
    report = check_module(Cross(fused=fused), embed_dim=DIM)
    assert {f.property for f in report.failures} <= set(), report
    assert "cross-attention" in {f.property for f in report.findings if f.verdict == "pass"}


def function(bug):  # noqa: C901  (a branch for each bug)
    """Return an attention function with PyTorch's signature and one thing wrong."""

    def attend(  # noqa: C901, PLR0912
        query,
        key,
        value,
        attn_mask=None,
        dropout_p=0.0,
        is_causal=False,
        scale=None,
        enable_gqa=False,
    ):
        if enable_gqa:
            group = query.size(1) // key.size(1)
            tile_k = bug in {"groups tiled", "only keys tiled"}
            tile_v = bug in {"groups tiled", "only values tiled"}
            key = key.repeat(1, group, 1, 1) if tile_k else key.repeat_interleave(group, 1)
            value = value.repeat(1, group, 1, 1) if tile_v else value.repeat_interleave(group, 1)
        size = query.size(-1)
        divisors = {
            "no scale": 1.0,
            "scale twice": size,
            "scale of 5": 5.0,
            "multiplied": size**-0.5,
        }
        factor = 1 / divisors.get(bug, size**0.5)
        if scale is not None:
            factor = {"scale ignored": factor, "scale as divisor": 1 / scale}.get(bug, scale)
        scores = query @ key.mT * factor
        n, m = scores.shape[-2:]
        if is_causal and not (bug == "causal or mask" and attn_mask is not None):
            below = torch.ones(n, m, dtype=torch.bool).tril({"sees next": 1}.get(bug, 0))
            below = {"causal ignored": below | True, "causal inverted": ~below}.get(bug, below)
            if bug == "causal in the middle":
                below = torch.ones(n, m, dtype=torch.bool).tril((m - n) // 2)
            scores = scores.masked_fill(~below, -INF)
        if attn_mask is not None and not (bug == "mask or causal" and is_causal):
            mask = {"inverted": ~attn_mask, "transposed": attn_mask.mT}.get(bug, attn_mask)
            if bug == "added":
                scores = scores + mask
            elif bug == "times":
                scores = scores * mask
            elif bug not in {"ignored", "after"}:
                fill = {"fill -5": -5.0, "fill -1e9": -1e9}.get(bug, -INF)
                scores = scores.masked_fill(~mask, fill)
        if bug == "dropout on scores":
            scores = dropout(scores, dropout_p)
        dim = {"over queries": -2, "over heads": 1}.get(bug, -1)
        weights = scores.softmax(dim)
        if bug != "empty rows":
            weights = weights.nan_to_num(0.0)
        if bug == "after" and attn_mask is not None:
            weights = weights * attn_mask
        if bug == "dropout always":
            dropout_p = 0.3
        if bug not in {"dropout ignored", "dropout on scores"}:
            weights = dropout(weights, dropout_p)
        if bug == "not rescaled":
            weights = weights * (1 - dropout_p)
        if bug == "written":
            query.add_(1.0)
        if bug == "value is key":
            value = key[..., : value.size(-1)]
        return weights @ value

    return attend


FUNCTIONS = {
    "no scale": ("scale", "scaled by 1 = 1, expected √head_dim = 4"),
    "scale twice": ("scale", "scaled by head_dim = 16"),
    "multiplied": ("scale", "scaled by 1/√head_dim = 0.25"),
    "scale of 5": ("scale", "scaled by 5, expected √head_dim = 4"),
    "scale ignored": ("scale", "the argument scale is ignored"),
    "scale as divisor": ("scale", "scale divides the scores, expected to multiply them"),
    "over queries": ("weights", "the softmax runs over the queries"),
    "over heads": ("weights", "the softmax runs over the heads"),
    "groups tiled": ("group order", "key and value heads are repeated as a whole"),
    "only keys tiled": ("group order", "only the key heads"),
    "only values tiled": ("group order", "only the value heads"),
    "ignored": ("mask used", "accepted and ignored"),
    "mask or causal": ("mask used", "attn_mask is ignored when is_causal=True"),
    "inverted": ("mask polarity", "polarity is inverted"),
    "transposed": ("mask axis", "axes are swapped"),
    "added": ("mask place", "added to the scores as 0 and 1"),
    "times": ("mask place", "masked scores become 0"),
    "after": ("mask place", "multiplies the weights after the softmax"),
    "fill -5": ("mask place", "masked keys still get a weight"),
    "fill -1e9": ("half precision", "too large for float16"),
    "causal ignored": ("causality", "the causal mask is not applied"),
    "causal or mask": ("causality", "is_causal is ignored when attn_mask is given"),
    "causal inverted": ("causality", "the causal mask is inverted"),
    "sees next": ("causality", "off by one: a position sees the next one"),
    "causal in the middle": ("causality", "aligned with neither end"),
    "empty rows": ("empty rows", "softmax of a row of −∞ is NaN"),
    "dropout ignored": ("dropout", "the argument dropout_p is ignored"),
    "dropout on scores": ("dropout", "applied to the scores"),
    "dropout always": ("deterministic", "something random runs without dropout_p"),
    "not rescaled": ("dropout", "not divided by 1 − p"),
    "written": ("input unchanged", "an in-place operation"),
    "value is key": ("weights", "the key is used as value"),
}


IN_PLACE = {
    "positions": "positions are counted from 0",
    "a window": "part of the cache is lost: position 3 does not see [0]",
    "another cache": "the cache is overwritten, not extended",
    "not causal": "within a chunk the causal mask is not applied",
}


@pytest.mark.parametrize("bug", IN_PLACE)
def test_a_cache_that_is_written_in_place_is_judged_as_well(bug):
    def step(module, x, cache):
        if cache is None or bug == "another cache":
            cache = KVCache(
                len(x), 2, 8, 16, dtype=x.dtype, window=3 if bug == "a window" else None
            )
        positions = torch.arange(x.size(1)) if bug == "positions" else None
        causal = bug != "not causal"
        return module(x, is_causal=causal, cache=cache, positions=positions), cache

    module = GroupedQueryAttention(32, 4, 2, rotary=RotaryEmbedding(8))
    report = check_module(module, embed_dim=32, causal=True, adapter=Adapter(step=step))
    (finding,) = report.failures
    assert finding.property == "cache"
    assert IN_PLACE[bug] in finding.cause


@pytest.mark.parametrize("bug", FUNCTIONS)
def test_a_wrong_function_is_caught(bug):
    report = check_attention(function(bug))
    name, cause = FUNCTIONS[bug]
    found = {f.property: f.cause for f in report.failures}
    assert name in found, report
    assert cause in found[name], report


def test_the_function_without_a_bug_passes():
    report = check_attention(function(""))
    assert report.passed, report
    assert sum(f.verdict == "pass" for f in report.findings) == 26
