"""Right modules in the shapes of today: the checker must not find fault with any of them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import Adapter
from tests.testing.hosts import CLAIMS
from tests.testing.strangers_kit import (
    EMBED_DIM,
    HEAD_DIM,
    HEADS,
    Cached,
    Decoder,
    Encoder,
    Layer,
    RMSNorm,
    entry,
    heads,
    join,
    masked,
    rotate,
    rotate_neighbours,
    step,
    triangle,
)

RIGHT = []


def right(what, **check):
    return entry(RIGHT, "right", what, **check)


# ---- the plain layer, in other tokens


@right("mask, flag and context", causal=True)
class plain(Layer):
    pass


@right("PyTorch's function")
class of_torch_function(Encoder):
    def core(self, q, k, v, allowed=None):
        return F.scaled_dot_product_attention(q, k, v)


@right(
    "PyTorch's module",
    adapter=Adapter(arguments="query, key, value", mask_true="blocks"),
    waive={"empty rows": "the module gives NaN there, and says so"},
)
def of_torch_module():
    return nn.MultiheadAttention(EMBED_DIM, HEADS, batch_first=True)


@right("one projection for all three, heads outermost", causal=True)
class fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(40, 120, bias=False), nn.Linear(40, 40)

    def forward(self, x):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, HEADS, HEAD_DIM).permute(2, 0, 3, 1, 4)
        out = masked(q @ k.mT * HEAD_DIM**-0.5, triangle(n, n)) @ v
        return self.proj(out.transpose(1, 2).reshape(b, n, c))


@right("one projection, each head's three parts side by side, as in NeoX")
class fused_by_head(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_key_value, self.dense = nn.Linear(40, 120), nn.Linear(40, 40)

    def forward(self, x):
        q, k, v = heads(self.query_key_value(x)).chunk(3, -1)
        return self.dense(join(masked(q @ k.mT / math.sqrt(HEAD_DIM)) @ v))


@right("einsum, with weights of three axes", causal=True)
class einsum_style(nn.Module):
    def __init__(self):
        super().__init__()
        shape = (EMBED_DIM, HEADS, HEAD_DIM)
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(shape) * 0.1) for _ in range(3))
        self.wo = nn.Parameter(torch.randn(HEADS, HEAD_DIM, EMBED_DIM) * 0.1)

    def forward(self, x):
        q, k, v = (torch.einsum("bne,ehd->bhnd", x, w) for w in (self.wq, self.wk, self.wv))
        scores = torch.einsum("bhnd,bhmd->bhnm", q, k) / math.sqrt(HEAD_DIM)
        weights = masked(scores, triangle(x.size(1), x.size(1)))
        return torch.einsum("bhnm,bhmd,hde->bne", weights, v, self.wo)


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (
            nn.Linear(EMBED_DIM, HEAD_DIM, bias=False) for _ in range(3)
        )

    def forward(self, x):
        scores = self.query(x) @ self.key(x).mT * HEAD_DIM**-0.5
        return masked(scores, triangle(x.size(1), x.size(1))) @ self.value(x)


@right("a list of heads, each a module, as in lectures", causal=True)
class list_of_heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.proj = nn.ModuleList(Head() for _ in range(HEADS)), nn.Linear(40, 40)

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], -1))


@right("products and sums by broadcasting")
class broadcast_style(Encoder):
    def core(self, q, k, v, allowed=None):
        scores = (q[:, :, :, None] * k[:, :, None]).sum(-1) / math.sqrt(HEAD_DIM)
        return (scores.softmax(-1)[..., None] * v[:, :, None]).sum(-2)


@right("a loop over heads and queries", causal=True)
class loops(Decoder):
    def core(self, q, k, v, allowed=None):
        rows = [
            [
                ((q[:, h, i, None] * k[:, h, : i + 1]).sum(-1) / math.sqrt(HEAD_DIM)).softmax(-1)[
                    :, None
                ]
                @ v[:, h, : i + 1]
                for i in range(q.size(2))
            ]
            for h in range(HEADS)
        ]
        return torch.stack([torch.cat(row, 1) for row in rows], 1)


@right("online softmax, in blocks of 16 keys", causal=True)
class online(Decoder):
    def core(self, q, k, v, allowed=None):
        n = q.size(-2)
        top = q.new_full((*q.shape[:-1], 1), -math.inf)
        total, result = torch.zeros_like(top), torch.zeros_like(q)
        for start in range(0, n, 16):
            part = slice(start, start + 16)
            seen = allowed[:, part]
            scores = self.scores(q, k[..., part, :]).masked_fill(~seen, -math.inf)
            new = torch.maximum(top, scores.amax(-1, keepdim=True))
            powers, shrink = (scores - new).exp(), (top - new).exp()
            total = total * shrink + powers.sum(-1, keepdim=True)
            result, top = result * shrink + powers @ v[..., part, :], new
        return result / total


@right("softmax in float32, as in most libraries", causal=True)
class softmax_in_float32(Layer):
    def core(self, q, k, v, allowed=None):
        return masked(self.scores(q, k).float(), allowed).to(q.dtype) @ v


@right("the scale split over queries and keys")
class scaled_beforehand(Encoder):
    def scores(self, q, k):
        root = HEAD_DIM**-0.25
        return (q * root) @ (k * root).mT


@right("a large finite fill, the dtype's own", causal=True)
class filled_with_finfo(Decoder):
    def core(self, q, k, v, allowed=None):
        fill = torch.finfo(q.dtype).min
        return self.scores(q, k).masked_fill(~allowed, fill).softmax(-1) @ v


@right("dropout on the weights", dropout=0.2)
def dropout_on_weights():
    return Encoder(dropout=0.2)


# ---- normalised, rotated, shared


class Modern(nn.Module):
    """Six query heads and two key heads of 12, rotary positions, normalised queries and keys."""

    hidden = staticmethod(triangle)

    def __init__(self):
        super().__init__()
        self.q_proj, self.o_proj = nn.Linear(40, 72, bias=False), nn.Linear(72, 40, bias=False)
        self.k_proj, self.v_proj = (nn.Linear(40, 24, bias=False) for _ in range(2))
        self.q_norm, self.k_norm = RMSNorm(12), RMSNorm(12)

    def place(self, t):
        return rotate(t, torch.arange(t.size(-2)))

    def bend(self, scores):
        return scores

    def weights(self, scores, allowed):
        return masked(self.bend(scores), allowed)

    def forward(self, x):
        n = x.size(1)
        q = self.place(self.q_norm(heads(self.q_proj(x), 6)))
        k = self.place(self.k_norm(heads(self.k_proj(x), 2))).repeat_interleave(3, 1)
        v = heads(self.v_proj(x), 2).repeat_interleave(3, 1)
        weights = self.weights(q @ k.mT / math.sqrt(12), self.hidden(n, n))
        return self.o_proj(join(weights @ v))


MODERN = {"causal": True, "positions": True}


@right("Qwen3: normalised, rotary, grouped", **MODERN)
class normalised_rotary_grouped(Modern):
    pass


@right("Gemma 2: soft-cap and a window of 4", window=4, **MODERN)
class soft_cap_and_window(Modern):
    def bend(self, scores):
        return 20 * torch.tanh(scores / 20)

    def hidden(self, n, m):
        return triangle(n, m).triu(m - n - 3)


@right("rotary in neighbouring numbers, as in GPT-J", **MODERN)
class rotary_by_neighbours(Modern):
    def place(self, t):
        return rotate_neighbours(t, torch.arange(t.size(-2)))


@right("rotary by complex numbers, with a buffer freqs_cis, as in Llama's own code", **MODERN)
class rotary_by_complex_numbers(Modern):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(256), 10000.0 ** (-torch.arange(0, 12, 2) / 12))
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def place(self, t):
        wide = t if t.dtype == torch.float64 else t.float()
        turned = torch.view_as_complex(wide.unflatten(-1, (-1, 2))) * self.freqs_cis[: t.size(-2)]
        return torch.view_as_real(turned).flatten(-2).to(t.dtype)


@right("a quarter of each head is rotated", **MODERN)
class partial_rotary(Modern):
    def place(self, t):
        return torch.cat([rotate(t[..., :4], torch.arange(t.size(-2))), t[..., 4:]], -1)


@right("grouped heads by broadcasting, not repeating", **MODERN)
class grouped_by_broadcast(Modern):
    def forward(self, x):
        n = x.size(1)
        q = self.place(self.q_norm(heads(self.q_proj(x), 6))).unflatten(1, (2, 3))
        k = self.place(self.k_norm(heads(self.k_proj(x), 2)))[:, :, None]
        v = heads(self.v_proj(x), 2)[:, :, None]
        out = masked(q @ k.mT / math.sqrt(12), triangle(n, n)) @ v
        return self.o_proj(join(out.flatten(1, 2)))


@right("one key head for all, as in PaLM", causal=True, positions=True)
class multi_query(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.kv_proj = nn.Linear(40, 40, bias=False), nn.Linear(40, 16, bias=False)
        self.out_proj = nn.Linear(40, 40, bias=False)

    def forward(self, x):
        n = x.size(1)
        k, v = self.kv_proj(x)[:, None].chunk(2, -1)
        q, k = (rotate(t, torch.arange(n)) for t in (heads(self.q_proj(x)), k))
        return self.out_proj(join(masked(q @ k.mT / math.sqrt(HEAD_DIM), triangle(n, n)) @ v))


@right("OLMo 2: queries and keys are normalised before they are cut into heads", causal=True)
class normalised_before_splitting(Decoder):
    def __init__(self):
        super().__init__()
        self.q_norm, self.k_norm = RMSNorm(EMBED_DIM), RMSNorm(EMBED_DIM)

    def qkv(self, x, context=None):
        q, k = self.q_norm(self.q_proj(x)), self.k_norm(self.k_proj(x))
        return heads(q), heads(k), heads(self.v_proj(x))


@right("cosine of query and key, times a learned factor per head, as in Swin v2")
class cosine_with_temperature(Encoder):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.full((HEADS, 1, 1), math.log(10.0)))

    def scores(self, q, k):
        product = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT
        return product * self.logit_scale.clamp(max=math.log(100.0)).exp()


@right("DeepSeek: keys and values from a latent, a shared key carries the positions", **MODERN)
class latent(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(40, HEADS * 14, bias=False)  # 8 without, 6 with positions
        self.kv_down, self.kv_norm = nn.Linear(40, 16 + 6, bias=False), RMSNorm(16)
        self.kv_up = nn.Linear(16, HEADS * (8 + 10), bias=False)
        self.o_proj = nn.Linear(HEADS * 10, 40, bias=False)

    def forward(self, x):
        n = x.size(1)
        places = torch.arange(n)
        q, q_rotary = heads(self.q_proj(x)).split([8, 6], -1)
        low, k_rotary = self.kv_down(x).split([16, 6], -1)
        k, v = heads(self.kv_up(self.kv_norm(low))).split([8, 10], -1)
        shared = rotate(k_rotary[:, None], places).expand(-1, HEADS, -1, -1)
        q, k = torch.cat([q, rotate(q_rotary, places)], -1), torch.cat([k, shared], -1)
        return self.o_proj(join(masked(q @ k.mT / math.sqrt(14), triangle(n, n)) @ v))


# ---- biases, windows, masks


def distances(n):
    return torch.arange(n)[:, None] - torch.arange(n)


@right("ALiBi", **MODERN)
class alibi(Decoder):
    def scores(self, q, k):
        slopes = 2.0 ** (-8 * torch.arange(1, HEADS + 1) / HEADS)
        return super().scores(q, k) - (slopes[:, None, None] * distances(q.size(-2))).to(q.dtype)


@right("T5: no scale, a learned bias for each distance", positions=True, scale=1.0)
class learned_distances(Encoder):
    def __init__(self):
        super().__init__()
        self.relative = nn.Embedding(17, HEADS)

    def scores(self, q, k):
        which = distances(q.size(-2)).clamp(-8, 8) + 8
        return q @ k.mT + self.relative(which).permute(2, 0, 1)


@right("Swin: a table of biases, cut to the length", positions=True)
class bias_table(Encoder):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(2 * 256 - 1, HEADS))

    def scores(self, q, k):
        bias = self.table[distances(q.size(-2)) + 255].permute(2, 0, 1)
        return super().scores(q, k) + bias


@right("a window of 3 to the left", causal=True, window=3)
class local_window(Decoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q, k, v, allowed.triu(-2))


@right("a window of 3 with a mask", causal=True, window=3)
class window_and_mask(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        seen = triangle(n, m).triu(m - n - 2)
        return seen if attn_mask is None else seen & attn_mask

    def forward(self, x, attn_mask=None):
        return super().forward(x, attn_mask)


@right(
    "the first three tokens see each other, as in a prefix language model", causal=True, prefix=3
)
class prefix_model(Decoder):
    def core(self, q, k, v, allowed=None):
        allowed = allowed.clone()
        allowed[:, :3] = True
        return super().core(q, k, v, allowed)


@right("a mask that is added", adapter=Adapter(mask_true="added"))
class added_mask(Layer):
    def forward(self, x, attn_mask=None):
        q, k, v = self.qkv(x)
        scores = self.scores(q, k)
        scores = scores if attn_mask is None else scores + attn_mask
        return self.out_proj(join(scores.softmax(-1) @ v))


@right("a padding mask of keys", adapter=Adapter(attn_mask="padding", mask_axes=1))
class padding_mask(Layer):
    def forward(self, x, padding=None):
        return super().forward(x, None if padding is None else padding[:, None, None, :])


# ---- gates, sinks, and mixed heads

# the weights of the tokens do not sum to one by design
NO_SUM_OF_ONE = {"waive": {"equal words": "by design"}}


@right("Qwen3-Next: a gate on the result", causal=True)
class gated(Decoder):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(EMBED_DIM, EMBED_DIM)

    def forward(self, x):
        q, k, v = self.qkv(x)
        out = join(self.core(q, k, v, triangle(x.size(1), x.size(1))))
        return self.out_proj(out * self.gate(x).sigmoid())


@right("gpt-oss: a learned logit a head, dropped after the softmax", causal=True, **CLAIMS["sinks"])
class sinks(Decoder):
    def __init__(self):
        super().__init__()
        self.sinks = nn.Parameter(torch.randn(HEADS))

    def core(self, q, k, v, allowed=None):
        scores = self.scores(q, k).masked_fill(~allowed, -math.inf)
        column = self.sinks.view(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
        return torch.cat([scores, column], -1).softmax(-1)[..., :-1] @ v


@right("a learned key and value before all others, as add_bias_kv", **NO_SUM_OF_ONE)
class null_key(Encoder):
    def __init__(self):
        super().__init__()
        self.null_k, self.null_v = (nn.Parameter(torch.randn(HEADS, 1, HEAD_DIM)) for _ in range(2))

    def core(self, q, k, v, allowed=None):
        k, v = (
            torch.cat([null.expand(len(q), -1, -1, -1), t], -2)
            for null, t in ((self.null_k, k), (self.null_v, v))
        )
        return masked(self.scores(q, k)) @ v


@right("sigmoid attention: each weight by itself, less log n", causal=True, **NO_SUM_OF_ONE)
class sigmoid_attention(Decoder):
    def core(self, q, k, v, allowed=None):
        count = allowed.sum(-1, keepdim=True)
        return (self.scores(q, k) - count.log().to(q.dtype)).sigmoid() * allowed @ v


@right("differential attention: one softmax less another", causal=True)
class differential(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(40, 40, bias=False) for _ in range(3))
        self.out_proj, self.norm = nn.Linear(40, 40, bias=False), RMSNorm(2 * HEAD_DIM // 2)
        self.weight = nn.Parameter(torch.tensor(0.3))

    def forward(self, x):
        n = x.size(1)
        q, k = (heads(t(x), 2 * HEADS) for t in (self.q_proj, self.k_proj))
        weights = masked(q @ k.mT / math.sqrt(HEAD_DIM // 2), triangle(n, n)).unflatten(1, (-1, 2))
        out = (weights[:, :, 0] - self.weight * weights[:, :, 1]) @ heads(self.v_proj(x))
        return self.out_proj(join(self.norm(out)))


@right("talking heads: scores and weights are mixed between heads", causal=True)
class talking_heads(Decoder):
    def __init__(self):
        super().__init__()
        self.before, self.after = (nn.Parameter(torch.randn(HEADS, HEADS)) for _ in range(2))

    def core(self, q, k, v, allowed=None):
        scores = torch.einsum("bhnm,hg->bgnm", self.scores(q, k), self.before)
        return torch.einsum("bhnm,hg->bgnm", masked(scores, allowed), self.after) @ v


@right("value residual: the values are mixed with an earlier layer's", causal=True)
class value_residual(Decoder):
    def __init__(self):
        super().__init__()
        self.first_v_proj, self.mix = (
            nn.Linear(EMBED_DIM, EMBED_DIM),
            nn.Parameter(torch.tensor(0.4)),
        )

    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return q, k, self.mix * heads(self.first_v_proj(x)) + (1 - self.mix) * v


# ---- more than attention


@right("a block that normalises first", causal=True)
class block_normalised_before(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.norm1, self.norm2 = Decoder(), nn.LayerNorm(40), nn.LayerNorm(40)
        self.mlp = nn.Sequential(nn.Linear(40, 160), nn.GELU(), nn.Linear(160, 40))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@right("a layer that normalises afterwards")
class block_normalised_after(nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.norm = Encoder(), nn.LayerNorm(40)

    def forward(self, x):
        return self.norm(x + self.attn(x))


@right("attention to a context with a norm of its own", context_dim=28)
class cross_attention_with_norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm_context = nn.LayerNorm(40), nn.LayerNorm(28)
        self.q_proj, self.kv_proj = nn.Linear(40, 40), nn.Linear(28, 80)
        self.out_proj = nn.Linear(40, 40)

    def forward(self, x, context):
        q = heads(self.q_proj(self.norm(x)))
        k, v = (heads(t) for t in self.kv_proj(self.norm_context(context)).chunk(2, -1))
        return self.out_proj(join(masked(q @ k.mT / math.sqrt(HEAD_DIM)) @ v))


@right("a cache, with rotary positions", adapter=Adapter(step=step), **MODERN)
class cached(Cached):
    pass


@right("a cache that keeps a window of 4", adapter=Adapter(step=step), window=4, **MODERN)
class cached_window(Cached):
    def seen(self, n, m):
        return triangle(n, m).triu(m - n - 3)


@right("two documents in a row, split by a mask of pairs", adapter=Adapter(mask_axes=3))
class packed(Layer):
    def forward(self, x, attn_mask=None):
        return super().forward(x, None if attn_mask is None else attn_mask[:, None])
