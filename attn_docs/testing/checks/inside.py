"""Checks of a module's inside: what the way of computing that reproduces it decides."""

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from attn_docs.testing.checks import said, shared
from attn_docs.testing.judgement import Judgement, failed, judge, passed, skipped, unknown
from attn_docs.testing.module_insight import UNEXPLAINED, UNREADABLE, ModuleInsight, Readable
from attn_docs.testing.stage_wrongs import SINKS
from attn_docs.testing.structure import Structure
from attn_docs.testing.subject import gradients
from attn_docs.testing.wrongs import Inside

NOT_RELATIVE = (
    "the place counts, not the distance alone: the angles do not fit the pairs, or something "
    "that is not the same for all features comes after the rotation, as a gain; a scale that "
    "grows with the position would do that by design: say positions=True"
)
UNGROUPED = "no groups: as many key heads as query heads, or one"


def oracle(insight: ModuleInsight) -> Judgement:
    """The output is the formula's; the evidence says what was guessed of how to call the module."""
    judgement, guessed = _of_formula(insight), insight.subject.adapter.guessed
    if not guessed:
        return judgement
    return replace(judgement, evidence=f"{judgement.evidence}; guessed: {guessed}")


def _of_formula(insight: ModuleInsight) -> Judgement:
    """Judge the output, in evaluation and in training."""
    found, wrong = insight.structure, "; ".join(insight.wrongs.values())
    if wrong:
        return failed(insight.training_differs or wrong, wrong)
    if found is None:
        return passed(insight.formula) if insight.formula else unknown(UNEXPLAINED)
    heads = f"{found.how.num_heads} heads of {found.head_dim}"
    if found.how.num_kv_heads != found.how.num_heads:
        heads += f", {found.how.num_kv_heads} key and value heads"
    return judge(
        not insight.training_differs,
        insight.training_differs or f"reproduced with {heads}",
        "training computes something else than evaluation, besides dropout",
    )


def inside(
    name: Inside, good: Callable[[ModuleInsight, Structure], Judgement]
) -> Callable[[ModuleInsight], Judgement]:
    """Return the check of a property that the structure decides; `good` judges where it holds."""

    def check(insight: ModuleInsight) -> Judgement:
        if cause := insight.wrongs.get(name):
            return failed(cause, cause)
        if insight.structure is None or not insight.explained:
            evidence = insight.holds(name)
            return passed(evidence) if evidence else _not_seen(insight, name)
        return good(insight, insight.structure)

    return check


def _not_seen(insight: ModuleInsight, name: Inside) -> Judgement:
    """Say why a property was not judged, or that there is nothing to judge."""
    stages = [each for mode in insight.stages.values() for each in mode]
    if stages and name == "head layout" and all(each.num_heads == 1 for each in stages):
        return skipped("one head")
    if stages and name == "group order" and all(each.ungrouped for each in stages):
        return skipped(UNGROUPED)
    return unknown(UNEXPLAINED)


def scale(_: ModuleInsight, found: Structure) -> Judgement:
    """Scores are divided by the root of the head's size, or multiplied by the scale asked for."""
    return passed(f"scores are divided by {found.divisor:.4g}")


def value_projection(_: ModuleInsight, found: Structure) -> Judgement:
    """Values come from a projection of their own."""
    return passed(f"values come from {found.sources.names[2]}")


def head_layout(_: ModuleInsight, found: Structure) -> Judgement:
    """Heads are cut and joined without mixing positions."""
    if found.how.num_heads == 1:
        return skipped("one head")
    return passed(f"{found.how.num_heads} heads, cut and joined position by position")


def group_order(_: ModuleInsight, found: Structure) -> Judgement:
    """Neighbouring query heads share a key and value head."""
    heads, groups = found.how.num_heads, found.how.num_kv_heads
    if groups in (1, heads):
        return skipped(UNGROUPED)
    return passed(f"{groups} key heads serve {heads} query heads in a row")


def weights(insight: ModuleInsight) -> Judgement:
    """The weights sum to one over the keys: read back from the output, or seen by equal tokens."""
    if insight.subject.weights_from == "sinks" and insight.has_sinks:
        return passed(SINKS)
    if insight.subject.weights_from != "softmax":
        return said.other_weights(insight)
    if cause := insight.wrongs.get("weights"):
        return failed(cause, cause)
    if insight.structure is not None and insight.readable is not None:
        return _read_back(insight.readable)
    if evidence := insight.holds("weights"):
        return passed(evidence)
    equal = shared.equal_words(insight)
    return equal if equal.verdict == "pass" else unknown(UNREADABLE)


