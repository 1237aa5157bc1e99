"""More wrong modules: softmax, values, context, cache, dropout, parameters, and no attention."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import Adapter
from tests.testing.strangers_kit import (
    EMBED_DIM,
    HEAD_DIM,
    HEADS,
    Cached,
    Decoder,
    Encoder,
    Layer,
    RMSNorm,
    heads,
    join,
    masked,
    rotate,
    step,
    triangle,
    wrong,
)

# ---- softmax

WEIGHTS = r"softmax|distribution|sum to|weights (are|do|is|of|run|rows)"


def weighted(name, what, weights, *named, base=Encoder, source="", **check):
    """Enter a layer whose weights are computed by `weights(scores)`, scores scaled already."""

    def core(self, q, k, v, allowed=None):
        return weights(self.scores(q, k)) @ v

    wrong("softmax", what, *named, source=source, **check)(type(name, (base,), {"core": core}))


weighted("no_softmax", "scores are the weights", lambda s: s, WEIGHTS)
weighted("log_softmax", "log_softmax for softmax", lambda s: s.log_softmax(-1), WEIGHTS)
weighted("sigmoid_weights", "a sigmoid, and nobody said so", torch.sigmoid, WEIGHTS, r"sigmoid")
weighted("relu_weights", "relu for softmax", torch.relu, WEIGHTS, r"relu")
weighted("softmax_twice", "softmax of the softmax", lambda s: s.softmax(-1).softmax(-1), WEIGHTS)
weighted("weights_transposed", "the weights are transposed", lambda s: s.softmax(-1).mT, WEIGHTS)
weighted(
    "softmax_over_batch",
    "softmax without a dim on three axes runs over the first",
    lambda s: s.softmax(0),
    WEIGHTS,
    r"sample|batch",
    source="https://github.com/FudanNLP/fastNLP/issues/254",
)
weighted(
    "softmax_over_all_pairs",
    "one softmax over all queries and keys",
    lambda s: s.flatten(-2).softmax(-1).view_as(s),
    WEIGHTS,
)
weighted(
    "divided_by_largest",
    "divided by the largest power, not by their sum",
    lambda s: (s - s.amax(-1, keepdim=True)).exp(),
    WEIGHTS,
)
weighted(
    "powers_without_maximum",
    "exp of scores as they are: overflows in float16 where scores are large",
    lambda s: s.exp() / s.exp().sum(-1, keepdim=True),
    r"float16|half|overflow|large|NaN|inf",
)
weighted(
    "weights_in_bfloat16",
    "weights are rounded to bfloat16, whatever comes in",
    lambda s: s.softmax(-1).to(torch.bfloat16).to(s.dtype),
    r"bfloat16|half|precision|round",
)
weighted(
    "noise_in_eval",
    "noise on the scores, in evaluation, too",
    lambda s: (s + 0.1 * torch.randn_like(s)).softmax(-1),
    r"random|same call|deterministic|noise",
)
weighted(
    "blocks_without_rescaling",
    "each block of 16 keys has a softmax of its own",
    lambda s: torch.cat([t.softmax(-1) for t in s.split(16, -1)], -1) / math.ceil(s.size(-1) / 16),
    r"block|length|long|\b1[67]\b",
)


@wrong(
    "softmax",
    "the scale is applied to the result, not to the scores",
    r"scaled by 1\b|result|sum to|no scale",
)
class result_scaled(Encoder):
    def core(self, q, k, v, allowed=None):
        return (q @ k.mT).softmax(-1) @ v / math.sqrt(HEAD_DIM)


@wrong(
    "softmax",
    "scores are divided by the root of the number of tokens",
    r"√length|√n\b|number of (tokens|keys)|with the length",
)
class scaled_by_length(Encoder):
    def scores(self, q, k):
        return q @ k.mT / math.sqrt(k.size(-2))


@wrong(
    "softmax",
    "queries minus keys where a product should be",
    r"product|subtract|additive|scores? (is|are)",
)
class keys_subtracted(Encoder):
    def scores(self, q, k):
        return (q[:, :, :, None] - k[:, :, None]).sum(-1) / math.sqrt(HEAD_DIM)


# ---- values


@wrong("values", "with a context, the values come from k_proj", r"k_proj|key projection|context")
class values_from_keys_with_context(Layer):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x, context)
        return q, k, v if context is None else k


@wrong(
    "values",
    "the values are those of the next token",
    r"value.*(next|position|token|roll|shift)|order",
)
class values_of_next_word(Encoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v.roll(-1, -2))


@wrong("values", "the values come from the queries' projection", r"q_proj|query projection")
class value_from_query(Encoder):
    def qkv(self, x, context=None):
        q, k, _ = super().qkv(x)
        return q, k, q


@wrong("values", "the token's own value is added", r"value.*added|own value|itself|sum to|residual")
class own_value_added(Encoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v) + v


# ---- context

CONTEXT = r"context"


@wrong("context", "keys come from x where the lengths agree", CONTEXT, r"from x")
class keys_from_x_when_lengths_agree(Layer):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x, context)
        if k.size(-2) == q.size(-2):
            k = heads(self.k_proj(x))
        return q, k, v


@wrong("context", "the keys are those of x and of the context", CONTEXT)
class context_appended(Layer):
    def qkv(self, x, context=None):
        both = None if context is None else torch.cat([x, context], 1)
        return super().qkv(x, both)

    def allowed(self, n, m, attn_mask, is_causal):
        if attn_mask is not None and attn_mask.size(-1) < m:
            attn_mask = F.pad(attn_mask, (m - attn_mask.size(-1), 0), value=True)
        return super().allowed(n, m, attn_mask, is_causal)


@wrong("context", "the first sample's context is used for all", CONTEXT, r"sample|batch")
class context_of_first_sample(Layer):
    def qkv(self, x, context=None):
        return super().qkv(x, None if context is None else context[:1].expand(len(x), -1, -1))


@wrong(
    "context",
    "the context is cut to the length of x",
    CONTEXT,
    r"cut|length of x|part of the context",
)
class context_cut(Layer):
    def qkv(self, x, context=None):
        return super().qkv(x, None if context is None else context[:, : x.size(1)])

    def allowed(self, n, m, attn_mask, is_causal):
        return super().allowed(n, m, None if attn_mask is None else attn_mask[..., :m], is_causal)


@wrong("context", "the context is accepted and never used", CONTEXT, r"ignored")
class context_ignored(Layer):
    def qkv(self, x, context=None):
        return super().qkv(x)


# ---- cache

CACHED = {"causal": True, "positions": True, "adapter": Adapter(step=step)}


@wrong(
    "cache",
    "the state is kept in the module, and never emptied",
    r"state|module|kept|empt|call",
    **CACHED,
)
class state_in_module(Cached):
    def forward(self, x, cache=None):
        if cache is None:
            return super().forward(x)
        out, self.state = super().forward(x, getattr(self, "state", cache))
        return out, self.state


@wrong(
    "cache",
    "a new token's position is one too small",
    r"off by one|one (too|less|short|behind)|^(?!.*from 0).*(position|offset)",
    source="https://github.com/RobertCsordas/moeut/pull/6",
    **CACHED,
)
class offset_one_short(Cached):
    def offset(self, cache):
        return max(super().offset(cache) - 1, 0)


@wrong(
    "cache",
    "every new token is at position 0",
    r"from 0|position 0|offset",
    source="https://github.com/Blaizzy/mlx-vlm/issues/1983",
    **CACHED,
)
class offset_forgotten(Cached):
    def offset(self, cache):
        return 0


@wrong(
    "cache",
    "positions count calls, not tokens",
    r"\bcalls\b|^(?!.*from 0).*(position|offset)",
    **CACHED,
)
class offset_counts_calls(Cached):
    def forward(self, x, cache=None):
        self.calls = 0 if cache is None else self.calls + 1
        return super().forward(x, cache)

    def offset(self, cache):
        return self.calls


@wrong("cache", "the cache of the first sample serves all", r"sample|batch", **CACHED)
class cache_of_first_sample(Cached):
    def join_cache(self, cache, k, v):
        first = None if cache is None else tuple(t[:1].expand_as(t) for t in cache)
        return super().join_cache(first, k, v)


@wrong(
    "cache",
    "only the newest chunk is kept",
    r"overwrit|kept|lost|forg|newest|past|earlier|first chunk",
    **CACHED,
)
class cache_overwritten(Cached):
    def forward(self, x, cache=None):
        out, _ = super().forward(x, cache)
        _, k, v = self.qkv(x)
        return out, (rotate(k, torch.arange(x.size(1)) + self.offset(cache)), v)


@wrong("cache", "keys and values are kept in bfloat16", r"bfloat16|precision|round", **CACHED)
class cache_in_bfloat16(Cached):
    def forward(self, x, cache=None):
        out, cache = super().forward(x, cache)
        return out, tuple(t.to(torch.bfloat16).to(t.dtype) for t in cache)


@wrong(
    "cache",
    "within a chunk, the future is seen",
    r"within a chunk|chunk.*(future|mask|causal)",
    **CACHED,
)
class no_mask_within_chunk(Cached):
    def seen(self, n, m):
        return triangle(n, m) if n == m else torch.ones(n, m, dtype=torch.bool)


@wrong(
    "cache",
    "kept keys are rotated again with each token",
    r"twice|again|kept keys are (rotated|turned)",
    **CACHED,
)
class keys_rotated_again(Cached):
    def join_cache(self, cache, k, v):
        if cache is not None:
            cache = (rotate(cache[0], torch.arange(cache[0].size(-2))), cache[1])
        return super().join_cache(cache, k, v)


@wrong("cache", "the new keys come before the kept ones", r"order|before|place", **CACHED)
class cache_in_wrong_order(Cached):
    def join_cache(self, cache, k, v):
        if cache is None:
            return k, v
        return tuple(torch.cat(pair, -2) for pair in zip((k, v), cache, strict=True))


@wrong(
    "cache",
    "the new token's value is forgotten: it does not see itself",
    r"itself|own|newest|new",
    **CACHED,
)
class new_word_unseen(Cached):
    def seen(self, n, m):
        return triangle(n, m) if n == m else triangle(n, m).tril(m - n - 1)


# ---- dropout

DROPS = r"drop"


class Dropping(Encoder):
    p = 0.2

    def __init__(self):
        super().__init__(self.p)


@wrong(
    "dropout",
    "dropout is on the values",
    DROPS + r".*value|value.*drop|not on the weights",
    dropout=0.2,
)
class dropout_on_values(Dropping):
    def core(self, q, k, v, allowed=None):
        return masked(self.scores(q, k)) @ self.drop(v)


@wrong("dropout", "dropout is applied twice", r"twice|probability|p =|0\.36", dropout=0.2)
class dropout_twice(Dropping):
    def core(self, q, k, v, allowed=None):
        return self.drop(self.drop(masked(self.scores(q, k)))) @ v


@wrong(
    "dropout",
    "the weights are normalised anew after dropout",
    r"renormal|sum|1 − p|mean",
    dropout=0.2,
)
class renormalised_after_dropout(Dropping):
    def core(self, q, k, v, allowed=None):
        weights = self.drop(masked(self.scores(q, k)))
        return weights / weights.sum(-1, keepdim=True).clamp_min(1e-9) @ v


@wrong(
    "dropout",
    "p is taken for the probability to keep",
    r"drop.*0?\.8|probability|keep",
    dropout=0.2,
)
class keeps_with_p(Dropping):
    def core(self, q, k, v, allowed=None):
        return F.dropout(masked(self.scores(q, k)), 0.8, self.training) @ v


@wrong(
    "dropout",
    "dropout is accepted and never used",
    r"drop.*(never|ignored|unused|not used|no effect)|no dropout",
    dropout=0.2,
)
class dropout_unused(Encoder):
    def __init__(self, dropout=0.2):
        super().__init__()
        self.dropout = dropout


@wrong("dropout", "dropout in evaluation, none in training", r"eval", dropout=0.2)
class dropout_the_wrong_way(Dropping):
    def core(self, q, k, v, allowed=None):
        return F.dropout(masked(self.scores(q, k)), 0.2, not self.training) @ v


@wrong(
    "dropout",
    "whole keys are dropped for all queries",
    r"drop.*(all queries|same|together|column|whole)",
    dropout=0.2,
)
class dropout_of_whole_keys(Dropping):
    def core(self, q, k, v, allowed=None):
        weights = masked(self.scores(q, k))
        return weights * self.drop(torch.ones_like(weights[..., :1, :])) @ v


# ---- knobs


@wrong(
    "knobs", "scale is accepted and never used", r"scale.*(ignored|never|not)|scaled by", scale=0.5
)
class scale_unused(Encoder):
    def __init__(self, scale=0.5):
        super().__init__()
        self.scale = scale


# ---- parameters

UNUSED = r"never used|unused|no effect|does not reach|\bbias|\bgain"


@wrong("parameters", "a bias that no line adds", UNUSED)
class bias_unused(Encoder):
    def qkv(self, x, context=None):
        q, k, _ = super().qkv(x)
        return q, k, heads(x @ self.v_proj.weight.T)


@wrong("parameters", "a norm that no line calls", UNUSED, r"norm")
class norm_unused(Encoder):
    def __init__(self):
        super().__init__()
        self.norm = RMSNorm(EMBED_DIM)


@wrong(
    "parameters", "the sink is added to every score, where the softmax loses it", UNUSED, r"sink"
)
class sink_added_to_scores(Encoder):
    def __init__(self):
        super().__init__()
        self.sinks = nn.Parameter(torch.zeros(HEADS))

    def scores(self, q, k):
        return super().scores(q, k) + self.sinks[:, None, None]


@wrong(
    "parameters",
    "queries and keys share one weight by mistake",
    r"one projection|share|same|q_proj",
)
class tied_queries_and_keys(Encoder):
    def __init__(self):
        super().__init__()
        self.k_proj = self.q_proj


@wrong("parameters", "out_proj is never called", UNUSED, r"out_proj")
class out_proj_unused(Encoder):
    def forward(self, x):
        return join(self.core(*self.qkv(x)))


@wrong("parameters", "the gate is computed and not multiplied", UNUSED, r"gate")
class gate_unused(Encoder):
    def __init__(self):
        super().__init__()
        self.gate_proj = nn.Linear(EMBED_DIM, EMBED_DIM)

    def forward(self, x):
        self.gate_proj(x).sigmoid()
        return super().forward(x)


# ---- no attention at all

NONE = r"(no|not) attention|other tokens|no token|do(es)? not depend|content|same for all"


class Replaced(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = self.inner()

    def forward(self, x):
        out = self.layer(x)
        return out[0] if isinstance(out, tuple) else out


@wrong("no attention", "nothing is done", NONE)
class identity(Replaced):
    inner = nn.Identity


@wrong("no attention", "a feed-forward network", NONE)
class feed_forward(Replaced):
    def inner(self):
        return nn.Sequential(nn.Linear(40, 80), nn.GELU(), nn.Linear(80, 40))


@wrong("no attention", "an LSTM", NONE, causal=True)
class lstm(Replaced):
    def inner(self):
        return nn.LSTM(40, 40, batch_first=True)


@wrong("no attention", "an LSTM in both directions", NONE)
class lstm_both_ways(Replaced):
    def inner(self):
        return nn.LSTM(40, 20, batch_first=True, bidirectional=True)


@wrong("no attention", "the mean of all tokens", NONE, r"never used: q_proj")
class mean_pooling(Encoder):
    def core(self, q, k, v, allowed=None):
        return v.mean(-2, keepdim=True).expand_as(v)


@wrong("no attention", "a convolution over three tokens", NONE)
class convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(40, 40, 3, padding=1)

    def forward(self, x):
        return self.conv(x.mT).mT


@wrong(
    "no attention",
    "weights of the keys alone: each query gets the same",
    NONE,
    r"never used: q_proj",
)
class pooled_by_keys(Encoder):
    def scores(self, q, k):
        return k.sum(-1)[..., None, :].expand(*q.shape[:-1], k.size(-2)) / math.sqrt(HEAD_DIM)


@wrong("no attention", "the mean of the past", NONE, r"never used: q_proj", causal=True)
class running_mean(Decoder):
    def core(self, q, k, v, allowed=None):
        return v.cumsum(-2) / torch.arange(1, v.size(-2) + 1)[:, None]
