"""The check of long sequences: what holds for six tokens holds beyond the blocks of a kernel."""

from collections.abc import Callable

import torch
from torch import Tensor

from attn_docs.testing.insight import Insight, mask_unfit
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.patterns import shuffled
from attn_docs.testing.subject import Subject, gradients

LONGER = 200  # more than one block of 128, and fewer than the windows that models have
ENDS = (1, 7, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129)  # around the sizes of blocks
LATER = "the future is hidden within a block alone, or the mask of a later block is wrong"
BLOCKS = "tokens of another block are not seen; a window would do that by design: say window="
PADS = "what is masked still counts in a long sequence"
SUMS = "what earlier blocks gave is not rescaled, or the scale depends on the length"
OTHER = "a long sequence is computed in another way than a short one"
Wrong = tuple[str, str]


def long_sequences(insight: Insight) -> Judgement:
    """What holds for a few tokens holds for many."""
    subject, length = insight.subject, max(insight.subject.counts)
    if length <= subject.length:
        return skipped(f"no length above {subject.length} was asked for")
    # what does not hold for a few tokens is so by design, or another check fails
    held = [name for name, check in CHECKS.items() if check(insight, subject.length) is None]
    for name in held:
        if found := CHECKS[name](insight, length):
            return failed(*found)
    said = f"at {length} tokens as at {subject.length}: {', '.join(held)}"
    again = [name for name in held if name in LARGE_BLOCKS]
    if not again or not subject.tries(LONGER):
        return passed(said)
    for name in again:
        if found := CHECKS[name](insight, LONGER):
            return failed(*found)
    return passed(f"{said}; at {LONGER} too: {', '.join(again)}")


def _ends(subject: Subject, length: int) -> list[int]:
    return [n for n in ENDS if n < length and subject.runs_on(n)]


def _all_seen(insight: Insight, length: int) -> Wrong | None:
    """Each output depends on each token."""
    if insight.subject.always_causal or not insight.subject.differentiable:
        return None
    return _seen(insight.subject, length, causal=False)


def _past_seen(insight: Insight, length: int) -> Wrong | None:
    """Where the future is hidden, each output depends on the tokens that are not."""
    subject = insight.subject
    if not subject.differentiable or (insight.no_causal and not subject.always_causal):
        return None
    return _seen(subject, length, causal=True)


def _seen(subject: Subject, length: int, *, causal: bool) -> Wrong | None:
    x = subject.words(1, length).requires_grad_()
    output = subject.call(x, causal=causal)
    direction = torch.linspace(0.5, 1.5, output.size(-1)).to(output)
    shown = subject.shown(length) if causal else torch.ones_like(subject.shown(length))
    for i in sorted({0, *(n for n in ENDS if n < length), length - 1}):
        (gradient,) = gradients((output[..., i, :] * direction).sum(), [x], retain=True)
        strength = gradient.abs().sum(-1).flatten(0, -2).sum(0)
        if found := _wrong_row(strength, shown[i], f"of {length} tokens, output {i}"):
            return found
    return None


def _wrong_row(strength: Tensor, shown: Tensor, said: str) -> Wrong | None:
    leaks = ((strength > 1e-9 * strength.max()) & ~shown).nonzero()
    if len(leaks):
        return f"{said} depends on token {int(leaks[0])}, which is hidden", LATER
    missing = ((strength == 0) & shown).nonzero()
    if len(missing):
        return f"{said} does not depend on token {int(missing[0])}", BLOCKS
    return None


def _beginnings(insight: Insight, length: int) -> Wrong | None:
    """Where the future is hidden, the first tokens come out as they do alone."""
    subject = insight.subject
    if insight.no_causal:
        return None
    x = subject.words(1, length)
    whole = subject.call(x, causal=True).detach()
    least = int(subject.shown(length)[0].sum())
    for end in _ends(subject, length):
        if end >= least:
            alone = subject.call(x[..., :end, :], causal=True).detach()
            error = (whole[..., :end, :] - alone).abs().max().item()
            if not error <= subject.tolerance:
                said = f"the first {end} of {length} tokens differ by {error:.2e} when run alone"
                return said, LATER
    return None


def _padded(insight: Insight, length: int) -> Wrong | None:
    """Tokens that are masked from all change nothing."""
    subject = insight.subject
    if mask_unfit(insight, "columns"):
        return None
    for real in sorted({length // 2, length - 1}):
        if not subject.runs_on(real):
            continue
        x = subject.words(1, length)
        mask = torch.ones(length, length, dtype=torch.bool, device=subject.device)
        mask[:, real:] = False
        padded, alone = subject.call(x, mask), subject.call(x[..., :real, :])
        error = (padded[..., :real, :] - alone).abs().max().item()
        if not error <= subject.tolerance:
            return (
                f"{real} tokens and {length - real} masked differ by {error:.2e} from alone",
                PADS,
            )
    return None


def _repeated(insight: Insight, length: int) -> Wrong | None:
    """Tokens that stand there twice give what they give once, as the weights sum to one."""
    subject, half = insight.subject, length // 2
    if subject.always_causal or subject.windowed or not subject.runs_on(half):
        return None
    x = subject.words(1, half)
    twice = subject.call(torch.cat([x, x], -2), causal=False)[..., :half, :]
    error = (twice - subject.call(x, causal=False)).abs().max().item()
    if error <= subject.tolerance:
        return None
    return f"{half} tokens that stand there twice differ by {error:.2e} from once", SUMS


def _equal(insight: Insight, length: int) -> Wrong | None:
    """Many equal tokens give what one gives."""
    subject = insight.subject
    if not subject.runs_on(1):
        return None
    x = subject.words(1, 1)
    many = subject.call(torch.cat([x] * length, -2), causal=False)
    error = (many - subject.call(x, causal=False)).abs().max().item()
    if error <= subject.tolerance * max(1.0, many.abs().max().item()):
        return None
    return f"{length} equal tokens differ by {error:.2e} from one", SUMS


def _shuffled(insight: Insight, length: int) -> Wrong | None:
    """Tokens in another order give the same in that order."""
    subject = insight.subject
    if subject.always_causal:
        return None
    x, order = subject.words(1, length), shuffled(length, subject.device)
    output = subject.call(x, causal=False)[..., order, :]
    error = (subject.call(x[..., order, :], causal=False) - output).abs().max().item()
    return None if error <= subject.tolerance else (f"{length} tokens shuffled: {error:.2e}", OTHER)


def _formula(insight: Insight, length: int) -> Wrong | None:
    """The formula that gives a few tokens gives many."""
    if insight.formula_fits(length):
        return None
    return f"the formula that gives {insight.subject.length} tokens does not give {length}", OTHER


CHECKS: dict[str, Callable[[Insight, int], Wrong | None]] = {
    "tokens seen": _all_seen,
    "repeated tokens": _repeated,
    "equal tokens": _equal,
    "order": _shuffled,
    "past seen": _past_seen,
    "beginnings": _beginnings,
    "padding": _padded,
    "formula": _formula,
}
LARGE_BLOCKS = ("repeated tokens", "order", "formula")  # cheap enough for LONGER
