"""What the strangers are made of: an entry, lists of entries, and a right layer to spoil."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

EMBED_DIM, HEADS, HEAD_DIM = 40, 5, 8  # √40, √5 and √8 differ, and no axis is 6 or 7


@dataclass
class Stranger:
    """A module or function that the checker has not seen, and what a reader would claim for it."""

    name: str
    group: str
    what: str  # is wrong; of a right one, what it is
    make: Callable  # returns the module, or the function
    check: dict = field(default_factory=dict)  # keywords of check_module or check_attention
    named: tuple = ()  # regexes, one of which a cause that names the mistake matches
    source: str = ""


def entry(listed, group, what, *named, source="", **check):
    """Decorator: enter a class, or a function that makes a layer, under its own name."""

    def enter(make):
        keywords = {"embed_dim": EMBED_DIM, **check}
        listed.append(Stranger(make.__name__, group, what, make, keywords, named, source))
        return make

    return enter


WRONG = []


def wrong(group, what, *named, source="", **check):
    """Decorator: enter a wrong module; `named` are regexes of a cause that names what is wrong."""
    return entry(WRONG, group, what, *named, source=source, **check)


def heads(x, number=HEADS):  # b n h·d to b h n d
    return x.unflatten(-1, (number, -1)).transpose(1, 2)


def join(x):  # b h n d to b n h·d
    return x.transpose(1, 2).flatten(2)


def triangle(n, m):
    return torch.ones(n, m, dtype=torch.bool).tril(m - n)


def masked(scores, allowed=None):
    """Softmax with zeros for a row without keys."""
    if allowed is None:
        return scores.softmax(-1)
    some = allowed.any(-1, keepdim=True)
    return scores.masked_fill(some & ~allowed, -math.inf).softmax(-1) * some


def frequencies(size):
    return 10000.0 ** (-torch.arange(0, size, 2) / size)


def angles(positions, size, dtype):
    return (positions[:, None] * frequencies(size)).to(dtype)


def rotate(x, positions, sign=1):
    """Rotate first half against second half."""
    angle = sign * angles(positions, x.size(-1), x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)


def rotate_neighbours(x, positions):
    """Rotate each even number against the odd one beside it."""
    angle = angles(positions, x.size(-1), x.dtype)
    a, b = x[..., ::2], x[..., 1::2]
    pair = [a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()]
    return torch.stack(pair, -1).flatten(-2)


class Layer(nn.Module):
    """Multi-head attention with mask, flag and context; right."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (
            nn.Linear(EMBED_DIM, EMBED_DIM) for _ in range(4)
        )
        self.drop = nn.Dropout(dropout)

    def qkv(self, x, context=None):
        context = x if context is None else context
        return heads(self.q_proj(x)), heads(self.k_proj(context)), heads(self.v_proj(context))

    def scores(self, q, k):
        return q @ k.mT / math.sqrt(q.size(-1))

    def core(self, q, k, v, allowed=None):
        return self.drop(masked(self.scores(q, k), allowed)) @ v

    def allowed(self, n, m, attn_mask, is_causal):
        allowed = triangle(n, m) if is_causal else torch.ones(n, m, dtype=torch.bool)
        return allowed if attn_mask is None else allowed & attn_mask

    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        q, k, v = self.qkv(x, context)
        allowed = self.allowed(q.size(-2), k.size(-2), attn_mask, is_causal)
        return self.out_proj(join(self.core(q, k, v, allowed)))


class Encoder(Layer):
    """Nothing is hidden."""

    def forward(self, x):
        return self.out_proj(join(self.core(*self.qkv(x))))


class Decoder(Layer):
    """The future is hidden always."""

    def forward(self, x):
        q, k, v = self.qkv(x)
        return self.out_proj(join(self.core(q, k, v, triangle(q.size(-2), k.size(-2)))))


class RMSNorm(nn.Module):
    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


class Cached(Layer):
    """A decoder with rotary positions that may be given what came before."""

    def offset(self, cache):
        return 0 if cache is None else cache[0].size(-2)

    def join_cache(self, cache, k, v):
        return (
            (k, v)
            if cache is None
            else tuple(torch.cat(pair, -2) for pair in zip(cache, (k, v), strict=True))
        )

    def seen(self, n, m):
        return triangle(n, m)

    def forward(self, x, cache=None):
        q, k, v = self.qkv(x)
        places = torch.arange(x.size(1)) + self.offset(cache)
        q, k = rotate(q, places), rotate(k, places)
        k, v = self.join_cache(cache, k, v)
        out = self.core(q, k, v, self.seen(q.size(-2), k.size(-2)))
        return self.out_proj(join(out)), (k, v)


def step(module, x, cache):
    return module(x, cache)
