"""Wrong modules that a checker can hardly see: off the usual paths, or right but for a number.

They are counted apart: what is missed here is what a page on limits should say.
"""

import torch
import torch.nn.functional as F

from tests.testing.strangers_heads import Normed, Rotary
from tests.testing.strangers_kit import (
    HEADS,
    Decoder,
    Encoder,
    Layer,
    entry,
    masked,
)

HARD = []


def hard(group, what, *named, source="", **check):
    return entry(HARD, group, what, *named, source=source, **check)


# ---- a path of its own for some calls


@hard("paths", "no triangle on the path without gradients", r"grad|inference", causal=True)
class leak_without_grad(Decoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v, allowed if torch.is_grad_enabled() else None)


@hard(
    "paths",
    "no triangle in half precision",
    r"float16|bfloat16|half",
    causal=True,
)
class leak_in_half_precision(Decoder):
    def core(self, q, k, v, allowed=None):
        half = q.dtype in {torch.float16, torch.bfloat16}
        return super().core(q, k, v, None if half else allowed)


@hard("paths", "no triangle in float32", r"float32|precision", causal=True)
class leak_in_float32(Decoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v, None if q.dtype == torch.float32 else allowed)


@hard("paths", "the path for bfloat16 forgets the scale", r"bfloat16|half|precision")
class unscaled_in_bfloat16(Encoder):
    def scores(self, q, k):
        return q @ k.mT if q.dtype == torch.bfloat16 else super().scores(q, k)


@hard("paths", "under autocast the scale is forgotten", r"autocast|precision")
class unscaled_under_autocast(Encoder):
    def scores(self, q, k):
        return q @ k.mT if torch.is_autocast_enabled("cpu") else super().scores(q, k)


@hard("paths", "from the fifth sample on, the future is seen", r"batch|sample", causal=True)
class leak_from_fifth_sample(Decoder):
    def core(self, q, k, v, allowed=None):
        allowed = allowed.expand(len(q), 1, -1, -1).clone()
        allowed[4:] = True
        return super().core(q, k, v, allowed)


@hard(
    "paths",
    "the last head sees the future",
    r"head \d|last head|(one|some|a) heads?\b|in head",
    causal=True,
)
class leak_in_last_head(Decoder):
    def core(self, q, k, v, allowed=None):
        allowed = allowed.expand(HEADS, -1, -1).clone()
        allowed[-1] = True
        return super().core(q, k, v, allowed)


@hard(
    "paths",
    "beyond 200 tokens the future is seen",
    r"from (length|position)|length \d+|long",
    causal=True,
)
class leak_beyond_200(Decoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v, allowed if q.size(-2) <= 200 else None)


# ---- state


@hard("state", "the first mask is kept for all of its length", r"first call|kept|state")
class first_mask_kept(Layer):
    def __init__(self):
        super().__init__()
        self.kept = {}

    def allowed(self, n, m, attn_mask, is_causal):
        return self.kept.setdefault((n, m), super().allowed(n, m, attn_mask, is_causal))


@hard(
    "state",
    "the table is as long as the first call",
    r"longer|length|rais|error",
    positions=True,
)
class table_of_first_length(Rotary):
    def places(self, x):
        if not hasattr(self, "table"):
            self.table = torch.arange(x.size(-2))
        return self.table[: x.size(-2)]


# ---- right but for a number


@hard("numbers", "the norm's epsilon is 0.1", r"eps|norm")
class large_epsilon(Normed):
    def __init__(self):
        super().__init__()
        self.q_norm.eps = self.k_norm.eps = 0.1


@hard("numbers", "scores are clamped to ±10 for stability", r"clamp|large|cap|bound")
class scores_clamped(Encoder):
    def scores(self, q, k):
        return super().scores(q, k).clamp(-10, 10)


@hard("numbers", "hidden scores are lowered by 100", r"fill|too small|hidden|still", causal=True)
class lowered_by_hundred(Decoder):
    def core(self, q, k, v, allowed=None):
        return (self.scores(q, k) - 100.0 * ~allowed).softmax(-1) @ v


