"""Wrong functions: each is caught, most by name, in the property that it breaks."""

import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import Function

from attn_docs.testing import check_attention
from tests.testing.plain import plain

sdpa = F.scaled_dot_product_attention


def backward(inner_of=None, gradients_of=None):
    """A function with a backward of its own; one step of it is replaced by a wrong one.

    `inner_of` makes the gradient of the scores of that of the weights; `gradients_of` those of
    query, key and value of all that it takes.
    """

    class Own(Function):
        @staticmethod
        def forward(ctx, query, key, value, below):
            scores = query @ key.mT / query.size(-1) ** 0.5
            if below is not None:
                scores = scores.masked_fill(~below, -math.inf)
            weights = scores.softmax(-1)
            ctx.save_for_backward(query, key, value, weights)
            return weights @ value

        @staticmethod
        def backward(ctx, grad):
            query, key, value, weights = ctx.saved_tensors
            inner = (inner_of or right_inner)(weights, grad @ value.mT, query.size(-1) ** 0.5)
            found = inner @ key, inner.mT @ query, weights.mT @ grad
            return (*(gradients_of(*found) if gradients_of else found), None)

    def attend(query, key, value, is_causal=False):
        below = None
        if is_causal:
            below = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        return Own.apply(query, key, value, below)

    return attend


def right_inner(weights, grad, root):
    return weights * (grad - (grad * weights).sum(-1, keepdim=True)) / root


def inner_if_masked(weights, grad, root):
    inner = right_inner(weights, grad, root)
    return inner if weights.all() else inner.tril(-1)


def online(block, wrong):
    """Softmax block by block, with one thing wrong in how blocks are joined."""

    def attend(query, key, value, attn_mask=None, is_causal=False):
        n, m = query.size(-2), key.size(-2)
        best = query.new_full((*query.shape[:-1], 1), -6e4)
        total, output = torch.zeros_like(best), query.new_zeros(*query.shape[:-1], value.size(-1))
        if wrong == "last block lost" and m > block:
            m = m // block * block
        for j in range(0, m, block):
            keys, values = key[..., j : j + block, :], value[..., j : j + block, :]
            scores = query @ keys.mT / query.size(-1) ** 0.5
            places, rows = torch.arange(j, j + keys.size(-2)), torch.arange(n)[:, None]
            if wrong == "triangle of blocks":
                places, rows = places // block, rows // block
            if wrong == "triangle of one block":
                places, rows = places % block, rows % block
            if is_causal:
                scores = scores.masked_fill(places > rows, -6e4)
            if attn_mask is not None:
                start = 0 if wrong == "first block of the mask" else j
                part = attn_mask[..., start : start + keys.size(-2)]
                scores = scores.masked_fill(~part, -6e4)
            higher = torch.maximum(best, scores.amax(-1, keepdim=True))
            shrink = torch.ones_like(best) if wrong == "no rescale" else (best - higher).exp()
            weights = (scores - higher).exp()
            total = total * shrink + weights.sum(-1, keepdim=True)
            if wrong == "output not rescaled":
                output = output + weights @ values
            else:
                output = output * shrink + weights @ values
            best = higher
        return output / total

    return attend


def scores_of(q, k):
    return q @ k.mT / q.size(-1) ** 0.5


def causal_with(change):
    """A function that is wrong with is_causal only."""

    def attend(query, key, value, attn_mask=None, is_causal=False):
        if not is_causal:
            return plain(query, key, value, attn_mask)
        below = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
        return change(query, key, value, below if attn_mask is None else below & attn_mask)

    return attend


def masked_with(change):
    """A function that is wrong with a mask only."""

    def attend(query, key, value, attn_mask=None):
        if attn_mask is None:
            return plain(query, key, value)
        return change(query, key, value, attn_mask)

    return attend


def lost(change):
    """PyTorch's function; `change` gets all arguments and loses one where another is given."""

    def attend(
        query,
        key,
        value,
        attn_mask=None,
        dropout_p=0.0,
        is_causal=False,
        scale=None,
        enable_gqa=False,
    ):
        given = {
            "query": query,
            "key": key,
            "value": value,
            "attn_mask": attn_mask,
            "dropout_p": dropout_p,
            "is_causal": is_causal,
            "scale": scale,
            "enable_gqa": enable_gqa,
        }
        given |= change(SimpleNamespace(**given)) or {}
        if given["attn_mask"] is not None and given["is_causal"]:
            given["attn_mask"] = given["attn_mask"] & torch.ones_like(given["attn_mask"]).tril()
            given["is_causal"] = False
        return sdpa(**given)

    return attend


def squeezed(a):
    return {name: getattr(a, name).squeeze() for name in ("query", "key", "value")}


