"""Find out in which form a module takes a mask: what it raises at, and what hides nothing."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from attn_docs.testing.adapter import Adapter, FunctionAdapter
from attn_docs.testing.layers import matches
from attn_docs.testing.subject import SubjectError

if TYPE_CHECKING:
    from attn_docs.testing.module_subject import ModuleSubject

# what transformers and others add to the scores; a boolean mask is added there without an error
ADDED_NAMES = ("attention_mask", "attention_bias", "attn_bias", "mask_bias")


def fitting(subject: "ModuleSubject") -> Adapter:
    """Return the adapter with the first form of a mask that the module takes.

    Where it raises at every form, that is for the checks to say. Which of True and False hides is
    never guessed: to have it the wrong way round is a bug.
    """
    adapter = subject.adapter
    if not adapter.takes_mask or isinstance(adapter, FunctionAdapter):
        return adapter
    said = adapter.mask_axes is not None or adapter.mask_dtype is not None
    doubtful = adapter.attn_mask in ADDED_NAMES and not said and adapter.mask_true != "added"
    taken = []
    for fitted in _forms(adapter, subject.dtype):
        asked = replace(subject, adapter=fitted)
        if not _runs(asked):
            continue
        if not doubtful or _hides(asked):
            return fitted
        taken.append(fitted)
    return taken[0] if taken else replace(adapter, mask_axes=adapter.mask_axes or 2)


def _forms(adapter: Adapter, dtype: torch.dtype) -> Iterator[Adapter]:
    """Yield the forms of a mask: those that were said, then those that are a matter of habit."""
    boolean: tuple[torch.dtype | None, ...] = (torch.bool, torch.long, dtype)
    if adapter.mask_dtype is not None:
        boolean = (adapter.mask_dtype,)
    axes = (2, 3, 4, 1) if adapter.mask_axes is None else (adapter.mask_axes,)
    name, added = adapter.attn_mask, adapter.mask_true == "added"
    as_said = [adapter.mask_dtype] if added else boolean
    for kind, number in itertools.product(as_said, axes):
        yield replace(adapter, mask_axes=number, mask_dtype=kind)
    other: dict[str, Any] = {"mask_true": "attends" if added else "added"}
    how = "says True or 1 where a query may attend" if added else "is added to the scores"
    for kind, number in itertools.product(boolean if added else (None,), axes):
        said = f"{name} {how} ({number} axes)"
        yield adapter.guessing(said, mask_axes=number, mask_dtype=kind, **other)


def _runs(subject: "ModuleSubject") -> bool:
    length = subject.odd_length
    mask = torch.ones(length, length, dtype=torch.bool, device=subject.device)
    try:
        subject.call(subject.words(2, length), mask)
    except SubjectError:
        return False
    return True


def _hides(subject: "ModuleSubject") -> bool:
    """Tell whether a mask of one key hides that key from the last query, or all the others."""
    length = subject.odd_length
    x = subject.words(2, length)
    mask = torch.ones(length, length, dtype=torch.bool, device=subject.device)
    mask[:, 1] = False
    try:
        last = subject.call(x, mask)[:, -1]
        for hidden in (1, 2):
            moved = x.clone()
            moved[:, hidden] += 1.0
            if matches(subject.call(moved, mask)[:, -1], last):
                return True
    except SubjectError:  # of a mask that hides something
        return False
    return False
