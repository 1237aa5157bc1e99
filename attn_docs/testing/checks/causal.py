"""Checks of a module's tokens: which depend on which, and on their order."""

import torch
from torch import Tensor

from attn_docs.testing.checks import shared
from attn_docs.testing.checks.masks import leak_with_mask
from attn_docs.testing.formula import MASKS
from attn_docs.testing.insight import MaskBehaviour
from attn_docs.testing.judgement import Judgement, failed, passed, skipped, unknown
from attn_docs.testing.layers import matches
from attn_docs.testing.module_insight import ModuleInsight
from attn_docs.testing.module_masks import soft_mask
from attn_docs.testing.module_subject import MODES
from attn_docs.testing.patterns import off_diagonal
from attn_docs.testing.stages import built_in_mask
from attn_docs.testing.subject import Mode, seeded, strongest
from attn_docs.testing.wrongs import wrongs


def causality(insight: ModuleInsight) -> Judgement:
    """No gradient flows back from a position to a later one."""
    if insight.no_causal:
        return skipped(insight.no_causal)
    subject = insight.subject
    lengths = [n for n in dict.fromkeys((2, 3, subject.length)) if subject.runs_on(n)]
    for mode in MODES:
        for length in lengths:
            if found := _wrong_influence(insight, mode, length):
                return found
        if found := leak_with_mask(insight, mode):
            return found
    return passed(f"no gradient from the future at lengths {', '.join(map(str, lengths))}")


def _influence(insight: ModuleInsight, mode: Mode, length: int) -> Tensor:
    subject = insight.subject.in_mode(mode)
    return strongest(subject, subject.words(1, length), causal=True)


def _wrong_influence(insight: ModuleInsight, mode: Mode, length: int) -> Judgement | None:
    """Judge sequences of one length: the future is not seen, the past is; None if that is so."""
    seen = _influence(insight, mode, length)
    future = seen * ~insight.subject.shown(length)
    past, least = seen.tril(-1), 1e-9 * seen.max()
    if (future > least).any():
        i, j = (future == future.max()).nonzero()[0].tolist()
        what = "the later position" if j > i else "position"
        return failed(
            f"in {mode}, length {length}: position {i} depends on {what} {j}, "
            f"gradient {future[i, j]:.2e}",
            lambda: insight.root_cause or _leak(insight, mode),
        )
    if length > 2 and not (past > least).any():
        return failed(
            f"in {mode}, length {length}: no position depends on an earlier one",
            insight.root_cause or "the causal mask removes the past as well",
        )
    return None


def _leak(insight: ModuleInsight, mode: Mode) -> str:
    """Name the cause of a leak from the future."""
    seen = _influence(insight, mode, insight.subject.length)
    off = off_diagonal(seen)
    if named := _shape_of_leak((seen > 1e-9 * seen.max()) & off, off):
        return f"{named} (in {mode})"
    behaviour = insight.masks.get(mode)
    if behaviour is not None and behaviour.kind not in ("right", "raised", "none"):
        return f"as with attn_mask, {behaviour.cause} (in {mode})"
    if cause := insight.wrongs.get("causality"):
        return cause
    return f"{_way_of_masking(insight, mode)} (in {mode})"


def _shape_of_leak(strong: Tensor, off: Tensor) -> str:
    """Name the triangle that is seen; empty if it is all keys."""
    ones = torch.ones_like(strong)
    if torch.equal(strong, ones.triu(1)):
        return "the causal mask is inverted: it keeps the future and removes the past"
    if torch.equal(strong, off & ones.tril(1)):
        return "the causal mask is off by one: a position sees the next one"
    if not strong.triu(1).equal(ones.triu(1)):
        return "the causal mask is no lower triangle"
    return ""


def _way_of_masking(insight: ModuleInsight, mode: Mode) -> str:
    """Name the way in which a flag hides nothing, though it may change something."""
    not_applied = "the causal mask is not applied"
    subject = insight.subject.in_mode(mode)
    x, structure = subject.words(1, subject.length), insight.structures[mode]
    if subject.always_causal:
        kinds = map(built_in_mask, subject.record(x, causal=True).attended)
        return next((MASKS[kind] for kind in kinds if kind is not None), not_applied)
    named = soft_mask(subject, insight.search, structure, x, None, causal=True)
    if named not in (None, "none", "right"):
        return MASKS[named]
    outputs = []
    for causal in (True, False):
        seeded(0, subject.device)
        outputs.append(subject.call(x, causal=causal))
    return not_applied if matches(*outputs) else MaskBehaviour("unknown", "").cause


def prefix_cause(insight: ModuleInsight) -> str:
    """Return why a beginning that is run alone comes out different."""
    if causality(insight).verdict == "fail":
        return "later positions change earlier ones: see causality"
    return insight.root_cause or "what a position gets depends on how many come after it"


MIXED = (
    "heads are cut or joined so that positions mix (scrambled heads); if the module adds "
    "positions to its input, pass positions=True"
)


def _placed(insight: ModuleInsight, judgement: Judgement) -> Judgement:
    """Judge a module in which the order matters, though equal tokens come out equal."""
    structure = insight.structure
    stages = [each for found in insight.stages.values() for each in found]
    if (structure and structure.how.rotary) or any(each.cancels for each in stages):
        return skipped("the order matters: queries and keys are rotated by their positions")
    return unknown(f"{judgement.evidence}; if the module adds positions, say positions=True")


def permutation(insight: ModuleInsight) -> Judgement:
    """A shuffled input gives the shuffled output, if nothing says where a token stands."""
    judgement = shared.permutation(insight)
    if judgement.verdict != "fail":
        return judgement
    if insight.structure is not None and (cause := wrongs(insight.structure).get("head layout")):
        return failed(judgement.evidence, cause)
    subject = insight.subject
    same = subject.call(
        subject.words(1, subject.length)[:, :1].expand(-1, subject.length, -1), causal=False
    )
    spread = (same - same[:, :1]).abs().max().item()
    if spread <= subject.tolerance:
        return _placed(insight, judgement)
    return failed(
        f"{subject.length} equal tokens come out different, by {spread:.2e}",
        insight.place_matters or MIXED,
    )
