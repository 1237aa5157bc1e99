"""The thirty-two bugs of the page *Bugs that train*, in eight layers that people write today.

A host is a right layer, cut into stages that are methods. A kind overrides a stage or two by
design, a bug overrides one by mistake, so that each bug can be put into each kind.

    for form, kind, bug in cases():
        report = check_module(build(form, kind, bug), **arguments(form, kind))
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import Adapter

# all sizes differ, and so do their roots: √12, √24, √48, √4, √2
EMBED_DIM, NUM_HEADS, NUM_KV_HEADS, HEAD_DIM = 24, 4, 2, 12
FORMS = ("masked", "decoder", "encoder")


class Plain(nn.Module):
    """Grouped heads, as on the page; each method is a stage."""

    def __init__(self, num_kv_heads=NUM_KV_HEADS, dropout=0.1):
        super().__init__()
        self.num_heads, self.num_kv_heads = NUM_HEADS, num_kv_heads
        self.q_proj = nn.Linear(EMBED_DIM, NUM_HEADS * HEAD_DIM)
        self.k_proj = nn.Linear(EMBED_DIM, num_kv_heads * HEAD_DIM)
        self.v_proj = nn.Linear(EMBED_DIM, num_kv_heads * HEAD_DIM)
        self.out_proj = nn.Linear(NUM_HEADS * HEAD_DIM, EMBED_DIM)
        self.dropout = nn.Dropout(dropout)

    def enter(self, x):
        return x

    def split(self, x, heads):  # b n h·d to b h n d
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def merge(self, x):  # b h n d to b n h·d
        return x.transpose(1, 2).flatten(2)

    def keys(self, context):
        return self.split(self.k_proj(context), self.num_kv_heads)

    def values(self, context, x):  # x: for the bug that takes the wrong one
        return self.split(self.v_proj(context), self.num_kv_heads)

    def place(self, query, key):
        return query, key

    def share(self, t):  # each key head is next to its copies
        return t.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)

    def scores(self, query, key):
        return query @ key.mT / math.sqrt(query.size(-1))

    def bend(self, scores):
        return scores

    def hide_future(self, allowed):
        n, m = allowed.shape
        return allowed.tril(m - n)

    def lay_mask(self, scores, allowed, attn_mask):
        return scores, allowed & attn_mask

    def softmax(self, scores, dim=-1):
        return torch.softmax(scores, dim=dim)

    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores.masked_fill(some & ~allowed, -math.inf)) * some

    def weights(self, scores, allowed):
        return self.dropout(self.masked_softmax(scores, allowed))

    def leave(self, mixed, x):
        return self.out_proj(mixed)

    def attend(self, x, attn_mask=None, is_causal=False, context=None):
        x = self.enter(x)
        context = x if context is None else self.enter(context)
        query = self.split(self.q_proj(x), self.num_heads)
        query, key = self.place(query, self.keys(context))
        key, value = self.share(key), self.share(self.values(context, x))
        scores = self.bend(self.scores(query, key))
        allowed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device)
        if is_causal:
            allowed = self.hide_future(allowed)
        if attn_mask is not None:
            scores, allowed = self.lay_mask(scores, allowed, attn_mask)
        return self.leave(self.merge(self.weights(scores, allowed) @ value), x)


# ---- kinds


class RMSNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.weight


class NormalisedQueries(Plain):
    """Qwen3, Gemma 3: queries and keys are normalised head by head, with a gain."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.q_norm, self.k_norm = RMSNorm(HEAD_DIM), RMSNorm(HEAD_DIM)

    def place(self, query, key):
        return self.q_norm(query), self.k_norm(key)


class NormInside(Plain):
    """The layer normalises what comes in, as in many vision transformers."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.norm = nn.LayerNorm(EMBED_DIM)

    def enter(self, x):
        return self.norm(x)


class PartialRotary(Plain):
    """GLM, NeoX, Phi: half of each head is rotated, first half against second half of it."""

    def place(self, query, key):
        n, m = query.size(-2), key.size(-2)
        end = torch.arange(
            m - n, m, device=query.device
        )  # the last query is level with the last key
        return self.rotate(query, end), self.rotate(key, torch.arange(m, device=key.device))

    def rotate(self, x, positions):
        size = HEAD_DIM // 2
        turned, kept = x[..., :size], x[..., size:]
        frequencies = 10000.0 ** (-torch.arange(0, size, 2, device=x.device) / size)
        angles = (positions[:, None] * frequencies).to(x.dtype)
        cos, sin = angles.cos(), angles.sin()
        a, b = turned.chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin, kept], dim=-1)


class Gated(Plain):
    """Qwen3-Next: a sigmoid of the token itself opens and closes each number of the result."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.gate_proj = nn.Linear(EMBED_DIM, NUM_HEADS * HEAD_DIM)

    def leave(self, mixed, x):
        return self.out_proj(mixed * torch.sigmoid(self.gate_proj(x)))


