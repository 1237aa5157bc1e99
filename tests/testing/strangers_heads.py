"""Wrong modules: positions, norms, heads."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.testing.strangers_kit import (
    EMBED_DIM,
    HEAD_DIM,
    HEADS,
    Decoder,
    Encoder,
    RMSNorm,
    heads,
    join,
    masked,
    rotate,
    rotate_neighbours,
    wrong,
)

# ---- positions

PLACES = r"positions? (are|is|do|has|have|not|of|count)|rotary|rotate|rotation|relative"


class Rotary(Encoder):
    def places(self, x):
        return torch.arange(x.size(-2))

    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return rotate(q, self.places(q)), rotate(k, self.places(k)), v


@wrong("positions", "rotated by the number of the head", PLACES, positions=True)
class rotary_by_head(Rotary):
    def places(self, x):
        return torch.arange(x.size(1))

    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        q, k = (rotate(t.transpose(1, 2), self.places(t)).transpose(1, 2) for t in (q, k))
        return q, k, v


@wrong("positions", "the rotated queries and keys are not kept", PLACES, positions=True)
class rotary_thrown_away(Rotary):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        rotate(q, self.places(q)), rotate(k, self.places(k))
        return q, k, v


@wrong("positions", "keys are one position further than queries", PLACES, positions=True)
class keys_from_next_position(Rotary):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        return rotate(q, self.places(q)), rotate(k, self.places(k) + 1), v


@wrong("positions", "keys are rotated backwards", PLACES, positions=True)
class keys_rotated_backwards(Rotary):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        return rotate(q, self.places(q)), rotate(k, self.places(k), sign=-1), v


@wrong(
    "positions",
    "queries are rotated by neighbours, keys by halves",
    PLACES,
    r"layout|neighbour|interleav|halves",
    source="https://github.com/huggingface/transformers/issues/25199",
    positions=True,
)
class mixed_layouts(Rotary):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        return rotate_neighbours(q, self.places(q)), rotate(k, self.places(k)), v


@wrong("positions", "only the queries are rotated", PLACES, positions=True)
class only_queries_rotated(Rotary):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        return rotate(q, self.places(q)), k, v


@wrong(
    "positions",
    "every position is 0: the offset is passed for the positions",
    PLACES,
    positions=True,
)
class all_positions_zero(Rotary):
    def places(self, x):
        return torch.zeros(x.size(-2))


@wrong(
    "positions",
    "the values are rotated as well",
    r"values?.*(rotate|turn)|rotation.*value|" + PLACES,
    source="https://github.com/labmlai/annotated_deep_learning_paper_implementations/pull/265",
    positions=True,
)
class values_rotated(Rotary):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return q, k, rotate(v, self.places(v))


# ---- norms


class Normed(Encoder):
    def __init__(self):
        super().__init__()
        self.q_norm, self.k_norm = RMSNorm(HEAD_DIM), RMSNorm(HEAD_DIM)

    def qkv(self, x, context=None):
        q, k, v = super().qkv(x, context)
        return self.q_norm(q), self.k_norm(k), v


NORM = r"norm"


@wrong(
    "norms",
    "queries and keys are normalised along the tokens",
    NORM,
    r"(along|over|across).*(tokens|positions|length)",
    causal=True,
)
class normalised_over_words(Decoder):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return F.normalize(q, dim=-2), F.normalize(k, dim=-2), v


@wrong("norms", "queries are normalised along the batch", NORM, r"sample|batch")
class normalised_over_batch(Encoder):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return F.normalize(q, dim=0), F.normalize(k, dim=0), v


@wrong(
    "norms",
    "the keys get the queries' norm; their own gain is never used",
    NORM,
    r"never used.*norm|\bgain",
)
class norm_of_queries_for_keys(Normed):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        return self.q_norm(q), self.q_norm(k), v


@wrong("norms", "normalised without the gain that is there", NORM, r"never used.*norm|\bgain")
class gain_unused(Normed):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        return F.rms_norm(q, (HEAD_DIM,)), F.rms_norm(k, (HEAD_DIM,)), v


@wrong(
    "norms",
    "a gain per number after the rotation: no longer relative",
    PLACES,
    NORM,
    positions=True,
)
class gain_after_rotary(Normed):
    def qkv(self, x, context=None):
        q, k, v = Encoder.qkv(self, x)
        places = torch.arange(x.size(1))
        return self.q_norm(rotate(q, places)), self.k_norm(rotate(k, places)), v


@wrong("norms", "the values are normalised with the keys", NORM, r"values?.*normal")
class values_normalised(Normed):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x)
        return q, k, self.k_norm(v)


@wrong(
    "norms", "BatchNorm on the queries mixes samples and tokens in training", NORM, r"sample|batch"
)
class batch_norm_on_queries(Encoder):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(EMBED_DIM)

    def qkv(self, x, context=None):
        _, k, v = super().qkv(x)
        return heads(self.norm(self.q_proj(x).mT).mT), k, v


# ---- heads


@wrong(
    "heads",
    "query heads are grouped the other way than they are stored",
    r"K1 K2|group|tiled|repeat",
    source="https://github.com/onnx/onnx/pull/7274",
    embed_dim=48,
)
class queries_grouped_by_last(nn.Module):
    def __init__(self):
        super().__init__()
        self.q_proj, self.out_proj = nn.Linear(48, 72), nn.Linear(72, 48)
        self.k_proj, self.v_proj = nn.Linear(48, 24), nn.Linear(48, 24)

    def forward(self, x):
        q = heads(self.q_proj(x), 6).unflatten(1, (3, 2))  # group, key head: should be (2, 3)
        k, v = (heads(t(x), 2)[:, None] for t in (self.k_proj, self.v_proj))
        out = masked(q @ k.mT / math.sqrt(12)) @ v
        return self.out_proj(join(out.flatten(1, 2)))


@wrong("heads", "the heads are averaged, not joined", r"head.*(averag|mean|same|mix)|averag")
class heads_averaged(Encoder):
    def forward(self, x):
        out = self.core(*self.qkv(x)).mean(1, keepdim=True).repeat(1, HEADS, 1, 1)
        return self.out_proj(join(out))


@wrong(
    "heads",
    "one projection is cut by view into queries, keys and values",
    r"view|transpose|scrambl|mix.*(position|token)",
    source="https://github.com/ajhalthor/Transformer-Neural-Network/issues/8",
)
class fused_cut_by_view(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(40, 120), nn.Linear(40, 40)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, 3, HEADS, n, HEAD_DIM).unbind(1)
        return self.proj(join(masked(q @ k.mT / math.sqrt(HEAD_DIM)) @ v))


@wrong(
    "heads",
    "the keys are reshaped where they should be transposed",
    r"reshape|transpos|mix|scrambl",
)
class keys_reshaped(Encoder):
    def scores(self, q, k):
        b, h, n, d = k.shape
        return q @ k.reshape(b, h, d, n) / math.sqrt(d)


@wrong("heads", "the loop over the heads forgets the last one", r"last head|head \d|never used")
class last_head_forgotten(Encoder):
    def core(self, q, k, v, allowed=None):
        out = torch.zeros_like(v)
        for h in range(HEADS - 1):
            out[:, h] = masked(q[:, h] @ k[:, h].mT / math.sqrt(HEAD_DIM)) @ v[:, h]
        return out


@wrong("heads", "every head asks the first head's queries", r"first head|head \d|never used")
class first_head_for_all(Encoder):
    def core(self, q, k, v, allowed=None):
        return super().core(q[:, :1], k, v, allowed)


@wrong("heads", "heads of a token attend to each other", r"transpose|heads (of|attend)")
class heads_of_one_word(Encoder):
    def forward(self, x):
        q, k, v = (t.transpose(1, 2) for t in self.qkv(x))
        return self.out_proj((masked(q @ k.mT / math.sqrt(HEAD_DIM)) @ v).flatten(2))


@wrong(
    "heads",
    "one head where five were asked for",
    r"num_heads|number of heads|(1|5|one|five) heads?\b",
    num_heads=5,
)
class one_head(Encoder):
    def qkv(self, x, context=None):
        return tuple(heads(t(x), 1) for t in (self.q_proj, self.k_proj, self.v_proj))
