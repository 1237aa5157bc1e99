"""Modules with one thing wrong: each must fail the property it breaks, with the right cause."""

import math

import pytest
import torch
from torch import nn

from attn_docs.testing import Report, check_module

DIM, HEADS = 32, 4
INF = math.inf


class Wrong(nn.Module):
    """Attention with a flag for each bug, written out without a line of the package.

    `layers` is how queries, keys and values are projected, `when` the mode that has the bug.
    """

    def __init__(
        self, bug="", *, layers="separate", kv_heads=HEADS, dropout=0.0, when="both", heads=HEADS
    ):
        super().__init__()
        self.bug, self.layers, self.when, self.p = bug, layers, when, dropout
        self.heads, self.kv_heads, self.size = heads, kv_heads, DIM // heads
        width = kv_heads * self.size
        if layers == "separate":
            self.q_proj, self.k_proj = nn.Linear(DIM, DIM), nn.Linear(DIM, width)
            self.v_proj = nn.Linear(DIM, width)
        elif layers == "per head":
            self.q, self.k, self.v = (
                nn.ModuleList([nn.Linear(DIM, self.size) for _ in range(heads)]) for _ in range(3)
            )
        else:
            self.qkv = nn.Linear(DIM, 3 * DIM)
        self.o_proj = nn.Linear(self.size if bug in {"mean", "sum"} else DIM, DIM)
        if bug == "shared by heads":
            self.q_proj, self.k_proj, self.v_proj = (
                nn.Linear(self.size, self.size) for _ in range(3)
            )

    def has(self, *bugs):
        mode = self.when == "both" or self.training == (self.when == "train")
        return mode and self.bug in bugs

    def project(self, x):  # noqa: C901  (five layouts)
        if self.has("shared by heads"):
            slices = x.unflatten(-1, (self.heads, self.size))
            return (f(slices).flatten(-2) for f in (self.q_proj, self.k_proj, self.v_proj))
        if self.layers == "separate":
            q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        elif self.layers == "per head":
            q, k, v = (torch.cat([f(x) for f in fs], -1) for fs in (self.q, self.k, self.v))
        elif self.layers == "thirds":
            q, k, v = self.qkv(x).chunk(3, -1)
        elif self.layers == "slots":  # for each head its query, key and value
            parts = self.qkv(x).unflatten(-1, (self.heads, 3, self.size))
            q, k, v = (parts[..., i, :].flatten(-2) for i in range(3))
        else:  # "last": the three are the fastest index
            parts = self.qkv(x).unflatten(-1, (self.heads, self.size, 3))
            q, k, v = (parts[..., i].flatten(-2) for i in range(3))
        if self.has("value from key"):
            v = k
        if self.has("value from query"):
            v = q
        if self.has("key from query"):
            k = q
        if self.has("value is input"):
            v = x
        if self.has("query is input"):
            q = x
        return q, k, v

    def split(self, x, heads, name):
        batch, length, _ = x.shape
        if self.has("split by view") or (self.has("keys and values by view") and name != "q"):
            return x.reshape(batch, heads, length, self.size)
        if self.has("heads attend"):
            return x.view(batch, length, heads, self.size)
        if self.has("batch as length"):
            return x.reshape(length, batch, heads, self.size).permute(1, 2, 0, 3)
        return x.view(batch, length, heads, self.size).transpose(1, 2)

    def scores(self, q, k):
        length = q.size(-2)
        divisor = self.size**0.5
        divisors = {
            "no scale": 1.0,
            "scale twice": self.size,
            "scale of embed_dim": DIM**0.5,
            "scale multiplied": 1 / divisor,
            "scale of embed_dim, unrooted": DIM,
            "scale of length": length**0.5,
            "scale of 5": 5.0,
            "scale negative": -divisor,
        }
        if self.has(*divisors):
            divisor = divisors[self.bug]
        return q @ k.transpose(-2, -1) / divisor

    def causal(self, length, device):
        ones = torch.ones(length, length, dtype=torch.bool, device=device)
        if self.has("causal ignored"):
            return ones
        if self.has("causal inverted"):
            return ones.triu()
        if self.has("causal sees next"):
            return ones.tril(1)
        if self.has("causal of every second"):
            return ones.tril() | ones.triu(3)
        return ones.tril()

    def masked(self, scores, mask):  # noqa: PLR0911  (a way out for each bug)
        if mask.ndim == 3:
            mask = mask[:, None]
        if self.has("mask ignored", "mask after softmax", "mask on output"):
            return scores
        if self.has("mask inverted"):
            return scores.masked_fill(mask, -INF)
        if self.has("mask transposed"):
            return scores.masked_fill(~mask.mT, -INF)
        if self.has("mask inverted and transposed"):
            return scores.masked_fill(mask.mT, -INF)
        if self.has("mask added"):
            return scores + mask
        if self.has("mask times scores"):
            return scores * mask
        fills = {"fill 1e-9": 1e-9, "fill -5": -5.0, "fill -1e9": -1e9}
        return scores.masked_fill(~mask, fills[self.bug] if self.has(*fills) else -INF)

    def weights(self, scores):
        dim = {"softmax over queries": -2, "softmax over heads": 1}
        if self.has("dropout on scores"):
            scores = nn.functional.dropout(scores, self.p, self.training)
        weights = scores.softmax(dim[self.bug] if self.has(*dim) else -1)
        if not self.has("empty rows"):
            weights = weights.nan_to_num(0.0)
        if self.has("dropout in evaluation"):
            return nn.functional.dropout(weights, self.p, True)
        if self.has("dropout without rescale"):
            return weights * (torch.rand_like(weights) > self.p) if self.training else weights
        if self.has("dropout on scores", "dropout on values"):
            return weights
        if self.has("noise"):
            return weights + 0.01 * torch.randn_like(weights)
        return nn.functional.dropout(weights, self.p, self.training)

    def forward(self, x, attn_mask=None, is_causal=False):  # noqa: C901
        batch, length, _ = x.shape
        q, k, v = self.project(x)
        q = self.split(q, self.heads, "q")
        k, v = self.split(k, self.kv_heads, "k"), self.split(v, self.kv_heads, "v")
        group = self.heads // self.kv_heads
        if group > 1:
            tile_k = self.has("groups tiled", "only keys tiled")
            tile_v = self.has("groups tiled", "only values tiled")
            k = k.repeat(1, group, 1, 1) if tile_k else k.repeat_interleave(group, 1)
            v = v.repeat(1, group, 1, 1) if tile_v else v.repeat_interleave(group, 1)
        mask = attn_mask
        if is_causal and not (self.has("causal or mask") and mask is not None):
            causal = self.causal(length, x.device)
            alone = mask is None or self.has("mask or causal")
            mask = causal if alone else causal & mask
        scores = self.scores(q, k)
        if mask is not None and not self.has("heads attend"):
            scores = self.masked(scores, mask)
        weights = self.weights(scores)
        if mask is not None and self.has("mask after softmax"):
            weights = weights * (mask if mask.ndim == 2 else mask[:, None])
        if self.has("dropout on values"):
            v = nn.functional.dropout(v, self.p, self.training)
        output = weights @ v
        if self.has("mean", "sum"):
            return self.o_proj(output.mean(1) if self.bug == "mean" else output.sum(1))
        if not self.has("merged by view", "heads attend"):
            output = output.transpose(1, 2)
        output = output.reshape(batch, length, DIM)
        if self.has("input written"):
            x.mul_(2.0)
        if self.has("no output projection"):
            return output
        if self.has("keeps state"):
            self.calls = getattr(self, "calls", 0) + 1
            return self.o_proj(output) + self.calls
        return self.o_proj(output)


