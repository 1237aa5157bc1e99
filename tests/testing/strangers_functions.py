"""Wrong functions `attend(query, key, value, …)`, for `check_attention`, and a few right ones."""

import math

import torch
import torch.nn.functional as F

from tests.testing.strangers_kit import Stranger, triangle

WRONG_FUNCTIONS, RIGHT_FUNCTIONS = [], []


def enter(listed, group, what, *named, source="", **check):
    def decorate(function):
        name = function.__name__
        listed.append(Stranger(name, group, what, lambda: function, check, named, source))
        return function

    return decorate


def wrong(group, what, *named, source="", **check):
    return enter(WRONG_FUNCTIONS, group, what, *named, source=source, **check)


def right(what, **check):
    return enter(RIGHT_FUNCTIONS, "function", what, **check)


def softmax(scores, allowed=None):
    if allowed is None:
        return scores.softmax(-1)
    some = allowed.any(-1, keepdim=True)
    return scores.masked_fill(some & ~allowed, -math.inf).softmax(-1) * some


def product(query, key):
    return query @ key.mT / math.sqrt(query.size(-1))


def sees(query, key, attn_mask, is_causal):
    n, m = query.size(-2), key.size(-2)
    allowed = triangle(n, m) if is_causal else torch.ones(n, m, dtype=torch.bool)
    return allowed if attn_mask is None else allowed & attn_mask


# ---- knobs


@wrong("knobs", "scale is accepted and ignored", r"scale.*(ignored|never|no effect)|scaled by")
def scale_ignored(query, key, value, scale=None):
    return softmax(product(query, key)) @ value


@wrong(
    "knobs",
    "softcap is accepted and ignored",
    r"softcap",
    source="https://github.com/sgl-project/sglang/issues/33915",
)
def softcap_ignored(query, key, value, softcap=None):
    return softmax(product(query, key)) @ value


@wrong("knobs", "window is accepted and ignored", r"window")
def window_ignored(query, key, value, is_causal=False, window=None):
    return softmax(product(query, key), sees(query, key, None, is_causal)) @ value


@wrong("knobs", "dropout_p is accepted and ignored", r"drop")
def dropout_ignored(query, key, value, dropout_p=0.0):
    return softmax(product(query, key)) @ value


@wrong(
    "knobs",
    "scale multiplies √head_dim, and does not replace it",
    r"scale.*(besides|twice|on top|multiplies|not replace)",
)
def scale_on_top(query, key, value, scale=1.0):
    return softmax(product(query, key) * (1.0 if scale is None else scale)) @ value


@wrong(
    "knobs",
    "attn_mask is accepted and ignored with is_causal",
    r"ignored when is_causal|both|together",
)
def mask_ignored_with_flag(query, key, value, attn_mask=None, is_causal=False):
    attn_mask = None if is_causal else attn_mask
    return softmax(product(query, key), sees(query, key, attn_mask, is_causal)) @ value


# ---- scale


@wrong(
    "scale",
    "the scale is forgotten where is_causal is True",
    r"scale.*is_causal|is_causal.*(scale|triangle|differ|same)|scaled by 1\b",
)
def scale_forgotten_with_flag(query, key, value, is_causal=False):
    scores = query @ key.mT if is_causal else product(query, key)
    return softmax(scores, sees(query, key, None, is_causal)) @ value


@wrong(
    "scale",
    "the scale is that of the value's size",
    r"√value|value.{0,12}size|size of (the )?value",
)
def scaled_by_value_size(query, key, value, attn_mask=None):
    scores = query @ key.mT / math.sqrt(value.size(-1))
    return softmax(scores, sees(query, key, attn_mask, False)) @ value


@wrong("scale", "the scale is applied to the result", r"scaled by 1\b|result|sum to|no scale")
def result_scaled(query, key, value):
    return softmax(query @ key.mT) @ value / math.sqrt(query.size(-1))


# ---- blocks of keys, as kernels have them

LONG = r"block|long|length \d+|from (length|token|key|query|position) \d+"


@wrong("blocks", "each block of 16 keys has a softmax of its own", LONG)
def blocks_not_joined(query, key, value):
    parts = [softmax(product(query, k)) @ v for k, v in blocks(key, value)]
    return sum(parts) / len(parts)


def blocks(key, value, size=16):
    return zip(key.split(size, -2), value.split(size, -2), strict=True)


