"""Check an attention module: its numbers from outside, its structure from its layers."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn

from attn_docs._checks import check_size
from attn_docs.testing.adapter import Adapter, adapter_for
from attn_docs.testing.checks import inside, kept_knobs, long, paths, said, shared, slopes
from attn_docs.testing.checks.cache import cache
from attn_docs.testing.checks.causal import causality, permutation, prefix_cause
from attn_docs.testing.checks.chance import dropout, dropout_off_in_eval
from attn_docs.testing.checks.context import cross_attention
from attn_docs.testing.checks.masks import AXIS, PLACE, POLARITY, mask_check, mask_used
from attn_docs.testing.claims import Claims, Positions, Weights
from attn_docs.testing.formula import MASKS
from attn_docs.testing.judgement import Judgement, because, findings
from attn_docs.testing.knobs import check_kept
from attn_docs.testing.module_insight import ModuleInsight, look_inside
from attn_docs.testing.module_subject import subject_of
from attn_docs.testing.patterns import LENGTHS
from attn_docs.testing.random_state import random_state_kept
from attn_docs.testing.report import ATTENTION, Report, check_names, check_reasons, timed, waived
from attn_docs.testing.subject import SubjectError, one_thread


@timed
def check_module(
    module: nn.Module,
    *,
    embed_dim: int,
    causal: bool = False,
    context_dim: int | None = None,
    num_heads: int | None = None,
    scale: float | None = None,
    positions: bool | Positions = False,
    window: int | None = None,
    prefix: int | None = None,
    dropout: float | None = None,
    weights: Weights = "softmax",
    lengths: Sequence[int] = LENGTHS,
    knobs: Mapping[str, Any] = MappingProxyType({}),
    adapter: Adapter | Callable[..., Tensor] | None = None,
    require: Sequence[str] = (),
    waive: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """Check a self- or cross-attention module, whoever wrote it.

    The module is copied, and the copy gets random weights and, where it can, float64: what is
    judged is the code, not what it learned. Nothing of `attn_docs` needs to be in it.

    Args:
        module: Called as `module(x)`, or with `attn_mask=`, `is_causal=` and `context=` if its
            `forward` has them. An `adapter` says what differs.
        embed_dim: Size of the vectors that come in.
        causal: Whether the future is hidden: with `is_causal=True` where the module takes it,
            otherwise by the module itself.
        context_dim: Size of the vectors attended to; `embed_dim` if None.
        num_heads: Number of query heads; searched for if None, which takes longer.
        scale: The factor that the scores should have; 1/√head_dim if None.
        positions: Whether the order of the tokens matters: "rotary" if it is their distance alone,
            by queries and keys; "added" if positions are added to the tokens; True for any way.
        window: Number of tokens that each sees where the future is hidden, itself among them.
        prefix: Number of tokens at the beginning that see each other, whatever is hidden.
        dropout: Probability with which a weight is dropped in training.
        weights: "sinks" if part of the weight of each token goes to none, "sigmoid" if each weight
            is by itself: neither sums to one over the tokens.
        lengths: Numbers of tokens that the module must take. The checks use these alone where it
            refuses others, as if its length is fixed.
        knobs: Numbers that the module, or a layer in it, keeps as attributes, each with another
            value that must change the output, as `{"softcap": 2.0}`. Those with common names are
            found: a softcap, a scale, a window or sinks that are accepted and ignored fail.
        adapter: An `Adapter`, or a function that calls the module; guessed from the names of
            `forward`'s arguments if None. What else is guessed, as the form of a mask, the evidence
            of "oracle" says.
        require: Properties that have to be judged besides `attn_docs.testing.ATTENTION`, as
            "oracle" or "cache": otherwise the verdict is "not judged".
        waive: Properties that may fail, each with the reason, which the report shows.

    Returns:
        A `Report` with one finding for each of `attn_docs.testing.PROPERTIES`.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is out of range, the adapter names an argument that the module has
            not, or the module cannot be called on (batch, length, embed_dim), with what it raised.

    Example:
        ```python
        from attn_docs import MultiHeadAttention
        from attn_docs.testing import check_module

        report = check_module(MultiHeadAttention(64, 4), embed_dim=64, causal=True)
        print(report.passed)
        #> True
        ```
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module; got {type(module).__name__}")
    check_size("embed_dim", embed_dim)
    if context_dim is not None:
        check_size("context_dim", context_dim)
    claims = Claims(
        causal=causal,
        num_heads=num_heads,
        scale=scale,
        positions=positions,
        window=window,
        prefix=prefix,
        dropout=dropout,
        weights=weights,
        lengths=lengths,
        knobs=knobs,
    )
    check_kept(module, knobs)
    check_names("require", require)
    check_reasons(waive)
    adapter = adapter_for(module, adapter)
    sizes = {"embed_dim": embed_dim, "context_dim": context_dim or embed_dim}
    with one_thread(), random_state_kept(), torch.enable_grad():
        insight = _looked_at(module, adapter, sizes, claims)

        def not_asked(name: str) -> str:
            noise = insight.subject.chance.noisy and name not in DESPITE_NOISE
            return "evaluation is random; mend that first" if noise else ""

        found = waived(findings(CHECKS, insight, not_asked), waive)
    return Report(type(module).__name__, found, (*ATTENTION, *require))