def tiled_if_causal(a):
    if a.enable_gqa and a.is_causal:
        groups = a.query.size(1) // a.key.size(1)
        return {name: getattr(a, name).repeat(1, groups, 1, 1) for name in ("key", "value")}
    return {}


def refuse(condition, error):
    if condition:
        raise error


def view(query, key, value):
    b, h, n, d = query.shape
    queries, keys = query.view(b * h, n, d), key.view(b * h, -1, d)
    return plain(queries, keys, value.view(b * h, key.size(2), -1)).view(b, h, n, -1)


def memory(query, key, value):
    """Reads the numbers in memory as if they were in a row."""
    n, shape = query.size(-2), (*query.shape[:-1], query.size(-1))
    strides = (shape[1] * n * shape[3], n * shape[3], shape[3], 1)
    return plain(query.as_strided(shape, strides), key, value)


def twice(q, k, v):
    return scores_of(q, k).softmax(-1).softmax(-1) @ v


def window(query, key, value, is_causal=False):
    below = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    return plain(query, key, value, below.triu(-64) if is_causal else None)


def leak_from_nine(query, key, value, is_causal=False):
    below = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    below[8:] = True
    return plain(query, key, value, below if is_causal else None)


def normalised(q, k, v):
    return F.normalize(plain(q, k, v), dim=-1)


def overflow(q, k, v):
    """The softmax without its maximum taken away."""
    weights = (q @ k.mT / q.size(-1) ** 0.5 * 60).exp() ** (1 / 60)
    return weights / weights.sum(-1, keepdim=True) @ v


def first_head(q, k, v):
    return scores_of(q, k)[:, :1].softmax(-1) @ v


def one_head_for_all(query, key, value, enable_gqa=False):
    return plain(query, key[:, :1], value[:, :1]) if enable_gqa else plain(query, key, value)


def hides_itself(query, key, value, is_causal=False):
    below = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril(-1)
    below[:1, 0] = True
    return plain(query, key, value, below if is_causal else None)


def one_query(query, key, value, is_causal=False):
    n, m = query.size(-2), key.size(-2)
    below = torch.ones(n, m, dtype=torch.bool).tril(m - n if n > 1 else 0)
    return plain(query, key, value, below if is_causal else None)


class First64(Function):
    @staticmethod
    def forward(ctx, query, key, value):
        ctx.save_for_backward(query, key, value)
        return plain(query, key, value)

    @staticmethod
    def backward(ctx, grad):
        parts = [part.detach().requires_grad_() for part in ctx.saved_tensors]
        query, key, value = parts
        with torch.enable_grad():
            output = plain(query, key[..., :64, :], value[..., :64, :])
        return torch.autograd.grad(output, parts, grad)