def online(query, key, value, rescale_sum=True, rescale_result=True, size=16):
    """One block of keys after the other: the largest score so far, the sum, the result."""
    top = query.new_full((*query.shape[:-1], 1), -math.inf)
    total, result = torch.zeros_like(top), 0.0
    for k, v in blocks(key, value, size):
        scores = product(query, k)
        new = torch.maximum(top, scores.amax(-1, keepdim=True))
        powers, shrink = (scores - new).exp(), (top - new).exp()
        total = total * (shrink if rescale_sum else 1) + powers.sum(-1, keepdim=True)
        result = result * (shrink if rescale_result else 1) + powers @ v
        top = new
    return result / total


@wrong("blocks", "the result so far is not rescaled to the new maximum", LONG)
def online_result_not_rescaled(query, key, value):
    return online(query, key, value, rescale_result=False)


@wrong("blocks", "the sum so far is not rescaled to the new maximum", LONG)
def online_sum_not_rescaled(query, key, value):
    return online(query, key, value, rescale_sum=False)


@wrong("blocks", "keys of the last, partial block are dropped", LONG, r"last|partial")
def last_block_dropped(query, key, value):
    m = key.size(-2)
    end = m if m < 16 else m - m % 16
    return softmax(product(query, key[..., :end, :])) @ value[..., :end, :]


@wrong("blocks", "tiles on the diagonal are not masked beyond the first", LONG)
def tiles_not_masked(query, key, value, is_causal=False):
    n, m = query.size(-2), key.size(-2)
    allowed = sees(query, key, None, is_causal)
    tile_n, tile_m = torch.arange(n) // 64, torch.arange(m) // 64
    return (
        softmax(product(query, key), allowed | ((tile_n[:, None] == tile_m) & (tile_m > 0))) @ value
    )


@wrong("blocks", "the last partial block is filled up with keys of zeros", LONG, r"zero|pad")
def padded_keys_not_masked(query, key, value):
    more = -key.size(-2) % 8
    key, value = (F.pad(t, (0, 0, 0, more)) for t in (key, value))
    return softmax(product(query, key)) @ value


# ---- gradients

GRADIENT = r"gradient|backward|derivative|detach"


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, scale_back, row_term):
        weights = softmax(product(query, key))
        ctx.save_for_backward(query, key, value, weights)
        ctx.how = scale_back, row_term
        return weights @ value

    @staticmethod
    def backward(ctx, grad):
        query, key, value, weights = ctx.saved_tensors
        scale_back, row_term = ctx.how
        inner = grad @ value.mT
        if row_term:
            inner = inner - (inner * weights).sum(-1, keepdim=True)
        scores = weights * inner / (math.sqrt(query.size(-1)) if scale_back else 1)
        return scores @ key, scores.mT @ query, weights.mT @ grad, None, None


@wrong("gradients", "the backward lacks the term of the row", GRADIENT)
def backward_without_row_term(query, key, value):
    return Wrong.apply(query, key, value, True, False)


@wrong("gradients", "the backward lacks the scale", GRADIENT)
def backward_without_scale(query, key, value):
    return Wrong.apply(query, key, value, False, True)


@wrong("gradients", "the keys are detached", GRADIENT)
def keys_detached(query, key, value):
    return softmax(product(query, key.detach())) @ value


@wrong("gradients", "the weights are detached", GRADIENT)
def weights_detached(query, key, value):
    return softmax(product(query, key)).detach() @ value


@wrong("gradients", "the values get no gradient", GRADIENT)
def values_from_data(query, key, value):
    return softmax(product(query, key)) @ value.data


# ---- masks


@wrong(
    "masks",
    "only the first head and sample's mask counts",
    r"mask.*(head|sample|batch|broadcast)|(head|sample|batch).*mask",
)
def mask_of_first_sample(query, key, value, attn_mask=None):
    if attn_mask is not None and attn_mask.ndim == 4:
        attn_mask = attn_mask[:1, :1]
    return softmax(product(query, key), sees(query, key, attn_mask, False)) @ value


@wrong("masks", "the first key can always be seen", r"first key|key 0|key \[?0")
def first_key_always(query, key, value, attn_mask=None, is_causal=False):
    allowed = sees(query, key, attn_mask, is_causal).clone()
    allowed[..., 0] = True
    return softmax(product(query, key), allowed) @ value


@wrong(
    "masks",
    "a finite fill: a row without keys gets the mean of all",
    r"empty|no key|without|uniform|mean|fill|nothing",
    source="https://github.com/d2l-ai/d2l-en/pull/2423",
)
def empty_row_is_the_mean(query, key, value, attn_mask=None):
    scores = product(query, key)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
    return scores.softmax(-1) @ value


