"""Right modules in foreign styles: no false alarm, and no pass for what was not judged."""

import functools
import math
import time

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    MultiQueryAttention,
    RotaryEmbedding,
)
from attn_docs.testing import PROPERTIES, Adapter, Report, check_attention, check_module

DIM, HEADS, SIZE = 32, 4, 8
LOWEST = torch.finfo(torch.float32).min
MASKED = {"mask used", "mask polarity", "mask axis", "mask place", "padding"}


def heads(x, count=HEADS):
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


class NanoStyle(nn.Module):
    """One fused layer, a triangle kept as a buffer, dropout on weights and after the output."""

    def __init__(self, *, fused=True):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.attn_dropout, self.resid_dropout = nn.Dropout(0.1), nn.Dropout(0.1)
        self.fused = fused
        self.register_buffer("bias", torch.tril(torch.ones(80, 80)).view(1, 1, 80, 80))

    def forward(self, x):
        length = x.size(1)
        q, k, v = (heads(t) for t in self.c_attn(x).split(DIM, 2))
        if self.fused:
            p = 0.1 if self.training else 0.0
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        else:
            a = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(SIZE))
            a = a.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
            y = self.attn_dropout(F.softmax(a, -1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(x.shape)))


class FusedSlots(nn.Module):
    """One fused layer, cut as (3, heads, size), (heads, 3·size) or (size, heads, 3)."""

    def __init__(self, style):
        super().__init__()
        self.qkv, self.proj = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM)
        self.style, self.p = style, nn.Dropout(0.2)

    def forward(self, x):
        batch, n, _ = x.shape
        qkv = self.qkv(x)
        if self.style == "thirds":
            q, k, v = qkv.reshape(batch, n, 3, HEADS, SIZE).permute(2, 0, 3, 1, 4).unbind(0)
        elif self.style == "per head":
            q, k, v = qkv.view(batch, n, HEADS, 3 * SIZE).transpose(1, 2).chunk(3, -1)
        elif self.style == "key first":
            k, v, q = (heads(t) for t in qkv.chunk(3, -1))
        else:  # the head is the fastest index
            q, k, v = (t.view(batch, n, SIZE, HEADS).permute(0, 3, 1, 2) for t in qkv.chunk(3, -1))
        y = ((q * SIZE**-0.5) @ k.mT).softmax(-1) @ v
        if self.style == "head last":
            return self.p(self.proj(y.permute(0, 2, 3, 1).reshape(batch, n, DIM)))
        return self.p(self.proj(y.transpose(1, 2).reshape(batch, n, DIM)))


class Conv1D(nn.Module):
    """A linear layer whose matrix is (in, out)."""

    def __init__(self, outputs, inputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.1)
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        flat = torch.addmm(self.bias, x.reshape(-1, x.size(-1)), self.weight)
        return flat.view(*x.shape[:-1], -1)


