"""Check an attention function: any function with the signature of PyTorch's."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType, NoneType
from typing import Any

import torch
from torch import Tensor

from attn_docs._checks import check_callable, check_flag, check_positive, check_size
from attn_docs.testing.checks import (
    called_knobs,
    forward_only,
    functions,
    long,
    paths,
    plain,
    shared,
    slopes,
)
from attn_docs.testing.checks.masks import AXIS, PLACE, POLARITY, mask_check, mask_used
from attn_docs.testing.function_call import (
    LAYOUTS,
    MASK_TRUE,
    OPTIONS,
    Call,
    Layout,
    MaskTrue,
    call_of,
)
from attn_docs.testing.function_insight import FunctionInsight, look_at
from attn_docs.testing.function_subject import DTYPES, Wanted, subject_of
from attn_docs.testing.judgement import Judgement, because, findings, unknown
from attn_docs.testing.knobs import check_knobs
from attn_docs.testing.random_state import random_state_kept
from attn_docs.testing.report import ATTENTION, Report, check_names, check_reasons, timed, waived
from attn_docs.testing.subject import SubjectError, one_thread


@timed
def check_attention(
    attend: Callable[..., Any],
    *,
    attn_mask: bool | None = None,
    is_causal: bool | None = None,
    dropout_p: bool | None = None,
    scale: bool | None = None,
    enable_gqa: bool | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
    mask_true: MaskTrue = "attends",
    layout: Layout = "bhnd",
    output: Callable[[Any], Tensor] | None = None,
    dtype: torch.dtype | None = None,
    head_dim: int | None = None,
    value_dim: int | None = None,
    lengths: tuple[int, int] | Sequence[tuple[int, int]] = (),
    softcap: float | None = None,
    knobs: Mapping[str, Any] = MappingProxyType({}),
    backward: bool = True,
    device: torch.device | str = "cpu",
    require: Sequence[str] = (),
    waive: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Check a function `attend(query, key, value, attn_mask, dropout_p, is_causal, …)`.

    Query is (batch, heads, n, head_dim), key (batch, heads, m, head_dim), value (batch, heads, m,
    size), as in `torch.nn.functional.scaled_dot_product_attention`; a boolean mask is True where
    a query may attend. Other conventions can be described. What is guessed, as that an argument
    `mask` is the mask, or that the first of a tuple is the output, the evidence of "oracle" says.
    Nothing of `attn_docs` needs to be in it.

    Args:
        attend: The function.
        attn_mask: Whether it takes a mask; read from its signature if None.
        is_causal: Whether it takes the flag that hides the future; the same.
        dropout_p: Whether it takes the probability that a weight is dropped; the same.
        scale: Whether it takes a factor on the scores; the same.
        enable_gqa: Whether it takes fewer key and value heads; the same.
        names: Its names for these five, as `{"is_causal": "causal", "scale": "softmax_scale"}`.
        mask_true: What True means in its mask: "attends", "blocks", or "added" for a mask of 0 and
            the dtype's most negative number, which is added to the scores.
        layout: The axes of query, key, value and output: "bhnd", "bnhd" for (batch, length,
            heads, size), or "hnd" for (heads, length, size) without a batch.
        output: Takes the output out of what it returns; the first of a tuple if None.
        dtype: The only one that it runs in. Rounding may then carry a result as far as in
            PyTorch's own kernel, twice over. None tries float64 first; a function that computes
            in float32 inside is recognised.
        head_dim: Size of a query and a key; 16 if None.
        value_dim: Size of a value; 24 if None, or head_dim if it takes no other.
        lengths: Pairs of a number of queries and of keys at which it is run, for kernels with
            blocks. Other checks run it on multiples of their greatest common divisor.
        softcap: The c of scores c · tanh(scores / c), a claim that is verified.
        knobs: Arguments of its own, each with a value that must change the output, as
            `{"softcap": 2.0}`. Those with common names are found: a softcap, window or sinks that
            are accepted and ignored, or do something else, fail.
        backward: Whether gradients are asked for; False for a kernel of inference.
        device: Where the tensors are made.
        require: Properties that have to be judged besides `attn_docs.testing.ATTENTION`, as
            "oracle" or "dropout": otherwise the verdict is "not judged".
        waive: Properties that may fail, each with the reason, which the report shows.

    Returns:
        A `Report` with one finding for each of `attn_docs.testing.PROPERTIES`. A formula that is
        not the usual one leaves "oracle" not judged: other calls are then compared with the plain
        one.

    Raises:
        TypeError: If `attend` cannot be called, or another argument has the wrong type.
        ValueError: If another argument names none of its choices, if `attend` has no argument of
            a name that is given, or does not run on plain queries, keys and values, with what it
            raised.

    Example:
        ```python
        import torch.nn.functional as F

        from attn_docs.testing import check_attention

        print(check_attention(F.scaled_dot_product_attention).passed)
        #> True


        def theirs(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False):
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
            y = F.scaled_dot_product_attention(
                q, k, v, dropout_p=dropout_p, is_causal=causal, scale=softmax_scale
            )
            return y.transpose(1, 2), None


        print(check_attention(theirs, layout="bnhd").passed)
        #> True
        ```
    """
    check_callable("attend", attend)
    told = dict(zip(OPTIONS, (attn_mask, dropout_p, is_causal, scale, enable_gqa), strict=True))
    for name, given in told.items():
        if not isinstance(given, (bool, NoneType)):
            raise TypeError(f"{name} must be True, False or None; got {given!r}")
    check_names("require", require)
    check_reasons(waive)
    check_flag("backward", backward)
    if softcap is not None:
        check_positive("softcap", softcap)
    _check_named(attend, knobs)
    place = device_of(device)
    call = _described(call_of(attend, told, _names(names, told)), mask_true, layout, output)
    wanted = _wanted(dtype, head_dim, value_dim, lengths)
    with one_thread(), random_state_kept(), torch.enable_grad():
        try:
            subject = subject_of(attend, call, wanted, place)
            insight = replace(look_at(subject, softcap, backward=backward), knobs=knobs)
        except SubjectError as error:
            raise ValueError(f"attend must run on every call; it raised {error}") from error
        found = waived(findings(CHECKS, insight, not_asked), waive)
    name = getattr(attend, "__name__", type(attend).__name__)
    return Report(name, found, (*ATTENTION, *require))


