"""Check an attention function: any function with the signature of PyTorch's."""

import inspect
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import NoneType
from typing import Any

import torch
from torch import Tensor

from attn_docs._checks import check_callable
from attn_docs.testing.formula import (
    DIVISORS,
    MASKS,
    TILED,
    Hypothesis,
    attention,
    divisor_value,
    repeat_heads,
)
from attn_docs.testing.report import PROPERTIES, Finding, Report
from attn_docs.testing.verdicts import (
    NO_MASK,
    finding,
    judge,
    pattern_evidence,
    sample_mask,
    skip,
    two_documents,
)

BATCH, HEADS, QUERIES, KEYS, HEAD_DIM, VALUE_DIM = 2, 4, 5, 7, 16, 6


def check_attention(
    attend: Callable[..., Tensor],
    *,
    attn_mask: bool | None = None,
    is_causal: bool | None = None,
    dropout_p: bool | None = None,
    scale: bool | None = None,
    enable_gqa: bool | None = None,
    device: torch.device | str = "cpu",
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
    told = {
        "attn_mask": attn_mask,
        "is_causal": is_causal,
        "dropout_p": dropout_p,
        "scale": scale,
        "enable_gqa": enable_gqa,
    }
    for name, given in told.items():
        if not isinstance(given, (bool, NoneType)):
            raise TypeError(f"{name} must be True, False or None; got {given!r}")
    place = device_of(device)
    takes = options_of(attend)
    options = {name: name in takes if given is None else given for name, given in told.items()}
    with torch.random.fork_rng([]), torch.enable_grad():
        probe = FunctionProbe(attend, options, place)
        probe.look()
        findings = [guarded(name, probe) for name in PROPERTIES]
    return Report(getattr(attend, "__name__", type(attend).__name__), findings)


def device_of(device: torch.device | str) -> torch.device:
    """Return the device that a name stands for."""
    if not isinstance(device, (str, torch.device)):
        raise TypeError(f"device must be a torch.device or its name; got {device!r}")
    try:
        return torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device must name a torch device; got {device!r}") from error


OPTIONS = ("attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa")


def options_of(attend: Callable[..., Tensor]) -> set[str]:
    """Return the options that a function takes, all if its signature cannot be read."""
    try:
        parameters = inspect.signature(attend).parameters
    except ValueError:  # a function written in C, as PyTorch's
        return set(OPTIONS)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return set(OPTIONS)
    return set(parameters) & set(OPTIONS)


@dataclass
class FunctionProbe:
    """The function, what it takes, and what was found out about it."""

    function: Callable[..., Tensor]
    takes: dict[str, bool]
    device: torch.device
    queries: int = QUERIES
    how: Hypothesis | None = None
    mask: str = "right"
    mask_evidence: str = ""

    def attend(self, *inputs: Tensor, **options: object) -> Tensor:
        """Call the function on copies: what it writes into its arguments is judged apart."""
        return self.function(*(t.clone() for t in inputs), **options)

    def inputs(
        self,
        *,
        n: int | None = None,
        m: int = KEYS,
        kv_heads: int = HEADS,
        batch: int = BATCH,
        size: int = VALUE_DIM,
        dtype: torch.dtype = torch.float64,
    ) -> list[Tensor]:
        """Return random query, key and value, the same for the same arguments."""
        n = self.queries if n is None else n
        generator = torch.Generator().manual_seed(n + 10 * m + 100 * kv_heads)
        shapes = ((HEADS, n, HEAD_DIM), (kv_heads, m, HEAD_DIM), (kv_heads, m, size))
        return [
            torch.randn(batch, *shape, generator=generator, dtype=torch.float64).to(
                self.device, dtype
            )
            for shape in shapes
        ]

    def look(self) -> None:
        """Find what reproduces the plain call, then what the mask does."""
        try:
            output = self.attend(*self.inputs())
        except Exception:  # perhaps only where queries and keys differ in number
            self.queries = KEYS
        inputs = self.inputs()
        try:
            output = self.attend(*inputs)
        except Exception as error:
            shapes = [tuple(t.shape) for t in inputs]
            raise ValueError(
                f"attend must run on query {shapes[0]}, key {shapes[1]} and value {shapes[2]}; "
                f"it raised {type(error).__name__}: {error}"
            ) from error
        right = Hypothesis(HEADS, HEADS)
        swapped = replace(right, axis="swapped")
        for how in (right, *right.one_thing_wrong(), swapped):
            if how.split == how.merge == "heads" and how.mask == "right":
                if how.axis == "swapped" and self.queries != KEYS:
                    continue
                if near(self.expected(inputs, how=how), output):
                    self.how = how
                    break
        if self.how is None and (divisor := self.divisor()):
            self.how = replace(right, divisor=repr(divisor))
        if self.takes["attn_mask"] and self.how == right:
            self.mask, self.mask_evidence = self.look_at_mask()

    def divisor(self) -> float | None:
        """Return the one number that the scores are divided by, if there is one."""
        query, key, _ = self.inputs()
        made = self.attend(query, key, identity(self)).detach()
        logs = made.log() - made.log().mean(-1, keepdim=True)
        scores = query @ key.mT
        scores = scores - scores.mean(-1, keepdim=True)
        factor = (logs * scores).sum() / scores.square().sum()
        return 1 / factor.item() if near(scores * factor, logs) and factor else None

    def expected(
        self,
        inputs: list[Tensor],
        mask: Tensor | None = None,
        *,
        how: Hypothesis | None = None,
        scale: float | None = None,
    ) -> Tensor:
        """Return what the formula gives, or the formula with one thing wrong."""
        query, key, value = inputs
        how = how or Hypothesis(query.size(1), key.size(1))
        if key.size(1) != query.size(1):
            key, value = repeat_heads(key, value, query.size(1) // key.size(1), how.groups, 1)
        length = query.size(-2)
        divisor = divisor_value(how.divisor, how, query.size(-1), query.size(-1), length)
        if scale is not None:
            divisor = 1 / scale
        return attention(query, key, value, mask, divisor, how)[0]

    def look_at_mask(self) -> tuple[str, str]:
        """Return what the function does with a boolean mask, and the evidence."""
        inputs = self.inputs(n=KEYS)
        mask = sample_mask(KEYS, self.device)
        try:
            output = self.attend(*inputs, attn_mask=mask).detach()
        except Exception as error:
            return "raised", f"a boolean mask raised {type(error).__name__}: {error}"
        right = Hypothesis(HEADS, HEADS)
        named = "unknown"
        for name in MASKS:
            if near(self.expected(inputs, mask, how=replace(right, mask=name)), output):
                named = name
                break
        try:
            return named, pattern_evidence(self.seen(inputs, mask), mask)
        except RuntimeError:  # no gradient, as where an argument is overwritten
            return named, "no gradient tells which keys are seen"

    def masked_and_causal(self) -> Tensor | None:
        """Return (n, n): what is seen with a mask and is_causal together, None if it is refused."""
        if not self.takes["is_causal"] or mask_unfit(self):
            return None
        try:
            mask = sample_mask(KEYS, self.device, columns=True)
            return self.seen(self.inputs(n=KEYS), mask, is_causal=True)
        except Exception:  # PyTorch's function refuses both at once
            return None

    def seen(self, inputs: list[Tensor], mask: Tensor | None, **options: Any) -> Tensor:
        """Return (n, m): whether output i depends on value j, by gradient."""
        query, key, value = (t.clone().requires_grad_() for t in inputs)
        given = {} if mask is None else {"attn_mask": mask}
        output = self.attend(query, key, value, **given, **options)
        rows = []
        for i in range(output.size(-2)):
            gradients = torch.autograd.grad(
                output[..., i, :].sum(),
                (key, value),
                retain_graph=True,
                allow_unused=True,
                materialize_grads=True,
            )
            rows.append(sum(g.nan_to_num(0.0).abs().sum((0, 1, 3)) for g in gradients))
        strength = torch.stack(rows)  # type: ignore[arg-type]
        return strength > 1e-9 * strength.max()


def identity(probe: FunctionProbe) -> Tensor:
    """Return values that make the output the weights."""
    return torch.eye(KEYS, dtype=torch.float64, device=probe.device).expand(BATCH, HEADS, -1, -1)


def near(a: Tensor, b: Tensor, tolerance: float = 1e-9) -> bool:
    """Tell whether two results are the same up to rounding."""
    return a.shape == b.shape and bool(((a - b).abs() <= tolerance * a.abs().max()).all())


def oracle(probe: FunctionProbe) -> Finding:
    """Plain calls of several shapes agree with the formula."""
    worst = 0.0
    lengths = ((QUERIES, KEYS), (KEYS, QUERIES), (1, KEYS), (KEYS, 1))
    for n, m in lengths if probe.queries == QUERIES else ((KEYS, KEYS),):
        inputs = probe.inputs(n=n, m=m)
        error = (probe.attend(*inputs) - probe.expected(inputs)).abs().max().item()
        if not error <= 1e-9:
            return finding(
                "oracle", "fail", f"{n} queries and {m} keys: off by {error:.2e}", cause(probe)
            )
        worst = max(worst, error)
    return finding("oracle", "pass", f"the formula's numbers within {worst:.1e}")


def cause(probe: FunctionProbe) -> str:
    """Return what is wrong with the plain call, if it was found."""
    how = probe.how
    if how is None:
        return "none of the ways of computing that were searched gives these numbers"
    if how.divisor != "√head_dim":
        value = divisor_value(how.divisor, how, HEAD_DIM, HEAD_DIM, QUERIES)
        named = f"{how.divisor} = " if how.divisor in DIVISORS else ""
        return f"scaled by {named}{value:.4g}, expected √head_dim = {math.sqrt(HEAD_DIM):.4g}"
    if how.axis == "swapped":
        return "query and key are swapped: row i of the scores belongs to key i"
    if how.axis != "keys":
        return f"the softmax runs over the {how.axis}, expected the keys"
    return ""


def scale(probe: FunctionProbe) -> Finding:
    """Scores are divided by √head_dim, or multiplied by `scale`."""
    if probe.how is None:
        return skip("scale", "no way of computing that is searched reproduces the output")
    if probe.how.axis != "keys":
        return skip("scale", f"{cause(probe)}; mend that first")
    if probe.how.divisor != "√head_dim":
        return finding("scale", "fail", cause(probe), cause(probe))
    if probe.takes["scale"]:
        inputs = probe.inputs()
        error = (probe.attend(*inputs, scale=0.3) - probe.expected(inputs, scale=0.3)).abs().max()
        if not error <= 1e-9:
            given = probe.attend(*inputs, scale=0.3)
            reasons = {
                "the argument scale is ignored": HEAD_DIM**-0.5,
                "the argument scale divides the scores, expected to multiply them": 1 / 0.3,
                "the argument scale is applied besides 1/√head_dim": 0.3 * HEAD_DIM**-0.5,
            }
            reason = "the argument scale is not the factor on the scores"
            for name, factor in reasons.items():
                if near(probe.expected(inputs, scale=factor), given):
                    reason = name
            return finding("scale", "fail", f"scale=0.3 gives numbers off by {error:.2e}", reason)
    return finding("scale", "pass", f"scores are divided by √{HEAD_DIM}")


def weights(probe: FunctionProbe) -> Finding:
    """With the identity as values, the output is the weights: rows sum to 1."""
    query, key, _ = probe.inputs()
    made = probe.attend(query, key, identity(probe))
    rows = (made.sum(-1) - 1).abs().max().item()
    if rows <= 1e-9 and made.min() >= 0:
        return finding("weights", "pass", f"rows sum to 1 within {rows:.1e}")
    columns = (made.sum(-2) - 1).abs().max().item()
    heads = (made.sum(1) - 1).abs().max().item()
    reason = "the weights are no distribution over the keys"
    if columns <= 1e-9:
        reason = "the softmax runs over the queries, expected the keys"
    elif heads <= 1e-9:
        reason = "the softmax runs over the heads, expected the keys"
    return finding(
        "weights",
        "fail",
        f"rows sum to between {made.sum(-1).min():.3g} and {made.sum(-1).max():.3g}",
        reason,
    )


def groups(probe: FunctionProbe) -> Finding:
    """With fewer key heads, neighbouring query heads share one."""
    name = "group order"
    if not probe.takes["enable_gqa"]:
        return skip(name, "the function takes no enable_gqa")
    inputs = probe.inputs(kv_heads=2)
    try:
        output = probe.attend(*inputs, enable_gqa=True)
    except Exception as error:
        return skip(name, f"enable_gqa=True raised {type(error).__name__}: {error}")
    right = replace(probe.how or Hypothesis(HEADS, 2), num_kv_heads=2)
    if near(probe.expected(inputs, how=right), output):
        return finding(name, "pass", "2 key heads serve 4 query heads in a row")
    reason = "query heads are matched with the wrong key heads"
    for order in TILED:
        if near(probe.expected(inputs, how=replace(right, groups=order)), output):
            reason = TILED[order]
    off = (probe.expected(inputs, how=right) - output).abs().max()
    return finding(name, "fail", f"off by {off:.2e}", reason)


def mask_check(name: str, bad: tuple[str, ...]) -> Callable[[FunctionProbe], Finding]:
    """Return the check that fails on some ways of treating a mask."""

    def check(probe: FunctionProbe) -> Finding:
        if not probe.takes["attn_mask"]:
            return skip(name, NO_MASK)
        if probe.how != Hypothesis(HEADS, HEADS):
            return skip(name, "the plain call is not the formula's; mend that first")
        if probe.mask == "raised":
            return skip(name, probe.mask_evidence)
        if probe.mask in bad:
            reason = MASKS.get(probe.mask, "masked keys still get a weight")
            if probe.mask == "none":
                reason = "the mask is accepted and ignored"
            return finding(name, "fail", probe.mask_evidence, reason)
        if probe.mask != "right":
            return skip(name, f"{MASKS.get(probe.mask, 'unknown')}; another mask property fails")
        seen = probe.masked_and_causal() if name == "mask used" else None
        if seen is not None and seen.tril(-1)[:, 1].any():
            return finding(
                name,
                "fail",
                "with is_causal=True a key that attn_mask forbids is seen",
                "attn_mask is ignored when is_causal=True is given",
            )
        return finding(name, "pass", probe.mask_evidence)

    return check


def mask_unfit(probe: FunctionProbe) -> str:
    """Return why checks that build on a mask cannot run; empty if they can."""
    if not probe.takes["attn_mask"]:
        return NO_MASK
    if probe.mask == "raised":
        return probe.mask_evidence
    if probe.how != Hypothesis(HEADS, HEADS):
        return "the plain call is not the formula's; mend that first"
    if probe.mask != "right":
        return MASKS.get(probe.mask, "masked keys still get a weight")
    return ""


def causality(probe: FunctionProbe) -> Finding:
    """With is_causal=True no output depends on a later key."""
    name = "causality"
    if not probe.takes["is_causal"]:
        return skip(name, "the function takes no is_causal")
    if probe.how is None or probe.how.axis != "keys":
        return skip(name, "the plain call is not the formula's; mend that first")
    for length in (2, 3, KEYS):
        seen = probe.seen(probe.inputs(n=length, m=length), None, is_causal=True)
        wanted = torch.ones_like(seen).tril()
        if not torch.equal(seen, wanted):
            whole = probe.seen(probe.inputs(n=KEYS), None, is_causal=True)
            evidence = f"length {length}: {pattern_evidence(seen, wanted)}"
            return finding(name, "fail", evidence, causal_cause(whole))
    both = probe.masked_and_causal()
    if both is not None and both.triu(1).any():
        return finding(
            name,
            "fail",
            "with attn_mask and is_causal=True a query sees a later key",
            "is_causal is ignored when attn_mask is given",
        )
    if probe.queries == KEYS:
        return finding(name, "pass", "no output depends on a later key")
    seen = probe.seen(probe.inputs(n=3, m=5), None, is_causal=True)
    ones = torch.ones_like(seen)
    aligned = {"first": ones.tril(), "last": ones.tril(2)}
    for which, wanted in aligned.items():
        if torch.equal(seen, wanted):
            return finding(
                name,
                "pass",
                f"no output depends on a later key; with 3 queries and 5 keys the {which} query "
                f"is level with the {which} key",
            )
    return finding(
        name,
        "fail",
        f"3 queries and 5 keys: {pattern_evidence(seen, aligned['first'])}",
        "with fewer queries than keys the causal mask is aligned with neither end",
    )


def causal_cause(seen: Tensor) -> str:
    """Name the pattern of a causal mask that is wrong."""
    ones = torch.ones_like(seen)
    named = {
        "the causal mask is not applied": ones,
        "the causal mask is inverted: it keeps the future and removes the past": ones.triu(),
        "the causal mask is inverted, and removes a position's own key": ones.triu(1),
        "the causal mask is off by one: a position sees the next one": ones.tril(1),
        "the causal mask is off by one: a position does not see itself": ones.tril(-1),
    }
    return next(
        (name for name, pattern in named.items() if torch.equal(seen, pattern)),
        "the causal mask is no lower triangle",
    )


def prefix(probe: FunctionProbe) -> Finding:
    """With is_causal=True a beginning run alone is the beginning of the whole."""
    name = "prefix"
    if not probe.takes["is_causal"]:
        return skip(name, "the function takes no is_causal")
    if probe.how is None or probe.how.axis != "keys":
        return skip(name, "the plain call is not the formula's; mend that first")
    inputs = probe.inputs(n=KEYS)
    whole = probe.attend(*inputs, is_causal=True)
    errors = [
        (probe.attend(*(t[..., :n, :] for t in inputs), is_causal=True) - whole[..., :n, :])
        .abs()
        .max()
        .item()
        for n in range(1, KEYS)
    ]
    return judge(
        name,
        max(errors) <= 1e-9,
        f"beginnings run alone differ by {max(errors):.1e}",
        "later positions change earlier ones",
    )


def padding(probe: FunctionProbe) -> Finding:
    """Large numbers behind a mask change nothing."""
    name = "padding"
    if why := mask_unfit(probe):
        return skip(name, why)
    query, key, value = probe.inputs()
    alone = probe.attend(query, key, value)
    noise = 1e4 * torch.ones(BATCH, HEADS, 3, 1, dtype=key.dtype, device=key.device)
    worst = 0.0
    for side, sign in itertools.product(("right", "left"), (1, -1)):
        padded = []
        for tensor in (key, value):
            slots = sign * noise.expand(-1, -1, -1, tensor.size(-1))
            padded.append(torch.cat([tensor, slots] if side == "right" else [slots, tensor], -2))
        mask = torch.ones(QUERIES, KEYS + 3, dtype=torch.bool, device=key.device)
        mask[:, KEYS:] = side == "left"
        mask[:, :3] = side == "right"
        if side == "left":
            mask[:, 3:] = True
        else:
            mask[:, :KEYS] = True
        error = (probe.attend(query, *padded, attn_mask=mask) - alone).abs().max().item()
        if not error <= 1e-6:
            return finding(
                name,
                "fail",
                f"3 keys of {sign * 10000:+d} on the {side} change the output by {error:.2e}",
                "masked keys still get a weight: the fill value is too small",
            )
        worst = max(worst, error)
    return finding(name, "pass", f"keys of ±1e4, left and right, change it by {worst:.1e}")


def empty_rows(probe: FunctionProbe) -> Finding:
    """A query that may attend to nothing gives finite numbers and gradients."""
    name = "empty rows"
    if why := mask_unfit(probe):
        return skip(name, why)
    inputs = [t.requires_grad_() for t in probe.inputs()]
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool, device=probe.device)
    mask[2] = False
    output = probe.attend(*inputs, attn_mask=mask)
    gradients = torch.autograd.grad(output.sum(), inputs)
    forward = int((~output.isfinite()).sum())
    backward = sum(int((~g.isfinite()).sum()) for g in gradients)
    return judge(
        name,
        not forward and not backward,
        f"{forward} outputs and {backward} gradients are not finite; the row's largest output is "
        f"{output[..., 2, :].abs().max():.2g}",
        "softmax of a row of −∞ is NaN: set such rows aside before the softmax",
    )


def packing(probe: FunctionProbe) -> Finding:
    """Two documents in one row, kept apart by a mask, come out as alone."""
    name = "packing"
    if why := mask_unfit(probe):
        return skip(name, why)
    inputs = probe.inputs(n=KEYS)
    blocks = two_documents().to(probe.device)
    together = probe.attend(*inputs, attn_mask=blocks)
    parts = [[t[..., :3, :] for t in inputs], [t[..., 3:, :] for t in inputs]]
    alone = torch.cat([probe.attend(*part) for part in parts], -2)
    error = (together - alone).abs().max().item()
    return judge(
        name,
        error <= 1e-9,
        f"documents of 3 and 4 differ by {error:.1e} from each alone",
        "documents in one row see each other",
    )


def batch(probe: FunctionProbe) -> Finding:
    """No sample and no head depends on another."""
    inputs = [t.requires_grad_() for t in probe.inputs()]
    output = probe.attend(*inputs)
    leak = 0.0
    for chosen, others in (((1,), (0,)), ((0, 1), (0, 0))):
        gradients = torch.autograd.grad(
            output[chosen].sum(),
            inputs,
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        leak = max(leak, *(g[others].abs().max().item() for g in gradients))
    return judge(
        "batch",
        leak <= 1e-12,
        f"gradient from another sample or head: {leak:.1e}",
        "samples or heads are mixed: the softmax or a view runs over the wrong axis",
    )


def permutation(probe: FunctionProbe) -> Finding:
    """Pairs of key and value in another order change nothing; queries carry their outputs."""
    query, key, value = probe.inputs()
    output = probe.attend(query, key, value)
    order = torch.tensor([3, 0, 5, 1, 6, 4, 2], device=probe.device)
    shuffled = probe.attend(query, key[..., order, :], value[..., order, :])
    turned = probe.attend(query.flip(-2), key, value).flip(-2)
    error = max((shuffled - output).abs().max().item(), (turned - output).abs().max().item())
    return judge(
        "permutation",
        error <= 1e-9,
        f"shuffled pairs and turned queries differ by {error:.1e}",
        "something depends on where a key or query stands",
    )


def lengths(probe: FunctionProbe) -> Finding:
    """Queries and keys of different number, and values of another size."""
    name = "cross-attention"
    for n, m in ((QUERIES, KEYS), (KEYS, QUERIES)):
        try:
            shape = tuple(probe.attend(*probe.inputs(n=n, m=m)).shape)
        except Exception as error:
            return finding(
                name,
                "fail",
                f"{n} queries and {m} keys raised {type(error).__name__}: {error}",
                "the length of the queries is used for the keys",
            )
        if shape != (BATCH, HEADS, n, VALUE_DIM):
            return finding(
                name,
                "fail",
                f"{n} queries and {m} keys gave shape {shape}",
                "queries and keys are swapped",
            )
    return finding(name, "pass", f"{QUERIES} queries and {KEYS} keys, and the reverse")


def dropout(probe: FunctionProbe) -> Finding:
    """With dropout_p, weights are dropped and the rest grow."""
    name = "dropout"
    if not probe.takes["dropout_p"]:
        return skip(name, "the function takes no dropout_p")
    query, key, _ = probe.inputs()
    values = identity(probe)
    plain = probe.attend(query, key, values)
    torch.manual_seed(0)
    weights = torch.stack([probe.attend(query, key, values, dropout_p=0.25) for _ in range(8)])
    ratio = weights / plain
    dropped = ratio.abs() < 1e-6
    if near(ratio, torch.ones_like(ratio)):
        return finding(
            name, "fail", "dropout_p=0.25 changes nothing", "the argument dropout_p is ignored"
        )
    kept = ratio[~dropped]
    share = dropped.double().mean().item()
    if dropped.any() and near(kept, torch.full_like(kept, 4 / 3), 1e-6):
        return judge(
            name,
            0.15 < share < 0.35,
            f"dropout_p=0.25 drops {share:.0%}, the rest grow by 4/3",
            "another share is dropped than asked for",
        )
    if near(weights.sum(-1), torch.ones_like(weights.sum(-1)), 1e-6):
        reason = "dropout is applied to the scores, before the softmax; it belongs on the weights"
    elif dropped.any() and near(kept, torch.ones_like(kept), 1e-6):
        reason = "the kept weights are not divided by 1 − p"
    else:
        reason = "dropout is not on the weights after the softmax"
    return finding(
        name,
        "fail",
        f"weights are {ratio.min():.3g} to {ratio.max():.3g} times those without",
        reason,
    )


def half_precision(probe: FunctionProbe) -> Finding:
    """In float16 the output is finite and close to float64's."""
    name = "half precision"
    exact = probe.inputs(n=KEYS)
    inputs = [t.half() for t in exact]
    masks = [None] if mask_unfit(probe) else [None, sample_mask(KEYS, probe.device)]
    worst = 0.0
    try:
        for mask in masks:
            given = {} if mask is None else {"attn_mask": mask}
            output = probe.attend(*inputs, **given).double()
            if not output.isfinite().all():
                return finding(
                    name,
                    "fail",
                    f"{int((~output.isfinite()).sum())} outputs are not finite",
                    "a value above 65504, the largest of float16, or a NaN from −∞",
                )
            error = (output - probe.attend(*exact, **given)).abs().max().item()
            worst = max(worst, error)
    except Exception as error:
        if "overflow" in str(error):
            return finding(
                name,
                "fail",
                f"float16 raised: {error}",
                "the fill value of the mask is too large for float16: use −inf",
            )
        return skip(name, f"float16 raised: {error}")
    big = [30 * t for t in inputs]
    large = probe.attend(*(b.abs() for b in big[:2]), inputs[2])
    limit = "scores above 65504 before the scale stay finite"
    if not large.isfinite().all():
        limit = "scores above 65504 before the scale overflow: compute them in float32"
    return judge(name, worst < 0.05, f"float16 errs by {worst:.1e}; {limit}", "precision is lost")


def input_unchanged(probe: FunctionProbe) -> Finding:
    """The call writes into none of its arguments."""
    inputs = probe.inputs(n=KEYS)
    mask = sample_mask(KEYS, probe.device)
    before = [t.clone() for t in (*inputs, mask)]
    given = {} if mask_unfit(probe) else {"attn_mask": mask}
    probe.function(*inputs, **given)
    names = ("query", "key", "value", "attn_mask")
    changed = [
        name
        for name, a, b in zip(names, (*inputs, mask), before, strict=True)
        if not torch.equal(a, b)
    ]
    return judge(
        "input unchanged",
        not changed,
        f"changed: {', '.join(changed)}" if changed else "the arguments are as they were",
        "an in-place operation writes into an argument",
    )


def deterministic(probe: FunctionProbe) -> Finding:
    """The same call without dropout gives the same numbers, whatever the seed."""
    inputs = probe.inputs()
    outputs = []
    for seed in (0, 1):
        torch.manual_seed(seed)
        outputs.append(probe.attend(*inputs))
    error = (outputs[0] - outputs[1]).abs().max().item()
    return judge(
        "deterministic",
        error == 0,
        f"two calls differ by {error:.1e}",
        "something random runs without dropout_p",
    )


def guarded(name: str, probe: FunctionProbe) -> Finding:
    """Run a check; one that the function makes impossible is not applicable."""
    if name not in CHECKS:
        return skip(name, "a property of modules; see check_module")
    try:
        return CHECKS[name](probe)
    except Exception as error:
        return skip(name, f"the check raised {type(error).__name__}: {error}")


CHECKS: dict[str, Callable[[FunctionProbe], Finding]] = {
    "oracle": oracle,
    "scale": scale,
    "weights": weights,
    "group order": groups,
    "mask used": mask_check("mask used", ("none",)),
    "mask polarity": mask_check("mask polarity", ("inverted", "inverted and transposed")),
    "mask axis": mask_check("mask axis", ("transposed", "inverted and transposed")),
    "mask place": mask_check(
        "mask place",
        ("zero", "added", "after", "before", "values", "unknown", "no diagonal", "one ahead"),
    ),
    "causality": causality,
    "prefix": prefix,
    "padding": padding,
    "empty rows": empty_rows,
    "packing": packing,
    "batch": batch,
    "permutation": permutation,
    "cross-attention": lengths,
    "dropout": dropout,
    "half precision": half_precision,
    "input unchanged": input_unchanged,
    "deterministic": deterministic,
}
