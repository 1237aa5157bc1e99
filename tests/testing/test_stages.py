"""An attention followed stage by stage as it ran: what is known of it, in layers of every kind."""

import math
import re

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_module
from attn_docs.testing.adapter import adapter_for
from attn_docs.testing.claims import Claims
from attn_docs.testing.module_insight import ModuleInsight, look_inside
from attn_docs.testing.module_subject import subject_of
from tests.testing import hosts
from tests.testing.plain import DIM, HEADS, Plain, found

KINDS = list(hosts.KINDS)


def insight(module: nn.Module, embed_dim: int = DIM, *, causal: bool = False) -> ModuleInsight:
    subject = subject_of(
        module,
        adapter_for(module, None),
        embed_dim=embed_dim,
        context_dim=embed_dim,
        claims=Claims(causal=causal),
    )
    return look_inside(subject)


def stages(module: nn.Module, embed_dim: int = DIM, **options):
    (only,) = insight(module, embed_dim, **options).stages["evaluation"]
    return only


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_layer_is_known_stage_by_stage(kind):
    made = stages(hosts.build("masked", kind), hosts.EMBED_DIM)
    assert made.total == pytest.approx(hosts.HEAD_DIM**-0.5, rel=1e-4)
    assert (made.query.layer, made.query.blocks) == ("q_proj.weight", (0, 1, 2, 3))
    assert (made.key.layer, made.key.blocks) == ("k_proj.weight", (0, 0, 1, 1))
    assert (made.value.layer, made.value.blocks) == ("v_proj.weight", (0, 0, 1, 1))
    assert (made.groups, made.merged) == ("interleaved", "heads")
    assert made.query.normalised == (kind == "qk_norm")
    assert made.query.rotated == made.key.rotated == (kind == "partial_rotary")
    assert made.cancels is (True if kind == "partial_rotary" else None)
    assert (made.cap is not None) == (kind == "soft_cap")
    assert made.sink == (kind == "sinks")
    assert made.axis == (None if kind == "sinks" else "keys")


# for each property one bug, in a kind whose formula the search does not know
NAMED = [
    ("qk_norm", "missing_scale", "scale", r"scaled by 1 = 1, expected √head_dim = 3\.464"),
    ("soft_cap", "scaled_twice", "scale", "scaled by head_dim = 12"),
    ("sinks", "scaled_by_embed_dim", "scale", r"√input_dim = 4\.899"),
    ("gated", "merged_without_transpose", "head layout", "heads are merged by view alone"),
    ("alibi", "scrambled_heads", "head layout", "heads are split by view alone"),
    ("partial_rotary", "tiled_key_heads", "group order", "key and value heads are repeated as a"),
    ("soft_cap", "value_from_key", "value projection", "with the key projection, k_proj"),
    ("qk_norm", "value_is_input", "value projection", "the value is the input itself"),
    ("norm_inside", "value_is_input", "value projection", "the value is the input itself"),
    ("gated", "key_from_query", "projections", "query and key come from one projection"),
    ("soft_cap", "softmax_over_queries", "weights", "runs over the queries"),
    ("qk_norm", "softmax_over_heads", "weights", "runs over the heads"),
    ("alibi", "zero_fill", "mask place", "masked scores become 0"),
    ("sinks", "mask_after_softmax", "mask place", "multiplies the weights after the softmax"),
    ("qk_norm", "zero_one_added", "mask place", "added to the scores as 0 and 1"),
    ("gated", "dropout_without_rescale", "dropout", "not divided by 1 − p"),
    ("sinks", "dropout_on_scores", "dropout", "applied to the scores, before the softmax"),
]


@pytest.mark.parametrize(("kind", "bug", "prop", "cause"), NAMED)
def test_a_bug_is_named_where_no_formula_is_known(kind, bug, prop, cause):
    report = check_module(hosts.build("masked", kind, bug), **hosts.arguments("masked", kind))
    finding = found(report, prop)
    assert finding.verdict == "fail", report
    assert re.search(cause, finding.cause), finding.cause


@pytest.mark.parametrize(
    ("kind", "bug", "cause"),
    [
        ("qk_norm", "zero_fill", "masked scores become 0, not −∞"),
        ("plain", "mask_after_softmax", "the mask multiplies the weights after the softmax"),
        ("partial_rotary", "causal_inverted", "keeps the future and removes the past"),
    ],
)
def test_a_built_in_mask_that_is_wrong_is_named(kind, bug, cause):
    report = check_module(hosts.build("decoder", kind, bug), **hosts.arguments("decoder", kind))
    assert cause in found(report, "causality").cause, report


