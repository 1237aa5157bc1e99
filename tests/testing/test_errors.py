"""Whose error is it? What is checked may raise; what the checker itself raises is never hidden."""

import pytest
import torch

from attn_docs.testing import (
    Adapter,
    adapter,
    check_attention,
    check_module,
    function,
    layers,
    module,
)
from tests.testing.plain import DIM, Plain, found, plain, verdicts

NOTE = "This is an error of attn_docs.testing, in its check 'padding'"


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
        raise RuntimeError("six tokens only")
    return x, attn_mask


def all_true(_, x, attn_mask):
    if attn_mask is not None and not attn_mask.all():
        raise ValueError("masks of True only")
    return x, attn_mask


SPOILED = {
    one_sample: ("batch", "RuntimeError: one sample only"),
    six_words: ("causality", "RuntimeError: six tokens only"),
    all_true: ("mask used", "a boolean mask raised ValueError: masks of True only"),
}


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_what_the_module_raises_in_a_check_is_its_failure_with_the_line_that_raised(spoil):
    name, evidence = SPOILED[spoil]
    report = check_module(Plain(spoil), embed_dim=DIM, causal=True)
    finding = found(report, name)
    assert finding.verdict == "fail"
    assert finding.evidence.startswith(f"{evidence} (test_errors.py:")
    assert finding.evidence.endswith(f", in {spoil.__name__})")
    assert finding.cause == "the call raises an exception"


def test_a_module_that_refuses_float16_is_not_judged_in_it():
    finding = found(check_module(Plain(no_half), embed_dim=DIM), "half precision")
    assert finding.verdict == "pass"
    assert finding.evidence.startswith("bfloat16 errs by")
    assert finding.evidence.endswith("float16 raised: no halves")


def test_a_failure_is_not_lost_while_its_cause_is_looked_for():
    class NoFuture(Plain):  # no gradient flows, so the cause of the leak cannot be looked for
        @torch.no_grad()
        def forward(self, x):
            return super().forward(x)

    report = check_module(NoFuture(), embed_dim=DIM, causal=True)
    assert found(report, "prefix").verdict == "fail"


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
        assert found(report, name).verdict == "fail"
        assert found(report, name).evidence.startswith("RuntimeError: no way back (test_errors.py:")


def only_in_evaluation(self, x, attn_mask):
    if self.training:
        raise RuntimeError("not trained here")
    return x, attn_mask


def test_a_module_that_cannot_be_trained_fails_with_what_it_raised():
    report = check_module(Plain(only_in_evaluation), embed_dim=DIM)
    finding = found(report, "runs")
    assert finding.verdict == "fail"
    said = "batch 1, length 1, with no mask, in training: RuntimeError: not trained here"
    assert finding.evidence.startswith(said)
    assert verdicts(report)["oracle"] == "pass"


RETURNED = {
    "nothing": (lambda _: None, "it returned NoneType, not (batch, length, size)"),
    "one sample": (lambda y: y[0], "it returned torch.Size([6, 32]), not (batch, length, size)"),
    "one token": (lambda y: y[:, :1], "it returned torch.Size([1, 1, 32]), not (1, 6, size)"),
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
    "two in a dict": (lambda y: {"y": y}, "it returned dict, not (batch, heads, length, size)"),
    "heads last": (
        lambda y: y.transpose(1, 2),
        "it returned torch.Size([2, 5, 10, 24]), not (2, 10, 5, 24); output= takes",
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


def test_a_function_that_refuses_one_mask_keeps_the_rest_of_its_report():
    def refuses(query, key, value, attn_mask=None):
        if attn_mask is not None and torch.equal(attn_mask, attn_mask[:1].expand_as(attn_mask)):
            raise RuntimeError("one row for all queries")
        return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    report = check_attention(refuses)
    assert found(report, "scale").verdict == "pass"
    masked = found(report, "mask used")
    assert masked.verdict == "fail"
    assert "RuntimeError: one row for all queries (test_errors.py:" in masked.evidence