def failures(report: Report) -> dict[str, str]:
    return {finding.property: finding.cause for finding in report.failures}


def caught(report: Report, name: str, cause: str) -> None:
    found = failures(report)
    assert name in found, f"{name} did not fail:\n{report}"
    assert cause in found[name], found


# bug, property that fails, part of the cause
CORE = {
    "value from key": ("value projection", "computed with the key projection"),
    "value from query": ("value projection", "computed with the query projection"),
    "key from query": ("projections", "query and key come from one projection"),
    "value is input": ("value projection", "the value is the input itself"),
    "query is input": ("projections", "the query is the input itself"),
    "split by view": ("head layout", "split by view alone"),
    "keys and values by view": ("head layout", "split by view alone"),
    "merged by view": ("head layout", "merged by view alone"),
    "heads attend": ("head layout", "the heads of one position attend to each other"),
    "mean": ("head layout", "heads are averaged"),
    "sum": ("head layout", "heads are added up"),
    "no scale": ("scale", "scaled by 1 = 1, expected √head_dim = 2.828"),
    "scale twice": ("scale", "scaled by head_dim = 8"),
    "scale of embed_dim": ("scale", "scaled by √embed_dim = 5.657"),
    "scale multiplied": ("scale", "scaled by 1/√head_dim = 0.3536"),
    "scale of embed_dim, unrooted": ("scale", "scaled by embed_dim = 32"),
    "scale of length": ("scale", "scaled by √length = 2.449"),
    "scale of 5": ("scale", "scaled by 5, expected √head_dim = 2.828"),
    "scale negative": ("scale", "scaled by -2.828, expected"),
    "softmax over queries": ("weights", "the softmax runs over the queries"),
    "softmax over heads": ("weights", "the softmax runs over the heads"),
}
OUTSIDE = {
    "shared by heads": ("projections", "one projection that all heads share"),
    "batch as length": ("batch", "batch and length axes are swapped"),
    "no output projection": ("projections", "never used: o_proj.weight"),
    "dropout on scores": ("dropout", "applied to the scores, before the softmax"),
    "dropout without rescale": ("dropout", "not divided by 1 − p"),
    "dropout on values": ("dropout", "not on the weights after the softmax"),
    "dropout in evaluation": ("dropout off in eval", "dropout is applied in evaluation"),
    "noise": ("dropout off in eval", "something random"),
    "input written": ("input unchanged", "an in-place operation"),
    "keeps state": ("deterministic", "keeps state from call to call"),
    "empty rows": ("empty rows", "softmax of a row of −∞ is NaN"),
    "fill -1e9": ("half precision", "too large for float16"),
}
MASK = {
    "mask ignored": ("mask used", "the mask is accepted and ignored"),
    "mask or causal": ("mask used", "attn_mask is ignored when is_causal=True"),
    "mask inverted": ("mask polarity", "polarity is inverted"),
    "mask transposed": ("mask axis", "axes are swapped"),
    "mask inverted and transposed": ("mask polarity", "and its axes are swapped"),
    "mask added": ("mask place", "added to the scores as 0 and 1"),
    "mask times scores": ("mask place", "masked scores become 0"),
    "mask after softmax": ("mask place", "multiplies the weights after the softmax"),
    "fill 1e-9": ("mask place", "masked scores become 0"),
    "fill -5": ("mask place", "fill too small or too late"),
    "causal ignored": ("causality", "the causal mask is not applied"),
    "causal or mask": ("causality", "is_causal is ignored when attn_mask is given"),
    "causal inverted": ("causality", "the causal mask is inverted"),
    "causal sees next": ("causality", "off by one: a position sees the next one"),
    "causal of every second": ("causality", "the causal mask is no lower triangle"),
}
GROUPS = {
    "groups tiled": ("group order", "key and value heads are repeated as a whole"),
    "only keys tiled": ("group order", "only the key heads are repeated as a whole"),
    "only values tiled": ("group order", "only the value heads are repeated as a whole"),
}