class Written(Plain):
    """The layer with its products written in another way."""

    def __init__(self, way):
        super().__init__()
        self.way = way

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (HEADS, -1)) for f in (self.q, self.k, self.v))  # b n h d
        return self.o(getattr(self, self.way)(q, k, v).flatten(2))

    def einsum(self, q, k, v):
        weights = torch.einsum("bnhd,bmhd->bhnm", q, k / math.sqrt(8)).softmax(-1)
        return torch.einsum("bhnm,bmhd->bnhd", weights, v)

    def keys_first(self, q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        weights = (k @ q.mT / math.sqrt(8)).softmax(-2)
        return (v.mT @ weights).permute(0, 3, 1, 2)

    def loop(self, q, k, v):
        heads = [
            (q[:, :, h] @ k[:, :, h].mT / math.sqrt(8)).softmax(-1) @ v[:, :, h]
            for h in range(HEADS)
        ]
        return torch.stack(heads, 2)

    def fused(self, q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2)

    def by_hand(self, q, k, v):
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        powers = (q @ k.mT / math.sqrt(8)).exp()
        return (powers / powers.sum(-1, keepdim=True) @ v).transpose(1, 2)


@pytest.mark.parametrize("way", ["einsum", "keys_first", "loop", "fused", "by_hand"])
def test_the_products_are_found_however_they_are_written(way):
    made = stages(Written(way))
    assert made.total == pytest.approx(8**-0.5)
    assert (made.num_heads, made.head_dim, made.axis, made.merged) == (HEADS, 8, "keys", "heads")
    ends = (made.query, made.key, made.value)
    assert [end.layer for end in ends] == ["q.weight", "k.weight", "v.weight"]


class Spoilt(Plain):
    """A layer with something done to its queries, keys, values and scores."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        key = k.reshape(k.mT.shape) if self.what == "reshaped" else k.mT
        scores = q @ key / math.sqrt(q.size(-1))
        if self.what == "twice":
            scores = scores.softmax(-1)
        weights = scores.log_softmax(-1) if self.what == "logs" else scores.softmax(-1)
        v = v.roll(-1, 2) if self.what == "moved" else v
        return self.o((weights @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    ("what", "prop", "cause"),
    [
        ("reshaped", "head layout", "by view alone"),
        ("twice", "weights", "the softmax is applied twice"),
        ("logs", "weights", "weights are negative"),
        ("moved", "value projection", "the values stand one position off"),
    ],
)
def test_what_stands_between_the_stages_is_named(what, prop, cause):
    assert cause in found(check_module(Spoilt(what), embed_dim=DIM), prop).cause


class Rotated(nn.Module):
    """Rotary positions by hand: the angle of pair k at position p is p·0.5^k."""

    def __init__(self, query=1, key=1, offset=0, *, normalised=False, key_pairs="halves"):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.query, self.key, self.offset = query, key, offset
        self.norm = nn.RMSNorm(8) if normalised else nn.Identity()
        self.key_pairs = key_pairs

    def rotate(self, x, sign, offset=0, pairs="halves"):
        positions = torch.arange(x.size(2), dtype=x.dtype) + offset
        angles = sign * positions[:, None] * 0.5 ** torch.arange(4, dtype=x.dtype)
        a, b = (x[..., :4], x[..., 4:]) if pairs == "halves" else (x[..., ::2], x[..., 1::2])
        turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
        return torch.cat(turned, -1) if pairs == "halves" else torch.stack(turned, -1).flatten(-2)

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        q = self.rotate(self.norm(q), self.query)
        k = self.rotate(self.norm(k), self.key, self.offset, self.key_pairs)
        weights = (q @ k.mT / math.sqrt(8)).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("normalised", [False, True])
def test_rotations_that_cancel_at_one_position_pass(normalised):
    report = check_module(Rotated(normalised=normalised), embed_dim=DIM, positions=True)
    assert found(report, "rotation").verdict == "pass", report
    assert report.passed, report


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(
    "wrong",
    [{"key": -1}, {"key": 0}, {"offset": 1}, {"key_pairs": "neighbours"}],
    ids=["backwards", "query alone", "next position", "other pairs"],
)
def test_rotations_that_do_not_cancel_are_caught(wrong, normalised):
    module = Rotated(normalised=normalised, **wrong)
    report = check_module(module, embed_dim=DIM, positions=True)
    assert "not rotated by the same angle" in found(report, "rotation").cause


def test_a_scale_that_was_said_is_the_one_expected():
    module = hosts.build("masked", "qk_norm", "missing_scale")
    report = check_module(module, **hosts.arguments("masked", "qk_norm"), scale=1.0)
    assert found(report, "scale").verdict == "pass"


class Angles(Plain):
    """Queries and keys of length one, times a factor that the layer learns."""

    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(10.0))

    def forward(self, x):
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        weights = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT * self.factor).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


def test_the_factor_of_angles_is_not_judged():
    report = check_module(Angles(), embed_dim=DIM)
    assert found(report, "scale").verdict == "not judged"
    assert report.passed, report


def test_a_gain_that_is_added_to_one_is_no_scale():
    class Gemma(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.zeros(12))

        def forward(self, x):
            return F.rms_norm(x, (12,), eps=1e-6) * (1 + self.weight)

    module = hosts.build("masked", "qk_norm")
    module.q_norm, module.k_norm = Gemma(), Gemma()
    made = stages(module, hosts.EMBED_DIM)
    assert made.total == pytest.approx(hosts.HEAD_DIM**-0.5, rel=1e-4)


def test_several_attentions_are_judged_each():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Plain(), Spoilt("twice")

        def forward(self, x):
            return self.second(torch.tanh(self.first(x)))

    finding = found(check_module(Two(), embed_dim=DIM), "weights")
    assert "the softmax is applied twice" in finding.cause
    assert "(attention 2 of 2)" in finding.cause


def test_a_gain_after_the_rotation_is_caught():
    class Gain(Rotated):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.rand(8) + 0.5)

        def rotate(self, x, sign, offset=0, pairs="halves"):
            return self.gain * super().rotate(x, sign, offset, pairs)

    finding = found(check_module(Gain(), embed_dim=DIM, positions="rotary"), "rotation")
    assert finding.verdict == "fail"
    assert "the place counts, not the distance alone" in finding.cause


def test_a_scale_that_cannot_be_measured_is_not_verified():
    report = check_module(Angles(), embed_dim=DIM, scale=0.3)
    assert found(report, "claims").verdict != "pass"


def test_the_first_row_of_a_mask_used_for_all_is_named():
    class FirstRow(Plain):
        def forward(self, x, attn_mask=None):
            return super().forward(x, None if attn_mask is None else attn_mask[..., :1, :])

    assert (
        "the first row of the mask"
        in found(check_module(FirstRow(), embed_dim=DIM), "mask place").cause
    )
