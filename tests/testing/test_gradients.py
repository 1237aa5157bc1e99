"""Gradients are judged against difference quotients: a wrong or cut backward is named."""

import math

import pytest
import torch
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.testing import check_attention, check_module
from tests.testing.plain import DIM, HEADS, Plain, found, plain, verdicts


class Softmax(torch.autograd.Function):
    """A softmax with a backward by hand; `wrong` forgets the sum over the row."""

    @staticmethod
    def forward(ctx, scores, wrong):
        weights = scores.softmax(-1)
        ctx.save_for_backward(weights)
        ctx.wrong = wrong
        return weights

    @staticmethod
    def backward(ctx, gradient):
        (weights,) = ctx.saved_tensors
        total = 0 if ctx.wrong else (gradient * weights).sum(-1, keepdim=True)
        return weights * (gradient - total), None


class Layer(nn.Module):
    """Attention with one thing wrong on the way back."""

    def __init__(self, bug=""):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.bug = bug

    def forward(self, x, attn_mask=None):
        split = (f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        q, k, v = split
        if self.bug == "detached":
            k = k.detach()
        if self.bug == "in training" and self.training:
            v = v.detach()
        scores = q @ k.mT / math.sqrt(q.size(-1))
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, torch.finfo(scores.dtype).min)
            if self.bug == "with a mask":
                scores = scores.detach()
        if self.bug == "float32":
            weights = scores.float().softmax(-1).to(x.dtype)
        else:
            weights = Softmax.apply(scores, self.bug == "backward")
        if self.bug == "straight through":
            weights = weights + ((4 * weights).round() / 4 - weights).detach()
        output = self.o((weights @ v).transpose(1, 2).flatten(2))
        if self.bug == "bias":
            output = output - self.o.bias + self.o.bias.detach()
        return output


@pytest.mark.parametrize("bug", ["", "float32"])
def test_right_gradients_pass(bug):
    report = check_module(Layer(bug), embed_dim=DIM)
    assert report.passed, report
    assert verdicts(report)["gradients"] == "pass"


WRONG = {
    "detached": ("in evaluation: moving k.weight changes", "k.weight: the gradient is cut"),
    "backward": ("with no mask, in evaluation: moving x", "x: the backward is not"),
    "straight through": ("with no mask, in evaluation: moving x", "straight-through estimator"),
    "with a mask": ("with a mask, in evaluation: moving x", "x: the backward is not"),
    "in training": ("with no mask, in training: moving x", "x: the backward is not"),
    "bias": ("moving o.bias changes the output", "o.bias: the gradient is cut, as by detach()"),
}


@pytest.mark.parametrize("bug", WRONG)
def test_a_wrong_or_cut_gradient_is_caught(bug):
    evidence, cause = WRONG[bug]
    finding = found(check_module(Layer(bug), embed_dim=DIM), "gradients")
    assert finding.verdict == "fail"
    assert evidence in finding.evidence
    assert cause in finding.cause


def test_a_forward_without_gradients_is_called_cut():
    class NoGradients(Plain):
        @torch.no_grad()
        def forward(self, x, attn_mask=None):
            return super().forward(x, attn_mask)

    finding = found(check_module(NoGradients(), embed_dim=DIM), "gradients")
    assert finding.cause.startswith("x, q.weight, q.bias, k.weight, v.weight")


@pytest.mark.parametrize("name", ["query", "key", "value"])
def test_a_function_that_cuts_a_gradient_is_caught_with_the_argument(name):
    def cut(query, key, value):
        given = {"query": query, "key": key, "value": value}
        given[name] = given[name].detach()
        return plain(**given)

    finding = found(check_attention(cut), "gradients")
    assert finding.cause.startswith(f"{name}: the gradient is cut")


def test_the_gradient_of_a_context_is_judged():
    class Detached(MultiHeadAttention):
        def forward(self, x, context=None):
            return super().forward(x, context=None if context is None else context.detach())

    finding = found(check_module(Detached(DIM, HEADS), embed_dim=DIM), "gradients")
    assert finding.cause.startswith("context: the gradient is cut")


def test_corners_are_no_wrong_gradients():
    class Corners(Plain):
        def forward(self, x, attn_mask=None):
            return super().forward(x.relu(), attn_mask).relu()

    assert verdicts(check_module(Corners(), embed_dim=DIM))["gradients"] == "pass"


def test_a_parameter_without_axes_is_moved_as_well():
    class Gated(Plain):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.tensor(1.0))

        def forward(self, x, attn_mask=None):
            return super().forward(x, attn_mask) * self.gate.detach()

    finding = found(check_module(Gated(), embed_dim=DIM), "gradients")
    assert finding.cause.startswith("gate: the gradient is cut")
