"""Right modules of kinds that are easily accused: norms at the end, tables, gates, dead units."""

import pytest
import torch
from torch import nn

from attn_docs.testing import check_module
from tests.testing.plain import DIM, HEADS, Plain, found, verdicts


class Habit(nn.Module):
    """Attention to a context as well, with one habit of modules that are in use."""

    def __init__(self, habit=""):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.habit = habit
        if habit == "norm at the end":
            self.norm = nn.LayerNorm(DIM)
        if habit == "gate at zero":
            self.gate = nn.Parameter(torch.zeros(1))
        if habit == "table":
            self.table = nn.Parameter(torch.zeros(2 * 100 - 1, HEADS))
        if habit == "unused bias":
            self.extra = nn.Parameter(torch.zeros(DIM))

    def forward(self, x, context=None):
        keys = x if context is None else context
        q, k, v = (
            f(t).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for f, t in ((self.q, x), (self.k, keys), (self.v, keys))
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        i, j = torch.arange(scores.size(-2))[:, None], torch.arange(scores.size(-1))
        if self.habit == "table":
            scores = scores + self.table[i - j + 99].movedim(-1, 0)
        if self.habit == "causal":
            scores = scores.masked_fill(j > i + scores.size(-1) - scores.size(-2), -torch.inf)
        output = self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        if self.habit == "norm at the end":
            return self.norm(output + x)
        return output * self.gate.tanh() if self.habit == "gate at zero" else output


@pytest.mark.parametrize("habit", ["norm at the end", "gate at zero", "table", "causal"])
def test_a_right_module_of_that_kind_is_not_accused(habit):
    options = {"table": {"positions": True}, "causal": {"causal": True}}.get(habit, {})
    report = check_module(Habit(habit), embed_dim=DIM, **options)
    assert not report.failures, report
    assert {verdicts(report)[name] for name in ("cross-attention", "projections")} == {"pass"}


def test_a_parameter_of_one_axis_that_is_not_used_is_caught_and_a_key_bias_is_not():
    finding = found(check_module(Habit("unused bias"), embed_dim=DIM), "projections")
    assert finding.cause == "never used: extra"


def test_keys_from_x_that_show_with_equal_lengths_alone_are_caught():
    class FromX(Habit):
        def forward(self, x, context=None):
            if context is not None and context.size(1) == x.size(1):
                context = 0.5 * (context + x)
            return super().forward(x, context)

    finding = found(check_module(FromX(), embed_dim=DIM), "cross-attention")
    assert finding.verdict == "fail"
    assert finding.evidence.startswith("output 1 depends on other tokens of x")


def test_a_few_dead_units_are_not_called_unused():
    class Dead(Plain):
        def __init__(self):
            super().__init__()
            self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

        def forward(self, x, attn_mask=None):
            y = x + super().forward(x, attn_mask)
            return y + self.down(self.up(y).relu())

    assert verdicts(check_module(Dead(), embed_dim=DIM))["projections"] == "pass"
