"""Run an attention function: any function with the signature of PyTorch's."""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attn_docs.testing.function_call import Call, scaled_by
from attn_docs.testing.patterns import LENGTH, LENGTHS
from attn_docs.testing.subject import Mode, SubjectError, WrongShapeError, foreign

# Sizes such that no two of the divisors that are searched are the same number.
BATCH, HEADS, QUERIES, KEYS, HEAD_DIM, VALUE_DIM = 2, 10, 5, 7, 16, 24
LONG = (70, 130)  # more than a block of most kernels
DTYPES = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
# How far rounding may carry a result, as a share of its largest number.
EXACT, SINGLE = 1e-9, 1e-5


@dataclass(frozen=True, eq=False)
class FunctionSubject:
    """A function, the options that it takes, the sizes and the precision that it runs in.

    To the checks that modules have as well, a token is a query, a key and a value, side by side.
    A function that runs on blocks of a length only gets each token as often as fills a block: with
    each key equally often the weights of a token stay what they are, and the last of its copies
    sees with is_causal just the tokens up to it.
    """

    function: Callable[..., Any]
    how_called: Call
    device: torch.device
    dtype: torch.dtype = torch.float64
    tolerance: float = EXACT
    head_dim: int = HEAD_DIM
    value_dim: int = VALUE_DIM
    lengths: tuple[tuple[int, int], ...] = ()  # those that the reader asks for; any if empty
    square: bool = False  # it runs only on as many queries as keys
    told: bool = False  # whether the reader named the dtype
    differentiable: bool = True

    mode: ClassVar[Mode] = "evaluation"
    modes: ClassVar[Sequence[Mode]] = ("evaluation",)
    seeds = (0,)
    weights_from: ClassVar[str] = "softmax"
    length: ClassVar[int] = LENGTH
    masks_keys_alone = masks_each_sample = positions = always_causal = windowed = False
    takes_context = True

    @property
    def parameters(self) -> dict[str, Tensor]:
        """What it learns, by name."""
        return {}

    @property
    def counts(self) -> Sequence[int]:
        """How many tokens it must take; where each fills a block, few."""
        return LENGTHS if self.block == 1 else (1, 2, LENGTH)

    @property
    def parts(self) -> Mapping[str, slice]:
        """Which of the numbers of a token each of the arguments that hold tokens gets."""
        end = 2 * self.head_dim
        return {
            "query": slice(0, self.head_dim),
            "key": slice(self.head_dim, end),
            "value": slice(end, None),
        }

    def runs_on(self, *lengths: int) -> bool:  # noqa: ARG002
        """Tell whether it can be asked for so many tokens."""
        return True

    def tries(self, length: int) -> bool:  # noqa: ARG002
        """Tell whether it takes so many tokens, if nobody said how many it must take."""
        return not self.lengths

    def shown(self, length: int) -> Tensor:
        """Return (length, length): which tokens each may see where the future is hidden."""
        return torch.ones(length, length, dtype=torch.bool, device=self.device).tril()

    @property
    def takes(self) -> frozenset[str]:
        """The options that it takes."""
        return frozenset(self.how_called.names)

    @property
    def block(self) -> int:
        """How often a token is given."""
        return math.gcd(*itertools.chain(*self.lengths)) if self.lengths else 1

    @property
    def plain(self) -> tuple[int, int]:
        """Numbers of queries and of keys to look at: different, if it runs on that."""
        if self.lengths:
            return next((pair for pair in self.lengths if pair[0] != pair[1]), self.lengths[0])
        return (KEYS if self.square else QUERIES), KEYS

    def inputs(
        self,
        *,
        n: int | None = None,
        m: int | None = None,
        heads: int = HEADS,
        kv_heads: int | None = None,
        batch: int = BATCH,
        seed: int = 0,
    ) -> list[Tensor]:
        """Return random query, key and value, the same for the same arguments."""
        n = self.plain[0] if n is None else n
        m = self.plain[1] if m is None else m
        kv_heads = heads if kv_heads is None else kv_heads
        generator = torch.Generator().manual_seed(n + 10 * m + 100 * kv_heads + 1000 * seed)
        sizes = (
            (heads, n, self.head_dim),
            (kv_heads, m, self.head_dim),
            (kv_heads, m, self.value_dim),
        )
        return [
            torch.randn(batch, *size, generator=generator, dtype=torch.float64).to(
                self.device, self.dtype
            )
            for size in sizes
        ]

    def words(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random tokens, the same for the same arguments."""
        return torch.cat(self.inputs(n=length, m=length, batch=batch, seed=seed), -1)

    def contexts(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random tokens to attend to, the same for the same arguments."""
        return self.words(batch, length, seed=seed + 1)

    def attend(self, *inputs: Tensor, **options: Any) -> Tensor:
        """Call the function on copies: what it writes into its arguments is judged apart."""
        query, _, value = inputs
        given = self.how_called.options(options, query)
        arranged = [self.how_called.arranged(part) for part in inputs]
        with foreign():
            returned = self.function(*arranged, **given)
        return self.how_called.read(returned, query, value)

    def weights(self, query: Tensor, key: Tensor, **options: Any) -> Tensor:
        """Return the weights (batch, heads, n, m): values of ones and zeros show them."""
        m, size, parts = key.size(-2), self.value_dim, []
        for start in range(0, m, size):
            count = min(size, m - start)
            value = torch.zeros(*key.shape[:-1], size, dtype=key.dtype, device=key.device)
            value[..., start : start + count, :count] = torch.eye(count).to(value)
            parts.append(self.attend(query, key, value, **options)[..., :count])
        return torch.cat(parts, -1)

    def call(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        context: Tensor | None = None,
        *,
        causal: bool | None = None,
    ) -> Tensor:
        """Attend from the queries of `x` to the keys and values of `context`, or of `x`."""
        parts, options = self.given(x, mask, x if context is None else context, causal)
        return self.attend(*parts, **options)[..., self.block - 1 :: self.block, :]

    def written(self, x: Tensor, mask: Tensor | None) -> list[str]:
        """Return the names of the arguments that a call writes into."""
        parts, options = self.given(x, mask, x, None)
        arranged = [self.how_called.arranged(part) for part in parts]
        translated = self.how_called.options(options, parts[0])
        given = dict(zip(self.parts, arranged, strict=True)) | translated
        before = {name: one.clone() for name, one in given.items() if isinstance(one, Tensor)}
        with foreign():
            self.function(*arranged, **translated)
        return [name for name in before if not torch.equal(given[name], before[name])]

    def given(
        self, x: Tensor, mask: Tensor | None, context: Tensor, causal: bool | None
    ) -> tuple[list[Tensor], dict[str, Any]]:
        """Return query, key and value, each token as often as fills a block, and the options."""
        sizes, block = [self.head_dim, self.head_dim, self.value_dim], self.block
        query, _, _ = torch.split(x, sizes, -1)
        _, key, value = torch.split(context, sizes, -1)
        parts = [part.repeat_interleave(block, -2) for part in (query, key, value)]
        options: dict[str, Any] = {"is_causal": True} if causal else {}
        if mask is not None:
            filled = mask.repeat_interleave(block, -1).repeat_interleave(block, -2)
            options["attn_mask"] = filled
        return parts, options

    def returns_several(self) -> bool:
        """Tell whether it returns a tuple."""
        inputs = self.inputs(n=self.plain[0], m=self.plain[1])
        given = self.how_called.options({}, inputs[0])
        with foreign():
            returned = self.function(*map(self.how_called.arranged, inputs), **given)
        return isinstance(returned, (tuple, list))

    def to(self, dtype: torch.dtype) -> Self:
        """Return the same in another precision, unless it was told to run in one."""
        return self if self.told else replace(self, dtype=dtype)

    def in_mode(self, mode: Mode) -> Self:  # noqa: ARG002  (a function has one mode)
        """Return the same: a function computes the same in both modes."""
        return self


@dataclass(frozen=True)
class Wanted:
    """What the reader says of a function's tensors; None and nothing where it is not said."""

    dtype: torch.dtype | None = None
    head_dim: int | None = None
    value_dim: int | None = None
    lengths: tuple[tuple[int, int], ...] = ()


def subject_of(
    function: Callable[..., Any], call: Call, wanted: Wanted, device: torch.device
) -> FunctionSubject:
    """Return the function as a subject, in the first precision and sizes that it runs on."""
    tried = list(_attempts(function, call, wanted, device))
    first: SubjectError | None = None
    for subject in tried:
        try:
            _run_plainly(subject)
        except SubjectError as error:
            first = first or error
        else:
            subject = replace(  # noqa: PLW2901  (the same, with what was guessed)
                subject, how_called=_said(subject, tried[0], first), tolerance=_tolerance(subject)
            )
            return _effective(subject)
    query, key, value = (str(tuple(tensor.shape)) for tensor in tried[0].inputs())
    raise ValueError(
        f"attend must run on query {query}, key {key} and value {value}; it raised {first}"
        f"{_hint(first)}"
    ) from first


def _attempts(
    function: Callable[..., Any], call: Call, wanted: Wanted, device: torch.device
) -> Iterator[FunctionSubject]:
    """Yield the function in one precision and size after the other, PyTorch's freedom first."""
    head_dim = wanted.head_dim or HEAD_DIM
    for dtype in DTYPES if wanted.dtype is None else (wanted.dtype,):
        for square in (False,) if wanted.lengths else (False, True):
            for value_dim in (wanted.value_dim,) if wanted.value_dim else (VALUE_DIM, head_dim):
                yield FunctionSubject(
                    function,
                    scaled_by(call, head_dim),
                    device,
                    dtype,
                    head_dim=head_dim,
                    value_dim=value_dim,
                    lengths=wanted.lengths,
                    square=square,
                    told=wanted.dtype is not None,
                )


def _run_plainly(subject: FunctionSubject) -> None:
    """Run the plain call in the lengths that were asked for, and on as many blocks as needed."""
    for n, m in subject.lengths:
        subject.attend(*subject.inputs(n=n, m=m))
    if not subject.lengths:
        subject.attend(*subject.inputs())
    elif subject.block > 1:
        try:
            subject.call(subject.words(BATCH, LENGTH))
        except SubjectError as error:
            raise ValueError(
                f"lengths must have a common divisor of which the function takes any multiple; "
                f"got {subject.lengths}, and {LENGTH * subject.block} raised {error}"
            ) from error


def _said(subject: FunctionSubject, first: FunctionSubject, why: SubjectError | None) -> Call:
    """Return the call with what was guessed: the first of a tuple, equal sizes, a precision."""
    guesses = list(subject.how_called.guesses)
    if subject.value_dim != first.value_dim:
        guesses.append(f"values are as wide as keys, since {first.value_dim} raised {why}")
    if subject.dtype != first.dtype:
        guesses.append(
            f"run in {name_of(subject.dtype)}, since {name_of(first.dtype)} raised {why}"
        )
    if subject.how_called.output is None and subject.returns_several():
        guesses.append("the first of what it returns is taken for the output")
    return replace(subject.how_called, guesses=tuple(guesses))


def _hint(error: SubjectError | None) -> str:
    """Say which argument describes a function of another shape."""
    if isinstance(error, WrongShapeError):
        return "; output= takes the output out of what is returned, layout= names its axes"
    return "; names=, layout=, dtype=, head_dim=, value_dim= and lengths= describe another call"


def _tolerance(subject: FunctionSubject) -> float:
    """Return how far rounding may carry: in half precision, twice as far as PyTorch's kernel."""
    if subject.dtype == torch.float64:
        return EXACT
    if subject.dtype == torch.float32:
        return SINGLE
    query, key, value = subject.inputs()
    exact = scaled_dot_product_attention(query.double(), key.double(), value.double())
    error = (scaled_dot_product_attention(query, key, value).double() - exact).abs().max()
    rounding = 4 * torch.finfo(subject.dtype).eps
    return max(2 * (error / exact.abs().max()).item(), rounding)


def _effective(subject: FunctionSubject) -> FunctionSubject:
    """Return the subject without the options that its `**kwargs` swallow without effect."""
    call = subject.how_called
    n, m = subject.lengths[0] if subject.lengths else (KEYS, KEYS)
    inputs = subject.inputs(n=n, m=m)
    plain, values = (
        subject.attend(*inputs),
        {
            "attn_mask": torch.ones(n, m, dtype=torch.bool, device=subject.device).tril(),
            "dropout_p": 0.5,
            "is_causal": True,
            "scale": 0.01,
        },
    )
    for option in sorted(call.unsure):
        try:
            if option == "enable_gqa":
                subject.attend(*subject.inputs(n=n, m=m, kv_heads=2), enable_gqa=True)
                continue
            if not torch.equal(subject.attend(*inputs, **{option: values[option]}), plain):
                continue
        except SubjectError as error:
            if option != "enable_gqa" and not isinstance(error.__cause__, TypeError):
                continue  # it does something with it, and is judged
        call = replace(call, names={k: v for k, v in call.names.items() if k != option})
    return replace(subject, how_called=call)


def name_of(dtype: torch.dtype) -> str:
    """Return the name of a type of numbers, as float32."""
    return str(dtype).removeprefix("torch.")