def _read_back(readable: Readable) -> Judgement:
    read = readable.weights(readable.recording)
    off, least = (read.sum(-1) - 1).abs().max().item(), read.min().item()
    return judge(
        off < 1e-5 and least > -1e-5,
        f"rows sum to 1 within {off:.1e}, the smallest weight is {least:.1e}",
        "the weights are no distribution over the keys",
    )


def rotation(insight: ModuleInsight) -> Judgement:
    """A query meets the key of its own position as if unrotated, others by their distance."""
    if cause := insight.wrongs.get("rotation"):
        return failed(cause, cause)
    if insight.subject.claims.positions == "rotary" and (wrong := _not_relative(insight)):
        return wrong
    if insight.structure is not None and insight.structure.how.rotary:
        return passed(f"queries and keys are rotated alike, pairs: {insight.structure.how.rotary}")
    evidence = insight.holds("rotation")
    return passed(evidence) if evidence else skipped("no rotation of queries and keys was seen")


def _not_relative(insight: ModuleInsight) -> Judgement | None:
    """Judge the weights of equal tokens: the distance alone may tell them apart; None if so."""
    subject = insight.subject
    words = subject.words(1, 1).expand(-1, subject.length, -1).contiguous()
    for made in subject.record(words, causal=subject.always_causal).attended:
        n, m = made.weights.shape[1:]
        if n != m or not bool((made.weights.diagonal(dim1=1, dim2=2) > 0).all()):
            continue
        logs = made.weights.clamp(min=1e-30).log()
        logs = logs - logs.diagonal(dim1=1, dim2=2)[..., None]
        for distance in range(1, n - 1):
            line = logs.diagonal(-distance, 1, 2)
            spread = (line - line[:, :1]).abs().max().item()
            if not spread <= 100 * subject.tolerance * max(1.0, line.abs().max().item()):
                return failed(
                    f"equal tokens {distance} apart get weights that differ by a factor of "
                    f"{math.exp(min(spread, 99.0)):.3g} along the sequence",
                    NOT_RELATIVE,
                )
    return None


def projections(insight: ModuleInsight) -> Judgement:
    """Each weight of each matrix reaches the output."""
    if cause := insight.wrongs.get("projections"):
        return failed(cause, cause)
    subject = insight.subject
    tables = {id(m.weight) for m in subject.module.modules() if isinstance(m, nn.Embedding)}
    matrices = {
        name: parameter
        for name, parameter in subject.module.named_parameters()
        # a table's rows are used by those who look them up
        if id(parameter) not in tables
    }
    if not matrices:
        return skipped("the module has nothing to learn")
    output = subject.call(subject.words(8, subject.length))  # so many that few ReLUs are dead
    direction = subject.random(8, subject.length, output.size(-1), seed=7)
    found = gradients((output * direction).sum(), list(matrices.values()))
    named = list(zip(matrices, found, strict=True))
    unused = [name for name, gradient in named if not gradient.abs().sum() and _idle(insight, name)]
    largest = max(float(gradient.abs().max()) for gradient in found)
    unused += [
        f"{name} (it cancels)"
        for name, gradient in named
        # a key's bias cancels in the softmax, by design
        if not name.endswith("bias") and 0 < float(gradient.abs().max()) < 1e-12 * largest
    ]
    # a table of biases, say, is looked up row by row: only what is multiplied by has to be whole
    layers = subject.record(subject.words(1, subject.length), causal=subject.always_causal).layers
    partly = [
        f"{name} ({rows} of {len(gradient)} rows)"
        for name, gradient in named
        if any(layer.name.startswith(name) for layer in layers)
        and len(gradient) / 16 <= (rows := _idle_rows(gradient)) < len(gradient)
    ]
    if not unused and not partly:
        return passed("every parameter, and every row of every matrix, has a gradient")
    cause = f"never used: {', '.join(unused + partly)}"
    if value := insight.wrongs.get("value projection"):
        cause += f"; {value}"
    return failed(cause, cause)


def _idle(insight: ModuleInsight, name: str) -> bool:
    """Tell whether moving a parameter changes nothing: if it does, its gradient is cut."""
    subject = insight.subject
    parameter, x = subject.parameters[name], subject.words(2, subject.length)
    before = parameter.detach().clone()
    output = subject.call(x).detach()
    with torch.no_grad():
        parameter.copy_(before + 1)
        moved = subject.call(x)
        parameter.copy_(before)
    return torch.equal(output, moved)


def _idle_rows(gradient: Tensor) -> int:
    """Count the rows of a matrix that have no part in the output: a few are a ReLU's dead units."""
    return int((gradient.abs().sum(1) == 0).sum()) if gradient.ndim == 2 else 0
