"""Whose error is it? What is checked may raise; what the checker itself raises is never hidden."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import (
    Adapter,
    Finding,
    Report,
    adapter,
    check_attention,
    check_module,
    function,
    layers,
    module,
)

DIM, HEADS = 32, 4
NOTE = "This is an error of attn_docs.testing, in its check 'padding'"


class Plain(nn.Module):
    """Attention that does what it should; `spoil` is called before, on its arguments."""

    def __init__(self, spoil=None):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.spoil = spoil

    def forward(self, x, attn_mask=None):
        if self.spoil is not None:
            x, attn_mask = self.spoil(self, x, attn_mask)
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if attn_mask is not None:
            scores = scores.masked_fill(~attn_mask, -math.inf)
        output = scores.softmax(-1).nan_to_num(0.0) @ v
        return self.o(output.transpose(1, 2).flatten(2))


def plain(query, key, value, attn_mask=None, is_causal=False):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if is_causal:
        below = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        attn_mask = below if attn_mask is None else below & attn_mask
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    return scores.softmax(-1).nan_to_num(0.0) @ value


def found(report: Report, name: str) -> Finding:
    return next(finding for finding in report.findings if finding.property == name)


def verdicts(report: Report) -> dict[str, str]:
    return {finding.property: finding.verdict for finding in report.findings}


def broken(*_, **__):
    return torch.zeros(2) + torch.zeros(3)


# --- ours ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("checks", "run"),
    [
        (module.CHECKS, lambda: check_module(Plain(), embed_dim=DIM)),
        (function.CHECKS, lambda: check_attention(plain)),
    ],
    ids=["module", "function"],
)
def test_an_error_of_a_check_is_raised_and_names_the_check(checks, run, monkeypatch):
    monkeypatch.setitem(checks, "padding", broken)
    with pytest.raises(RuntimeError, match="size of tensor a") as raised:
        run()
    (note,) = raised.value.__notes__
    assert note.startswith(NOTE)


@pytest.mark.parametrize(
    ("place", "name"), [(adapter.Adapter, "translate"), (layers, "_rows"), (layers, "_projection")]
)
def test_an_error_while_the_module_runs_is_raised_if_it_is_ours(place, name, monkeypatch):
    monkeypatch.setattr(place, name, broken)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        check_module(Plain(), embed_dim=DIM)


def test_the_recorders_error_is_raised_though_the_module_catches_everything(monkeypatch):
    class Careless(Plain):
        def forward(self, x, attn_mask=None):
            try:
                return super().forward(x, attn_mask)
            except Exception:  # noqa: BLE001
                return x

    monkeypatch.setattr(layers, "_rows", broken)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        check_module(Careless(), embed_dim=DIM)


# --- the module's ----------------------------------------------------------------------------


def one_sample(_, x, attn_mask):
    if len(x) > 1:
        raise RuntimeError("one sample only")
    return x, attn_mask


def no_half(_, x, attn_mask):
    if x.dtype == torch.float16:
        raise TypeError("no halves")
    return x, attn_mask


def six_words(_, x, attn_mask):
    if x.size(1) != 6:
        raise RuntimeError("six words only")
    return x, attn_mask


def all_true(_, x, attn_mask):
    if attn_mask is not None and not attn_mask.all():
        raise ValueError("masks of True only")
    return x, attn_mask


RAISED = "the check raised "
SPOILED = {
    one_sample: ("batch", f"{RAISED}RuntimeError: one sample only"),
    no_half: ("half precision", "float16 raised: no halves"),
    six_words: ("causality", f"{RAISED}RuntimeError: six words only"),
    all_true: ("mask used", "a boolean mask raised ValueError: masks of True only"),
}


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_what_the_module_raises_in_a_check_makes_it_not_applicable(spoil):
    name, evidence = SPOILED[spoil]
    report = check_module(Plain(spoil), embed_dim=DIM, causal=True)
    finding = found(report, name)
    assert finding.verdict == "not applicable"
    assert finding.evidence == evidence


def test_what_the_way_back_raises_is_the_modules_as_well():
    class Stop(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            return x.clone()

        @staticmethod
        def backward(*_):
            raise RuntimeError("no way back")

    class NoWayBack(Plain):
        def forward(self, x):
            return Stop.apply(super().forward(x))

    report = check_module(NoWayBack(), embed_dim=DIM)
    for name in ("batch", "projections"):
        assert found(report, name).evidence == f"{RAISED}RuntimeError: no way back"


def only_in_evaluation(self, x, attn_mask):
    if self.training:
        raise RuntimeError("not trained here")
    return x, attn_mask


def test_a_module_that_cannot_be_trained_is_refused_with_what_it_raised():
    message = "in evaluation and in training; it raised RuntimeError: not trained here"
    with pytest.raises(ValueError, match=message):
        check_module(Plain(only_in_evaluation), embed_dim=DIM)


RETURNED = {
    "nothing": (lambda _: None, "it returned NoneType, not (batch, length, size)"),
    "one sample": (lambda y: y[0], "it returned torch.Size([6, 32]), not (batch, length, size)"),
    "one word": (lambda y: y[:, :1], "it returned torch.Size([1, 1, 32]), not (1, 6, size)"),
    "integers": (lambda y: y.long(), "it returned torch.int64, not floating-point numbers"),
}


@pytest.mark.parametrize("what", RETURNED)
def test_a_module_that_returns_no_vector_for_each_word_is_refused(what):
    returned, message = RETURNED[what]
    with pytest.raises(ValueError, match="module must run on an input of shape") as raised:
        check_module(Plain(), embed_dim=DIM, adapter=lambda module, x: returned(module(x)))
    assert message in str(raised.value)


OF_FUNCTION = {
    "nothing": (lambda _: None, "it returned NoneType, not (batch, heads, length, size)"),
    "two": (lambda y: (y, y), "it returned tuple, not (batch, heads, length, size)"),
    "heads last": (
        lambda y: y.transpose(1, 2),
        "it returned torch.Size([2, 7, 4, 6]), not (2, 4, 7, 6)",
    ),
}


@pytest.mark.parametrize("what", OF_FUNCTION)
def test_a_function_that_returns_something_else_is_refused(what):
    returned, message = OF_FUNCTION[what]
    with pytest.raises(ValueError, match="attend must run on query") as raised:
        check_attention(lambda q, k, v: returned(plain(q, k, v)))
    assert message in str(raised.value)


def test_steps_that_do_not_fit_together_are_the_modules_error():
    def step(module, x, cache):
        count = 0 if cache is None else cache
        return module(x)[..., : DIM - count], count + 1

    report = check_module(Plain(), embed_dim=DIM, adapter=Adapter(step=step))
    finding = found(report, "cache")
    assert finding.verdict == "fail"
    assert "raised RuntimeError: Sizes of tensors must match" in finding.evidence


# --- nobody is accused of what is not so -----------------------------------------------------


def test_a_mask_is_judged_though_the_future_is_not_hidden():
    report = check_module(nn.MultiheadAttention(DIM, HEADS), embed_dim=DIM, causal=True)
    assert [finding.property for finding in report.failures] == ["oracle", "causality", "prefix"]
    asked = {"mask used", "mask polarity", "mask axis", "mask place", "padding", "empty rows"}
    assert {verdicts(report)[name] for name in asked} == {"pass"}, report


def test_samples_are_not_called_mixed_where_each_call_differs():
    def noisy(q, k, v):
        return F.dropout(plain(q, k, v), 0.3)

    class Counts(Plain):
        def forward(self, x):
            self.calls = getattr(self, "calls", 0) + 1
            return super().forward(x) + self.calls

    for report in (check_attention(noisy), check_module(Counts(), embed_dim=DIM)):
        assert verdicts(report)["deterministic"] == "fail"
        assert verdicts(report)["batch"] == "pass"


def test_an_argument_that_is_overwritten_spoils_no_other_check():
    def overwritten(_, x, attn_mask):
        given = None if attn_mask is None else attn_mask.clone()
        if attn_mask is not None:
            attn_mask.fill_(True)
        return x, given

    def function(q, k, v, attn_mask=None):
        output = plain(q, k, v, None if attn_mask is None else attn_mask.clone())
        if attn_mask is not None:
            attn_mask.fill_(True)
        return output

    for report in (check_module(Plain(overwritten), embed_dim=DIM), check_attention(function)):
        (failure,) = report.failures
        assert failure.property == "input unchanged"
        assert failure.evidence == "changed: attn_mask"


# --- found by the checks that functions and modules share ------------------------------------


def test_a_mask_that_shows_the_next_word_as_well_is_caught():
    def one_ahead(_, x, attn_mask):
        if attn_mask is not None:
            ones = torch.ones_like(attn_mask)
            attn_mask = attn_mask | (ones.triu(1) & ones.tril(1))
        return x, attn_mask

    finding = found(check_module(Plain(one_ahead), embed_dim=DIM), "mask place")
    assert finding.verdict == "fail"
    assert "off by one: a position sees the next one" in finding.cause


def test_a_function_that_reads_a_mask_of_pairs_as_one_of_keys_is_caught():
    def columns(query, key, value, attn_mask=None):
        hidden = None if attn_mask is None else attn_mask.any(-2, keepdim=True)
        return plain(query, key, value, hidden)

    report = check_attention(columns)
    assert [finding.property for finding in report.failures] == ["packing"]
    assert "a mask of pairs is read as one of keys" in report.failures[0].cause
    assert verdicts(report)["padding"] == "pass"


def test_a_function_whose_mask_is_right_for_equal_lengths_only_is_caught():
    def square(query, key, value, attn_mask=None):
        if attn_mask is not None and attn_mask.size(-2) != attn_mask.size(-1):
            attn_mask = attn_mask.any(-2, keepdim=True)
        return plain(query, key, value, attn_mask)

    report = check_attention(square)
    assert [finding.property for finding in report.failures] == ["cross-attention"]
    assert "with a mask: off by" in report.failures[0].evidence


def test_a_function_for_as_many_queries_as_keys_is_judged_by_its_masks_as_well():
    def square(query, key, value, attn_mask=None):
        if query.size(-2) != key.size(-2):
            raise ValueError("square only")
        return plain(query, key, value, attn_mask)

    report = check_attention(square)
    assert [finding.property for finding in report.failures] == ["cross-attention"]
    assert {verdicts(report)[name] for name in ("padding", "empty rows", "packing")} == {"pass"}


def test_a_module_that_lets_only_keys_of_one_sign_through_is_caught():
    class Leaks(Plain):
        """Masked keys count where their numbers are large and their sum is negative."""

        def forward(self, x, attn_mask=None):
            output = super().forward(x, attn_mask)
            if attn_mask is None:
                return output
            hidden = (~attn_mask.any(0)).to(x.dtype) @ x
            return output + hidden.sum(-1).clamp(max=-1e3).add(1e3)[:, None, None]

    report = check_module(Leaks(), embed_dim=DIM)
    assert verdicts(report)["padding"] == "fail", report
    assert "slots of ±1e4" in found(report, "padding").evidence