@wrong("masks", "a mask with is_causal: either will do", r"both|together|either|union")
def mask_or_triangle(query, key, value, attn_mask=None, is_causal=False):
    allowed = sees(query, key, None, is_causal)
    if attn_mask is not None:
        allowed = allowed | attn_mask if is_causal else attn_mask
    return softmax(product(query, key), allowed) @ value


# ---- heads, softmax, exceptions, arguments


@wrong(
    "heads", "query heads take the key heads in turn", r"K1 K2|tiled|group|repeat", enable_gqa=True
)
def heads_in_turn(query, key, value, enable_gqa=False):
    which = torch.arange(query.size(1)) % key.size(1)
    return softmax(product(query, key[:, which])) @ value[:, which]


@wrong("softmax", "softmax of the softmax", r"softmax|distribution|weights (are|do)")
def softmax_twice(query, key, value):
    return softmax(softmax(product(query, key))) @ value


@wrong("softmax", "exp of scores as they are", r"float16|half|overflow|large|NaN|inf")
def powers_without_maximum(query, key, value):
    powers = product(query, key).exp()
    return powers @ value / powers.sum(-1, keepdim=True)


@wrong("softmax", "the softmax runs over the samples", r"sample|batch|softmax")
def softmax_over_samples(query, key, value):
    return product(query, key).softmax(0) @ value


@wrong("exceptions", "raises for every batch above one", r"rais|error|exception|batch")
def crash_for_batch(query, key, value):
    _, h, n, _ = query.shape
    weights = softmax(product(query, key)).view(h, n, -1)
    return (weights @ value.view(h, key.size(-2), -1))[None]


@wrong(
    "exceptions",
    "raises where there are more keys than queries",
    r"rais|error|exception|length of the queries|more keys",
)
def crash_for_more_keys(query, key, value, attn_mask=None):
    scores = product(query, key) + torch.zeros(query.size(-2), query.size(-2))
    return softmax(scores, sees(query, key, attn_mask, False)) @ value


@wrong("exceptions", "raises for is_causal=True", r"rais|error|exception|is_causal")
def crash_for_flag(query, key, value, attn_mask=None, is_causal=False):
    if is_causal:
        attn_mask = torch.tril(attn_mask)
    return softmax(product(query, key), sees(query, key, attn_mask, False)) @ value


@wrong("arguments", "the caller's queries are scaled in place", r"in.place|argument|written")
def queries_scaled_in_place(query, key, value):
    with torch.no_grad():
        query /= math.sqrt(query.size(-1))
    return softmax(query @ key.mT) @ value


@wrong("arguments", "a little noise each time", r"random|same call|deterministic|noise")
def noisy(query, key, value):
    return softmax(product(query, key) + 1e-3 * torch.randn(key.size(-2))) @ value


@wrong("dropout", "dropout on the values", r"drop.*value|value.*drop|not on the weights")
def dropout_on_values(query, key, value, dropout_p=0.0):
    return softmax(product(query, key)) @ F.dropout(value, dropout_p)


@wrong("dropout", "dropout twice", r"twice|probability|p\b")
def dropout_twice(query, key, value, dropout_p=0.0):
    weights = F.dropout(softmax(product(query, key)), dropout_p)
    return F.dropout(weights, dropout_p) @ value


# ---- right ones


@right("the online softmax, in blocks of 16 keys")
def online_softmax(query, key, value):
    return online(query, key, value)


@right("computed in float32, whatever comes in, as kernels do")
def in_float32(query, key, value, attn_mask=None, is_causal=False):
    query32, key32, value32 = (t.float() for t in (query, key, value))
    allowed = sees(query, key, attn_mask, is_causal)
    return (softmax(product(query32, key32), allowed) @ value32).to(query.dtype)


@right("softmax in float32, products as they come")
def softmax_in_float32(query, key, value, attn_mask=None):
    scores = product(query, key).float()
    return softmax(scores, sees(query, key, attn_mask, False)).to(query.dtype) @ value


@right("einsum")
def einsum_style(query, key, value):
    scores = torch.einsum("bhnd,bhmd->bhnm", query, key) * query.size(-1) ** -0.5
    return torch.einsum("bhnm,bhmd->bhnd", scores.softmax(-1), value)


@right("products and sums by broadcasting")
def broadcast_style(query, key, value):
    scores = (query[..., :, None, :] * key[..., None, :, :]).sum(-1) / query.size(-1) ** 0.5
    return (scores.softmax(-1)[..., None] * value[..., None, :, :]).sum(-2)


@right("PyTorch's, with the triangle as the last key's")
def of_torch(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    allowed = sees(query, key, attn_mask, is_causal)
    return F.scaled_dot_product_attention(query, key, value, allowed, dropout_p, scale=scale)
