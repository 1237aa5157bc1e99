"""What is said of a module is verified: a claim that is not so fails, and names what is."""

import pytest
import torch
from torch import nn

from attn_docs import GroupedQueryAttention, MultiHeadAttention, RotaryEmbedding
from attn_docs.position.rotary import apply_rotary
from attn_docs.testing import Adapter, check_module
from tests.testing.plain import DIM, HEADS, Plain, found, verdicts


class Layer(nn.Module):
    """Attention with the habits that are claimed."""

    def __init__(self, habit=""):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.habit = habit
        self.places = nn.Parameter(torch.randn(100, DIM))
        self.sinks = nn.Parameter(torch.zeros(HEADS))

    def forward(self, x, attn_mask=None, softcap=None, unused=None):  # noqa: ARG002
        if self.habit == "added":
            x = x + self.places[: x.size(1)]
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        places = torch.arange(x.size(1))
        if self.habit in ("rotary", "turned backwards", "values turned"):
            q = apply_rotary(q, places)
            k = apply_rotary(k, 200 - places if self.habit == "turned backwards" else places)
        if self.habit == "values turned":
            v = apply_rotary(v, places)
        scores = q @ k.mT / q.size(-1) ** 0.5
        if softcap is not None:
            scores = softcap * (scores / softcap).tanh()
        i, j = places[:, None], places
        shown = torch.ones(len(places), len(places), dtype=torch.bool)
        if self.habit.startswith("window"):
            shown = (j <= i) & (j > i - int(self.habit.split()[1]))
        if self.habit.startswith("prefix"):
            shown = (j <= i) | (j < int(self.habit.split()[1]))
        shown = shown if attn_mask is None else shown & attn_mask
        scores = scores.masked_fill(~shown, torch.finfo(scores.dtype).min)
        if self.habit == "sinks":
            sinks = self.sinks[:, None, None].expand(len(x), HEADS, x.size(1), 1)
            weights = torch.cat([scores, sinks], -1).softmax(-1)[..., :-1]
        elif self.habit == "sigmoid":
            weights = scores.sigmoid()
        elif self.habit == "no softmax":
            weights = scores.masked_fill(~shown, 0.0)
        else:
            weights = scores.softmax(-1)
        weights = nn.functional.dropout(weights, 0.1, self.training and self.habit == "drops")
        return self.o((weights @ v).transpose(1, 2).flatten(2))


RIGHT = {
    "rotary": {"positions": "rotary"},
    "added": {"positions": "added"},
    "window 3": {"causal": True, "window": 3},
    "window 20": {"causal": True, "window": 20},
    "prefix 3": {"causal": True, "prefix": 3},
    "sinks": {"weights": "sinks"},
    "sigmoid": {"weights": "sigmoid"},
    "drops": {"dropout": 0.1},
    "": {"num_heads": HEADS, "dropout": 0.0},
}


@pytest.mark.parametrize("habit", RIGHT)
def test_a_claim_that_is_so_passes(habit):
    report = check_module(Layer(habit), embed_dim=DIM, **RIGHT[habit])
    unread = {"projections"}  # places and sinks that this habit does not read
    assert {f.property for f in report.failures} <= unread, report
    assert verdicts(report)["claims"] == "pass", report
    assert not report.open, report