def test_the_module_without_a_bug_passes_in_every_layout():
    for layers in ("separate", "thirds", "slots", "last", "per head"):
        report = check_module(Wrong(layers=layers, dropout=0.2), embed_dim=DIM, causal=True)
        assert report.passed, report
        judged = {f.property for f in report.findings if f.verdict == "pass"}
        assert {"oracle", "scale", "weights", "value projection", "head layout"} <= judged
        assert "dropout" in judged
    assert check_module(Wrong(kv_heads=2), embed_dim=DIM).passed


@pytest.mark.parametrize("bug", CORE | OUTSIDE | MASK)
def test_a_bug_is_caught(bug):
    dropout = 0.2 if "dropout" in bug else 0.0
    report = check_module(Wrong(bug, dropout=dropout), embed_dim=DIM, causal=bug not in CORE)
    caught(report, *(CORE | OUTSIDE | MASK)[bug])


@pytest.mark.parametrize("bug", GROUPS)
def test_a_wrong_order_of_groups_is_caught(bug):
    caught(check_module(Wrong(bug, kv_heads=2), embed_dim=DIM), *GROUPS[bug])


@pytest.mark.parametrize("when", ["train", "eval"])
@pytest.mark.parametrize(
    "bug",
    [
        "no scale",
        "value from key",
        "split by view",
        "softmax over queries",
        "mask inverted",
        "causal sees next",
        "causal or mask",
    ],
)
def test_a_bug_in_one_mode_is_caught_and_the_mode_is_named(bug, when):
    report = check_module(Wrong(bug, when=when), embed_dim=DIM, causal=True)
    name, cause = (CORE | MASK)[bug]
    caught(report, name, cause)
    finding = next(f for f in report.failures if f.property == name)
    mode = {"train": "in training", "eval": "in evaluation"}[when]
    assert mode in finding.cause + finding.evidence


