"""Look at a module: what it computes inside, in both modes, and what it does with a mask."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from attn_docs.testing.formula import repeat_heads
from attn_docs.testing.insight import NO_MASK, MaskBehaviour, seen_with_both
from attn_docs.testing.layers import Recording, matches
from attn_docs.testing.module_masks import look_at_mask
from attn_docs.testing.module_subject import MODES, ModuleSubject
from attn_docs.testing.stage_wrongs import formula, holds, stage_wrongs
from attn_docs.testing.stages import Stages, stages_of
from attn_docs.testing.structure import Search, Structure, reproduce
from attn_docs.testing.subject import Mode, SubjectError
from attn_docs.testing.wrongs import VALUES_TURNED, Inside, wrongs

TRACED = 7  # tokens; a prime that is seldom the size of a head, so that axes are told apart
UNEXPLAINED = "no way of computing that is searched reproduces the output of its layers"
UNREADABLE = "the weights cannot be read back from the output"


@dataclass(frozen=True, eq=False)
class Readable:
    """A call of so few tokens that output = weights · values can be solved for the weights."""

    recording: Recording
    values: Tensor  # (heads, n, e)

    def weights(self, recording: Recording) -> Tensor:
        """Return the weights, (heads, n, n), of a call on the same tokens, perhaps with dropout."""
        heads, length, _ = self.values.shape
        outputs = recording.inner.view(length, heads, -1).transpose(0, 1)
        solved: Tensor = torch.linalg.lstsq(self.values.mT, outputs.mT).solution
        return solved.mT


def _readable(subject: ModuleSubject, search: Search, found: Structure | None) -> Readable | None:
    if found is None or found.tiny < 2 or found.how.turns_values:
        return None
    how, length = found.how, min(found.tiny, subject.length)
    if not subject.runs_on(length):
        return None
    if how.split != "heads" or how.merge != "heads":
        return None
    recording = subject.record(subject.words(1, length), causal=subject.always_causal)
    again = search.again(found, recording)
    if again is None:
        return None
    size = recording.x.size(-1)
    made = reproduce(again.sources, how, recording.mask, size, search.scale)
    if made is None or not matches(made[0], recording.inner):  # the heads lie in another order
        return None
    values = again.sources.tensors[2].view(length, how.num_kv_heads, -1).transpose(0, 1)
    group = how.num_heads // how.num_kv_heads
    return Readable(recording, repeat_heads(values, values, group, how.groups, 0)[1])


@dataclass(frozen=True, eq=False)
class ModuleInsight:
    """What was found out about a module.

    Attributes:
        subject: The module, in evaluation.
        search: How its way of computing was searched for.
        structures: The ways of computing that were found, by mode.
        training_differs: How training, without dropout, differs from evaluation; empty if not.
        masks: What it does with a mask, by mode.
        stages: What is known of each attention as it ran, by mode.
    """

    subject: ModuleSubject
    search: Search
    structures: Mapping[Mode, Structure | None]
    training_differs: str
    masks: Mapping[Mode, MaskBehaviour]
    stages: Mapping[Mode, Sequence[Stages]]

    @property
    def structure(self) -> Structure | None:
        """The way of computing in evaluation."""
        return self.structures["evaluation"]

    @property
    def explained(self) -> bool:
        """Whether the way of computing was found in both modes."""
        return None not in self.structures.values()

    @cached_property
    def wrongs(self) -> dict[Inside, str]:
        """What is wrong inside, in either mode, by property."""
        found = {mode: self._wrongs_in(mode) for mode in self.structures}
        if not self.training_differs:
            return found["evaluation"]
        return {
            name: f"{cause} (in {mode})"
            for mode in MODES[::-1]
            for name, cause in found[mode].items()
        }

    def _wrongs_in(self, mode: Mode) -> dict[Inside, str]:
        structure = self.structures[mode]
        if structure is not None:
            return wrongs(structure)
        sizes = (self.subject.embed_dim, TRACED)
        return stage_wrongs(self.stages[mode], self.search.scale, sizes)

    def holds(self, name: Inside) -> str:
        """Return the evidence from its stages that a property holds; empty if there is none."""
        said = [holds(name, stages, self.search.scale) for stages in self.stages.values()]
        return said[0] if all(said) else ""

    @property
    def num_heads(self) -> int | None:
        """How many query heads were found; None if that is not known."""
        if self.structure is not None:
            return self.structure.how.num_heads
        heads = {each.num_heads for found in self.stages.values() for each in found}
        return heads.pop() if len(heads) == 1 else None

    @property
    def has_sinks(self) -> bool:
        """Whether each softmax was seen to have a column that is no token's."""
        stages = [each for found in self.stages.values() for each in found]
        return bool(stages) and all(each.sink for each in stages)

    @property
    def formula(self) -> str:
        """Say how its stages ran, if all are the formula's in both modes; empty if not."""
        said = [formula(stages, self.search.scale) for stages in self.stages.values()]
        return said[0] if all(said) else ""

    @property
    def root_cause(self) -> str:
        """What is wrong inside that makes checks of masks meaningless; empty if nothing is."""
        names: tuple[Inside, ...] = ("head layout", "weights", "scale")
        return next((self.wrongs[name] for name in names if name in self.wrongs), "")

    @property
    def place_matters(self) -> str:
        """Why the place of a row's tokens matters where it must not; empty if unknown."""
        structures = self.structures.values()
        return VALUES_TURNED if any(s and s.how.turns_values for s in structures) else ""

    @cached_property
    def readable(self) -> Readable | None:
        """A call in evaluation from whose output the weights can be solved; None if none can."""
        return _readable(self.subject, self.search, self.structure)

    @property
    def no_masks(self) -> str:
        """Why nothing can be asked about masks; empty if it can."""
        return "" if self.subject.adapter.takes_mask else NO_MASK

    @property
    def no_causal(self) -> str:
        """Why nothing can be asked about the future; empty if it can."""
        asked = self.subject.causal or self.subject.adapter.takes_causal
        return "" if asked else "not said to be causal"

    @property
    def takes_both(self) -> bool:
        """Whether a mask and is_causal can be asked for at once."""
        subject = self.subject
        return subject.adapter.takes_causal and not (subject.always_causal or subject.needs_mask)

    @cached_property
    def masked_and_causal(self) -> Mapping[Mode, Tensor]:
        """Which keys are seen with a mask and is_causal at once, by mode; without refusals."""
        return seen_with_both(self)

    def wrong_with(self, mode: Mode, mask: Tensor | None, context: Tensor | None) -> str:
        """Say what is wrong inside with a mask or context, or with neither and is_causal=True."""
        subject = self.subject.in_mode(mode)
        if self.structures[mode] is None or mask is not None:
            return ""
        x, causal = subject.words(1, subject.length), context is None
        recording = subject.record(x, context=None if causal else x, causal=causal)
        hidden = subject.shown(subject.length) if causal else None
        thorough = replace(self.search, thorough=True)  # the other call was not seen in stages
        found = thorough.find(replace(recording, mask=hidden))
        return "" if found is None else "; ".join(wrongs(found).values())

    def formula_fits(self, length: int) -> bool:
        """Tell whether what reproduces a few tokens reproduces so many; true if nothing does."""
        if self.structure is None:
            return True
        subject = self.subject
        recording = subject.record(subject.words(1, length), causal=subject.always_causal)
        return self.search.again(self.structure, recording) is not None


