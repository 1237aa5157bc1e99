"""Every way to call: what raises, or gives other numbers than it should, is found and named."""

import pytest
import torch

from attn_docs import MultiHeadAttention
from attn_docs.testing import check_attention, check_module
from tests.testing.plain import DIM, HEADS, Plain, found, plain, verdicts

# --- runs ------------------------------------------------------------------------------------


def one_sample(_, x, attn_mask):
    if len(x) > 1:
        raise RuntimeError("one sample only")
    return x, attn_mask


def from_two(_, x, attn_mask):
    if x.size(1) < 2:
        raise RuntimeError("two words at least")
    return x, attn_mask


def contiguous(_, x, attn_mask):
    x.view(-1)
    return x, attn_mask


def short(_, x, attn_mask):
    if x.size(1) > 64:
        raise RuntimeError("64 words at most")
    return x, attn_mask


def overflows(_, x, attn_mask):
    return x * (torch.inf if x.size(1) == 70 else 1.0), attn_mask


def no_mask_in_training(self, x, attn_mask):
    if self.training and attn_mask is not None:
        raise RuntimeError("no mask in training")
    return x, attn_mask


RUNS = {
    one_sample: "batch 3, length 1, with no mask, in evaluation: RuntimeError: one sample only",
    from_two: "batch 1, length 1, with no mask, in evaluation: RuntimeError: two words at least",
    contiguous: "batch 3, length 6, not contiguous, with no mask, in evaluation: RuntimeError: ",
    short: "batch 1, length 70, with no mask, in evaluation: RuntimeError: 64 words at most",
    overflows: "batch 1, length 70, with no mask, in evaluation: 2240 of 2240 numbers are",
    no_mask_in_training: "batch 1, length 1, with a mask, in training: RuntimeError: no mask in",
}


@pytest.mark.parametrize("spoil", RUNS, ids=lambda spoil: spoil.__name__)
def test_the_smallest_call_that_does_not_run_is_named(spoil):
    finding = found(check_module(Plain(spoil), embed_dim=DIM), "runs")
    assert finding.verdict == "fail"
    assert finding.evidence.startswith(RUNS[spoil])
    assert finding.cause


def test_a_function_that_does_not_run_with_a_flag_is_caught():
    def refuses(query, key, value, is_causal=False):
        if is_causal and query.size(-2) > 6:
            raise RuntimeError("too long")
        return plain(query, key, value, is_causal=is_causal)

    finding = found(check_attention(refuses), "runs")
    assert finding.evidence.startswith(
        "batch 1, length 70, with is_causal=True, in evaluation: RuntimeError: too long"
    )


class Contexts(MultiHeadAttention):
    """Attention that raises where it is given a context."""

    error: Exception

    def forward(self, x, attn_mask=None, context=None):
        if context is not None:
            raise self.error
        return super().forward(x, attn_mask=attn_mask)


@pytest.mark.parametrize(
    ("error", "declined"),
    [
        (ValueError("too many words"), False),
        (TypeError("context must be a list"), False),
        (RuntimeError("sizes differ"), False),
        (ValueError("context must be None; got a tensor"), True),
        (NotImplementedError(), True),
    ],
)
def test_a_module_that_raises_for_each_context_fails_unless_it_declines_it(error, declined):
    module = Contexts(DIM, HEADS)
    module.error = error
    report = check_module(module, embed_dim=DIM)
    if declined:
        assert report.passed, report
        assert verdicts(report)["cross-attention"] == "not applicable"
    else:
        assert verdicts(report)["runs"] == "fail"
        assert verdicts(report)["cross-attention"] == "fail"


# --- lengths ---------------------------------------------------------------------------------


class Fixed(Plain):
    """Attention for nine words, each with a position of its own."""

    def __init__(self):
        super().__init__()
        self.places = torch.nn.Parameter(torch.randn(9, DIM))

    def forward(self, x, attn_mask=None):
        return super().forward(x + self.places, attn_mask)


def test_a_module_of_a_fixed_length_is_judged_at_that_length():
    report = check_module(Fixed(), embed_dim=DIM, positions=True, lengths=[9])
    assert not report.failures, report
    assert verdicts(report)["attends"] == verdicts(report)["batch"] == "pass"
    asked = {finding.property: finding.evidence for finding in report.findings}
    for name in ("equal words", "padding"):
        assert asked[name] == "the module takes 9 words, no others"
    with pytest.raises(ValueError, match="module must run on an input of shape"):
        check_module(Fixed(), embed_dim=DIM, positions=True)


def test_a_module_of_multiples_of_eight_is_judged_by_them():
    def eights(_, x, attn_mask):
        if x.size(1) % 8:
            raise RuntimeError("multiples of 8 only")
        return x, attn_mask

    report = check_module(Plain(eights), embed_dim=DIM, lengths=(8, 16, 64))
    assert not report.failures, report
    assert {verdicts(report)[name] for name in ("oracle", "mask used", "batch")} == {"pass"}


@pytest.mark.parametrize(
    ("lengths", "error", "message"),
    [
        ("6", TypeError, "lengths must be a sequence of ints; got '6'"),
        ((), ValueError, "lengths must hold at least one length; got ()"),
        ((0,), ValueError, "each of lengths must be 1 or more; got 0"),
    ],
)
def test_wrong_lengths_are_refused(lengths, error, message):
    with pytest.raises(error) as raised:
        check_module(Plain(), embed_dim=DIM, lengths=lengths)
    assert str(raised.value) == message