def _names(names: Mapping[str, str], told: Mapping[str, bool | None]) -> Mapping[str, str]:
    """Return the names that others give to PyTorch's arguments, if they are such."""
    if not isinstance(names, Mapping):
        raise TypeError(f"names must map PyTorch's names to those of attend; got {names!r}")
    for option, name in names.items():
        if option not in OPTIONS:
            raise ValueError(f"names must have keys of {', '.join(OPTIONS)}; got {option!r}")
        if not isinstance(name, str):
            raise TypeError(f"names must give {option} the name of an argument; got {name!r}")
        if told[option] is False:
            raise ValueError(f"names must not name what attend does not take; got {option!r}")
    return names


def _check_named(attend: Callable[..., Any], knobs: Mapping[str, Any]) -> None:
    """Refuse knobs that the function does not take."""
    check_knobs(knobs)
    try:
        parameters = inspect.signature(attend).parameters
    except ValueError:  # written in C
        return
    swallows = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in knobs:
        if name not in parameters and not swallows:
            raise ValueError(
                f"knobs must name arguments of attend, which has {', '.join(parameters)}; "
                f"got {name!r}"
            )


def _described(call: Call, mask_true: Any, layout: Any, output: Any) -> Call:
    """Return the call with what the reader says of masks, axes and the output."""
    choices = {"mask_true": (mask_true, MASK_TRUE), "layout": (layout, LAYOUTS)}
    for name, (given, allowed) in choices.items():
        if given not in allowed:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, allowed))}; got {given!r}"
            )
    if output is not None:
        check_callable("output", output)
    return replace(call, mask_true=mask_true, layout=layout, output=output)


