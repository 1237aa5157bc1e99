"""What is known of a subject after looking, as the checks of functions and of modules see it."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

from attn_docs.testing.formula import MASKS, Masking
from attn_docs.testing.patterns import sample_mask
from attn_docs.testing.subject import Mode, Subject, SubjectError, strongest

NO_MASK = "it takes no mask"
Kind = Masking | Literal["unknown", "raised"]


@dataclass(frozen=True)
class MaskBehaviour:
    """What a subject does with a mask, and how that was seen."""

    kind: Kind
    evidence: str

    @property
    def cause(self) -> str:
        """The likely cause of what it does."""
        if self.kind == "raised":
            return self.evidence
        if self.kind == "none":
            return "the mask is accepted and ignored"
        if self.kind == "unknown":
            return "masked keys still get a weight: fill too small or too late"
        return MASKS[self.kind]


ONE_OF_KEYS = MaskBehaviour(
    "columns", "a mask that hides a key from all queries works, no other does"
)


class Insight(Protocol):
    """What the checks that functions and modules share need to know."""

    @property
    def subject(self) -> Subject:
        """What was looked at."""

    @property
    def masks(self) -> Mapping[Mode, MaskBehaviour]:
        """What it does with a mask, by mode; empty if that was not looked at."""

    @property
    def no_masks(self) -> str:
        """Why it was not looked at; empty if it was."""

    @property
    def no_causal(self) -> str:
        """Why nothing can be asked about the future; empty if it can."""

    @property
    def takes_both(self) -> bool:
        """Whether a mask and is_causal can be asked for at once."""

    @property
    def root_cause(self) -> str:
        """What makes checks of masks meaningless; empty if nothing does."""

    @property
    def masked_and_causal(self) -> Mapping[Mode, Tensor]:
        """Which keys are seen with a mask and is_causal at once, by mode; without refusals."""

    def wrong_with(self, mode: Mode, mask: Tensor | None, context: Tensor | None) -> str:
        """Say what is wrong inside with a mask or context, or with neither and is_causal=True."""

    def formula_fits(self, length: int) -> bool:
        """Tell whether what reproduces a few tokens reproduces so many; true if nothing does."""


def refused(subject: Subject, *lengths: int) -> str:
    """Return why nothing can be asked with so many tokens; empty if it can."""
    if subject.runs_on(*lengths):
        return ""
    told = " or ".join(str(length) for length in subject.counts)
    return f"the module takes {told} tokens, no others"


def mask_unfit(insight: Insight, *fit: Kind) -> str:
    """Return why checks that build on a mask cannot run; empty if they can.

    `fit` are the kinds of behaviour, besides the right one, on which the check can build.
    """
    if insight.no_masks:
        return insight.no_masks
    for behaviour in insight.masks.values():
        if behaviour.kind == "raised":
            return behaviour.evidence
        if behaviour.kind not in ("right", *fit):
            return f"{behaviour.cause}; mend that first"
    return ""


def seen_with_both(insight: Insight) -> dict[Mode, Tensor]:
    """Return (n, m) for each mode: which keys are seen with a mask and is_causal at once."""
    if mask_unfit(insight) or not insight.takes_both:
        return {}
    subject = insight.subject
    seen: dict[Mode, Tensor] = {}
    mask = sample_mask(subject.length, subject.device, columns=True)
    for mode in subject.modes:
        with suppress(SubjectError):  # PyTorch's function refuses both at once
            x = subject.words(1, subject.length)
            strength = strongest(subject.in_mode(mode), x, mask, causal=True)
            seen[mode] = strength > 1e-9 * strength.max()
    return seen


def where(subject: Subject, mode: Mode, then: str) -> str:
    """Begin a sentence with the mode, as "in training: "; empty if there is one mode only."""
    return f"in {mode}{then}" if len(subject.modes) > 1 else ""
