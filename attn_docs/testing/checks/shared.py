"""Checks that are the same for functions and for modules. They need nothing of what is inside."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from torch import Tensor

from attn_docs.testing.insight import ONE_OF_KEYS, Insight, mask_unfit, refused
from attn_docs.testing.judgement import Judgement, failed, judge, passed, skipped
from attn_docs.testing.patterns import off_diagonal, sample_mask, shuffled, two_documents
from attn_docs.testing.subject import Subject, SubjectError, gradients, influence, seeded


def attends(insight: Insight) -> Judgement:
    """Each output depends on each token that it may see, in a way of its own."""
    subject = insight.subject
    x = subject.words(1, subject.length)
    hides = subject.always_causal or subject.windowed  # a window may count in each call
    seen = influence(subject, x, causal=subject.windowed)
    seen = seen > 1e-9 * seen.max()
    may = subject.shown(len(seen)) if hides else torch.ones_like(seen)
    missing = (may & off_diagonal(seen) & ~seen).nonzero()
    if len(missing):
        i, j = missing[0].tolist()
        pairs = int((may & off_diagonal(seen)).sum())
        return failed(
            f"output {i} does not depend on token {j} (so with {len(missing)} of {pairs} pairs)",
            lambda: insight.root_cause or _blind(missing, pairs),
        )
    moved = x.clone()
    moved[..., 0, :] = -x[..., 1, :]
    change = (subject.call(moved, causal=False) - subject.call(x, causal=False))[..., 1:, :]
    spread = (change - change[..., :1, :]).abs().max() / change.abs().max()
    if not hides and spread <= subject.tolerance:
        return failed(
            "a new token 0 changes all other outputs by the same",
            "the weights do not depend on the query: each output takes the same mean",
        )
    return passed(
        f"by gradient, each of {subject.length} outputs depends on each token that it may see"
    )


def _blind(missing: Tensor, pairs: int) -> str:
    return (
        "no token sees another token" if len(missing) == pairs else "part of the tokens is cut off"
    )


def equal_words(insight: Insight) -> Judgement:
    """Many equal tokens give what one gives: their weights sum to one."""
    subject = insight.subject
    if subject.weights_from != "softmax":
        return skipped(f"its weights do not sum to one, as was said: {subject.weights_from}")
    if why := refused(subject, 1, 2):
        return skipped(why)
    x = subject.words(1, 1)
    alone = subject.call(x, causal=False).detach()
    if not alone.isfinite().all():
        return failed("one token gives numbers that are not finite")
    for count in (2, subject.length):
        shape = (*x.shape[:-2], count, x.size(-1))
        made = subject.call(x.expand(shape).clone(), causal=False).detach()
        spread = (made - made[..., :1, :]).abs().max().item()
        error = (made - alone).abs().max().item()
        if subject.positions and not spread <= subject.tolerance:
            return skipped("the module adds positions: equal tokens are not equal inside")
        if not error <= subject.tolerance * max(1.0, alone.abs().max().item()):
            return failed(
                f"{count} equal tokens give numbers that differ by {error:.2e} from what one gives"
            )
    return passed(
        f"2 and {subject.length} equal tokens give what one gives, as weights of sum 1 do"
    )


def prefix(insight: Insight) -> Judgement:
    """The first positions come out the same when the later ones are cut off."""
    if insight.no_causal:
        return skipped(insight.no_causal)
    subject = insight.subject
    total = subject.length
    x = subject.words(1, total)
    whole = subject.call(x, causal=True).detach()
    # the tokens of a prefix see each other: the least that can be run alone is all of it
    least = int(subject.shown(total)[0].sum())
    beginnings = [n for n in range(least, total) if subject.runs_on(n)]
    if not beginnings:
        return skipped(refused(subject, least))
    for length in beginnings:
        part = subject.call(x[..., :length, :], causal=True).detach()
        error = (whole[..., :length, :] - part).abs().max().item()
        if not error <= subject.tolerance:
            return failed(
                f"the first {length} of {total} positions differ by {error:.2e} when run alone"
            )
    kept = max(3, least)
    return (
        _out_of_reach(subject, whole, kept)
        or _single(subject, kept)
        or passed(f"every beginning of {total} positions is the same run alone")
    )


def _out_of_reach(subject: Subject, whole: Tensor, kept: int) -> Judgement | None:
    """Judge the first positions when scores are large; None if no later token gets a weight."""
    x = subject.words(1, subject.length)
    large, loud, other = 30 * x, x.clone(), 30 * x
    loud[..., kept:, :] = 1e4 * x[..., kept:, :].sign()  # a constant added to their scores shows
    other[..., kept:, :] = -large[..., kept:, :]  # as a score it shows beside far lower ones
    expected = subject.call(large, causal=True).detach()
    for said, words, before, size in (
        ("tokens of ±1e4", loud, whole, 1.0),
        ("among tokens 30 times as large others", other, expected, _size(expected)),
    ):
        made = subject.call(words, causal=True).detach()
        error = (made - before)[..., :kept, :].abs().max().item()
        if not error <= 100 * subject.tolerance * size:
            cause = OVERFLOW if math.isnan(error) else TOO_SMALL
            return failed(f"{said} after the first {kept} change those by {error:.2e}", cause)
    return None


def _size(output: Tensor) -> float:
    """Return what rounding grows with: the largest number, and no less than one."""
    return max(1.0, output.abs().max().item())


def _single(subject: Subject, kept: int) -> Judgement | None:
    """Judge the first positions in float32; None if the later ones do not change them."""
    if subject.words(1, 1).dtype != torch.float64:
        return None  # it runs in one precision, which was judged
    single = subject.to(torch.float32)
    x = subject.words(1, subject.length).float()
    other = x.clone()
    other[..., kept:, :] = -x[..., kept:, :]
    outputs = [single.call(words, causal=True).detach()[..., :kept, :] for words in (x, other)]
    error = (outputs[0] - outputs[1]).abs().max().item()
    if error <= 1e-3 * max(1.0, outputs[0].abs().max().item()):
        return None
    return failed(f"in float32 other tokens after the first {kept} change those by {error:.2e}")


OVERFLOW = "large scores overflow: the largest of a row is not subtracted before the exponential"
TOO_SMALL = "masked keys still get a weight: the fill value is too small"
REAL, PAD = 4, 3
Side = Literal["right", "left"]
SIDES: tuple[Side, ...] = ("right", "left")


def padding(insight: Insight) -> Judgement:
    """Large numbers in masked slots, left or right, change nothing."""
    if why := mask_unfit(insight, "columns"):
        return skipped(why)
    subject, worst = insight.subject, 0.0
    if why := refused(subject, 3, REAL, REAL + PAD):
        return skipped(why)
    x, noise = subject.words(1, REAL), 1e4 * subject.words(1, PAD, seed=3).sign()
    sides = SIDES[:1] if subject.positions else SIDES
    # beside large scores a small fill shows; in single precision so would rounding
    times = (1, 30) if x.dtype == torch.float64 else (1,)
    alone = {factor: subject.call(factor * x).detach() for factor in times}
    for factor, side, slots in itertools.product(times, sides, (noise, -noise)):
        made = _padded(subject, factor * x, slots, side)
        error = (made - alone[factor]).abs().max().item()
        size = _size(alone[factor]) if factor > 1 else 1.0
        if not error <= 100 * subject.tolerance * size:
            cause = OVERFLOW if math.isnan(error) else TOO_SMALL if factor > 1 else ""
            slots_are = f"{PAD} slots of ±1e4 on the {side}"
            beside = f", beside tokens {factor} times as large," if factor > 1 else ""
            return failed(f"{slots_are}{beside} change the output by {error:.2e}", cause)
        worst = max(worst, error / size)
    if subject.masks_each_sample and (wrong := _own_padding(subject)):
        return wrong
    said = "on the right" if subject.positions else "left and right"
    return passed(f"slots of ±1e4, {said}, change it by {worst:.1e}")


def _padded(subject: Subject, x: Tensor, slots: Tensor, side: Side) -> Tensor:
    """Return the outputs for `x` when there are masked slots on one side of it."""
    mask = torch.ones(REAL + PAD, REAL + PAD, dtype=torch.bool, device=subject.device)
    if side == "right":
        mask[:, REAL:] = False
        return subject.call(torch.cat([x, slots], -2), mask)[..., :REAL, :]
    mask[:, :PAD] = False
    return subject.call(torch.cat([slots, x], -2), mask)[..., PAD:, :]


def _own_padding(subject: Subject) -> Judgement | None:
    """Judge two samples of one batch with padding of their own; None if nothing is wrong."""
    x, lengths = subject.words(2, subject.length), (subject.length, 3)
    masks = torch.ones(2, subject.length, subject.length, dtype=torch.bool, device=subject.device)
    masks[1, :, 3:] = False
    together = subject.call(x, masks).detach()
    for i, length in enumerate(lengths):
        alone = subject.call(x[i : i + 1, :length]).detach()[0]
        error = (together[i, :length] - alone).abs().max().item()
        if not error <= 100 * subject.tolerance:
            return failed(
                f"sample {i} of two with lengths {lengths} differs by {error:.2e} from alone",
                "the masks of the samples are mixed up: one's padding hides another's tokens",
            )
    return None


def empty_rows(insight: Insight) -> Judgement:
    """A query that may attend to nothing gives finite numbers and gradients."""
    if why := mask_unfit(insight):
        return skipped(why)
    subject = insight.subject.to(torch.float32)  # the precision that models run in
    x = subject.words(1, subject.length).requires_grad_()
    mask = torch.ones(subject.length, subject.length, dtype=torch.bool, device=subject.device)
    mask[... if subject.masks_keys_alone else 2] = False
    output = subject.call(x, mask)
    forward = int((~output.isfinite()).sum())
    found = gradients(output.sum(), [x, *subject.parameters.values()])
    backward = sum(int((~gradient.isfinite()).sum()) for gradient in found)
    evidence = f"{forward} outputs and {backward} gradients are not finite"
    if not subject.parameters:  # nothing stands between the mean of the values and the output
        evidence += f"; the row's largest output is {output[..., 2, :].abs().max():.2g}"
    cause = "softmax of a row of −∞ is NaN: set such rows aside before the softmax"
    return judge(not forward and not backward, evidence, cause)


def packing(insight: Insight) -> Judgement:
    """Two documents in one row, kept apart by a mask, come out as alone."""
    if why := mask_unfit(insight, "columns"):
        return skipped(why)
    subject = insight.subject
    if any(behaviour.kind == "columns" for behaviour in insight.masks.values()):
        return failed(ONE_OF_KEYS.evidence)
    if subject.masks_keys_alone:
        return skipped("the module takes no mask of queries and keys")
    if subject.positions:
        return skipped("the module adds positions of its own")
    if why := refused(subject, 3, 4, 7):
        return skipped(why)
    first, second = subject.words(1, 3), subject.words(1, 4)
    together = subject.call(torch.cat([first, second], -2), two_documents(subject.device))
    alone = torch.cat([subject.call(first), subject.call(second)], -2)
    error = (together - alone).abs().max().item()
    return judge(
        error <= subject.tolerance,
        f"documents of 3 and 4 in one row differ by {error:.1e} from each alone",
    )


def batch(insight: Insight) -> Judgement:
    """No sample depends on another sample of its batch, and no head on another head."""
    subject = insight.subject
    x = subject.words(3, subject.length).requires_grad_()
    output = subject.call(x)
    leak = _leak(output, x)
    together = output.detach()
    alone = torch.cat([subject.call(x.detach()[i : i + 1]) for i in range(3)]).detach()
    finite = together.isfinite()
    if not finite.all() and torch.equal(finite, alone.isfinite()):
        what = "NaN" if together.isnan().any() else "infinite"
        return skipped(f"the output is {what}, alone and in a batch")
    evidence = f"gradient from another {'sample' if x.ndim == 3 else 'sample or head'} {leak:.1e}"
    if not (subject.call(x.detach()) - together).abs().max() <= subject.tolerance:
        return judge(leak <= 1e-12, f"{evidence}; alone and in a batch, each call differs")
    error = (together - alone).abs().max().item()
    return judge(
        leak <= 1e-12 and error <= subject.tolerance,
        f"{evidence}; alone and in a batch differ by {error:.1e}",
    )


def _leak(output: Tensor, x: Tensor) -> float:
    """Return how strongly the sequence in the middle depends on one of the others."""
    middle = x.flatten(0, -3).size(0) // 2
    (gradient,) = gradients(output.flatten(0, -3)[middle].sum(), [x])
    others = gradient.flatten(0, -3).nan_to_num(0.0).abs().amax((1, 2))
    others[middle] = 0.0
    return others.max().item()


def permutation(insight: Insight) -> Judgement:
    """A shuffled input gives the shuffled output, if nothing says where a token stands."""
    subject = insight.subject
    if subject.always_causal:
        return skipped("the module is causal by itself")
    if subject.positions:
        return skipped("the module adds positions of its own")
    x = subject.words(1, subject.length)
    order = shuffled(subject.length, subject.device)
    output = subject.call(x, causal=False)[..., order, :]
    error = (subject.call(x[..., order, :], causal=False) - output).abs().max().item()
    if error <= subject.tolerance:
        return passed(f"shuffled input, shuffled output, within {error:.1e}")
    return failed(f"a shuffled input differs by {error:.2e}")


MIXED_TYPES = "numbers of two precisions meet: cast what was computed in float32 back"
HALVES = {torch.float16: 0.05, torch.bfloat16: 0.25}  # how far rounding may carry, of the largest


def half_precision(insight: Insight) -> Judgement:
    """In float16, bfloat16 and under autocast the output is finite and close to float64's."""
    subject = insight.subject
    mask = _usable_mask(insight)
    masks = (None,) if mask is None else (None, mask)
    if not all(_plain(subject, given).isfinite().all() for given in masks):
        return skipped("float64 is not finite either")
    if (loud := _loud(subject)) is not None:
        return loud
    near, refused_by = [], []
    for name, limit, run in _in_halves(subject):
        worst = 0.0
        try:
            for given in masks:
                output = run(given).detach().double()
                if not output.isfinite().all():
                    return _not_finite(name, output)
                worst = max(worst, _off(output, _plain(subject, given)))
        except SubjectError as raised:
            if "overflow" in raised.reason:
                cause = f"the fill value of the mask is too large for {name}: use −inf"
                return failed(f"{name} raised: {raised.reason}", cause)
            if "same dtype" in raised.reason or "expected scalar type" in raised.reason:
                return failed(f"{name} raised: {raised.reason}", MIXED_TYPES)
            refused_by.append(f"{name} raised: {raised.reason}")
            continue
        if not worst < limit:
            return failed(f"{name} errs by {worst:.1e} of the largest", "precision is lost")
        near.append(f"{name} errs by {worst:.1e} of the largest")
    said = "; ".join(near + refused_by)
    return passed(said) if near else skipped(said)