def _wanted(dtype: Any, head_dim: Any, value_dim: Any, lengths: Any) -> Wanted:
    """Return what the reader says of a function's tensors."""
    if not isinstance(dtype, (torch.dtype, NoneType)):
        raise TypeError(f"dtype must be a torch.dtype or None; got {dtype!r}")
    if dtype is not None and dtype not in DTYPES:
        allowed = ", ".join(map(str, DTYPES))
        raise ValueError(f"dtype must be one of {allowed}; got {dtype}")
    for name, size in (("head_dim", head_dim), ("value_dim", value_dim)):
        if size is not None:
            check_size(name, size)
    if not isinstance(lengths, Sequence) or isinstance(lengths, str):
        raise TypeError(f"lengths must be a pair of numbers, or several; got {lengths!r}")
    pairs = [lengths] if len(lengths) == 2 and isinstance(lengths[0], int) else list(lengths)
    for pair in pairs:
        if not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f"lengths must hold pairs (n, m); got {pair!r}")
        for length in pair:
            check_size("lengths", length)
    return Wanted(dtype, head_dim, value_dim, tuple((n, m) for n, m in pairs))


def _padding(insight: FunctionInsight) -> Judgement:
    """Judge padding by large numbers, where the precision holds their scores."""
    if insight.subject.dtype == torch.float16:
        return unknown("float16 does not hold the scores of the numbers in the slots")
    return shared.padding(insight)


def _mask_axis(insight: FunctionInsight) -> Judgement:
    """Judge the axes of queries and keys, then those of samples and heads."""
    judgement = mask_check(*AXIS)(insight)
    if judgement.verdict != "pass":
        return judgement
    axes = functions.mask_axes(insight)
    return axes if axes.verdict == "fail" else judgement


def device_of(device: torch.device | str) -> torch.device:
    """Return the device that a name stands for."""
    if not isinstance(device, (str, torch.device)):
        raise TypeError(f"device must be a torch.device or its name; got {device!r}")
    try:
        place = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must name a torch device; got {device!r}") from error
    if place.type in ("mps", "meta"):
        raise ValueError(f"device must be one that computes in float64; got {device!r}")
    return place


def not_asked(name: str) -> str:
    """Say why a property is not asked about; empty if it is."""
    return "" if name in CHECKS else "a property of modules; see check_module"


CHECKS: dict[str, Callable[[FunctionInsight], Judgement]] = {
    "runs": paths.runs,
    "oracle": plain.oracle,
    "scale": functions.scale,
    "weights": plain.weights,
    "gradients": slopes.slopes,
    "attends": forward_only.attends,
    "equal words": because(
        shared.equal_words,
        lambda insight: insight.root_cause or "the weights do not sum to one",
    ),
    "group order": functions.group_order,
    "mask used": mask_used,
    "mask polarity": mask_check(*POLARITY),
    "mask axis": _mask_axis,
    "mask place": mask_check(*PLACE),
    "causality": functions.causality,
    "prefix": because(shared.prefix, "later positions change earlier ones"),
    "padding": because(_padding, "masked keys still get a weight: the fill value is too small"),
    "empty rows": forward_only.empty_rows,
    "packing": because(shared.packing, functions.documents_mixed),
    "long sequences": long.long_sequences,
    "flags agree": paths.flags_agree,
    "options used": called_knobs.options_used,
    "batch": because(
        forward_only.batch,
        "samples or heads are mixed: the softmax or a view runs over the wrong axis",
    ),
    "permutation": because(
        functions.permutation, "something depends on where a key or query stands"
    ),
    "cross-attention": functions.lengths,
    "dropout": functions.dropout,
    "half precision": functions.half_precision,
    "input unchanged": shared.input_unchanged,
    "deterministic": because(
        shared.deterministic((0, 1), "two calls"), "something random runs without dropout_p"
    ),
}