class ConvStyle(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = Conv1D(3 * DIM, DIM), Conv1D(DIM, DIM)

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = (heads(t) for t in self.c_attn(hidden_states).split(DIM, 2))
        scores = q @ k.mT / SIZE**0.5
        n, m = scores.shape[-2:]
        below = torch.ones(n, m, dtype=torch.bool).tril()
        scores = torch.where(below, scores, torch.finfo(scores.dtype).min)
        if attention_mask is not None:
            scores = scores + attention_mask
        y = scores.softmax(-1) @ v
        return self.c_proj(y.transpose(1, 2).flatten(2)), None


class HeadByHead(nn.Module):
    """A list of heads, each with three layers of its own."""

    def __init__(self):
        super().__init__()
        names = ("key", "query", "value")
        self.heads = nn.ModuleList(
            nn.ModuleDict({name: nn.Linear(DIM, SIZE, bias=False) for name in names})
            for _ in range(HEADS)
        )
        self.proj, self.dropout = nn.Linear(DIM, DIM), nn.Dropout(0.2)

    def forward(self, x):
        outputs = []
        below = torch.ones(x.size(1), x.size(1)).tril()
        for head in self.heads:
            k, q, v = head["key"](x), head["query"](x), head["value"](x)
            w = (q @ k.mT * SIZE**-0.5).masked_fill(below == 0, -torch.inf).softmax(-1)
            outputs.append(self.dropout(w) @ v)
        return self.dropout(self.proj(torch.cat(outputs, -1)))


class Einsum(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (
            nn.Parameter(torch.randn(HEADS, *shape) * 0.1)
            for shape in ((DIM, SIZE), (DIM, SIZE), (DIM, SIZE), (SIZE, DIM))
        )

    def forward(self, x, mask=None):
        q, k, v = (torch.einsum("bnd,hde->bhne", x, w) for w in (self.wq, self.wk, self.wv))
        a = torch.einsum("bhne,bhme->bhnm", q, k) / SIZE**0.5
        if mask is not None:
            a = a.masked_fill(~mask, -6e4 if a.dtype in (torch.float16, torch.bfloat16) else LOWEST)
        return torch.einsum("bhne,hex->bnx", a.softmax(-1) @ v, self.wo)


class Separate(nn.Module):
    """Three layers and a mask that is added; `scale` and the mask's form are the caller's."""

    def __init__(self, *, scale=SIZE**-0.5, form="added", kv_heads=HEADS, out=True):
        super().__init__()
        self.query, self.key, self.value = (
            nn.Linear(DIM, SIZE * count) for count in (HEADS, kv_heads, kv_heads)
        )
        self.dense = nn.Linear(DIM, DIM) if out else nn.Identity()
        self.scale, self.form, self.kv_heads = scale, form, kv_heads
        self.dropout = nn.Dropout(0.1)

    def forward(self, hidden_states, attention_mask=None):
        q, k, v = self.query(hidden_states), self.key(hidden_states), self.value(hidden_states)
        q, k, v = heads(q), heads(k, self.kv_heads), heads(v, self.kv_heads)
        group = HEADS // self.kv_heads  # expand and reshape: each head in a row
        k, v = (t[:, :, None].expand(-1, -1, group, -1, -1).flatten(1, 2) for t in (k, v))
        scores = q @ k.mT * self.scale
        if attention_mask is not None:
            mask = attention_mask
            if self.form == "ones":  # (batch, m), 1 keeps
                mask = (1.0 - mask[:, None, None, :]) * torch.finfo(scores.dtype).min
            scores = scores + mask
        weights = F.softmax(scores, -1, dtype=torch.float32).to(q.dtype)
        y = self.dropout(weights) @ v
        return (self.dense(y.transpose(1, 2).flatten(2)), weights)


class LengthFirst(nn.Module):
    """(length, batch, embed), with a boolean mask whose True blocks."""

    def __init__(self):
        super().__init__()
        self.in_proj, self.out_proj = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)

    def forward(self, x, attn_mask=None):
        n, batch, _ = x.shape
        q, k, v = self.in_proj(x).chunk(3, -1)
        q, k, v = (t.reshape(n, batch * HEADS, SIZE).transpose(0, 1) for t in (q, k, v))
        scores = torch.bmm(q / SIZE**0.5, k.mT)
        if attn_mask is not None:
            scores = scores.masked_fill(attn_mask, torch.finfo(scores.dtype).min)
        y = torch.bmm(scores.softmax(-1), v).transpose(0, 1)
        return self.out_proj(y.reshape(n, batch, DIM))


class NeedsBoth(nn.Module):
    """Cannot be called without a context and a mask."""

    def __init__(self, context_dim):
        super().__init__()
        self.to_q, self.to_out = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.to_kv = nn.Linear(context_dim, 2 * DIM)

    def forward(self, x, context, mask):
        k, v = (heads(t) for t in self.to_kv(context).chunk(2, -1))
        y = F.scaled_dot_product_attention(heads(self.to_q(x)), k, v, attn_mask=mask[:, None])
        return self.to_out(y.transpose(1, 2).flatten(2))


def added(axes, **options):
    return Adapter(
        attn_mask="attention_mask",
        mask_true="added",
        mask_axes=axes,
        **options,
    )


def rotary(module, x, *, attn_mask=None, is_causal=False):
    """Call `module` as a decoder would: rotated queries and keys, grouped heads, an added mask."""
    n = x.size(1)
    place = torch.arange(n, dtype=x.dtype)[:, None]
    angle = place * 10.0 ** -torch.arange(0, SIZE // 2, dtype=x.dtype)
    cos, sin = (f(torch.cat([angle, angle], -1)).to(x.dtype) for f in (torch.cos, torch.sin))
    mask = torch.ones(n, n, dtype=torch.bool) if attn_mask is None else attn_mask
    if is_causal:
        mask = mask & torch.ones(n, n, dtype=torch.bool).tril()
    fill = torch.zeros(n, n, dtype=x.dtype).masked_fill(~mask, torch.finfo(x.dtype).min)
    q, k, v = module.query(x), module.key(x), module.value(x)
    q, k, v = heads(q), heads(k, module.kv_heads), heads(v, module.kv_heads)

    def rotate(t):
        a, b = t.chunk(2, -1)
        return t * cos + torch.cat([-b, a], -1) * sin

    q, k = rotate(q), rotate(k)
    k, v = (t.repeat_interleave(HEADS // module.kv_heads, 1) for t in (k, v))
    y = (q @ k.mT / SIZE**0.5 + fill).softmax(-1) @ v
    return module.dense(y.transpose(1, 2).flatten(2))


def with_cache(module, x, cache):
    cache = cache or KVCache(len(x), module.num_kv_heads, module.head_dim, 16, dtype=x.dtype)
    return module(x, is_causal=True, cache=cache), cache


def with_latent_cache(module, x, cache):
    cache = cache or LatentCache(len(x), module.kv_rank, module.rope_dim, 16, dtype=x.dtype)
    return module(x, is_causal=True, cache=cache), cache


INSIDE = {"oracle", "scale", "weights", "value projection", "head layout"}
INSIDE_MASKED = INSIDE | MASKED
CAUSAL = {"causality", "prefix"}
# name, module, arguments, and some of what must have been judged
RIGHT = {
    "torch": (nn.MultiheadAttention(DIM, HEADS), {}, INSIDE_MASKED | {"cross-attention"}),
    "torch, batch first": (
        nn.MultiheadAttention(DIM, HEADS, batch_first=True, dropout=0.1),
        {},
        INSIDE_MASKED | {"dropout"},
    ),
    "torch, other keys": (
        nn.MultiheadAttention(DIM, HEADS, kdim=24, vdim=24, batch_first=True),
        {"context_dim": 24},
        INSIDE_MASKED | {"cross-attention"},
    ),
    "nano, fused": (NanoStyle(), {"causal": True}, INSIDE | CAUSAL | {"dropout"}),
    "nano, written out": (NanoStyle(fused=False), {"causal": True}, INSIDE | CAUSAL | {"dropout"}),
    "thirds": (FusedSlots("thirds"), {}, INSIDE),
    "per head": (FusedSlots("per head"), {}, INSIDE),
    "key first": (FusedSlots("key first"), {}, INSIDE),
    "head last": (FusedSlots("head last"), {}, {"oracle", "scale", "head layout"}),
    "conv": (ConvStyle(), {"causal": True, "adapter": added(4)}, INSIDE_MASKED | CAUSAL),
    "head by head": (HeadByHead(), {"causal": True}, INSIDE | CAUSAL | {"dropout"}),
    "einsum": (Einsum(), {}, {"oracle", "scale", "head layout"} | MASKED),
    "bert": (Separate(out=False), {"adapter": added(4)}, INSIDE_MASKED | {"dropout"}),
    "bert, added (n, m)": (Separate(), {"adapter": added(2)}, INSIDE_MASKED),
    "no scale": (Separate(scale=1.0), {"scale": 1.0, "adapter": added(4)}, INSIDE_MASKED),
    "grouped": (Separate(kv_heads=2), {"adapter": added(4)}, INSIDE_MASKED | {"group order"}),
    "ones and zeros": (Separate(form="ones"), {}, INSIDE_MASKED),
    "length first": (
        LengthFirst(),
        {"adapter": Adapter(batch_first=False, mask_true="blocks")},
        INSIDE_MASKED,
    ),
    "needs both": (
        NeedsBoth(24),
        {"context_dim": 24},
        INSIDE_MASKED | {"cross-attention"},
    ),
    "rotary": (
        Separate(kv_heads=2),
        {"causal": True, "positions": True, "adapter": rotary},
        INSIDE_MASKED | CAUSAL | {"group order"},
    ),
    "rotary, not said": (Separate(kv_heads=2), {"adapter": rotary}, MASKED | {"batch"}),
    "ours": (MultiHeadAttention(DIM, HEADS, dropout=0.1), {"causal": True}, INSIDE_MASKED | CAUSAL),
    "ours, grouped": (GroupedQueryAttention(DIM, HEADS, 2), {"causal": True}, {"group order"}),
    "ours, one key head": (MultiQueryAttention(DIM, HEADS), {"causal": True}, INSIDE_MASKED),
    "ours, rotary and cached": (
        GroupedQueryAttention(DIM, HEADS, 2, rotary=RotaryEmbedding(DIM // HEADS)),
        {"causal": True, "adapter": Adapter(step=with_cache)},
        INSIDE_MASKED | CAUSAL | {"cache", "group order"},
    ),
    "ours, latent": (
        MultiHeadLatentAttention(DIM, HEADS, kv_rank=16, head_dim=8, rope_dim=4, value_dim=6),
        {"causal": True, "adapter": Adapter(step=with_latent_cache)},
        MASKED | CAUSAL | {"cache"},
    ),
    "six heads, four mask axes": (nn.MultiheadAttention(36, 6), {"embed_dim": 36}, INSIDE_MASKED),
}


def judged(report: Report) -> set[str]:
    return {finding.property for finding in report.findings if finding.verdict == "pass"}


@functools.cache
def report_of(name: str) -> Report:
    module, options, _ = RIGHT[name]
    return check_module(module, **({"embed_dim": DIM} | options))


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_module_passes(name):
    module, _, expected = RIGHT[name]
    before = {key: value.clone() for key, value in module.state_dict().items()}
    start = time.process_time()
    report = report_of(name)
    assert time.process_time() - start < 5
    assert report.passed, report
    assert expected <= judged(report), report
    assert [finding.property for finding in report.findings] == list(PROPERTIES)
    assert all(torch.equal(before[key], value) for key, value in module.state_dict().items())


@pytest.mark.parametrize("name", ["thirds", "nano, fused", "rotary", "head last"])
def test_what_was_not_judged_reads_not_applicable(name):
    report = report_of(name)
    cannot = {
        "thirds": MASKED | CAUSAL | {"cross-attention", "cache", "dropout", "group order"},
        "nano, fused": MASKED | {"cross-attention", "cache", "permutation", "group order"},
        "rotary": {"packing", "permutation", "cache", "cross-attention"},
        "head last": {"cache", "group order"},
    }[name]
    verdicts = {finding.property: finding.verdict for finding in report.findings}
    assert {verdicts[name] for name in cannot} == {"not applicable"}, report


@pytest.mark.parametrize(
    "attend",
    [
        F.scaled_dot_product_attention,
        lambda q, k, v: (q @ k.mT / k.size(-1) ** 0.5).softmax(-1) @ v,
        lambda query, key, value, *, scale=None: F.scaled_dot_product_attention(
            query, key, value, scale=scale
        ),
        lambda q, k, v, attn_mask=None: F.scaled_dot_product_attention(q, k, v, attn_mask),
    ],
    ids=["torch", "three arguments", "scale alone", "mask"],
)
def test_a_right_function_passes(attend):
    report = check_attention(attend)
    assert report.passed, report
    assert {"oracle", "scale", "weights", "batch"} <= judged(report)


class Unknown(nn.Module):
    """Attends by distance: nothing that is searched for."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(DIM, DIM) for _ in range(3))

    def forward(self, x):
        return torch.cdist(self.q(x), self.k(x)).neg().softmax(-1) @ self.v(x)


def test_an_unknown_way_of_computing_is_not_passed():
    report = check_module(Unknown(), embed_dim=DIM)
    assert INSIDE & judged(report) == {"weights"}, report
    assert report.passed  # its weights sum to one; batch, permutation and the like still hold
    assert "formula: not judged" in str(report).splitlines()[0]
    assert check_module(Unknown(), embed_dim=DIM, require=["oracle"]).verdict == "not judged"


def test_a_module_of_no_attention_passes_no_property_of_attention():
    report = check_module(nn.Linear(DIM, DIM), embed_dim=DIM)
    assert (INSIDE | MASKED | CAUSAL) & judged(report) == {"weights"}, report
    assert report.verdict == "failed"
    assert [finding.property for finding in report.failures] == ["attends"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"module": 3}, TypeError, "module must be a torch.nn.Module; got int"),
        ({"embed_dim": 0}, ValueError, "embed_dim must be 1 or more; got 0"),
        ({"embed_dim": "32"}, TypeError, "embed_dim must be an int; got '32'"),
        ({"causal": 1}, TypeError, "causal must be True or False; got 1"),
        ({"positions": None}, TypeError, "positions must be True or False; got None"),
        ({"context_dim": -1}, ValueError, "context_dim must be 1 or more; got -1"),
        ({"num_heads": 1.5}, TypeError, "num_heads must be an int; got 1.5"),
        ({"scale": "1"}, TypeError, "scale must be an int or a float; got '1'"),
        ({"scale": 0.0}, ValueError, "scale must be above 0; got 0.0"),
        ({"adapter": 3}, TypeError, "adapter must be callable; got 3"),
        ({"require": "oracle"}, TypeError, "require must hold names of properties; got 'oracle'"),
        (
            {"require": ["scales"]},
            ValueError,
            "names of attn_docs.testing.PROPERTIES; got 'scales'",
        ),
        ({"waive": ["scale"]}, TypeError, "waive must map names of properties to reasons"),
        ({"waive": {"scale": ""}}, ValueError, "waive must give a reason for 'scale'; got ''"),
        (
            {"adapter": Adapter(attn_mask="bias")},
            ValueError,
            "attn_mask must name an argument of the module's forward; got 'bias'",
        ),
        ({"embed_dim": 31}, ValueError, "module must run on an input of shape (1, 6, 31)"),
    ],
)
def test_bad_arguments_of_check_module(arguments, error, message):
    options = {"module": Separate(), "embed_dim": DIM} | arguments
    with pytest.raises(error) as raised:
        check_module(options.pop("module"), **options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"attend": 3}, TypeError, "attend must be callable; got 3"),
        ({"attn_mask": 1}, TypeError, "attn_mask must be True, False or None; got 1"),
        ({"scale": 0.5}, TypeError, "scale must be True, False or None; got 0.5"),
        ({"device": "nowhere"}, ValueError, "device must name a torch device; got 'nowhere'"),
        ({"device": 1.5}, TypeError, "device must be a torch.device or its name; got 1.5"),
        ({"attend": lambda q: q}, ValueError, "attend must run on query (2, 10, 5, 16)"),
    ],
)
def test_bad_arguments_of_check_attention(arguments, error, message):
    options = {"attend": F.scaled_dot_product_attention} | arguments
    with pytest.raises(error) as raised:
        check_attention(options.pop("attend"), **options)
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"attn_mask": 3}, TypeError, "attn_mask must be the name of an argument or None; got 3"),
        ({"mask_true": "keeps"}, ValueError, "mask_true must be one of 'attends', 'blocks'"),
        ({"mask_axes": 5}, ValueError, "mask_axes must be one of None, 1, 2, 3, 4; got 5"),
        ({"arguments": "q"}, ValueError, "arguments must be one of 'x', 'query, key, value'"),
        ({"batch_first": 0}, TypeError, "batch_first must be True or False; got 0"),
        ({"keywords": 1}, TypeError, "keywords must be a mapping or return one; got 1"),
        ({"output": 0}, TypeError, "output must be callable; got 0"),
        ({"step": 1}, TypeError, "step must be callable; got 1"),
        ({"mask_dtype": "bool"}, TypeError, "mask_dtype must be a torch.dtype or None; got 'bool'"),
    ],
)
def test_bad_fields_of_an_adapter(arguments, error, message):
    with pytest.raises(error) as raised:
        Adapter(**arguments)
    assert message in str(raised.value)


def test_projections_that_are_convolutions_of_one_token_pass():
    class Convolved(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Conv1d(32, 32, 1) for _ in range(4))

        def forward(self, x):
            q, k, v = (
                f(x.mT).mT.unflatten(-1, (4, 8)).transpose(1, 2) for f in (self.q, self.k, self.v)
            )
            joined = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
            return self.o(joined.mT).mT

    assert check_module(Convolved(), embed_dim=32).passed