# what is wrong, the property that it breaks, and what the cause says; nothing where none is known
WRONG = {
    # gradients
    "key detached": (
        lambda q, k, v: plain(q, k.detach(), v),
        "oracle",
        "no gradient reaches the key",
    ),
    "value detached": (
        lambda q, k, v: plain(q, k, v.detach()),
        "oracle",
        "no gradient reaches the value",
    ),
    "weights detached": (
        lambda q, k, v: scores_of(q, k).softmax(-1).detach() @ v,
        "oracle",
        "reaches the query",
    ),
    "no gradient": (torch.no_grad()(plain), "oracle", "torch.no_grad"),
    "backward: row term": (
        backward(lambda w, g, root: w * g / root),
        "oracle",
        "lacks its row term",
    ),
    "backward: row mean": (
        backward(lambda w, g, root: w * (g - g.mean(-1, keepdim=True)) / root),
        "oracle",
        "gradient of the query is not",
    ),
    "backward: scale": (
        backward(lambda w, g, _: right_inner(w, g, 1.0)),
        "oracle",
        "4 times its gradient",
    ),
    "backward: value twice": (
        backward(None, lambda q, k, v: (q, k, 2 * v)),
        "oracle",
        "the value 2 times",
    ),
    "backward: key is none": (
        backward(None, lambda q, k, v: (q, 0 * k, v)),
        "oracle",
        "no gradient reaches the key",
    ),
    "backward: key is flipped": (
        backward(None, lambda q, k, v: (q, k.flip(-1), v)),
        "oracle",
        "gradient of the key is not",
    ),
    "backward: mask": (backward(inner_if_masked), "oracle", "gradient of the query is not"),
    "backward: two things": (backward(lambda w, g, _: w * g), "oracle", "gradient of the query"),
    "backward: with a mask": (
        masked_with(lambda q, k, v, m: plain(q, k.detach(), v, m)),
        "oracle",
        "no gradient reaches the key",
    ),
    # blocks
    "blocks of 16: no rescale": (online(16, "no rescale"), "oracle", "right up to 16 tokens"),
    "blocks of 64: no rescale": (online(64, "no rescale"), "oracle", "right up to 64 tokens"),
    "blocks: output kept": (online(32, "output not rescaled"), "oracle", "right up to 32 tokens"),
    "blocks: last lost": (online(64, "last block lost"), "oracle", "right up to 64 tokens"),
    "blocks: triangle of blocks": (online(8, "triangle of blocks"), "causality", "causal mask"),
    "blocks of 64: triangle": (
        online(64, "triangle of one block"),
        "causality",
        "right up to 64 tokens",
    ),
    "blocks of 64: mask": (
        online(64, "first block of the mask"),
        "cross-attention",
        "right up to 64 tokens",
    ),
    "a leak from nine": (leak_from_nine, "causality", "right up to 9 tokens"),
    "a window unasked": (window, "causality", "right up to 65 tokens"),
    # one thing with an option
    "causal: no scale": (
        causal_with(lambda q, k, v, m: (q @ k.mT).masked_fill(~m, -math.inf).softmax(-1) @ v),
        "causality",
        "with is_causal=True, scaled by 1 = 1",
    ),
    "causal: masked after": (
        causal_with(lambda q, k, v, m: (scores_of(q, k).softmax(-1) * m) @ v),
        "causality",
        "multiplies the weights after the softmax",
    ),
    "mask: no scale": (
        masked_with(lambda q, k, v, m: (q @ k.mT).masked_fill(~m, -math.inf).softmax(-1) @ v),
        "mask place",
        "",
    ),
    "mask: subtracted": (
        masked_with(lambda q, k, v, m: (scores_of(q, k) - 2.0 * ~m).softmax(-1) @ v),
        "mask place",
        "fill too small",
    ),
    "lost: scale with gqa": (
        lost(lambda a: {"scale": None} if a.enable_gqa else {}),
        "group order",
        "scale",
    ),
    "lost: scale with causal": (
        lost(lambda a: {"scale": None} if a.is_causal else {}),
        "scale",
        "the argument scale is ignored with is_causal=True",
    ),
    "lost: scale with a mask": (
        lost(lambda a: {"scale": None} if a.attn_mask is not None else {}),
        "scale",
        "the argument scale is ignored with a mask",
    ),
    "lost: mask with gqa": (
        lost(lambda a: {"attn_mask": None} if a.enable_gqa else {}),
        "group order",
        "the mask is not applied",
    ),
    "lost: mask with dropout": (
        lost(lambda a: {"attn_mask": None} if a.dropout_p else {}),
        "dropout",
        "the mask is lost when dropout_p is given",
    ),
    "lost: dropout with a mask": (
        lost(lambda a: {"dropout_p": 0.0} if a.attn_mask is not None else {}),
        "dropout",
        "dropout_p is ignored",
    ),
    "tiled groups if causal": (lost(tiled_if_causal), "group order", "repeated as a whole"),
    "one mask for all": (
        lost(
            lambda a: (
                {"attn_mask": a.attn_mask[:1, :1]}
                if a.attn_mask is not None and a.attn_mask.ndim == 4
                else {}
            )
        ),
        "mask axis",
        "masks of samples or heads",
    ),
    # exceptions
    "raises: mask of four axes": (
        lost(
            lambda a: refuse(a.attn_mask is not None and a.attn_mask.ndim > 2, ValueError("(n, m)"))
        ),
        "mask axis",
        "raises an exception",
    ),
    "raises: one key": (
        lost(lambda a: refuse(a.key.size(-2) == 1, ZeroDivisionError("one key"))),
        "oracle",
        "raises an exception",
    ),
    "raises: batch of one": (lost(squeezed), "oracle", ""),
    "raises: tensors that are views": (view, "oracle", "raises an exception"),
    "reads memory": (memory, "oracle", "strides"),
    # the formula
    "softmax twice": (twice, "oracle", "the softmax is applied twice"),
    "divided after": (
        lambda q, k, v: (q @ k.mT).softmax(-1) / q.size(-1) ** 0.5 @ v,
        "oracle",
        "divided by √head_dim after the softmax",
    ),
    "sigmoid": (lambda q, k, v: scores_of(q, k).sigmoid() @ v, "oracle", "a sigmoid"),
    "no softmax": (lambda q, k, v: scores_of(q, k) @ v, "oracle", "without a softmax"),
    "log_softmax": (lambda q, k, v: scores_of(q, k).log_softmax(-1) @ v, "oracle", "logarithm"),
    "always causal": (
        lambda q, k, v: sdpa(q, k, v, is_causal=True),
        "oracle",
        "though is_causal was not given",
    ),
    "heads averaged": (
        lambda q, k, v: scores_of(q, k).softmax(-1).mean(1, keepdim=True) @ v,
        "oracle",
        "averaged over the heads",
    ),
    "softmax base 2": (
        lambda q, k, v: (scores_of(q, k) * math.log(2)).softmax(-1) @ v,
        "scale",
        "scaled by 5.77",
    ),
    "negative scores": (lambda q, k, v: (-scores_of(q, k)).softmax(-1) @ v, "scale", "-4"),
    "√num_heads": (
        lambda q, k, v: (q @ k.mT / q.size(1) ** 0.5).softmax(-1) @ v,
        "scale",
        "√num_heads",
    ),
    "head_dim^¼": (
        lambda q, k, v: (q @ k.mT / q.size(-1) ** 0.25).softmax(-1) @ v,
        "scale",
        "head_dim^¼",
    ),
    "output normalised": (normalised, "weights", "not the sum of the values"),
    "one head's weights for all": (first_head, "batch", ""),
    "kernel of another formula, a wrong one": (
        lambda q, k, v: (
            (
                scores_of(q, k)
                - scores_of(k, k).diagonal(dim1=-2, dim2=-1)[..., None, :]
                * torch.arange(k.size(-2))
            ).softmax(-1)
            @ v
        ),
        "permutation",
        "",
    ),
    "one head for all groups": (one_head_for_all, "group order", "wrong key heads"),
    "one key head of all": (
        lost(lambda a: refuse(a.key.size(1) == 1, ValueError("one key head"))),
        "group order",
        "raises an exception",
    ),
    "values clamped": (
        lambda q, k, v: plain(q, k, v.clamp(-1, 1)),
        "weights",
        "not the sum of the values",
    ),
    "heads beyond eight": (
        lambda q, k, v: plain(
            q, *(torch.cat([x[:, :8], x[:, : max(x.size(1) - 8, 0)]], 1) for x in (k, v))
        ),
        "oracle",
        "heads are mixed",
    ),
    "heads turned": (lambda q, k, v: plain(q.roll(1, 1), k, v), "oracle", "heads are mixed"),
    "samples turned": (lambda q, k, v: plain(q, k.roll(1, 0), v), "batch", "samples or heads"),
    "values turned": (lambda q, k, v: plain(q, k, v.roll(1, -2)), "permutation", "stands"),
    "a number cut off": (
        lambda q, k, v: plain(q[..., :-1] * (16 / 15) ** -0.5, k[..., :-1], v),
        "oracle",
        "part of each query is cut off",
    ),
    "scores clamped": (
        lambda q, k, v: scores_of(q, k).clamp(-2, 2).softmax(-1) @ v,
        "oracle",
        "clamped to ±2",
    ),
    "absolute scores": (
        lambda q, k, v: scores_of(q, k).abs().softmax(-1) @ v,
        "oracle",
        "absolute value",
    ),
    "output halved": (lambda q, k, v: plain(q, k, v) / 2, "weights", "each row sums to 0.5"),
    "residual inside": (
        lambda q, k, v: plain(q, k, v) + v.mean(-2, keepdim=True),
        "weights",
        "each row sums to 2",
    ),
    "key and value swapped": (
        lambda q, k, v: plain(q, v[..., : k.size(-1)], k),
        "oracle",
        "key and value are swapped",
    ),
    "the mean": (
        lambda q, k, v: v.mean(-2, keepdim=True) + 0 * (q.sum() + k.sum() + q[..., :1]),
        "attends",
        "do not depend on the query",
    ),
    "the largest alone": (
        lambda q, k, v: F.one_hot(scores_of(q, k).argmax(-1), k.size(-2)).to(v) @ v,
        "attends",
        "",
    ),
    "hides itself but for the first": (hides_itself, "causality", "does not see itself"),
    "a small leak": (
        causal_with(lambda q, k, v, m: plain(q, k, v, m) + 1e-3 * v.mean(-2, keepdim=True)),
        "causality",
        "later keys still count",
    ),
    "one query starts at the first key": (one_query, "causality", "with the other end"),
    "not finite at three": (
        lambda q, k, v: plain(q, k, v) / (0 if q.size(-2) == 3 else 1),
        "oracle",
        "not finite",
    ),
    "backward of the first 64 keys": (First64.apply, "oracle", "a wrong backward"),
    "overflow": (overflow, "half precision", "the largest of a row is not subtracted"),
    "float16 inside": (
        lambda q, k, v: plain(q.half(), k.half(), v.half()).to(q.dtype),
        "oracle",
        "precision is lost inside",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_caught(name):
    attend, broken, cause = WRONG[name]
    report = check_attention(attend)
    causes = {finding.property: finding.cause for finding in report.failures}
    assert broken in causes, report
    assert cause in causes[broken], report


def test_a_cause_is_said_once_and_no_other_beside_it():
    mean, broken, _ = WRONG["the mean"]
    assert broken == "attends"
    assert not any("clamped" in finding.cause for finding in check_attention(mean).failures)
    after, *_ = WRONG["causal: masked after"]
    assert "mask used" not in {finding.property for finding in check_attention(after).failures}
