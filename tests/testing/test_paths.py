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
        raise RuntimeError("two tokens at least")
    return x, attn_mask


def contiguous(_, x, attn_mask):
    x.view(-1)
    return x, attn_mask


def short(_, x, attn_mask):
    if x.size(1) > 64:
        raise RuntimeError("64 tokens at most")
    return x, attn_mask


def overflows(_, x, attn_mask):
    return x * (torch.inf if x.size(1) == 70 else 1.0), attn_mask


def no_mask_in_training(self, x, attn_mask):
    if self.training and attn_mask is not None:
        raise RuntimeError("no mask in training")
    return x, attn_mask


RUNS = {
    one_sample: "batch 3, length 1, with no mask, in evaluation: RuntimeError: one sample only",
    from_two: "batch 1, length 1, with no mask, in evaluation: RuntimeError: two tokens at least",
    contiguous: "batch 3, length 6, not contiguous, with no mask, in evaluation: RuntimeError: ",
    short: "batch 1, length 70, with no mask, in evaluation: RuntimeError: 64 tokens at most",
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
        (ValueError("too many tokens"), False),
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
    """Attention for nine tokens, each with a position of its own."""

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
        assert asked[name] == "the module takes 9 tokens, no others"
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


# --- flags agree -----------------------------------------------------------------------------


class Ways(Plain):
    """Attention with a path for each flag, and one thing wrong on one of them."""

    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug
        self.norm = torch.nn.LayerNorm(DIM)

    def forward(self, x, attn_mask=None, is_causal=False, context=None):
        keys = x if context is None else context
        if self.bug == "norm of the context" and context is not None:
            keys = self.norm(context)
        q, k, v = (
            f(t).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for f, t in ((self.q, x), (self.k, keys), (self.v, keys))
        )
        if self.bug == "values by k" and context is not None:
            v = k
        scores = q @ k.mT
        plain_way = {
            "scale, causal": not is_causal,
            "scale, context": context is None,
            "scale, mask": attn_mask is None,
            "scale, both": attn_mask is None or not is_causal,
            "scale, training": not (is_causal and self.training),
        }.get(self.bug, True)
        scores = scores / q.size(-1) ** 0.5 if plain_way else scores
        shown = torch.ones(scores.shape[-2:], dtype=torch.bool)
        shown = shown.tril() if is_causal else shown
        shown = shown if attn_mask is None else shown & attn_mask
        weights = scores.masked_fill(~shown, -torch.inf).softmax(-1).nan_to_num(0.0)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


def test_ways_that_agree_pass():
    finding = found(check_module(Ways(), embed_dim=DIM), "flags agree")
    assert finding.verdict == "pass"
    assert "is_causal=True and the triangle as a mask" in finding.evidence


AGREE = {
    "scale, causal": ("evaluation", "is_causal=True and the triangle as a mask: scaled by 1 = 1"),
    "scale, context": ("evaluation", "context=x and no context: scaled by 1 = 1"),
    "scale, mask": ("evaluation", "one of the two ways computes something else"),
    "scale, both": ("evaluation", "one of the two ways computes something else"),
    "scale, training": ("training", "is_causal=True and the triangle as a mask: scaled by 1 = 1"),
    "values by k": ("evaluation", "context=x and no context: the value is computed with the key"),
    "norm of the context": ("evaluation", "a norm of its own for the context would do that"),
}


@pytest.mark.parametrize("bug", AGREE)
def test_ways_that_differ_are_caught(bug):
    mode, cause = AGREE[bug]
    finding = found(check_module(Ways(bug), embed_dim=DIM), "flags agree")
    assert finding.verdict == "fail"
    assert finding.evidence.startswith(f"in {mode}, ")
    assert cause in finding.cause


def test_a_function_whose_flag_has_another_scale_is_caught():
    def other(query, key, value, attn_mask=None, is_causal=False):
        return plain(query * (2 if is_causal else 1), key, value, attn_mask, is_causal)

    finding = found(check_attention(other), "flags agree")
    assert finding.verdict == "fail"
    assert "is_causal=True and the triangle as a mask differ" in finding.evidence


# --- long sequences --------------------------------------------------------------------------


class Blocks(Plain):
    """Attention in which something goes wrong beyond the first tokens."""

    def __init__(self, bug=""):
        super().__init__()
        self.bug = bug

    def forward(self, x, attn_mask=None, is_causal=False):
        n = x.size(1)
        q, k, v = (
            f(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if self.bug == "scale by length" and n > 64:
            scores = scores * 1.01
        i, j = torch.arange(n)[:, None], torch.arange(n)
        shown = j <= i if is_causal else torch.ones(n, n, dtype=torch.bool)
        if self.bug == "leak from nine" and is_causal:
            shown = shown | ((i >= 8) & (j <= i + 1))
        if self.bug == "blocks of 8" and is_causal:
            shown = shown & (i // 8 == j // 8)
        if self.bug == "blocks of 64" and is_causal:
            shown = i // 64 >= j // 64 if n > 6 else shown
        if self.bug == "cut at 64":
            shown = shown & (j < 64)
        if attn_mask is not None:
            shown = shown & (attn_mask | (j >= 64) if self.bug == "mask of 64" else attn_mask)
        scores = scores.masked_fill(~shown, torch.finfo(scores.dtype).min)
        if self.bug.startswith("no rescaling"):
            size = int(self.bug.rpartition(" ")[2])
            parts = scores.split(size, -1)
            weights = [(part - part.amax(-1, keepdim=True)).exp() for part in parts]
            weights = torch.cat(weights, -1)
            weights = weights / weights.sum(-1, keepdim=True)
        else:
            weights = scores.softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))


LONG = {
    "leak from nine": "of 70 tokens, output 8 depends on token 9, which is hidden",
    "blocks of 8": "of 70 tokens, output 8 does not depend on token 0",
    "blocks of 64": "of 70 tokens, output 0 depends on token 1, which is hidden",
    "cut at 64": "of 70 tokens, output 0 does not depend on token 64",
    "mask of 64": "masked differ by",
    "no rescaling in blocks of 16": "35 tokens that stand there twice differ by",
    "no rescaling in blocks of 64": "35 tokens that stand there twice differ by",
    "no rescaling in blocks of 128": "100 tokens that stand there twice differ by",
    "scale by length": "35 tokens that stand there twice differ by",
}


def test_long_sequences_that_are_right_pass():
    finding = found(check_module(Blocks(), embed_dim=DIM), "long sequences")
    assert finding.verdict == "pass"
    assert finding.evidence.startswith(
        "at 70 tokens as at 6: tokens seen, repeated tokens, equal tokens, order"
    )


@pytest.mark.parametrize("bug", LONG)
def test_what_goes_wrong_in_long_sequences_alone_is_caught(bug):
    finding = found(check_module(Blocks(bug), embed_dim=DIM), "long sequences")
    assert finding.verdict == "fail"
    assert LONG[bug] in finding.evidence
    assert finding.cause


def test_a_function_that_forgets_to_rescale_blocks_is_caught():
    def blocks(query, key, value):
        scores = query @ key.mT / query.size(-1) ** 0.5
        parts = [(part - part.amax(-1, keepdim=True)).exp() for part in scores.split(16, -1)]
        weights = torch.cat(parts, -1)
        return weights / weights.sum(-1, keepdim=True) @ value

    finding = found(check_attention(blocks), "long sequences")
    assert "35 tokens that stand there twice" in finding.evidence


def test_short_lengths_alone_are_not_called_long():
    report = check_module(Plain(), embed_dim=DIM, lengths=(1, 2, 6))
    assert verdicts(report)["long sequences"] == "not applicable"


def test_a_module_that_takes_no_more_words_is_told_how_to_say_so():
    class Short(Plain):
        def forward(self, x, attn_mask=None):
            if x.size(1) > 64:
                raise ValueError("at most 64 tokens")
            return super().forward(x, attn_mask)

    finding = found(check_module(Short(), embed_dim=DIM), "runs")
    assert finding.verdict == "fail"
    assert "length 70" in finding.evidence
    assert "lengths=" in finding.cause
    assert check_module(Short(), embed_dim=DIM, lengths=(1, 2, 6, 64)).passed