class SoftCap(Plain):
    """Gemma 2: no score exceeds the cap."""

    cap = 50.0

    def bend(self, scores):
        return self.cap * torch.tanh(scores / self.cap)


class ALiBi(Plain):
    """BLOOM, MPT: the farther a key, the lower its score, in each head with another slope."""

    def bend(self, scores):
        n, m = scores.shape[-2:]
        slopes = 2.0 ** (-8 * torch.arange(1, NUM_HEADS + 1, device=scores.device) / NUM_HEADS)
        places = torch.arange(m - n, m, device=scores.device)
        distance = places[:, None] - torch.arange(m, device=scores.device)
        return scores - (slopes[:, None, None] * distance.abs()).to(scores.dtype)


class Sinks(Plain):
    """gpt-oss: each head has one more logit, whose weight is thrown away."""

    def __init__(self, **sizes):
        super().__init__(**sizes)
        self.sinks = nn.Parameter(torch.randn(NUM_HEADS))

    def softmax(self, scores, dim=-1):
        b, h, n, _ = scores.shape
        column = self.sinks.view(1, h, 1, 1).expand(b, h, n, 1).to(scores.dtype)
        return torch.softmax(torch.cat([scores, column], dim=-1), dim=dim)[..., :-1]


KINDS = {
    "plain": Plain,
    "qk_norm": NormalisedQueries,
    "norm_inside": NormInside,
    "partial_rotary": PartialRotary,
    "gated": Gated,
    "soft_cap": SoftCap,
    "alibi": ALiBi,
    "sinks": Sinks,
}
FORM_KINDS = {
    "masked": tuple(KINDS),
    "decoder": ("plain", "qk_norm", "partial_rotary"),
    "encoder": ("plain", "qk_norm", "partial_rotary"),
}

# ---- forms: what the layer's call takes


class Masked:
    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        return self.attend(x, attn_mask, is_causal, context)


class Decoder:
    def forward(self, x):
        return self.attend(x, is_causal=True)


class Encoder:
    def forward(self, x):
        return self.attend(x)


# ---- bugs: each overrides one stage


class MissingScale:
    def scores(self, query, key):
        return query @ key.mT


class ScaledByEmbedDim:
    def scores(self, query, key):
        return query @ key.mT / math.sqrt(EMBED_DIM)


class ScaledTwice:
    def scores(self, query, key):
        return query @ key.mT / query.size(-1)


class SoftmaxOverQueries:
    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores.masked_fill(some & ~allowed, -math.inf), dim=-2) * some


class SoftmaxOverHeads:
    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores.masked_fill(some & ~allowed, -math.inf), dim=1) * some


class ValueFromKey:
    def values(self, context, x):
        return self.split(self.k_proj(context), self.num_kv_heads)


class ValueIsInput:
    def values(self, context, x):
        return self.split(context, self.num_kv_heads)


class KeyFromQuery:
    def keys(self, context):
        return self.split(self.q_proj(context), self.num_kv_heads)


class ScrambledHeads:
    def split(self, x, heads):
        return x.view(len(x), heads, x.size(1), -1)


class MergedWithoutTranspose:
    def merge(self, x):
        return x.reshape(len(x), x.size(2), -1)


class TiledKeyHeads:
    def share(self, t):
        return t.repeat(1, self.num_heads // self.num_kv_heads, 1, 1)


class IgnoredMask:
    def lay_mask(self, scores, allowed, attn_mask):
        allowed.logical_and(attn_mask)
        return scores, allowed


class InvertedMask:
    def lay_mask(self, scores, allowed, attn_mask):
        return scores, allowed & ~attn_mask


class TransposedMask:
    def lay_mask(self, scores, allowed, attn_mask):
        return scores, allowed & attn_mask.mT


class ZeroFill:
    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores.masked_fill(~allowed, 0)) * some


