"""Run an attention function: any function with the signature of PyTorch's."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from attn_docs.testing.patterns import LENGTH, LENGTHS
from attn_docs.testing.subject import Mode, SubjectError, WrongShapeError, foreign, tensor_of

OPTIONS = ("attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")
AXES = "(batch, heads, length, size)"
BATCH, HEADS, QUERIES, KEYS, HEAD_DIM, VALUE_DIM = 2, 4, 5, 7, 16, 6


@dataclass(frozen=True, eq=False)
class FunctionSubject:
    """A function, the options that it takes, and the precision that it runs in.

    To the checks that modules have as well, a word is a query, a key and a value, side by side.
    """

    function: Callable[..., Tensor]
    takes: frozenset[str]
    device: torch.device
    dtype: torch.dtype = torch.float64
    square: bool = False  # it runs only on as many queries as keys

    mode: ClassVar[Mode] = "evaluation"
    modes: ClassVar[Sequence[Mode]] = ("evaluation",)
    seeds = (0,)
    tolerance = 1e-9
    weights: ClassVar[str] = "softmax"
    length: ClassVar[int] = LENGTH
    lengths: ClassVar[Sequence[int]] = LENGTHS
    parts: ClassVar[Mapping[str, slice]] = {
        "query": slice(0, HEAD_DIM),
        "key": slice(HEAD_DIM, 2 * HEAD_DIM),
        "value": slice(2 * HEAD_DIM, None),
    }
    masks_keys_alone = masks_each_sample = positions = always_causal = False
    takes_context = True

    @property
    def parameters(self) -> dict[str, Tensor]:
        """What it learns, by name."""
        return {}

    def runs_on(self, *lengths: int) -> bool:  # noqa: ARG002
        """Tell whether it can be asked for so many words."""
        return True

    def shown(self, length: int) -> Tensor:
        """Return (length, length): which words each may see where the future is hidden."""
        return torch.ones(length, length, dtype=torch.bool, device=self.device).tril()

    @property
    def queries(self) -> int:
        """Another number of queries than of keys, if it runs on that."""
        return KEYS if self.square else QUERIES

    def inputs(
        self,
        *,
        n: int | None = None,
        m: int = KEYS,
        kv_heads: int = HEADS,
        batch: int = BATCH,
        seed: int = 0,
    ) -> list[Tensor]:
        """Return random query, key and value, the same for the same arguments."""
        n = self.queries if n is None else n
        generator = torch.Generator().manual_seed(n + 10 * m + 100 * kv_heads + 1000 * seed)
        shapes = ((HEADS, n, HEAD_DIM), (kv_heads, m, HEAD_DIM), (kv_heads, m, VALUE_DIM))
        return [
            torch.randn(batch, *shape, generator=generator, dtype=torch.float64).to(
                self.device, self.dtype
            )
            for shape in shapes
        ]

    def words(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random words, the same for the same arguments."""
        return torch.cat(self.inputs(n=length, m=length, batch=batch, seed=seed), -1)

    def contexts(self, batch: int, length: int, *, seed: int = 0) -> Tensor:
        """Return random words to attend to, the same for the same arguments."""
        return self.words(batch, length, seed=seed + 1)

    def attend(self, *inputs: Tensor, **options: Any) -> Tensor:
        """Call the function on copies: what it writes into its arguments is judged apart."""
        query, _, value = inputs
        mask = options.get("attn_mask")
        if mask is not None:
            options["attn_mask"] = mask.clone()
        with foreign():
            output = self.function(*map(_copy, inputs), **options)
        output = tensor_of(output, AXES)
        if output.shape != (*query.shape[:-1], value.size(-1)):
            raise WrongShapeError(output.shape, str((*query.shape[:-1], value.size(-1))))
        return output

    def call(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        context: Tensor | None = None,
        *,
        causal: bool | None = None,
    ) -> Tensor:
        """Attend from the queries of `x` to the keys and values of `context`, or of `x`."""
        query, _, _ = _parts(x)
        _, key, value = _parts(x if context is None else context)
        return self.attend(query, key, value, **self._options(mask, causal))

    def written(self, x: Tensor, mask: Tensor | None) -> list[str]:
        """Return the names of the arguments that a call writes into."""
        parts, options = [_copy(part) for part in _parts(x)], self._options(mask, None)
        given = dict(zip(self.parts, parts, strict=True)) | options
        before = {name: tensor.clone() for name, tensor in given.items()}
        with foreign():
            self.function(*parts, **options)
        return [name for name in given if not torch.equal(given[name], before[name])]

    def _options(self, mask: Tensor | None, causal: bool | None) -> dict[str, Any]:
        options = {"attn_mask": mask, "is_causal": causal or None}
        return {name: value for name, value in options.items() if value is not None}

    def to(self, dtype: torch.dtype) -> Self:
        """Return the same in another precision."""
        return replace(self, dtype=dtype)

    def in_mode(self, mode: Mode) -> Self:  # noqa: ARG002  (a function has one mode)
        """Return the same: a function computes the same in both modes."""
        return self


def _copy(tensor: Tensor) -> Tensor:
    return tensor.clone(memory_format=torch.contiguous_format)


def _parts(words: Tensor) -> tuple[Tensor, ...]:
    return torch.split(words, [HEAD_DIM, HEAD_DIM, VALUE_DIM], -1)


def subject_of(
    function: Callable[..., Tensor], told: dict[str, bool | None], device: torch.device
) -> FunctionSubject:
    """Return the function as a subject, on as many queries as keys if it runs on no others."""
    known = _options_of(function)
    takes = {name for name in OPTIONS if (name in known if told[name] is None else told[name])}
    for square in (False, True):
        subject = FunctionSubject(function, frozenset(takes), device, square=square)
        inputs = subject.inputs()
        try:
            subject.attend(*inputs)
        except SubjectError as error:
            failed = error
        else:
            return subject
    query, key, value = (tuple(tensor.shape) for tensor in inputs)
    raise ValueError(
        f"attend must run on query {query}, key {key} and value {value}; it raised {failed}"
    ) from failed


def _options_of(function: Callable[..., Tensor]) -> set[str]:
    """Return the options that a function takes, all if its signature cannot be read."""
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # a function written in C, as PyTorch's
        return set(OPTIONS)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return set(OPTIONS)
    return set(parameters) & set(OPTIONS)
