"""Check an attention function: any function with the signature of PyTorch's."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, NoneType

import torch
from torch import Tensor

from attn_docs._checks import check_callable
from attn_docs.testing.checks import functions, long, paths, shared, slopes
from attn_docs.testing.checks.masks import AXIS, PLACE, POLARITY, mask_check, mask_used
from attn_docs.testing.function_insight import FunctionInsight, look_at
from attn_docs.testing.function_subject import OPTIONS, subject_of
from attn_docs.testing.judgement import Judgement, because, findings
from attn_docs.testing.random_state import random_state_kept
from attn_docs.testing.report import ATTENTION, Report, check_names, check_reasons, waived
from attn_docs.testing.subject import SubjectError, one_thread


def check_attention(
    attend: Callable[..., Tensor],
    *,
    attn_mask: bool | None = None,
    is_causal: bool | None = None,
    dropout_p: bool | None = None,
    scale: bool | None = None,
    enable_gqa: bool | None = None,
    device: torch.device | str = "cpu",
    require: Sequence[str] = (),
    waive: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Check a function `attend(query, key, value, attn_mask, dropout_p, is_causal, …)`.

    Query is (batch, heads, n, head_dim), key (batch, heads, m, head_dim), value (batch, heads, m,
    size), as in `torch.nn.functional.scaled_dot_product_attention`; a boolean mask is True where
    a query may attend. Nothing of `attn_docs` needs to be in it.

    Args:
        attend: The function.
        attn_mask: Whether it takes a mask; read from its signature if None.
        is_causal: Whether it takes the flag that hides the future; the same.
        dropout_p: Whether it takes the probability that a weight is dropped; the same.
        scale: Whether it takes a factor on the scores; the same.
        enable_gqa: Whether it takes fewer key and value heads; the same.
        device: Where the tensors are made.
        require: Properties that have to be judged besides `attn_docs.testing.ATTENTION`, as
            "oracle" or "dropout": otherwise the verdict is "not judged".
        waive: Properties that may fail, each with the reason, which the report shows.

    Returns:
        A `Report` with one finding for each of `attn_docs.testing.PROPERTIES`.

    Raises:
        TypeError: If `attend` cannot be called, or another argument has the wrong type.
        ValueError: If `device` names none, or `attend` does not run on plain queries, keys and
            values, with what it raised.

    Example:
        ```python
        import torch.nn.functional as F

        from attn_docs.testing import check_attention

        print(check_attention(F.scaled_dot_product_attention).passed)
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
    place = device_of(device)
    with one_thread(), random_state_kept(), torch.enable_grad():
        try:
            insight = look_at(subject_of(attend, told, place))
        except SubjectError as error:
            raise ValueError(f"attend must run on every call; it raised {error}") from error
        found = waived(findings(CHECKS, insight, not_asked), waive)
    name = getattr(attend, "__name__", type(attend).__name__)
    return Report(name, found, (*ATTENTION, *require))


def device_of(device: torch.device | str) -> torch.device:
    """Return the device that a name stands for."""
    if not isinstance(device, (str, torch.device)):
        raise TypeError(f"device must be a torch.device or its name; got {device!r}")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must name a torch device; got {device!r}") from error


def not_asked(name: str) -> str:
    """Say why a property is not asked about; empty if it is."""
    return "" if name in CHECKS else "a property of modules; see check_module"


CHECKS: dict[str, Callable[[FunctionInsight], Judgement]] = {
    "runs": paths.runs,
    "oracle": functions.oracle,
    "scale": functions.scale,
    "weights": functions.weights,
    "gradients": slopes.slopes,
    "attends": shared.attends,
    "equal words": because(
        shared.equal_words, lambda insight: insight.root_cause or "the weights do not sum to one"
    ),
    "group order": functions.group_order,
    "mask used": mask_used,
    "mask polarity": mask_check(*POLARITY),
    "mask axis": mask_check(*AXIS),
    "mask place": mask_check(*PLACE),
    "causality": functions.causality,
    "prefix": because(shared.prefix, "later positions change earlier ones"),
    "padding": because(
        shared.padding, "masked keys still get a weight: the fill value is too small"
    ),
    "empty rows": shared.empty_rows,
    "packing": because(shared.packing, functions.documents_mixed),
    "long sequences": long.long_sequences,
    "flags agree": paths.flags_agree,
    "batch": because(
        shared.batch,
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