class ZeroOneAdded:
    def lay_mask(self, scores, allowed, attn_mask):
        return scores + attn_mask, allowed


class MaskAfterSoftmax:
    def masked_softmax(self, scores, allowed):
        return self.softmax(scores) * allowed


class SmallNumberAdded:
    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores - 1e4 * ~allowed) * some


class NanInEmptyRows:
    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores.masked_fill(~allowed, -math.inf)) * some


class MaskForAllQueries:
    def lay_mask(self, scores, allowed, attn_mask):
        return scores, allowed & attn_mask.any(-2, keepdim=True)


class LargeFill:
    def masked_softmax(self, scores, allowed):
        some = allowed.any(-1, keepdim=True)
        return self.softmax(scores.masked_fill(some & ~allowed, -1e9)) * some


class CausalOnlyInEval:
    def hide_future(self, allowed):
        return allowed if self.training else super().hide_future(allowed)


class CausalOnlyInTraining:
    def hide_future(self, allowed):
        return super().hide_future(allowed) if self.training else allowed


class CausalOffByOne:
    def hide_future(self, allowed):
        n, m = allowed.shape
        return allowed.tril(m - n + 1)


class CausalInverted:
    def hide_future(self, allowed):
        n, m = allowed.shape
        return allowed.triu(m - n)


class CausalFromTheFirstKey:
    def hide_future(self, allowed):
        return allowed.tril()


class SamplesMixed:
    def merge(self, x):
        return x.permute(2, 0, 1, 3).reshape(len(x), x.size(2), -1)


class ValuesFromX:
    def values(self, context, x):
        return self.split(self.v_proj(x), self.num_kv_heads)


class DropoutOnScores:
    def weights(self, scores, allowed):
        return self.masked_softmax(self.dropout(scores), allowed)


class DropoutWithoutRescale:
    def weights(self, scores, allowed):
        return self.masked_softmax(scores, allowed) * self.dropout(scores).ne(0)


class DropoutInEval:
    def weights(self, scores, allowed):
        return F.dropout(self.masked_softmax(scores, allowed), self.dropout.p)


class MaskOverwritten:
    def lay_mask(self, scores, allowed, attn_mask):
        return scores, attn_mask.logical_and_(allowed)


# each with the tokens of a cause that names it; the page's own tokens (bugs.toml) are the first
# alternative, and the others are what somebody else might say
NAMED = {
    MissingScale: r"scaled by 1\b|not (divided|scaled)|no scale|missing.*scale|without.*scale",
    ScaledByEmbedDim: r"√(embed|input)_dim|root of.*(embed|all heads)",
    ScaledTwice: r"scaled by head_dim|(divided|scaled) (by head_dim|twice)|1/head_dim",
    SoftmaxOverQueries: r"over the quer|dim=-2|over.*quer.*not.*keys",
    SoftmaxOverHeads: r"over the heads|over.*heads.*not.*keys|dim=1\b",
    ValueFromKey: r"with the key projection|value.*k_proj|k_proj.*(makes|gives).*value",
    ValueIsInput: r"value is the input|value.*(not projected|input itself|without.*projection)",
    KeyFromQuery: r"one projection, q_proj|keys?.*(from|with|by).*(q_proj|query projection)",
    ScrambledHeads: r"(split|cut) by (a )?view|split.*without.*transpose",
    MergedWithoutTranspose: r"merged by (a )?view|(joined|merged).*without.*transpos",
    TiledKeyHeads: r"repeat: K1 K2|tiled|repeat_interleave",
    IgnoredMask: r"accepted and ignored|mask.*(ignored|never used|no effect)",
    InvertedMask: r"polarity is inverted|polarity|inverted|True.*(means|blocks)",
    TransposedMask: r"axes are swapped|transposed|rows and columns|axes.*swapped",
    ZeroFill: r"masked scores become 0|(become|set to|filled with) 0|fill.*\b0\b",
    ZeroOneAdded: r"added to the scores as 0 and 1|0 and 1|added.*(not|as).*(bool|number)",
    MaskAfterSoftmax: r"after the softmax",
    SmallNumberAdded: r"fill value is too small|too small|finite|(number|score).*can reach",
    NanInEmptyRows: r"row of −∞ is NaN|NaN",
    MaskForAllQueries: r"read as one of keys|same for all queries|for (all|every) quer|any quer",
    LargeFill: r"too large for float16|float16.*(not|cannot) (hold|have)|overflow",
    CausalOnlyInEval: r"not applied.*in training|only in eval",
    CausalOnlyInTraining: r"not applied.*in evaluation|only in training",
    CausalOffByOne: r"off by one|sees the next|one too (wide|far|many)",
    CausalInverted: r"keeps the future|(inverted|upper triangle|triu|removes the past)",
    CausalFromTheFirstKey: r"aligned with the first key|first key|top.left|not.*last key",
    SamplesMixed: r"samples are mixed|samples.*(mixed|see each other)|batch.*mixed",
    ValuesFromX: r"made from x, not from the context|values.*from x|from x.*context",
    DropoutOnScores: r"applied to the scores|on the scores|before the softmax",
    DropoutWithoutRescale: r"not divided by 1 − p|1 − p|not rescaled|rescal",
    DropoutInEval: r"applied in evaluation|drop.*(in|during) eval",
    MaskOverwritten: r"writes into an argument|in.place|(over)?writ(es|ten).*(mask|argument)",
}


