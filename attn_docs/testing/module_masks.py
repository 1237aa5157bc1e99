"""Find out what a module does with a mask: by gradient, and by what reproduces its numbers."""

from dataclasses import replace

import torch
from torch import Tensor

from attn_docs.testing.formula import MASKS, Masking
from attn_docs.testing.insight import ONE_OF_KEYS, MaskBehaviour
from attn_docs.testing.layers import matches
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.patterns import (
    off_diagonal,
    ordered_mask,
    pattern_evidence,
    sample_mask,
)
from attn_docs.testing.stages import way_of_masking
from attn_docs.testing.structure import Search, Structure, reproduce
from attn_docs.testing.subject import SubjectError, influence, seeded, strongest
from attn_docs.testing.wrongs import wrongs


def look_at_mask(
    subject: ModuleSubject, search: Search, structure: Structure | None
) -> MaskBehaviour:
    """Return what the module does with a mask in the mode of the subject."""
    try:
        return _behaviour(subject, search, structure)
    except SubjectError as error:
        return MaskBehaviour("raised", f"a boolean mask raised {error}")


def _behaviour(
    subject: ModuleSubject, search: Search, structure: Structure | None
) -> MaskBehaviour:
    x = subject.words(1, subject.length)
    mask = _mask_for(subject, x)
    strength = strongest(subject, x, mask, causal=subject.always_causal)
    masked, plain = (_called(subject, x, given) for given in (mask, None))
    if matches(masked, plain):
        return _without_effect(subject, x)
    seen = strength > 1e-9 * strength.max().clamp(min=1e-30)
    rows = ~masked[0].isnan().any(-1)
    if subject.masks_keys_alone:
        rows = rows & mask[0]  # some set what padding puts out to zero
    # where the future should be hidden and is not, the mask may be read rightly all the same
    past, all_words = subject.shown(subject.length), torch.ones_like(mask)
    unmasked = strongest(subject, x, causal=subject.always_causal)  # a window hides tokens as well
    own = unmasked > 1e-9 * unmasked.max()
    for shown in (past, own, all_words) if subject.always_causal else (own, all_words):
        if kind := _pattern(seen, mask, shown, rows):
            return MaskBehaviour(kind, pattern_evidence(seen, mask & shown))
    if named := soft_mask(subject, search, structure, x, mask):
        seen_by = MASKS["right"] if named == "right" else pattern_evidence(seen, mask)
        return MaskBehaviour(named, seen_by)
    return MaskBehaviour("unknown", _leak(strength, seen, mask))


def _mask_for(subject: ModuleSubject, x: Tensor) -> Tensor:
    """Return a mask for one attention; for several, one that seeing through another leaves."""
    if subject.masks_keys_alone:
        return sample_mask(subject.length, subject.device, columns=True)
    if len(subject.record(x, causal=subject.always_causal).attended) > 1:
        return ordered_mask(subject.length, subject.device)
    return sample_mask(subject.length, subject.device)


def _called(subject: ModuleSubject, x: Tensor, mask: Tensor | None) -> Tensor:
    seeded(0, subject.device)
    return subject.call(x, mask, causal=subject.always_causal).detach()


def _without_effect(subject: ModuleSubject, x: Tensor) -> MaskBehaviour:
    """Return what it means that the output with a mask is the output without."""
    if not subject.masks_keys_alone and _hides_columns(subject, x):
        return ONE_OF_KEYS
    return MaskBehaviour("none", "the output with a mask is the output without")


def _hides_columns(subject: ModuleSubject, x: Tensor) -> bool:
    """Tell whether keys that are hidden from all queries are hidden."""
    mask = sample_mask(x.size(1), subject.device, columns=True)
    seeded(0, subject.device)
    seen = influence(subject, x, mask, causal=subject.always_causal).nan_to_num(0.0)
    return not seen[~mask & off_diagonal(mask)].any()


def _pattern(seen: Tensor, mask: Tensor, shown: Tensor, rows: Tensor) -> Masking | None:
    """Return which reading of the mask explains the keys that are seen."""
    patterns: dict[Masking, Tensor] = {
        "right": mask,
        "inverted": ~mask,
        "transposed": mask.mT,
        "inverted and transposed": ~mask.mT,
        "first row": mask[:1].expand_as(mask),
    }
    off = off_diagonal(mask)
    for name, pattern in patterns.items():
        if rows.any() and torch.equal((seen & off)[rows], (pattern & shown & off)[rows]):
            return name
    return None


def _leak(strength: Tensor, seen: Tensor, mask: Tensor) -> str:
    """Say which query sees a key that is forbidden, or does not see one that is allowed."""
    off = off_diagonal(mask)
    leaks = (seen & ~mask & off).nonzero()
    if len(leaks):
        i, j = leaks[0].tolist()
        return (
            f"query {i} depends on key {j}, which the mask forbids: gradient {strength[i, j]:.2e}"
        )
    missing = (mask & off & ~seen).nonzero()
    if len(missing):
        i, j = missing[0].tolist()
        return f"query {i} does not depend on key {j}, which the mask allows"
    return "every output with a mask is NaN"


def soft_mask(
    subject: ModuleSubject,
    search: Search,
    found: Structure | None,
    x: Tensor,
    mask: Tensor | None,
    *,
    causal: bool = False,
) -> Masking | None:
    """Return the way of masking that reproduces the output, of a mask or of is_causal."""
    if subject.always_causal or len(subject.seeds) > 1:
        return None
    shown = subject.shown(x.size(1)) if mask is None else mask
    masked, plain = subject.record(x, mask, causal=causal), subject.record(x, causal=False)
    if found is None:
        pairs = zip(plain.attended, masked.attended, strict=False)
        return next((way_of_masking(*pair, shown) for pair in pairs), None)
    if wrongs(found) or (structure := search.again(found, plain)) is None:
        return None
    for name in MASKS:
        how = replace(structure.how, mask=name)
        made = reproduce(structure.sources, how, shown, x.size(-1), search.scale)
        if made is not None and matches(made[0], masked.inner):
            return name
    return None