def _loud(subject: Subject) -> Judgement | None:
    """Judge large scores in float32; None if they do not overflow."""
    if subject.words(1, 1).dtype != torch.float64:
        return None
    single = subject.to(torch.float32)
    x = 30 * subject.words(1, subject.length).float()
    output = single.call(x).detach()
    if output.isfinite().all():
        return None
    return failed(f"tokens of ±{x.abs().max():.0f} in float32 give numbers not finite", OVERFLOW)


def _plain(subject: Subject, mask: Tensor | None) -> Tensor:
    return subject.call(subject.words(1, subject.length), mask).detach()


def _off(output: Tensor, expected: Tensor) -> float:
    largest = expected.abs().max().clamp(min=1e-6)
    return ((output - expected).abs().max() / largest).item()


def _in_halves(
    subject: Subject,
) -> Iterator[tuple[str, float, Callable[[Tensor | None], Tensor]]]:
    """Yield the name of each precision, how far it may carry, and a call in it."""
    x = subject.words(1, subject.length)
    single = subject.to(torch.float32)

    def autocast(mask: Tensor | None) -> Tensor:
        with torch.autocast(subject.device.type, torch.bfloat16):
            return single.call(x.float(), mask)

    for dtype, limit in HALVES.items():
        half = subject.to(dtype)
        yield str(dtype).removeprefix("torch."), limit, functools.partial(half.call, x.to(dtype))
    yield "autocast", HALVES[torch.bfloat16], autocast


