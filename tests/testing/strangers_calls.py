"""Wrong modules: masks and flags, exceptions, gradients."""

import math

import torch

from attn_docs.testing import Adapter
from tests.testing.strangers_kit import (
    EMBED_DIM,
    Decoder,
    Encoder,
    Layer,
    heads,
    join,
    masked,
    triangle,
    wrong,
)

# ---- masks and flags

PATHS = r"is_causal.*(differ|not the same|other|triangle|mask)|only with is_causal|flag"


@wrong(
    "masks",
    "the scale is forgotten where is_causal is True",
    PATHS,
    r"scale.*is_causal|is_causal.*scale|scaled by 1\b",
    causal=True,
)
class scale_forgotten_with_flag(Layer):
    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        q, k, v = self.qkv(x, context)
        allowed = self.allowed(q.size(-2), k.size(-2), attn_mask, is_causal)
        scores = q @ k.mT if is_causal else self.scores(q, k)
        return self.out_proj(join(masked(scores, allowed) @ v))


@wrong("masks", "the mask is used in training only", r"mask.*(eval|only in training)")
class mask_only_in_training(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        return super().allowed(n, m, attn_mask if self.training else None, is_causal)


@wrong("masks", "the mask is used in evaluation only", r"mask.*(in training|only in eval)")
class mask_only_in_eval(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        return super().allowed(n, m, None if self.training else attn_mask, is_causal)


@wrong(
    "masks",
    "the mask is not passed on where there is a context",
    r"mask.*context|context.*mask",
    source="https://github.com/OpenNMT/OpenNMT-py/issues/272",
)
class mask_ignored_with_context(Layer):
    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        attn_mask = attn_mask if context is None else None
        return super().forward(x, attn_mask, is_causal, context)


LONG = r"from (length|position|token|query) \d+|length \d+|long|block|at \d+ tokens"


@wrong("masks", "is_causal is ignored beyond 32 tokens, in the chunked path", LONG, causal=True)
class flag_ignored_when_long(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        return super().allowed(n, m, attn_mask, is_causal and n <= 32)


class CausalBlocks(Decoder):
    block = 8

    def forward(self, x):
        q, k, v = self.qkv(x)
        place = torch.arange(x.size(1)) // self.block
        return self.out_proj(join(self.core(q, k, v, place[:, None] >= place)))


@wrong("masks", "whole blocks of 8 tokens see each other", LONG, causal=True)
class causal_blocks_of_8(CausalBlocks):
    pass


@wrong("masks", "whole tiles of 64 tokens are skipped, not the tokens", LONG, causal=True)
class causal_tiles_of_64(CausalBlocks):
    block = 64

    def forward(self, x):
        q, k, v = self.qkv(x)
        place = torch.arange(x.size(1))
        tile = place // self.block
        allowed = (place[:, None] >= place) | ((tile[:, None] == tile) & (tile > 0))
        return self.out_proj(join(self.core(q, k, v, allowed)))


@wrong("masks", "the triangle is stored for 8 tokens; later ones are not masked", LONG, causal=True)
class leak_from_nine(Decoder):
    def __init__(self):
        super().__init__()
        self.register_buffer("bias", torch.ones(8, 8, dtype=torch.bool).tril())

    def forward(self, x):
        q, k, v = self.qkv(x)
        n = x.size(1)
        allowed = torch.ones(n, n, dtype=torch.bool)
        allowed[:8, :8] = self.bias[:n, :n]
        return self.out_proj(join(self.core(q, k, v, allowed)))


@wrong(
    "masks",
    "a window of 4 keeps 5 keys",
    r"window.*(5|one (more|too)|off by one)|window",
    source="https://github.com/huggingface/transformers/issues/39408",
    causal=True,
    window=4,
)
class window_off_by_one(Decoder):
    def forward(self, x):
        q, k, v = self.qkv(x)
        seen = triangle(x.size(1), x.size(1)).triu(-4)
        return self.out_proj(join(self.core(q, k, v, seen)))


@wrong("masks", "the window is accepted and never used", r"window", causal=True, window=4)
class window_unused(Decoder):
    def __init__(self, window=4):
        super().__init__()
        self.window = window


@wrong(
    "masks", "mask or triangle, where both were given", r"both|together|either|union", causal=True
)
class mask_or_triangle(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        if attn_mask is not None and is_causal:
            return attn_mask | triangle(n, m)
        return super().allowed(n, m, attn_mask, is_causal)


@wrong(
    "masks",
    "is_causal=True drops the mask",
    r"ignored when is_causal|both|together|mask.*is_causal",
    causal=True,
)
class flag_drops_mask(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        return super().allowed(n, m, None if is_causal else attn_mask, is_causal)


@wrong(
    "masks",
    "the first sample's mask is used for all",
    r"(sample|batch).*mask|mask.*(sample|batch)",
    adapter=Adapter(mask_axes=3),
)
class mask_of_first_sample(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        return super().allowed(n, m, None if attn_mask is None else attn_mask[0], is_causal)


@wrong(
    "masks",
    "the padding mask lies on the rows, and a finite fill hides it",
    r"mask.*(rows|quer(y|ies))|(rows|quer(y|ies)).*mask|axes are swapped",
    source="https://github.com/hyunwoongko/transformer/pull/40",
    adapter=Adapter(mask_axes=1),
)
class padding_on_rows(Layer):
    def forward(self, x, attn_mask=None):
        q, k, v = self.qkv(x)
        scores = self.scores(q, k)
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask[:, None, :, None], -10000.0)
        return self.out_proj(join(scores.softmax(-1) @ v))


@wrong("masks", "no token sees itself", r"itself|own|diagonal|off by one", causal=True)
class strict_triangle(Decoder):
    def forward(self, x):
        q, k, v = self.qkv(x)
        return self.out_proj(join(self.core(q, k, v, triangle(x.size(1), x.size(1)).tril(-1))))


@wrong("masks", "forbidden scores become the smallest score", r"fill|smallest|min|still get")
class filled_with_minimum(Layer):
    def core(self, q, k, v, allowed=None):
        scores = self.scores(q, k)
        return scores.masked_fill(~allowed, scores.detach().min()).softmax(-1) @ v


@wrong(
    "masks",
    "the triangle is applied to the context, too",
    r"context.*(future|every|causal|see|masked)",
)
class triangle_on_context(Layer):
    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        return super().forward(x, attn_mask, is_causal or context is not None, context)


# ---- exceptions

RAISED = r"rais|error|exception|crash|cannot be called|shape"


@wrong("exceptions", "crashes for every batch above one", RAISED)
class crash_for_batch(Encoder):
    def forward(self, x):
        n, size = x.squeeze(0).shape
        return super().forward(x.view(1, n, size))


@wrong("exceptions", "crashes at length one", RAISED)
class crash_at_length_one(Encoder):
    def core(self, q, k, v, allowed=None):
        return torch.einsum("bhnm,bhmd->bhnd", self.scores(q, k).squeeze(-1).softmax(-1), v)


@wrong("exceptions", "crashes for every mask", RAISED)
class crash_for_mask(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        attn_mask = None if attn_mask is None else attn_mask.astype(bool)
        return super().allowed(n, m, attn_mask, is_causal)


@wrong("exceptions", "crashes for is_causal=True", RAISED)
class crash_for_flag(Layer):
    def allowed(self, n, m, attn_mask, is_causal):
        if is_causal:
            return torch.tril(n, m)
        return super().allowed(n, m, attn_mask, is_causal)


@wrong("exceptions", "crashes in training", RAISED)
class crash_in_training(Encoder):
    def core(self, q, k, v, allowed=None):
        out = super().core(q, k, v, allowed)
        return self.attn_dropout(out) if self.training else out


@wrong("exceptions", "a ValueError for every context", RAISED)
class crash_for_context(Layer):
    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        if context is not None:
            _, _ = context.shape
        return super().forward(x, attn_mask, is_causal, context)


@wrong("exceptions", "crashes for an odd number of tokens", RAISED)
class crash_for_odd_length(Encoder):
    def core(self, q, k, v, allowed=None):
        b, h, n, d = q.shape
        q = q.view(b, h, n // 2, 2, d).flatten(2, 3)
        return super().core(q, k, v, allowed)


@wrong("exceptions", "crashes for an input that is not contiguous", RAISED)
class crash_for_strides(Encoder):
    def forward(self, x):
        return super().forward(x.view(-1, EMBED_DIM).view(x.shape))


# ---- gradients

GRADIENT = r"gradient|backward|derivative|detach|no_grad"


class SoftmaxWithoutRowTerm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores):
        weights = scores.softmax(-1)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx, grad):
        (weights,) = ctx.saved_tensors
        return weights * grad


class ProductWithoutScale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k):
        ctx.save_for_backward(q, k)
        return q @ k.mT / math.sqrt(q.size(-1))

    @staticmethod
    def backward(ctx, grad):
        q, k = ctx.saved_tensors
        return grad @ k, grad.mT @ q


@wrong("gradients", "the softmax's backward lacks the term of the row", GRADIENT)
class backward_without_row_term(Encoder):
    def core(self, q, k, v, allowed=None):
        return SoftmaxWithoutRowTerm.apply(self.scores(q, k)) @ v


@wrong("gradients", "the product's backward lacks the scale", GRADIENT)
class backward_without_scale(Encoder):
    def scores(self, q, k):
        return ProductWithoutScale.apply(q, k)


@wrong("gradients", "the keys are detached", GRADIENT)
class keys_detached(Encoder):
    def qkv(self, x, context=None):
        q, k, v = super().qkv(x, context)
        return q, k.detach(), v


@wrong("gradients", "the values are made under no_grad", GRADIENT, causal=True)
class values_without_grad(Decoder):
    def qkv(self, x, context=None):
        q, k, _ = super().qkv(x, context)
        with torch.no_grad():
            return q, k, heads(self.v_proj(x))


@wrong("gradients", "the softmax is passed over in the backward", GRADIENT)
class straight_through_softmax(Encoder):
    def core(self, q, k, v, allowed=None):
        scores = self.scores(q, k)
        return (scores + (scores.softmax(-1) - scores).detach()) @ v


@wrong("gradients", "the weights are detached", GRADIENT)
class weights_detached(Encoder):
    def core(self, q, k, v, allowed=None):
        return self.scores(q, k).softmax(-1).detach() @ v


@wrong("gradients", "the input of the keys is x.data", GRADIENT)
class keys_from_data(Encoder):
    def qkv(self, x, context=None):
        return heads(self.q_proj(x)), heads(self.k_proj(x.data)), heads(self.v_proj(x))