@hard(
    "numbers",
    "ALiBi's slopes begin with 1",
    r"slope|ALiBi",
    source="https://github.com/paiml/aprender/pull/2143",
    causal=True,
    positions=True,
)
class slopes_from_one(Decoder):
    def scores(self, q, k):
        n = q.size(-2)
        slopes = 2.0 ** (-8 * torch.arange(HEADS) / HEADS)
        distance = torch.arange(n)[:, None] - torch.arange(n)
        return super().scores(q, k) - (slopes[:, None, None] * distance).to(q.dtype)


@hard("numbers", "positions begin anew after 64 tokens", r"begin|anew|wrap|\b64\b", positions=True)
class positions_begin_anew(Rotary):
    def places(self, x):
        return torch.arange(x.size(-2)) % 64


@hard(
    "numbers",
    "far positions are the same in bfloat16",
    r"bfloat16|precision",
    positions=True,
)
class positions_in_bfloat16(Rotary):
    def places(self, x):
        return torch.arange(x.size(-2)).to(torch.bfloat16).float()


@hard("numbers", "beyond 32 keys only the 32 best count", r"from length|long|best|top|\b32\b")
class best_keys_only(Encoder):
    def core(self, q, k, v, allowed=None):
        scores = self.scores(q, k)
        lowest = scores.topk(min(32, k.size(-2)), -1).values[..., -1:]
        return masked(scores, scores >= lowest) @ v


# ---- chance


class DroppedAnew(torch.autograd.Function):
    """Dropout whose backward draws again, as checkpointing without the random state does."""

    @staticmethod
    def forward(ctx, weights, p):
        ctx.p = p
        return F.dropout(weights, p)

    @staticmethod
    def backward(ctx, grad):
        return F.dropout(grad, ctx.p), None


@hard("chance", "the backward draws another dropout", r"gradient|backward|drop", dropout=0.2)
class dropout_drawn_again(Encoder):
    def core(self, q, k, v, allowed=None):
        weights = masked(self.scores(q, k))
        return (DroppedAnew.apply(weights, 0.2) if self.training else weights) @ v


@hard(
    "chance",
    "each call drops the same, by its seed",
    r"same|seed|random",
    dropout=0.2,
)
class dropout_seeded(Encoder):
    def core(self, q, k, v, allowed=None):
        weights = masked(self.scores(q, k))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return F.dropout(weights, 0.2, self.training) @ v


@hard("chance", "every head drops the same weights", r"drop.*(head|same|together)", dropout=0.2)
class dropout_shared_by_heads(Encoder):
    def core(self, q, k, v, allowed=None):
        weights = masked(self.scores(q, k))
        return weights * F.dropout(torch.ones_like(weights[:, :1]), 0.2, self.training) @ v


# ---- gradients


class ScaledBack(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad * 1.01


@hard("gradients", "the keys' gradient is one percent too large", r"gradient|backward")
class gradient_one_percent_off(Encoder):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return q, ScaledBack.apply(k), v


class CutFarKeys(torch.autograd.Function):
    @staticmethod
    def forward(ctx, k):
        return k.clone()

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        grad[..., 32:, :] = 0
        return grad


@hard("gradients", "keys beyond the first 32 get no gradient", r"gradient|backward")
class gradient_of_first_block_only(Encoder):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return q, CutFarKeys.apply(k), v


@hard("gradients", "gradients are clipped in the backward", r"gradient|backward|clip")
class gradient_clipped(Encoder):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        if k.requires_grad:
            k.register_hook(lambda grad: grad.clamp(-1e-3, 1e-3))
        return q, k, v


# ---- two at a time


@hard(
    "two",
    "the next token's values, a strict triangle",
    r"next|off by one",
    causal=True,
)
class shifted_twice(Decoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v.roll(-1, -2), allowed.tril(-1))