def _looked_at(
    module: nn.Module, adapter: Adapter, sizes: Mapping[str, int], claims: Claims
) -> ModuleInsight:
    """Return what is known of the module; refuse one that does not run."""
    try:
        return look_inside(subject_of(module, adapter, claims=claims, **sizes))
    except SubjectError as error:
        raise ValueError(
            f"module must run on {claims.length} tokens, in evaluation and in training; "
            f"it raised {error}"
        ) from error


def _seen_despite_mask(insight: ModuleInsight) -> str:
    return (
        insight.root_cause
        or insight.place_matters
        or "masked keys still get a weight: the fill value is too small, or the mask comes too late"
    )


def _documents_mixed(insight: ModuleInsight) -> str:
    if "columns" in {behaviour.kind for behaviour in insight.masks.values()}:
        return MASKS["columns"]
    return (
        insight.root_cause
        or insight.place_matters
        or ("documents in one row see each other, or their place in the row matters")
    )


def _not_one(insight: ModuleInsight) -> str:
    return (
        insight.root_cause
        or insight.place_matters
        or (
            "the weights of a query do not sum to one, or positions mix: sinks or a sigmoid would "
            'do that by design, and are said with weights="sinks" or "sigmoid"'
        )
    )


DESPITE_NOISE = ("projections", "dropout off in eval", "input unchanged")
CHECKS: dict[str, Callable[[ModuleInsight], Judgement]] = {
    "runs": paths.runs,
    "oracle": inside.oracle,
    "scale": inside.inside("scale", inside.scale),
    "weights": inside.weights,
    "gradients": slopes.slopes,
    "attends": shared.attends,
    "equal words": because(shared.equal_words, _not_one),
    "value projection": inside.inside("value projection", inside.value_projection),
    "projections": inside.projections,
    "head layout": inside.inside("head layout", inside.head_layout),
    "group order": inside.inside("group order", inside.group_order),
    "rotation": inside.rotation,
    "mask used": mask_used,
    "mask polarity": mask_check(*POLARITY),
    "mask axis": mask_check(*AXIS),
    "mask place": mask_check(*PLACE),
    "causality": causality,
    "prefix": because(shared.prefix, prefix_cause),
    "padding": because(shared.padding, _seen_despite_mask),
    "empty rows": shared.empty_rows,
    "packing": because(shared.packing, _documents_mixed),
    "long sequences": long.long_sequences,
    "flags agree": paths.flags_agree,
    "claims": said.claims,
    "options used": kept_knobs.options_used,
    "batch": because(
        shared.batch,
        "samples are mixed: batch and length axes are swapped, or a view crosses them",
    ),
    "permutation": permutation,
    "cross-attention": cross_attention,
    "dropout": dropout,
    "dropout off in eval": dropout_off_in_eval,
    "cache": cache,
    "half precision": shared.half_precision,
    "input unchanged": shared.input_unchanged,
    "deterministic": because(
        shared.deterministic((0, 0), "two calls with one seed"),
        "the module keeps state from call to call",
    ),
}