def _not_finite(name: str, output: Tensor) -> Judgement:
    return failed(
        f"in {name}, {int((~output.isfinite()).sum())} outputs are not finite",
        "a value above 65504, the largest of float16, or a NaN from −∞",
    )


def _usable_mask(insight: Insight) -> Tensor | None:
    """Return a mask that can be given, however it is read; None if none can."""
    kinds = {behaviour.kind for behaviour in insight.masks.values()}
    if insight.no_masks or "raised" in kinds:
        return None
    subject = insight.subject
    return sample_mask(subject.length, subject.device, columns=subject.masks_keys_alone)


def input_unchanged(insight: Insight) -> Judgement:
    """The call writes into none of its arguments."""
    subject = insight.subject
    changed = subject.written(subject.words(2, subject.length), _usable_mask(insight))
    names = ", ".join(subject.parts)
    return judge(
        not changed,
        f"changed: {', '.join(changed)}" if changed else f"{names} and the mask are as they were",
        "an in-place operation writes into an argument",
    )


def deterministic(seeds: tuple[int, int], calls: str) -> Callable[[Insight], Judgement]:
    """Return the check that two calls give the same numbers, whatever the seeds."""

    def check(insight: Insight) -> Judgement:
        subject, outputs = insight.subject, []
        x = subject.words(2, subject.length)
        for seed in seeds:
            seeded(seed, subject.device)
            outputs.append(subject.call(x).detach())
        error = (outputs[0] - outputs[1]).abs()
        if torch.equal(outputs[0].isnan(), outputs[1].isnan()):  # NaN both times is the same
            error = error.nan_to_num(0.0)
        if error.max() != 0:
            return failed(f"{calls} differ by {error.max():.1e}")
        return _without_gradients(subject, outputs[0]) or passed(f"{calls} give the same")

    return check


def _without_gradients(subject: Subject, output: Tensor) -> Judgement | None:
    """Judge a call that records nothing for gradients; None if it gives the same."""
    seeded(0, subject.device)
    with torch.no_grad():
        plain = subject.call(subject.words(2, subject.length))
    error = (plain - output).abs().nan_to_num(0.0).max().item()
    if error <= subject.tolerance * max(1.0, output.abs().nan_to_num(0.0).max().item()):
        return None
    cause = "another way of computing runs where no gradient is recorded"
    return failed(f"under torch.no_grad() the output differs by {error:.1e}", cause)
