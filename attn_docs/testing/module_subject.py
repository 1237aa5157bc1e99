"""Run a module that somebody else wrote: a copy of it, with random weights."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attn_docs.testing.adapter import Adapter, arranged, bound
from attn_docs.testing.claims import Claims
from attn_docs.testing.copies import deep_copy, precisions, random_copy
from attn_docs.testing.layers import Recording, matches
from attn_docs.testing.mask_habits import fitting
from attn_docs.testing.patterns import LENGTHS, sample_mask
from attn_docs.testing.subject import (
    SEEDS,
    Mode,
    SubjectError,
    WrongShapeError,
    foreign,
    influence,
    seeded,
    tensor_of,
)
from attn_docs.testing.trace import Tracer

AXES = "(batch, length, size)"
GAIN = re.compile("gain|gamma|norm", re.IGNORECASE)
SHIFT = re.compile("bias|beta", re.IGNORECASE)
MODES: tuple[Mode, ...] = ("evaluation", "training")


class NoDropout(TorchFunctionMode):
    """Switch off the dropout of every function of PyTorch that drops."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function with a probability of zero."""
        kwargs = dict(kwargs or {})
        if func in (F.dropout, torch.dropout, F.alpha_dropout, F.feature_alpha_dropout):
            return args[0] if args else kwargs["input"]
        if func is F.multi_head_attention_forward:
            arguments = inspect.signature(func).bind(*args, **kwargs)
            arguments.arguments["dropout_p"] = 0.0
            args, kwargs = arguments.args, arguments.kwargs
        if func is F.scaled_dot_product_attention:
            if len(args) > 4:
                args = (*args[:4], 0.0, *args[5:])
            else:
                kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)


@dataclass(frozen=True)
class Chance:
    """What is random in a module.

    Attributes:
        evaluation: How evaluation differs from seed to seed; empty if it does not.
        noisy: Whether something else than PyTorch's dropout makes it differ.
        quiet_training: Whether all that is random in training is dropout that can be switched off.
    """

    evaluation: str = ""
    noisy: bool = False
    quiet_training: bool = False


