"""Checks that functions and modules share: what they find, and whom they do not accuse."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_docs.testing import check_attention, check_module
from tests.testing.plain import DIM, HEADS, Plain, found, plain, verdicts


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


MIXED = {
    "samples": lambda y: y.flip(0),
    "heads": lambda y: y.cumsum(1),
    "tokens": lambda y: y.cumsum(2),
}


@pytest.mark.parametrize("what", MIXED)
def test_a_function_that_mixes_samples_heads_or_words_is_caught(what):
    def mixed(query, key, value):
        return MIXED[what](plain(query, key, value))

    report = check_attention(mixed)
    assert verdicts(report)["batch"] == ("pass" if what == "tokens" else "fail"), report
    assert verdicts(report)["permutation"] == ("fail" if what == "tokens" else "pass"), report


def test_a_function_in_which_the_own_key_is_special_depends_on_places():
    def special(query, key, value):
        own = torch.eye(query.size(-2), key.size(-2), dtype=query.dtype)
        return (query @ key.mT / query.size(-1) ** 0.5 - 3 * own).softmax(-1) @ value

    finding = found(check_attention(special), "permutation")
    assert finding.verdict == "fail"
    assert "shuffled pairs of key and value change it" in finding.evidence


@pytest.mark.parametrize("end", [1, 3])
def test_a_function_whose_beginnings_differ_alone_is_caught(end):
    def by_length(query, key, value, is_causal=False):
        output = plain(query, key, value, is_causal=is_causal)
        return output * (1 + 0.1 * (query.size(-2) == end))

    finding = found(check_attention(by_length), "prefix")
    assert finding.verdict == "fail"
    assert f"the first {end} of 6 positions" in finding.evidence


def test_a_function_whose_masked_documents_meet_is_caught():
    def meet(query, key, value, attn_mask=None):
        output = plain(query, key, value, attn_mask)
        if attn_mask is not None and not attn_mask[0, -1] and not attn_mask[-1, 0]:
            output = output + 0.1 * value.mean(-2, keepdim=True)
        return output

    finding = found(check_attention(meet), "packing")
    assert finding.verdict == "fail"
    assert finding.cause == "documents in one row see each other"


def test_precision_lost_in_half_is_caught_in_functions_and_in_modules():
    def rough(query, key, value, attn_mask=None):
        output = plain(query, key, value, attn_mask)
        return output.round() if query.dtype == torch.float16 else output

    class Rough(Plain):
        def forward(self, x, attn_mask=None):
            output = super().forward(x, attn_mask)
            return output.round() if x.dtype == torch.float16 else output

    for report in (check_attention(rough), check_module(Rough(), embed_dim=DIM)):
        (failure,) = report.failures
        assert failure.property == "half precision"
        assert failure.cause == "precision is lost"


@pytest.mark.parametrize("name", ["bfloat16", "autocast"])
def test_precision_lost_in_another_half_is_caught(name):
    class Rough(Plain):
        def forward(self, x, attn_mask=None):
            output = super().forward(x, attn_mask)
            half = torch.is_autocast_enabled("cpu") if name == "autocast" else x.dtype
            return (output / 4).round() if half in (True, torch.bfloat16) else output

    finding = found(check_module(Rough(), embed_dim=DIM), "half precision")
    assert finding.verdict == "fail"
    assert finding.evidence.startswith(f"{name} errs by")


def test_a_leak_in_float32_alone_is_caught():
    class Leaky(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = Plain()

        def forward(self, x):
            below = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
            return self.plain(x, below if x.dtype == torch.float64 else None)

    finding = found(check_module(Leaky(), embed_dim=DIM, causal=True), "prefix")
    assert finding.evidence.startswith("in float32 other tokens after the first 3 change those")


def test_another_way_without_gradients_is_caught():
    class Fast(Plain):
        def forward(self, x, attn_mask=None):
            return super().forward(x, attn_mask) * (1.0 if torch.is_grad_enabled() else 0.5)

    finding = found(check_module(Fast(), embed_dim=DIM), "deterministic")
    assert finding.verdict == "fail"
    assert finding.cause == "another way of computing runs where no gradient is recorded"


def test_an_option_of_a_function_that_is_ignored_is_caught():
    def capped(query, key, value, softcap=None):
        scores = query @ key.mT / query.size(-1) ** 0.5
        if softcap is not None and softcap > 1:  # wrong for a small cap
            scores = softcap * torch.tanh(scores / softcap)
        return scores.softmax(-1) @ value

    finding = found(check_attention(capped), "options used")
    assert finding.cause == "accepted and ignored: softcap=0.5"


@pytest.mark.parametrize("fill", [-30.0, -100.0])
def test_a_fill_is_caught_that_only_large_scores_fall_below(fill):
    def causal(q, k, v, is_causal=False):
        future = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device).triu(1)
        scores = q @ k.mT / q.size(-1) ** 0.5
        scores = scores.masked_fill(future, fill) if is_causal else scores
        return scores.softmax(-1) @ v

    def masked(q, k, v, attn_mask=None):
        scores = q @ k.mT / q.size(-1) ** 0.5
        scores = scores if attn_mask is None else scores.masked_fill(~attn_mask, fill)
        return scores.softmax(-1) @ v

    for function, name in ((causal, "prefix"), (masked, "padding")):
        failure = found(check_attention(function), name)
        assert failure.verdict == "fail"
        assert "30 times as large" in failure.evidence
        assert failure.cause == "masked keys still get a weight: the fill value is too small"