def look_inside(
    subject: ModuleSubject,
) -> ModuleInsight:
    """Search for the way of computing that reproduces the module's output, and try masks."""
    x, claims = subject.words(1, subject.length), subject.claims
    evaluation = subject.record(x, causal=subject.always_causal)
    stages: dict[Mode, Sequence[Stages]] = dict.fromkeys(MODES, _stages(subject))
    search = Search(
        claims.num_heads,
        claims.scale,
        rotary=_order_matters(subject),
        thorough=not stages["evaluation"],
    )
    found = search.find(evaluation)
    if found is None:  # a number of heads that was said may be wrong
        search = search.other_heads(evaluation)
        found = search.find(evaluation) if search.num_heads != claims.num_heads else None
    structures: dict[Mode, Structure | None] = dict.fromkeys(MODES, found)
    differs = ""
    if subject.chance.quiet_training:
        training = subject.in_mode("training").record(x, causal=subject.always_causal)
        if not matches(training.output, evaluation.output):
            error = (training.output - evaluation.output).abs().max()
            differs = f"training, without dropout, differs from evaluation by {error:.2e}"
            structures["training"] = search.find(training)
            stages["training"] = _stages(subject.in_mode("training"))
    masks = {}
    if subject.adapter.takes_mask:
        for mode in MODES:
            masks[mode] = look_at_mask(subject.in_mode(mode), search, structures[mode])
    return ModuleInsight(subject, search, structures, differs, masks, stages)


def _stages(subject: ModuleSubject) -> Sequence[Stages]:
    """Return what is known of each attention as it ran, at plain gains where a norm hides it."""
    try:
        found = _stages_of(subject)
    except SubjectError:  # it takes no such length
        return ()
    if all(each.total is not None for each in found):
        return found
    for gain in (0.0, 1.0):  # a gain may be what is multiplied, or what is added to one
        plain = _stages_of(subject.with_gains(gain))
        if plain and all(each.total for each in plain):
            return plain
    return found


def _stages_of(subject: ModuleSubject) -> Sequence[Stages]:
    recordings = (
        subject.record(subject.words(1, TRACED, seed=seed), causal=subject.always_causal)
        for seed in (0, 1)
    )
    return stages_of(*recordings)


def _order_matters(subject: ModuleSubject) -> bool:
    """Tell whether the last output depends on the order of the tokens before it."""
    x = subject.words(1, subject.length)
    moved = torch.cat([x[:, :-1].flip(1), x[:, -1:]], 1)
    last, again, other = (
        subject.call(words, causal=subject.always_causal)[0, -1:] for words in (x, x, moved)
    )
    return matches(last, again) and not matches(last, other)