@dataclass(frozen=True, eq=False)
class ModuleSubject:
    """A copy of a module in one precision and one mode, and how it is called."""

    original: nn.Module
    module: nn.Module
    dtype: torch.dtype
    device: torch.device
    adapter: Adapter
    embed_dim: int
    context_dim: int
    claims: Claims
    mode: Mode = "evaluation"
    quiet: bool = False  # without dropout
    chance: Chance = Chance()
    always_causal: bool = False

    modes = MODES
    differentiable = True
    parts: ClassVar[Mapping[str, slice]] = {"x": slice(None)}

    @property
    def causal(self) -> bool:
        """Whether it was said to hide the future."""
        return self.claims.causal

    @property
    def positions(self) -> bool:
        """Whether it was said that the place of a token matters."""
        said = bool(self.claims.positions) or self.adapter.positions
        return said or self.claims.prefix is not None

    @property
    def windowed(self) -> bool:
        """Whether it was said that a token sees the last few tokens alone."""
        return self.claims.window is not None

    @property
    def weights_from(self) -> str:
        """What its weights were said to come from: a softmax, one with sinks, or a sigmoid."""
        return self.claims.weights

    @property
    def length(self) -> int:
        """How many tokens most checks use."""
        return self.claims.length

    @property
    def counts(self) -> Sequence[int]:
        """How many tokens it was said to take."""
        return self.claims.lengths

    @property
    def told_lengths(self) -> bool:
        """Whether somebody said how many tokens it takes: then it may refuse others."""
        return tuple(self.counts) != LENGTHS

    @property
    def odd_length(self) -> int:
        """How many tokens to call it on where the length must not be taken for another size."""
        return self.length if self.told_lengths else 7

    def runs_on(self, *lengths: int) -> bool:
        """Tell whether it can be asked for so many tokens."""
        return not self.told_lengths or all(n in self.counts or self._runs(n) for n in lengths)

    def tries(self, length: int) -> bool:
        """Tell whether it takes so many tokens, if nobody said how many it must take."""
        tables = (m.num_embeddings for m in self.module.modules() if isinstance(m, nn.Embedding))
        if self.told_lengths or min(tables, default=length) < length:
            return False  # past the end of a table of positions a GPU stops the whole program
        return self._runs(length)

    def _runs(self, length: int) -> bool:
        with suppress(SubjectError):
            self.call(self.words(1, length))
            return True
        return False

    @property
    def tolerance(self) -> float:
        """How far rounding may carry numbers of size one."""
        return 1e-5 if self.dtype == torch.float64 else 1e-3  # a softmax may be in float32

    @property
    def seeds(self) -> Sequence[int]:
        """As many seeds as uncover what dropout hides."""
        return (0,) if self.mode == "evaluation" or self.quiet else SEEDS

    @property
    def parameters(self) -> dict[str, Tensor]:
        """What it learns, by name."""
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad}

    @property
    def takes_context(self) -> bool:
        """Whether it can attend to tokens that are given apart."""
        return self.adapter.takes_context

    @property
    def masks_keys_alone(self) -> bool:
        """Whether a mask says the same for all queries."""
        return self.adapter.mask_axes == 1

    @property
    def masks_each_sample(self) -> bool:
        """Whether each sample of a batch may have a mask of its own."""
        return self.adapter.mask_axes not in (2, None)

    def random(self, batch: int, length: int, size: int, *, seed: int = 0) -> Tensor:
        """Return random numbers, the same for the same arguments."""
        generator = torch.Generator().manual_seed(100 * length + seed)
        x = torch.randn(batch, length, size, generator=generator)
        return x.to(self.device, self.dtype)

    def words(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random tokens, the same for the same arguments."""
        return self.random(batch, length, self.embed_dim, seed=seed)

    def contexts(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random tokens to attend to, the same for the same arguments."""
        return self.random(batch, length, self.context_dim, seed=seed)

    def own_context(self, x: Tensor) -> Tensor:
        """Return a context whose token j depends on token j of `x` alone."""
        if self.context_dim == self.embed_dim:
            return x
        return x @ self.random(1, self.embed_dim, self.context_dim, seed=5)[0].to(x) / 8

    def shown(self, length: int) -> Tensor:
        """Return (length, length): which tokens each may see where the future is hidden."""
        shown = torch.ones(length, length, dtype=torch.bool, device=self.device).tril()
        if self.claims.window is not None:
            shown = shown.triu(1 - self.claims.window)
        if self.claims.prefix is not None:
            shown[: self.claims.prefix, : self.claims.prefix] = True
        return shown

    def to(self, dtype: torch.dtype) -> Self:
        """Return another copy, in another precision."""
        return replace(self, module=random_copy(self.original, dtype), dtype=dtype)

    def with_gains(self, gain: float) -> Self:
        """Return another copy, in which norms multiply by one number and add none."""
        module = deep_copy(self.module)
        with torch.no_grad():
            for owner in module.modules():
                own = dict(owner.named_parameters(recurse=False))
                of_norm = all(parameter.ndim < 2 for parameter in own.values())
                for name, parameter in own.items():
                    if parameter.ndim < 2 and (of_norm or GAIN.search(name)):
                        parameter.fill_(0.0 if SHIFT.search(name) else gain)
        return replace(self, module=module)

    def in_mode(self, mode: Mode, *, quiet: bool = True) -> Self:
        """Return the same in another mode, if `quiet` without dropout where that is possible."""
        if mode == "evaluation":
            # what evaluation should not drop is not dropped, so that the other checks can go on
            return replace(self, mode=mode, quiet=bool(self.chance.evaluation))
        return replace(self, mode=mode, quiet=quiet and self.chance.quiet_training)

    def call(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        context: Tensor | None = None,
        *,
        causal: bool | None = None,
    ) -> Tensor:
        """Call the module on copies: what it writes into its arguments is judged apart."""
        return self._call(x.clone(), None if mask is None else mask.clone(), context, causal=causal)

    def record(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        context: Tensor | None = None,
        causal: bool,
    ) -> Recording:
        """Call the module on one sample, and record what its layers do."""
        with Tracer(self.module, x.size(1)) as recorder:
            output = self.call(x, mask, context, causal=causal)
        if recorder.failed is not None:
            raise recorder.failed
        hidden = self.shown(x.size(1)) if self.always_causal else None
        context = self.own_context(x) if context is None else context
        return Recording(
            tuple(recorder.layers),
            x[0],
            context[0],
            output.detach()[0],
            hidden,
            recorder.finished(),
        )

    def written(self, x: Tensor, mask: Tensor | None) -> list[str]:
        """Return the names of the arguments that a call writes into."""
        given = {"x": x} if mask is None else {"x": x, "attn_mask": mask}
        before = {name: tensor.clone() for name, tensor in given.items()}
        self._call(x, mask, None, causal=None)
        return [name for name in given if not torch.equal(given[name], before[name])]

    def step(self, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Return the output for the next few tokens, and the cache after them."""
        if self.adapter.step is None:
            raise ValueError("the adapter has no step")
        with self._ready(), foreign():
            output, cache = self.adapter.step(self.module, x.clone(), cache)
        return _shaped(output, x), cache

    @cached_property
    def needs_context(self) -> bool:
        """Whether it cannot be called without a context."""
        return self.adapter.needs_context(self.original)

    @cached_property
    def needs_mask(self) -> bool:
        """Whether it cannot be called without a mask."""
        return self.adapter.needs_mask(self.original)

    def _call(
        self, x: Tensor, mask: Tensor | None, context: Tensor | None, *, causal: bool | None
    ) -> Tensor:
        if context is None and (self.context_dim != self.embed_dim or self.needs_context):
            context = self.own_context(x)
        if mask is None and self.needs_mask:
            keys = x if context is None else context
            mask = torch.ones(x.size(1), keys.size(1), dtype=torch.bool, device=self.device)
        call = bound(
            self.adapter,
            self.module,
            x,
            attn_mask=mask,
            is_causal=self.causal if causal is None else causal,
            context=context,
        )
        with self._ready(), foreign():
            output = call()
        return _shaped(arranged(self.adapter, tensor_of(output, AXES)), x)

    @contextmanager
    def _ready(self) -> Iterator[None]:
        """Put the module, which other subjects share, into the mode of this one."""
        training = self.mode == "training"
        if self.module.training != training:
            with foreign():
                self.module.train(training)
        with NoDropout() if self.quiet else nullcontext():
            yield


def _shaped(output: object, x: Tensor) -> Tensor:
    """Return what came out, if it is a vector for each token."""
    output = tensor_of(output, AXES)
    if output.shape[:2] != x.shape[:2]:
        raise WrongShapeError(output.shape, f"({x.size(0)}, {x.size(1)}, size)")
    return output


def subject_of(
    module: nn.Module,
    adapter: Adapter,
    *,
    embed_dim: int,
    context_dim: int,
    claims: Claims,
) -> ModuleSubject:
    """Return the module as a subject, in the first precision in which it can be called."""
    device = next((p.device for p in module.parameters()), torch.device("cpu"))

    def copied(dtype: torch.dtype) -> ModuleSubject:
        made = random_copy(module, dtype)
        sizes = embed_dim, context_dim
        return ModuleSubject(module, made, dtype, device, adapter, *sizes, claims)

    subject = _callable(copied, precisions(device))
    chance = _chance_of(subject)
    subject = replace(subject, chance=chance, quiet=bool(chance.evaluation))
    told = claims.causal and not subject.adapter.takes_causal
    return replace(subject, always_causal=told or _hides_future(subject))


def _callable(
    copied: Callable[[torch.dtype], ModuleSubject], dtypes: Sequence[torch.dtype]
) -> ModuleSubject:
    """Return the first copy that can be called, with the mask and the context that it takes."""
    for dtype in dtypes:
        subject, failures = copied(dtype), []
        for adapter in _with_and_without_context(subject):
            asked = replace(subject, adapter=adapter)
            try:
                fitted = replace(asked, adapter=fitting(asked))
                fitted.call(fitted.words(1, fitted.length))
                if dtype == dtypes[-1] or _finite_with_mask(fitted):
                    return fitted
            except SubjectError as error:
                failures.append(error)
    shape = (1, subject.length, subject.embed_dim)
    raise ValueError(
        f"module must run on an input of shape {shape}, perhaps through an adapter; "
        f"it raised {failures[0]}"
    ) from failures[0]


def _with_and_without_context(subject: ModuleSubject) -> Iterator[Adapter]:
    """Yield the adapter, and one that gives a context in each call if it can be given one."""
    adapter = subject.adapter
    yield adapter
    if adapter.arguments == "x" and adapter.context is not None and not subject.needs_context:
        said = f"{adapter.context} is given in every call, since the module raises without"
        yield adapter.guessing(said, context_needed=True)


def _finite_with_mask(subject: ModuleSubject) -> bool:
    """Tell whether float64 is not too wide for how the module makes numbers of a mask."""
    if not subject.adapter.takes_mask:
        return True
    mask = sample_mask(subject.length, subject.device, columns=True)
    try:
        return bool(subject.call(subject.words(1, subject.length), mask).isfinite().all())
    except SubjectError:  # as for every mask, in every precision
        return True


def _chance_of(subject: ModuleSubject) -> Chance:
    """Find out what is random."""
    x = subject.words(1, subject.length)

    def called(subject: ModuleSubject, seed: int) -> Tensor:
        seeded(seed, subject.device)
        return subject.call(x).detach()

    first, *others = (called(subject, seed) for seed in (0, 1, 2))
    error = max((first - other).abs().max().item() for other in others)
    evaluation, noisy = "", False
    # where the same seed gives something else, that is not chance: the module keeps state
    if not error <= 1e-12 and matches(called(subject, 0), first):
        evaluation = f"three seeds in evaluation differ by {error:.1e}"
        quiet = replace(subject, quiet=True)
        noisy = not matches(quiet.call(x), quiet.call(x))
    quiet = replace(subject, mode="training", quiet=True)
    quiet_training = False
    with suppress(SubjectError):  # it cannot be trained: "runs" says so
        quiet_training = matches(called(quiet, 0), called(quiet, 1))
    return Chance(evaluation, noisy, quiet_training)


def _hides_future(subject: ModuleSubject) -> bool:
    """Tell whether the future is hidden without being asked for."""
    try:
        seen = influence(subject, subject.words(1, subject.length), causal=False).nan_to_num(0.0)
    except SubjectError:  # no gradient, as where the input is overwritten
        return False
    return not seen.triu(1).any() and bool(seen.tril(-1).any())