def snake(name):
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")


BUGS = {snake(bug.__name__): bug for bug in NAMED}
NAMED_BY = {snake(bug.__name__): (words,) for bug, words in NAMED.items()}

NEEDS_ARGUMENTS = {  # a mask, a context, or more keys than queries
    "ignored_mask",
    "inverted_mask",
    "transposed_mask",
    "zero_one_added",
    "nan_in_empty_rows",
    "mask_for_all_queries",
    "causal_from_the_first_key",
    "values_from_x",
    "mask_overwritten",
}
NEEDS_HIDDEN_KEYS = NEEDS_ARGUMENTS | {
    "zero_fill",
    "mask_after_softmax",
    "small_number_added",
    "large_fill",
    "causal_only_in_eval",
    "causal_only_in_training",
    "causal_off_by_one",
    "causal_inverted",
}
LACKING = {"masked": set(), "decoder": NEEDS_ARGUMENTS, "encoder": NEEDS_HIDDEN_KEYS}
HARMLESS = {  # no score is as large as the number added; the sink gives an empty row its weight
    "qk_norm": {"small_number_added"},
    "norm_inside": {"small_number_added"},
    "soft_cap": {"small_number_added"},
    "sinks": {"nan_in_empty_rows"},
}


def shows(form, kind, bug):
    """Whether the bug has an effect in this host."""
    return bug not in LACKING[form] and bug not in HARMLESS.get(kind, set())


def hosts():
    """All (form, kind)."""
    return [(form, kind) for form in FORMS for kind in FORM_KINDS[form]]


def cases():
    """Yield (form, kind, bug) for each bug that has an effect there."""
    for form, kind in hosts():
        for bug in BUGS:
            if shows(form, kind, bug):
                yield form, kind, bug


def kv_heads(bug):
    """Return the number of key heads; queries can be taken for keys only where it is the same."""
    return NUM_HEADS if bug == "key_from_query" else NUM_KV_HEADS


def build(form, kind, bug=None, num_kv_heads=None):
    """Return the host, with the bug or, if None, right."""
    call = {"masked": Masked, "decoder": Decoder, "encoder": Encoder}[form]
    wrong = () if bug is None else (BUGS[bug],)
    layer = type("Attention", (call, *wrong, KINDS[kind]), {})
    return layer(num_kv_heads=num_kv_heads or kv_heads(bug))


def continued(module, x, words):
    """A step of writing: the new tokens ask, and they and all before them are asked."""
    words = x if words is None else torch.cat([words, x], dim=1)
    return module(x, is_causal=True, context=words), words


# a layer whose weights do not sum to one by design: what a reader would claim for it
CLAIMS = {"sinks": {"weights": "sinks"}}


def arguments(form, kind):
    """Return the keywords for `check_module` that a reader of the host would give."""
    return {
        "embed_dim": EMBED_DIM,
        "causal": form != "encoder",
        "positions": kind in {"partial_rotary", "alibi"},
        **({"adapter": Adapter(step=continued)} if form == "masked" else {}),
        **CLAIMS.get(kind, {}),
    }