@pytest.mark.parametrize("when", ["train", "eval"])
def test_groups_in_one_mode(when):
    report = check_module(Wrong("groups tiled", kv_heads=2, when=when), embed_dim=DIM)
    caught(report, *GROUPS["groups tiled"])


@pytest.mark.parametrize(
    ("layers", "bug"),
    [
        ("thirds", "split by view"),
        ("slots", "merged by view"),
        ("last", "no scale"),
        ("per head", "split by view"),
        ("per head", "softmax over heads"),
    ],
)
def test_a_bug_is_caught_in_other_layouts(layers, bug):
    caught(check_module(Wrong(bug, layers=layers), embed_dim=DIM), *CORE[bug])


class WrongRotary(Wrong):
    """The same, with queries and keys turned by position, as complex numbers."""

    def __init__(self, bug="", *, theta=10_000.0, neighbours=True, **options):
        super().__init__(bug, **options)
        self.theta, self.neighbours = theta, neighbours

    def turned(self, x, heads):
        size = self.size
        pairs = (size // 2, 2) if self.neighbours else (2, size // 2)
        x = x.unflatten(-1, (heads, *pairs))
        x = x if self.neighbours else x.mT
        angles = torch.arange(x.size(1))[:, None] / self.theta ** (torch.arange(0, size, 2) / size)
        unit = torch.polar(torch.ones_like(angles), angles).to(torch.complex128)[:, None]
        x = torch.view_as_real(torch.view_as_complex(x.double().contiguous()) * unit).to(x.dtype)
        return (x if self.neighbours else x.mT).flatten(2)

    def project(self, x):
        q, k, v = super().project(x)
        v = self.turned(v, self.kv_heads) if self.has("values turned") else v
        return self.turned(q, self.heads), self.turned(k, self.kv_heads), v


ROTARY = {
    name: (CORE | MASK | GROUPS)[name]
    for name in ("no scale", "value from key", "merged by view", "mask inverted", "groups tiled")
} | {"values turned": ("value projection", "the values are turned by their positions")}


@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
@pytest.mark.parametrize("neighbours", [True, False])
def test_it_looks_inside_rotary_modules_as_well(neighbours, theta):
    module = WrongRotary(kv_heads=2, theta=theta, neighbours=neighbours)
    report = check_module(module, embed_dim=DIM, causal=True)
    assert report.passed, report
    judged = {f.property for f in report.findings if f.verdict == "pass"}
    inside = {"oracle", "scale", "weights", "value projection", "head layout", "group order"}
    assert inside <= judged, report


@pytest.mark.parametrize("bug", ROTARY)
def test_a_bug_in_a_rotary_module_is_caught(bug):
    report = check_module(WrongRotary(bug, kv_heads=2), embed_dim=DIM, causal=True)
    caught(report, *ROTARY[bug])