WRONG = [
    ("", {"positions": True}, "the order of the tokens changes nothing"),
    ("", {"positions": "rotary"}, "the order of the tokens changes nothing"),
    ("added", {"positions": "rotary"}, "positions='rotary' was said, and equal tokens differ"),
    ("values turned", {"positions": "rotary"}, "positions='rotary' was said, and equal tokens"),
    ("rotary", {"positions": "added"}, "positions='added' was said, and equal tokens come out"),
    ("turned backwards", {"positions": "rotary"}, "4 tokens that stand 3 places later differ"),
    ("window 3", {"causal": True, "window": 4}, "of 6 tokens output 3 does not depend on token 0"),
    ("window 4", {"causal": True, "window": 3}, "of 6 tokens output 3 depends on token 0"),
    ("prefix 3", {"causal": True, "prefix": 2}, "prefix=2 was said, and of 6 tokens output 0"),
    ("drops", {"dropout": 0.2}, "dropout=0.2 was said, and it drops with 0.1"),
    ("", {"dropout": 0.1}, "dropout=0.1 was said, and training gives the same for each seed"),
    ("", {"weights": "sinks"}, "weights='sinks' was said, and two equal tokens give what one"),
    ("", {"weights": "sigmoid"}, "weights='sigmoid' was said, and two equal tokens give"),
    ("", {"num_heads": 8}, "num_heads=8 was said, the layer has 4"),
]


@pytest.mark.parametrize(("habit", "said", "evidence"), WRONG)
def test_a_claim_that_is_not_so_fails(habit, said, evidence):
    finding = found(check_module(Layer(habit), embed_dim=DIM, **said), "claims")
    assert finding.verdict == "fail"
    assert evidence in finding.evidence
    assert finding.cause


def test_weights_that_are_no_sinks_fail_though_equal_words_differ():
    report = check_module(Layer("no softmax"), embed_dim=DIM, weights="sinks")
    assert verdicts(report)["weights"] == "fail"


def test_sinks_that_are_not_said_are_told_how_to_be_said():
    finding = found(check_module(Layer("sinks"), embed_dim=DIM), "equal words")
    assert finding.verdict == "fail"
    assert 'weights="sinks"' in finding.cause


def test_a_window_with_a_mask_is_no_wrong_mask():
    report = check_module(Layer("window 3"), embed_dim=DIM, causal=True)
    assert {verdicts(report)[name] for name in ("mask used", "mask place")} == {"pass"}, report


def test_our_rotary_module_has_what_is_said():
    module = GroupedQueryAttention(DIM, HEADS, 2, rotary=RotaryEmbedding(DIM // HEADS))
    report = check_module(module, embed_dim=DIM, causal=True, positions="rotary", num_heads=HEADS)
    assert report.passed, report


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"window": 3}, ValueError, "window must be said with causal=True; got causal=False"),
        ({"prefix": 3}, ValueError, "prefix must be said with causal=True; got causal=False"),
        ({"window": 0, "causal": True}, ValueError, "window must be 1 or more; got 0"),
        ({"dropout": 1.0}, ValueError, "dropout must be 0 or more and below 1; got 1.0"),
        ({"positions": "alibi"}, TypeError, "positions must be True or False; got 'alibi'"),
        ({"weights": "relu"}, ValueError, "weights must be one of ('softmax', 'sinks', 'sigmoid')"),
    ],
)
def test_wrong_claims_are_refused(option, error, message):
    with pytest.raises(error) as raised:
        check_module(Plain(), embed_dim=DIM, **option)
    assert str(raised.value).startswith(message)


# --- options used ----------------------------------------------------------------------------


def test_an_option_that_is_used_passes():
    adapter = Adapter(knobs={"softcap": 30.0})
    report = check_module(Layer(), embed_dim=DIM, adapter=adapter)
    assert verdicts(report)["options used"] == "pass", report


def test_an_option_that_is_accepted_and_ignored_is_caught():
    adapter = Adapter(knobs={"softcap": 30.0, "unused": 4})
    finding = found(check_module(Layer(), embed_dim=DIM, adapter=adapter), "options used")
    assert finding.verdict == "fail"
    assert finding.cause == "accepted and ignored: unused=4"


def test_knobs_that_are_no_mapping_are_refused():
    with pytest.raises(TypeError, match=r"knobs must be a mapping; got \['softcap'\]"):
        Adapter(knobs=["softcap"])


def test_a_module_without_knobs_is_not_asked():
    report = check_module(MultiHeadAttention(DIM, HEADS), embed_dim=DIM)
    assert verdicts(report)["options used"] == "not applicable"
