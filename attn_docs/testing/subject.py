"""What is checked, as the checks of functions and of modules both see it: tokens in, tokens out."""

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, Protocol, Self

import torch
from torch import Tensor

CONTEXT_NAMES = ("context", "memory", "encoder_hidden_states", "key_value_states", "cond")
Mode = Literal["evaluation", "training"]
PYTORCH, OURS = Path(torch.__file__).parent, Path(__file__).parent
SEEDS = range(8)  # as many as uncover what dropout hides


class SubjectError(Exception):
    """What is checked raised or returned something wrong: not an error of the checker."""

    def __init__(self, kind: str, reason: str, place: str = "") -> None:
        super().__init__(f"{kind}: {reason}{place}")
        self.reason = reason


class WrongShapeError(SubjectError):
    """What is checked returned tokens of another shape than it was asked for."""

    def __init__(self, returned: object, wanted: str) -> None:
        super().__init__("ValueError", f"it returned {returned}, not {wanted}")
        self.shape = tuple(returned) if isinstance(returned, torch.Size) else ()


def declines_context(error: SubjectError) -> bool:
    """Tell whether somebody wrote that a context is not taken: a shape that fails says less."""
    cause, said = error.__cause__, error.reason.lower()
    return isinstance(cause, NotImplementedError) or (
        isinstance(cause, ValueError) and any(name in said for name in CONTEXT_NAMES)
    )


@contextmanager
def foreign() -> Iterator[None]:
    """Run code that somebody else wrote: what it raises becomes a `SubjectError`."""
    try:
        yield
    except Exception as error:
        raise SubjectError(type(error).__name__, str(error), _place(error)) from error


def _place(error: Exception) -> str:
    """Return where the innermost line stands that is neither PyTorch's nor the checker's."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if not any(path.is_relative_to(folder) for folder in (PYTORCH, OURS)):
            return f" ({path.name}:{frame.lineno}, in {frame.name})"
    return ""


def tensor_of(output: object, axes: str) -> Tensor:
    """Return what came out, if it is a tensor of floating-point numbers with these axes."""
    if not isinstance(output, Tensor) or output.ndim != len(axes.split(",")):
        raise WrongShapeError(getattr(output, "shape", type(output).__name__), axes)
    if not output.is_floating_point():
        raise WrongShapeError(output.dtype, "floating-point numbers")
    return output


class Subject(Protocol):
    """An attention function, or an attention module.

    Tokens are (batch, length, size) for a module. For a function they have an axis of heads
    before the length, and each is a query, a key and a value, side by side.
    """

    @property
    def device(self) -> torch.device:
        """Where the tokens are made."""

    @property
    def tolerance(self) -> float:
        """How far rounding may carry numbers of size one."""

    @property
    def differentiable(self) -> bool:
        """Whether gradients can be asked for."""

    @property
    def mode(self) -> Mode:
        """The mode in which it computes."""

    @property
    def modes(self) -> Sequence[Mode]:
        """The modes in which it may compute something else."""

    @property
    def seeds(self) -> Sequence[int]:
        """As many seeds as uncover what dropout hides."""

    @property
    def weights_from(self) -> str:
        """What its weights were said to come from: a softmax, one with sinks, or a sigmoid."""

    @property
    def length(self) -> int:
        """How many tokens most checks use."""

    @property
    def counts(self) -> Sequence[int]:
        """How many tokens it must take."""

    def runs_on(self, *lengths: int) -> bool:
        """Tell whether it can be asked for so many tokens."""

    def tries(self, length: int) -> bool:
        """Tell whether it takes so many tokens, if nobody said how many it must take."""

    @property
    def parameters(self) -> Mapping[str, Tensor]:
        """What it learns, by name."""

    @property
    def parts(self) -> Mapping[str, slice]:
        """Which of the numbers of a token each of the arguments that hold tokens gets."""

    @property
    def masks_keys_alone(self) -> bool:
        """Whether a mask says the same for all queries."""

    @property
    def masks_each_sample(self) -> bool:
        """Whether each sample of a batch may have a mask of its own."""

    @property
    def positions(self) -> bool:
        """Whether it was said to add positions of its own."""

    @property
    def always_causal(self) -> bool:
        """Whether it hides the future unasked."""

    @property
    def windowed(self) -> bool:
        """Whether it was said that a token sees the last few tokens alone."""

    def shown(self, length: int) -> Tensor:
        """Return (length, length): which tokens each may see where the future is hidden."""

    @property
    def takes_context(self) -> bool:
        """Whether it can attend to tokens that are given apart."""

    def words(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random tokens, the same for the same arguments."""

    def contexts(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random tokens to attend to, the same for the same arguments."""

    def call(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        context: Tensor | None = None,
        *,
        causal: bool | None = None,
    ) -> Tensor:
        """Attend from `x` to `context`, or to `x`; causal as the check was told, if None."""

    def written(self, x: Tensor, mask: Tensor | None) -> list[str]:
        """Return the names of the arguments that a call writes into."""

    def to(self, dtype: torch.dtype) -> Self:
        """Return the same in another precision."""

    def in_mode(self, mode: Mode) -> Self:
        """Return the same in another mode, without dropout where that is possible."""


def gradients(output: Tensor, sources: Sequence[Tensor], *, retain: bool = False) -> list[Tensor]:
    """Return the gradient of one number with respect to each source; zero where it has no part."""
    if not all(source.requires_grad for source in sources):
        raise ValueError("sources must require a gradient")
    with foreign():
        return list(
            torch.autograd.grad(
                output, sources, retain_graph=retain, allow_unused=True, materialize_grads=True
            )
        )


def influence(
    subject: Subject,
    x: Tensor,
    mask: Tensor | None = None,
    context: Tensor | None = None,
    *,
    causal: bool | None = None,
) -> Tensor:
    """Return (n, m): how strongly output i depends on token j, by gradient.

    Tokens are those of the context, or of `x` if there is none.
    """
    x = x.clone().requires_grad_()
    source = x if context is None else context.clone().requires_grad_()
    output = subject.call(x, mask, None if context is None else source, causal=causal)
    direction = torch.linspace(0.5, 1.5, output.size(-1)).to(output)
    rows = []
    for i in range(output.size(-2)):
        value = (output[..., i, :] * direction).sum()
        (gradient,) = gradients(value, [source], retain=True)
        rows.append(gradient.abs().sum(-1).flatten(0, -2).sum(0))
    return torch.stack(rows)


def strongest(
    subject: Subject, x: Tensor, mask: Tensor | None = None, *, causal: bool | None = None
) -> Tensor:
    """Return the influence with what dropout hides uncovered; NaN counts as none."""
    made = []
    for seed in subject.seeds:
        seeded(seed, subject.device)
        made.append(influence(subject, x, mask, causal=causal).nan_to_num(0.0))
    return torch.stack(made).amax(0)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run on one thread: tensors this small wait for threads far longer than they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def seeded(seed: int, device: torch.device) -> None:
    """Seed what random numbers on a device come from."""
    if device.type == "cpu":  # torch.manual_seed takes 70 times as long, for devices not in use
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)
