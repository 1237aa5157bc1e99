"""Ways of a function's own: the precision inside, a soft-cap, and what is no attention."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from attn_docs.testing.function_subject import EXACT, SINGLE, FunctionSubject


def near(a: Tensor, b: Tensor, tolerance: float = EXACT) -> bool:
    """Tell whether two results are the same up to rounding."""
    if a.shape != b.shape:
        return False
    a, b = a.double(), b.double()
    return bool(((a - b).abs() <= tolerance * a.abs().max()).all())


def precision_inside(subject: FunctionSubject) -> torch.dtype | None:
    """Return the type that a function computes in though it is given float64; None if that.

    A change of 1e-10 in the queries should change the output as a change of 1e-4 does, a million
    times smaller; and steps of 1e-4 there and back should be equal. What is left is rounding,
    whatever the formula.
    """
    if subject.dtype != torch.float64:
        return None
    query, key, value = subject.inputs()
    start, more, less, barely = (
        subject.attend(query * factor, key, value).detach()
        for factor in (1.0, 1 + 1e-4, 1 - 1e-4, 1 + 1e-10)
    )
    largest = start.abs().max()
    if (barely - start - 1e-6 * (more - start)).abs().max() <= 1e-11 * largest:
        return None
    rough = (more + less - 2 * start).abs().max() / largest
    most = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
    return next((dtype for dtype, bound in most.items() if rough <= bound), None)


def softcap_of(subject: FunctionSubject) -> float | None:
    """Return the c for which the scores are c · tanh(scores / c), if there is one."""
    query, key, _ = subject.inputs(seed=1)
    query = 4 * query  # scores at which a soft-cap shows
    scores = query.double() @ key.double().mT / math.sqrt(subject.head_dim)
    logs = _centred(subject.weights(query, key).detach().double().log())
    if not logs.isfinite().all():
        return None

    def off(power: float) -> float:
        cap = 10**power
        return (_centred(cap * torch.tanh(scores / cap)) - logs).abs().max().item()

    best = min((power / 10 for power in range(-10, 36)), key=off)
    low, high = best - 0.1, best + 0.1
    for _ in range(60):  # thirds, since the error has one valley here
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if off(a) < off(b) else (a, high)
    cap = 10**low
    return cap if off(low) <= 10 * subject.tolerance * logs.abs().max() else None


def _centred(logs: Tensor) -> Tensor:
    return logs - logs.mean(-1, keepdim=True)


def odd_way(subject: FunctionSubject) -> str:
    """Name what stands in the place of attention; empty if that is not known."""
    inputs = subject.inputs()
    query, key, value = (part.double() for part in inputs)
    made, weights = subject.attend(*inputs).detach(), subject.weights(*inputs[:2]).detach()
    raw = query @ key.mT
    right = (raw / math.sqrt(subject.head_dim)).softmax(-1)
    for name, way in _odd_weights(raw, math.sqrt(subject.head_dim), weights.double()):
        if near(way, weights, subject.tolerance):
            return name
    for name, values in (("key", key), ("query", query)):
        fits = values.size(-2) == right.size(-1)
        if fits and near(right @ values[..., : made.size(-1)], made, subject.tolerance):
            return f"the {name} is used as value"
    if value.shape == key.shape:
        turned = (query @ value.mT / math.sqrt(subject.head_dim)).softmax(-1) @ key
        if near(turned, made, subject.tolerance):
            return "key and value are swapped"
    return "" if near(weights.double() @ value, made, subject.tolerance) else NOT_A_SUM


NOT_A_SUM = "the output is not the sum of the values times the weights"


def _odd_weights(raw: Tensor, root: float, weights: Tensor) -> Iterator[tuple[str, Tensor]]:
    """Yield what may be found in the place of the weights, from the scores before the scale."""
    scores = raw / root
    right, n, m = scores.softmax(-1), raw.size(-2), raw.size(-1)
    yield "the weights are divided by √head_dim after the softmax", raw.softmax(-1) / root
    for offset in (0, m - n):
        hidden = ~torch.ones(n, m, dtype=torch.bool, device=raw.device).tril(offset)
        future = scores.masked_fill(hidden, -math.inf).softmax(-1)
        yield "the causal mask is applied though is_causal was not given", future
    for given, said in ((scores, ""), (raw, ", and of unscaled scores")):
        soft = given.softmax(-1)
        yield f"the softmax is applied twice{said}", soft.softmax(-1)
        yield f"a sigmoid of each score, no softmax{said}", given.sigmoid()
        yield f"the scores are used as weights, without a softmax{said}", given
        yield f"exponentials are not divided by their sum{said}", given.exp()
        yield f"the logarithm of the softmax is used{said}", given.log_softmax(-1)
        one_more = torch.cat([given, torch.zeros_like(given[..., :1])], -1).softmax(-1)[..., :-1]
        yield f"1 is added to the softmax's sum, as by a sink{said}", one_more
        kept = given.relu()
        yield (
            f"positive scores are divided by their sum, no exponential{said}",
            (kept / kept.sum(-1, keepdim=True)),
        )
    yield "the scores' absolute value is taken", scores.abs().softmax(-1)
    logs = weights.log()
    most = ((logs.amax(-1) - logs.amin(-1)) / 2).max().item()
    if most > SINGLE:
        yield f"scores are clamped to ±{most:.4g}", scores.clamp(-most, most).softmax(-1)
    yield "the weights are divided by √head_dim after the softmax as well", right / root
    yield "the weights are averaged over the heads", right.mean(1, keepdim=True).expand_as(right)
    if n == m:
        yield "the weights are transposed: row i belongs to key i", right.mT
