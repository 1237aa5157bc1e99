"""Checks of what a mask does, the same for functions and for modules."""

from collections.abc import Callable

from attn_docs.testing.insight import Insight, Kind, where
from attn_docs.testing.judgement import Judgement, failed, passed, skipped
from attn_docs.testing.subject import Mode

# the ways of treating a mask that break each property; "columns" breaks packing alone
POLARITY: tuple[Kind, ...] = ("inverted", "inverted and transposed")
AXIS: tuple[Kind, ...] = ("transposed", "inverted and transposed")
PLACE: tuple[Kind, ...] = (
    "zero",
    "added",
    "after",
    "before",
    "values",
    "unknown",
    "first row",
    "no diagonal",
    "one ahead",
)


def mask_check(*bad: Kind) -> Callable[[Insight], Judgement]:
    """Return the check that fails on some ways of treating a mask."""

    def check(insight: Insight) -> Judgement:
        if insight.no_masks:
            return skipped(insight.no_masks)
        judged = (_judged(insight, mode, bad) for mode in insight.masks)
        *_, last = insight.masks.values()
        return next((found for found in judged if found is not None), passed(last.evidence))

    return check


def _judged(insight: Insight, mode: Mode, bad: tuple[Kind, ...]) -> Judgement | None:
    """Judge one mode; None if the mask does in it what it should."""
    behaviour, said = insight.masks[mode], where(insight.subject, mode, ": ")
    if behaviour.kind == "raised":
        return skipped(behaviour.evidence)
    if behaviour.kind in ("unknown", "transposed") and insight.root_cause:
        return skipped(f"{insight.root_cause}; mend that first")
    if behaviour.kind in bad:
        differ = len({each.kind for each in insight.masks.values()}) > 1
        cause = f"{behaviour.cause} (in {mode})" if differ else behaviour.cause
        return failed(f"{said}{behaviour.evidence}", cause)
    if behaviour.kind != "right":
        return skipped(f"{said}{behaviour.cause}; another mask property fails")
    return None


def mask_used(insight: Insight) -> Judgement:
    """A mask changes the output, also together with is_causal=True."""
    for behaviour in insight.masks.values():
        if behaviour.kind == "raised":
            return failed(behaviour.evidence, "the call raises an exception")
    judgement = mask_check("none")(insight)
    if judgement.verdict == "pass":
        for mode, seen in insight.masked_and_causal.items():
            if seen.tril(-1)[:, 1].any():
                said = where(insight.subject, mode, ", ")
                return failed(
                    f"{said}with is_causal=True a key that attn_mask forbids is seen",
                    "attn_mask is ignored when is_causal=True is given",
                )
    return judgement


def leak_with_mask(insight: Insight, mode: Mode) -> Judgement | None:
    """Judge whether the future stays hidden when a mask is given as well; None if it does."""
    seen = insight.masked_and_causal.get(mode)
    if seen is None:
        return None
    hidden = seen & ~insight.subject.shown(len(seen))
    if not hidden.any():
        return None
    i, j = hidden.nonzero()[0].tolist()
    said = f"{where(insight.subject, mode, ', ')}with attn_mask and is_causal=True"
    return failed(
        f"{said}: position {i} depends on position {j}, which is hidden",
        "is_causal is ignored when attn_mask is given",
    )
