"""Check an attention module: its numbers from outside, its structure from its layers."""

import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from attn_docs._checks import check_callable, check_flag, check_positive, check_size
from attn_docs.testing.adapter import Adapter, FunctionAdapter, adapter_for, adapter_of
from attn_docs.testing.formula import DIVISORS, MASKS, TILED, repeat_heads
from attn_docs.testing.report import PROPERTIES, Finding, Report
from attn_docs.testing.structure import (
    FUSED_VIEW,
    Layer,
    LinearLayers,
    Structure,
    find,
    matches,
    reproduce,
    split_layers,
)
from attn_docs.testing.verdicts import (
    NO_MASK,
    finding,
    judge,
    pattern_evidence,
    sample_mask,
    skip,
    two_documents,
)

LENGTH = 6
SEEDS = range(8)
MODES = ("evaluation", "training")
UNEXPLAINED = "no way of computing that is searched reproduces the output of its layers"


def check_module(
    module: nn.Module,
    *,
    embed_dim: int,
    causal: bool = False,
    context_dim: int | None = None,
    num_heads: int | None = None,
    scale: float | None = None,
    positions: bool = False,
    adapter: Adapter | Callable[..., Tensor] | None = None,
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
        num_heads: Number of query heads, if the search for it is to be spared.
        scale: The factor that the scores should have; 1/√head_dim if None.
        positions: Whether the module adds positions of its own, as rotary ones.
        adapter: An `Adapter`, or a function that calls the module; guessed from the names of
            `forward`'s arguments if None.

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
    check_flag("causal", causal)
    check_flag("positions", positions)
    for name, size in (("context_dim", context_dim), ("num_heads", num_heads)):
        if size is not None:
            check_size(name, size)
    if scale is not None:
        check_positive("scale", scale)
    if adapter is None:
        adapter = adapter_for(module)
    elif isinstance(adapter, Adapter):
        adapter = adapter_of(module, adapter)
    else:
        check_callable("adapter", adapter)
        adapter = FunctionAdapter(adapter)
    device = next((p.device for p in module.parameters()), torch.device("cpu"))
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), torch.enable_grad():
        probe = Probe(
            module, adapter, embed_dim, context_dim or embed_dim, causal, positions, device
        )
        probe.look_inside(num_heads, scale)
        findings = [guarded(name, probe) for name in PROPERTIES]
    return Report(type(module).__name__, findings)


class NoDropout(TorchFunctionMode):
    """Switch off the dropout of every function of PyTorch that drops."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function with a probability of zero."""
        kwargs = dict(kwargs or {})
        if func in (F.dropout, torch.dropout, F.alpha_dropout, F.feature_alpha_dropout):
            return args[0] if args else kwargs["input"]
        if func is F.multi_head_attention_forward:
            bound = inspect.signature(func).bind(*args, **kwargs)
            bound.arguments["dropout_p"] = 0.0
            args, kwargs = bound.args, bound.kwargs
        if func is F.scaled_dot_product_attention:
            if len(args) > 4:
                args = (*args[:4], 0.0, *args[5:])
            else:
                kwargs["dropout_p"] = 0.0
        return func(*args, **kwargs)


@dataclass
class Probe:
    """A copy of the module with random weights, and what the checks share about it."""

    original: nn.Module
    adapter: Adapter
    embed_dim: int
    context_dim: int
    causal: bool
    positions: bool
    device: torch.device
    scale: float | None = None
    structures: dict[str, Structure | None] = field(default_factory=dict)
    training_differs: str = ""
    quiet_training: bool = False
    mask_behaviours: dict[str, tuple[str, str]] = field(default_factory=dict)
    random_eval: str = ""
    noisy: bool = False  # in evaluation, by something else than PyTorch's dropout
    built_in_causal: bool = False

    def __post_init__(self) -> None:
        """Copy the module, and see that it can be called."""
        given, failed = self.adapter, None
        for dtype in (torch.float64, torch.float32):
            self.module, self.adapter = self.fresh_copy(dtype), given
            try:
                self.adapter = fit_mask(self)
                output = self.call(self.random(1, LENGTH))
                if not isinstance(output, Tensor) or output.ndim != 3:
                    what = getattr(output, "shape", type(output).__name__)
                    raise ValueError(f"it returned {what}, not (batch, length, size)")  # noqa: TRY301
                if dtype == torch.float32 or self.finite_with_mask():
                    break
            except Exception as error:
                failed = error
        else:
            shape = (1, LENGTH, self.embed_dim)
            raise ValueError(
                f"module must run on an input of shape {shape}, perhaps through an adapter; "
                f"it raised {type(failed).__name__}: {failed}"
            ) from failed
        self.random_eval = self.randomness()
        self.quiet_training = self.deterministic_training()
        told = self.causal and not self.adapter.takes_causal
        self.built_in_causal = told or self.hides_future()

    def finite_with_mask(self) -> bool:
        """Tell whether float64 is not too wide for how the module makes numbers of a mask."""
        if not self.adapter.takes_mask:
            return True
        mask = sample_mask(LENGTH, self.device, columns=True)
        return bool(self.call(self.random(1, LENGTH), mask).isfinite().all())

    def hides_future(self) -> bool:
        """Tell whether the future is hidden without being asked for."""
        try:
            seen = self.influence(self.random(1, LENGTH), causal=False).nan_to_num(0.0)
        except RuntimeError:  # no gradient, as where the input is overwritten
            return False
        return not seen.triu(1).any() and bool(seen.tril(-1).any())

    @property
    def structure(self) -> Structure | None:
        """The way of computing in evaluation."""
        return self.structures.get("evaluation")

    def deterministic_training(self) -> bool:
        """Tell whether all that is random in training is dropout that can be switched off."""
        x = self.random(1, LENGTH)
        outputs = []
        for seed in (0, 1):
            torch.manual_seed(seed)
            with self.mode("training", quiet=True):
                outputs.append(self.call(x).detach())
        return matches(*outputs)

    @contextmanager
    def mode(self, mode: str, *, quiet: bool) -> Iterator[None]:
        """Run in training or in evaluation; quiet is without dropout."""
        self.module.train(mode == "training")
        try:
            with NoDropout() if quiet else nullcontext():
                yield
        finally:
            self.module.eval()

    def quiet(self, mode: str) -> AbstractContextManager[None]:
        """Run in training or in evaluation, without dropout where that is possible."""
        return self.mode(mode, quiet=mode == "training" and self.quiet_training)

    def seeds(self, mode: str) -> Iterable[int]:
        """Return as many seeds as uncover what dropout hides."""
        return (0,) if mode == "evaluation" or self.quiet_training else SEEDS

    def randomness(self) -> str:
        """Return how evaluation differs from seed to seed; empty if it does not."""
        x = self.random(1, LENGTH)
        outputs = []
        for seed in (0, 1, 2):
            torch.manual_seed(seed)
            outputs.append(self.call(x).detach())
        error = max((outputs[0] - other).abs().max().item() for other in outputs[1:])
        if error <= 1e-12:
            return ""
        torch.manual_seed(0)
        if not matches(self.call(x), outputs[0]):
            return ""  # not random: the module keeps state, which is judged apart
        with NoDropout():
            self.noisy = not matches(self.call(x), self.call(x))
        return f"three seeds in evaluation differ by {error:.1e}"

    def fresh_copy(self, dtype: torch.dtype) -> nn.Module:
        """Return a copy in evaluation mode whose matrices and biases are random."""
        generator = torch.Generator().manual_seed(0)
        module = copy.deepcopy(self.original).to(dtype).eval()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if parameter.ndim > 1 or name.endswith("bias"):
                    width = 1.5 * parameter.size(-1) ** -0.5 if parameter.ndim > 1 else 0.1
                    values = torch.randn(parameter.shape, generator=generator) * width
                    parameter.copy_(values)
                parameter.requires_grad_(True)
        return module

    @property
    def dtype(self) -> torch.dtype:
        """The precision of the copy."""
        return next((p.dtype for p in self.module.parameters()), torch.float64)

    @property
    def tolerance(self) -> float:
        """How far rounding may carry numbers of size one."""
        return 1e-5 if self.dtype == torch.float64 else 1e-3  # a softmax may be in float32

    def random(self, batch: int, length: int, size: int | None = None, seed: int = 0) -> Tensor:
        """Return a random input, the same for the same arguments."""
        generator = torch.Generator().manual_seed(100 * length + seed)
        x = torch.randn(batch, length, size or self.embed_dim, generator=generator)
        return x.to(self.device, self.dtype)

    def call(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        context: Tensor | None = None,
        *,
        causal: bool | None = None,
        raw: bool = False,
    ) -> Tensor:
        """Call the module; causal as the check was told, unless told otherwise."""
        causal = self.causal if causal is None else causal
        options: dict[str, Any] = {}
        if mask is not None:
            options["attn_mask"] = mask
        if causal and self.adapter.takes_causal:
            options["is_causal"] = True
        if context is None and (
            self.context_dim != self.embed_dim or self.adapter.needs_context(self.original)
        ):
            context = self.own_context(x)
        if context is not None:
            options["context"] = context
        if mask is None and self.adapter.needs_mask(self.original):
            keys = x if context is None else context
            shape = x.size(1), keys.size(1)
            options["attn_mask"] = torch.ones(shape, dtype=torch.bool, device=self.device)
        # what evaluation should not drop is not dropped, so that the other checks can go on
        quiet = bool(self.random_eval) and not self.module.training
        with NoDropout() if quiet else nullcontext():
            # a clone: what the module writes into its argument is judged apart
            return self.adapter(self.module, x if raw else x.clone(), **options)

    def own_context(self, x: Tensor) -> Tensor:
        """Return a context whose word j depends on word j of `x` alone."""
        if self.context_dim == self.embed_dim:
            return x
        return x @ self.random(1, self.embed_dim, self.context_dim, seed=5)[0].to(x) / 8

    def influence(
        self, x: Tensor, mask: Tensor | None = None, *, of: Tensor | None = None, **options: Any
    ) -> Tensor:
        """Return (n, m): how strongly output i depends on input j, by gradient."""
        x = x.clone().requires_grad_()
        source = x if of is None else of.clone().requires_grad_()
        context = None if of is None else source
        output = self.call(x, mask, context, **options)
        rows = []
        for i in range(output.size(1)):
            direction = torch.linspace(0.5, 1.5, output.size(-1)).to(output)
            value = (output[:, i] * direction).sum()
            (gradient,) = torch.autograd.grad(
                value, source, retain_graph=True, allow_unused=True, materialize_grads=True
            )
            rows.append(gradient.abs().sum((0, 2)))
        return torch.stack(rows)

    def causal_mask(self, length: int) -> Tensor:
        """Return the lower triangle."""
        return torch.ones(length, length, dtype=torch.bool, device=self.device).tril()

    def look_inside(self, num_heads: int | None, scale: float | None) -> None:
        """Search for the way of computing that reproduces the output of this module."""
        self.scale = scale
        x = self.random(1, LENGTH)
        mask = self.causal_mask(LENGTH) if self.built_in_causal else None
        layers, output = self.layers_and_output(x, causal=self.built_in_causal)
        found = self.find(layers, output, x, mask, num_heads)
        self.structures = dict.fromkeys(MODES, found)
        if self.quiet_training:
            with self.quiet("training"):
                layers, training = self.layers_and_output(x, causal=self.built_in_causal)
            if not matches(training, output):
                error = (training - output).abs().max()
                self.training_differs = (
                    f"training, without dropout, differs from evaluation by {error:.2e}"
                )
                self.structures["training"] = self.find(layers, training, x, mask, num_heads)
        if self.adapter.takes_mask:
            for mode in MODES:
                try:
                    behaviour = mask_behaviour(self, mode)
                except Exception as error:
                    behaviour = "raised", f"a boolean mask raised {type(error).__name__}: {error}"
                self.mask_behaviours[mode] = behaviour

    @cached_property
    def order_matters(self) -> bool:
        """Whether the last output depends on the order of the words before it."""
        x = self.random(1, LENGTH)
        moved = torch.cat([x[:, :-1].flip(1), x[:, -1:]], 1)
        last, again, other = (
            self.call(t, causal=self.built_in_causal)[0, -1:] for t in (x, x, moved)
        )
        return matches(last, again) and not matches(last, other)

    def find(
        self,
        layers: list[Layer],
        output: Tensor,
        x: Tensor,
        mask: Tensor | None,
        num_heads: int | None = None,
        *,
        known: Structure | None = None,
    ) -> Structure | None:
        """Search for the structure, given what the layers did with `x`."""
        context = self.own_context(x)[0]
        rotary = self.order_matters
        return find(layers, output, x[0], context, mask, num_heads, self.scale, known, rotary)

    def inner_output(self, layers: list[Layer], output: Tensor, x: Tensor) -> Tensor:
        """Return what went into the output projection, or the output if there is none."""
        _, rest = split_layers(layers, x[0], self.own_context(x)[0])
        return rest[0].input if rest else output

    def layers_and_output(self, x: Tensor, **options: Any) -> tuple[list[Layer], Tensor]:
        """Return what the module's linear layers took and gave, and the output."""
        with LinearLayers(self.module) as recorder:
            output = self.call(x, **options)
        return recorder.layers, output.detach()[0]


def fit_mask(probe: Probe) -> Adapter:
    """Return the adapter with the first number of axes and type of mask that the module takes."""
    adapter = probe.adapter
    if not adapter.takes_mask or isinstance(adapter, FunctionAdapter):
        return adapter
    batch, length = 2, 7  # a length that is seldom the number of heads
    mask = torch.ones(length, length, dtype=torch.bool, device=probe.device)
    dtypes: tuple[torch.dtype | None, ...] = (torch.bool, torch.long, probe.dtype)
    if adapter.mask_true == "added" or adapter.mask_dtype is not None:
        dtypes = (adapter.mask_dtype,)
    for dtype in dtypes:
        for axes in (2, 3, 4, 1) if adapter.mask_axes is None else (adapter.mask_axes,):
            probe.adapter = replace(adapter, mask_axes=axes, mask_dtype=dtype)
            with suppress(Exception):
                if probe.call(probe.random(batch, length), mask).shape[:2] == (batch, length):
                    return probe.adapter
    probe.adapter = adapter
    if adapter.mask_axes is None and not adapter.needs_mask(probe.original):
        return replace(adapter, attn_mask=None)
    return adapter


def oracle(probe: Probe) -> Finding:
    """The output is the formula's, in evaluation and in training."""
    found = probe.structure
    if found is None and not all_wrongs(probe):
        return skip("oracle", UNEXPLAINED)
    wrong = "; ".join(all_wrongs(probe).values())
    if found is None or wrong:
        return finding("oracle", "fail", probe.training_differs or wrong, wrong)
    heads = f"{found.how.num_heads} heads of {found.head_dim}"
    if found.how.num_kv_heads != found.how.num_heads:
        heads += f", {found.how.num_kv_heads} key and value heads"
    return judge(
        "oracle",
        not probe.training_differs,
        probe.training_differs or f"reproduced with {heads}",
        "training computes something else than evaluation, besides dropout",
    )


def all_wrongs(probe: Probe) -> dict[str, str]:
    """Return what is wrong with the structures of both modes, by property."""
    found = {mode: wrongs(s) if s is not None else {} for mode, s in probe.structures.items()}
    if not probe.training_differs:
        return found["evaluation"]
    return {
        name: f"{cause} (in {mode})" for mode in MODES[::-1] for name, cause in found[mode].items()
    }


def wrongs(found: Structure) -> dict[str, str]:
    """Return what is wrong with the structure that was found, by property."""
    how, wrong = found.how, {}
    if how.divisor != "√head_dim":
        expected = f"{found.expected:.4g}"
        if math.isclose(found.expected, found.head_dim**0.5):
            expected = f"√head_dim = {expected}"
        name = f"{how.divisor} = " if how.divisor in DIVISORS else ""
        wrong["scale"] = f"scaled by {name}{found.divisor:.4g}, expected {expected}"
    if how.axis != "keys":
        wrong["weights"] = f"the softmax runs over the {how.axis}, expected the keys"
    if how.split == "across":
        wrong["head layout"] = (
            "the heads of one position attend to each other: transpose heads and length first"
        )
    elif how.split in ("view", "kv view") or how.merge == "view":
        what = "split" if how.split != "heads" else "merged"
        wrong["head layout"] = (
            f"heads are {what} by view alone, without a transpose: scrambled heads mix positions"
        )
    elif how.merge in ("mean", "sum"):
        does = "averaged" if how.merge == "mean" else "added up"
        wrong["head layout"] = f"heads are {does}, not put side by side"
    if found.wrong:
        name = "head layout" if found.wrong == FUSED_VIEW else "projections"
        wrong[name] = found.wrong
    if how.groups in TILED:
        wrong["group order"] = TILED[how.groups]
    if how.mask != "right":
        wrong["causality"] = f"the built-in causal mask: {MASKS[how.mask]}"
    wrong.update(wrong_sources(found))
    return wrong


VALUES_TURNED = "the values are turned by their positions, expected only queries and keys"


def wrong_sources(found: Structure) -> dict[str, str]:
    """Return what is wrong with the projections that the structure uses."""
    query, key, value = found.sources.names
    if found.how.turns_values:
        return {"value projection": VALUES_TURNED}
    if value == key:
        return {"value projection": f"the value is computed with the key projection, {key}"}
    if value == query:
        return {"value projection": f"the value is computed with the query projection, {query}"}
    if value.startswith("the "):
        return {"value projection": f"the value is {value}: no value projection is used"}
    if query == key:
        return {"projections": f"query and key come from one projection, {key}"}
    for role, name in (("query", query), ("key", key)):
        if name.startswith("the "):
            return {"projections": f"the {role} is {name}: no {role} projection is used"}
    return {}


def from_structure(name: str, good: str) -> Callable[[Probe], Finding]:
    """Return the check of a property that the structure alone decides."""

    def check(probe: Probe) -> Finding:
        found = probe.structure
        cause = all_wrongs(probe).get(name, "")
        if cause:
            return finding(name, "fail", cause, cause)
        if found is None or None in probe.structures.values():
            return skip(name, UNEXPLAINED)
        how = found.how
        if name == "group order" and how.num_kv_heads in (1, how.num_heads):
            return skip(name, "no groups: as many key heads as query heads, or one")
        if name == "head layout" and how.num_heads == 1:
            return skip(name, "one head")
        evidence = good.format(
            divisor=f"{found.divisor:.4g}",
            heads=how.num_heads,
            groups=how.num_kv_heads,
            value=found.sources.names[2],
        )
        return finding(name, "pass", evidence)

    return check


def weights(probe: Probe) -> Finding:
    """The weights, read back from the output, sum to one over the keys."""
    cause = all_wrongs(probe).get("weights", "")
    if cause:
        return finding("weights", "fail", cause, cause)
    if None in probe.structures.values():
        return skip("weights", UNEXPLAINED)
    read = read_weights(probe)
    if read is None:
        return skip("weights", "the weights cannot be read back from the output")
    sums, least = read[0].sum(-1), read[0].min().item()
    off = (sums - 1).abs().max().item()
    return judge(
        "weights",
        off < 1e-5 and least > -1e-5,
        f"rows sum to 1 within {off:.1e}, the smallest weight is {least:.1e}",
        "the weights are no distribution over the keys",
    )


def read_weights(probe: Probe, seeds: Iterable[int] | None = None) -> list[Tensor] | None:
    """Solve output = weights · values for the weights, (heads, n, n).

    In evaluation, or in training with each of the seeds. None if that cannot be done.
    """
    found = probe.structure
    if found is None or found.tiny < 2:
        return None
    how = found.how
    if how.split != "heads" or how.merge != "heads" or how.turns_values:
        return None
    length = min(found.tiny, LENGTH)
    x = probe.random(1, length)
    quiet, output = probe.layers_and_output(x, causal=probe.built_in_causal)
    mask = probe.causal_mask(length) if probe.built_in_causal else None
    again = probe.find(quiet, output, x, mask, known=found)
    if again is None:
        return None
    made = reproduce(again.sources, how, mask, x.size(-1), probe.scale)
    if made is None or not matches(made[0], again.target):  # the heads lie in another order
        return None
    values = again.sources.tensors[2].view(length, how.num_kv_heads, -1).transpose(0, 1)
    values = repeat_heads(values, values, how.num_heads // how.num_kv_heads, how.groups, 0)[1]
    targets = [again.target]
    if seeds is not None:
        targets = []
        for seed in seeds:
            with probe.mode("training", quiet=False):
                torch.manual_seed(seed)
                layers, output = probe.layers_and_output(x, causal=probe.built_in_causal)
            targets.append(probe.inner_output(layers, output, x))
    heads = [target.view(length, how.num_heads, -1).transpose(0, 1) for target in targets]
    return [torch.linalg.lstsq(values.mT, y.mT).solution.mT for y in heads]


def projections(probe: Probe) -> Finding:
    """Each weight of each matrix reaches the output."""
    name = "projections"
    cause = all_wrongs(probe).get(name, "")
    if cause:
        return finding(name, "fail", cause, cause)
    tables = {id(m.weight) for m in probe.module.modules() if isinstance(m, nn.Embedding)}
    matrices = [
        (n, p)
        for n, p in probe.module.named_parameters()
        if p.ndim > 1 and id(p) not in tables  # a table's rows are used by those who look them up
    ]
    if not matrices:
        return skip(name, "the module has no matrix to learn")
    output = probe.call(probe.random(2, LENGTH))
    gradients = torch.autograd.grad(
        (output * probe.random(2, LENGTH, output.size(-1), seed=7)).sum(),
        [p for _, p in matrices],
        allow_unused=True,
    )
    unused = [
        n for (n, _), g in zip(matrices, gradients, strict=True) if g is None or not g.abs().sum()
    ]
    partly = []
    for (n, _), g in zip(matrices, gradients, strict=True):
        idle = 0 if g is None or g.ndim != 2 else int((g.abs().sum(1) == 0).sum())
        if g is not None and len(g) / 16 <= idle < len(g):  # fewer may be a ReLU's dead units
            partly.append(f"{n} ({idle} of {len(g)} rows)")
    cause = f"never used: {', '.join(unused + partly)}"
    if value := all_wrongs(probe).get("value projection"):
        cause += f"; {value}"
    good = not unused and not partly
    evidence = "every row of every matrix has a gradient" if good else cause
    return judge(name, good, evidence, cause)


def mask_behaviour(probe: Probe, mode: str) -> tuple[str, str]:
    """Return what the module does with a mask, a key of MASKS or "unknown", and the evidence."""
    length = LENGTH
    x = probe.random(1, length)
    mask = sample_mask(length, probe.device, columns=probe.adapter.mask_axes == 1)
    built_in = probe.causal_mask(length) if probe.built_in_causal else None
    with probe.quiet(mode):
        seen = torch.zeros(length, length, dtype=torch.bool, device=probe.device)
        strength = torch.zeros(length, length, dtype=probe.dtype, device=probe.device)
        for seed in probe.seeds(mode):
            torch.manual_seed(seed)
            gradient = probe.influence(x, mask, causal=probe.built_in_causal)
            strength = torch.maximum(strength, gradient.nan_to_num(0.0))
            seen |= gradient > 1e-9 * gradient.nan_to_num(0.0).max().clamp(min=1e-30)
        torch.manual_seed(0)
        masked = probe.call(x, mask, causal=probe.built_in_causal).detach()
        torch.manual_seed(0)
        plain = probe.call(x, causal=probe.built_in_causal).detach()
    if matches(masked, plain):
        if probe.adapter.mask_axes != 1 and hides_columns(probe, x, mode):
            return "columns", "a mask that hides a key from all queries works, no other does"
        return "none", "the output with a mask is the output without"
    off = ~torch.eye(length, dtype=torch.bool, device=probe.device)
    rows = ~masked[0].isnan().any(-1)
    patterns = {
        "right": mask,
        "inverted": ~mask,
        "transposed": mask.mT,
        "inverted and transposed": ~mask.mT,
    }
    for name, pattern in patterns.items():
        wanted = pattern if built_in is None else pattern & built_in
        if rows.any() and torch.equal((seen & off)[rows], (wanted & off)[rows]):
            return name, pattern_evidence(seen, mask if built_in is None else mask & built_in)
    if named := soft_mask(probe, x, mask, mode):
        return named, MASKS[named]
    leaks = (seen & ~mask & off).nonzero()
    if len(leaks):
        i, j = leaks[0].tolist()
        return "unknown", (
            f"query {i} depends on key {j}, which the mask forbids: gradient {strength[i, j]:.2e}"
        )
    i, j = ((mask & off & ~seen).nonzero()[0]).tolist()
    return "unknown", f"query {i} does not depend on key {j}, which the mask allows"


def hides_columns(probe: Probe, x: Tensor, mode: str) -> bool:
    """Tell whether keys that are hidden from all queries are hidden."""
    mask = sample_mask(x.size(1), probe.device, columns=True)
    with probe.quiet(mode):
        torch.manual_seed(0)
        seen = probe.influence(x, mask, causal=probe.built_in_causal).nan_to_num(0.0)
    hidden = ~mask & ~torch.eye(*mask.shape, dtype=torch.bool, device=mask.device)
    return not seen[hidden].any()


def soft_mask(
    probe: Probe, x: Tensor, mask: Tensor | None, mode: str, *, causal: bool = False
) -> str:
    """Return the way of masking in MASKS that reproduces the masked output."""
    found = probe.structures[mode]
    if found is None or wrongs(found) or probe.built_in_causal:
        return ""
    if mode == "training" and not probe.quiet_training:
        return ""
    with probe.quiet(mode):
        layers, output = probe.layers_and_output(x, mask=mask, causal=causal)
        plain, plain_output = probe.layers_and_output(x, causal=False)
    structure = probe.find(plain, plain_output, x, None, known=found)
    if structure is None:
        return ""
    target = probe.inner_output(layers, output, x)
    shown = probe.causal_mask(x.size(1)) if mask is None else mask
    for name in MASKS:
        how = replace(structure.how, mask=name)
        made = reproduce(structure.sources, how, shown, x.size(-1), probe.scale)
        if made is not None and matches(made[0], target):
            return name
    return ""


def mask_check(name: str, bad: tuple[str, ...]) -> Callable[[Probe], Finding]:
    """Return the check that fails on some ways of treating a mask."""

    def check(probe: Probe) -> Finding:
        if not probe.adapter.takes_mask:
            return skip(name, NO_MASK)
        evidence = ""
        kinds = {mode: probe.mask_behaviours[mode][0] for mode in MODES}
        both = kinds["training"] == kinds["evaluation"]
        for mode in MODES:
            kind, evidence = probe.mask_behaviours[mode]
            if kind == "raised":
                return skip(name, evidence)
            if kind in ("unknown", "transposed") and (root := root_cause(probe)):
                return skip(name, f"{root}; mend that first")
            if kind in bad:
                when = "" if both else f" (in {mode})"
                return finding(name, "fail", f"in {mode}: {evidence}", f"{mask_cause(kind)}{when}")
            if kind != "right":
                return skip(name, f"in {mode}: {evidence}; another mask property fails")
        return (name == "mask used" and ignored_if_causal(probe)) or finding(name, "pass", evidence)

    return check


def ignored_if_causal(probe: Probe) -> Finding | None:
    """Judge whether a mask still works together with is_causal=True; None if it does."""
    for mode in MODES:
        seen = masked_and_causal(probe, mode)
        if seen is not None and seen.tril(-1)[:, 1].any():
            return finding(
                "mask used",
                "fail",
                f"in {mode}, with is_causal=True a key that attn_mask forbids is seen",
                "attn_mask is ignored when is_causal=True is given",
            )
    return None


def mask_cause(kind: str) -> str:
    """Return the likely cause of what a module does with a mask."""
    return {
        "none": "the mask is accepted and ignored",
        "unknown": "masked keys still get a weight: fill too small or too late",
        **{name: text for name, text in MASKS.items() if name != "none"},
    }[kind]


def mask_unfit(probe: Probe, *, fit: tuple[str, ...] = ("right",)) -> str:
    """Return why checks that build on a mask cannot run; empty if they can."""
    if not probe.adapter.takes_mask:
        return NO_MASK
    for kind, evidence in probe.mask_behaviours.values():
        if kind == "raised":
            return evidence
        if kind not in fit:
            return f"{mask_cause(kind)}; mend that first"
    return ""


def mask_raises(probe: Probe) -> bool:
    """Tell whether the module refuses a boolean mask."""
    return any(kind == "raised" for kind, _ in probe.mask_behaviours.values())


def places_matter(probe: Probe) -> str:
    """Return why the place of a row's words matters where it must not; empty if unknown."""
    return next((VALUES_TURNED for s in probe.structures.values() if s and s.how.turns_values), "")


def root_cause(probe: Probe) -> str:
    """Return what is wrong inside that makes checks of masks meaningless; empty if nothing."""
    wrong = all_wrongs(probe)
    return next((wrong[n] for n in ("head layout", "weights", "scale") if n in wrong), "")


def causality(probe: Probe) -> Finding:
    """No gradient flows back from a position to a later one."""
    name = "causality"
    if not probe.causal and not probe.adapter.takes_causal:
        return skip(name, "not said to be causal")
    for mode in MODES:
        for length in (2, 3, LENGTH):
            seen = causal_influence(probe, length, mode)
            future, past = seen.triu(1), seen.tril(-1)
            if (future > 1e-9 * seen.max()).any():
                i, j = (future == future.max()).nonzero()[0].tolist()
                evidence = (
                    f"in {mode}, length {length}: position {i} depends on the later position {j}, "
                    f"gradient {future[i, j]:.2e}"
                )
                whole = causal_influence(probe, LENGTH, mode)
                cause = root_cause(probe) or causal_cause(probe, whole, mode)
                return finding(name, "fail", evidence, cause)
            if length > 2 and not (past > 1e-9 * seen.max()).any():
                evidence = f"in {mode}, length {length}: no position depends on an earlier one"
                cause = root_cause(probe) or "the causal mask removes the past as well"
                return finding(name, "fail", evidence, cause)
        if (seen_both := masked_and_causal(probe, mode)) is not None:
            future = seen_both.triu(1).nonzero()
            if len(future):
                i, j = future[0].tolist()
                return finding(
                    name,
                    "fail",
                    f"in {mode}, with attn_mask and is_causal=True: position {i} depends on the "
                    f"later position {j}",
                    "is_causal is ignored when attn_mask is given",
                )
    return finding(name, "pass", f"no gradient from the future at lengths 2, 3 and {LENGTH}")


def masked_and_causal(probe: Probe, mode: str) -> Tensor | None:
    """Return (n, n): what is seen with a mask and is_causal together, None if that is no call."""
    if mask_unfit(probe) or not probe.adapter.takes_causal or probe.built_in_causal:
        return None
    if probe.adapter.needs_mask(probe.original):
        return None
    x = probe.random(1, LENGTH)
    mask = sample_mask(LENGTH, probe.device, columns=True)
    seen = torch.zeros(LENGTH, LENGTH, dtype=probe.dtype, device=probe.device)
    with suppress(Exception), probe.quiet(mode):  # PyTorch's function refuses both at once
        for seed in probe.seeds(mode):
            torch.manual_seed(seed)
            gradient = probe.influence(x, mask, causal=True).nan_to_num(0.0)
            seen = torch.maximum(seen, gradient)
        return seen > 1e-9 * seen.max()
    return None


def causal_influence(probe: Probe, length: int, mode: str) -> Tensor:
    """Return how strongly output i depends on input j, with what dropout hides uncovered."""
    x = probe.random(1, length)
    seen = torch.zeros(length, length, dtype=probe.dtype, device=probe.device)
    with probe.quiet(mode):
        for seed in probe.seeds(mode):
            torch.manual_seed(seed)
            seen = torch.maximum(seen, probe.influence(x, causal=True).nan_to_num(0.0))
    return seen


def causal_cause(probe: Probe, seen: Tensor, mode: str) -> str:
    """Name the pattern of a leak."""
    off = ~torch.eye(len(seen), dtype=torch.bool, device=seen.device)
    strong = (seen > 1e-9 * seen.max()) & off
    ones = torch.ones_like(strong)
    if torch.equal(strong, ones.triu(1)):
        return f"the causal mask is inverted: it keeps the future and removes the past (in {mode})"
    if torch.equal(strong, off & ones.tril(1)):
        return f"the causal mask is off by one: a position sees the next one (in {mode})"
    if not strong.triu(1).equal(ones.triu(1)):
        return f"the causal mask is no lower triangle (in {mode})"
    kind, _ = probe.mask_behaviours.get(mode, ("right", ""))
    if kind not in ("right", "raised", "none"):
        return f"as with attn_mask, {mask_cause(kind)} (in {mode})"
    if cause := all_wrongs(probe).get("causality"):
        return cause
    if probe.built_in_causal:
        return f"the causal mask is not applied (in {mode})"
    x = probe.random(1, LENGTH)
    if (named := soft_mask(probe, x, None, mode, causal=True)) not in ("", "none"):
        return f"{MASKS[named]} (in {mode})"
    with probe.quiet(mode):
        torch.manual_seed(0)
        masked = probe.call(x, causal=True)
        torch.manual_seed(0)
        plain = probe.call(x, causal=False)
    if matches(masked, plain):
        return f"the causal mask is not applied (in {mode})"
    return f"{mask_cause('unknown')} (in {mode})"


def prefix(probe: Probe) -> Finding:
    """The first positions come out the same when the later ones are cut off."""
    name = "prefix"
    if not probe.causal and not probe.adapter.takes_causal:
        return skip(name, "not said to be causal")
    x = probe.random(1, LENGTH)
    whole = probe.call(x, causal=True).detach()
    for length in range(1, LENGTH):
        part = probe.call(x[:, :length], causal=True).detach()
        error = (whole[:, :length] - part).abs().max().item()
        if not error <= probe.tolerance:
            return finding(
                name,
                "fail",
                f"the first {length} of {LENGTH} positions differ by {error:.2e} when run alone",
                "later positions change earlier ones: see causality"
                if causality(probe).verdict == "fail"
                else root_cause(probe) or "what a position gets depends on how many come after it",
            )
    return finding(name, "pass", f"every beginning of {LENGTH} positions is the same run alone")


def padding(probe: Probe) -> Finding:
    """Large numbers in masked slots, left or right, change nothing."""
    name = "padding"
    if why := mask_unfit(probe, fit=("right", "columns")):
        return skip(name, why)
    real, pad = 4, 3
    x = probe.random(1, real)
    alone = probe.call(x).detach()
    noise = 1e4 * probe.random(1, pad, seed=3).sign()
    worst = 0.0
    for side in ("right", "left"):
        if side == "left" and probe.positions:
            continue
        parts = [x, noise] if side == "right" else [noise, x]
        mask = torch.ones(real + pad, real + pad, dtype=torch.bool, device=probe.device)
        slots = slice(0, real) if side == "right" else slice(pad, None)
        padded = slice(real, None) if side == "right" else slice(0, pad)
        mask[:, padded] = False
        output = probe.call(torch.cat(parts, 1), mask).detach()[:, slots]
        error = (output - alone).abs().max().item()
        if not error <= 100 * probe.tolerance:
            return finding(
                name,
                "fail",
                f"{pad} slots of ±1e4 on the {side} change the output by {error:.2e}",
                places_matter(probe)
                or "masked keys still get a weight: the fill value is too small, or the mask "
                "comes too late",
            )
        worst = max(worst, error)
    if failed := own_padding(probe):
        return failed
    sides = "on the right" if probe.positions else "left and right"
    return finding(name, "pass", f"slots of ±1e4, {sides}, change it by {worst:.1e}")


def own_padding(probe: Probe) -> Finding | None:
    """Judge two samples of one batch with padding of their own; None if nothing is wrong."""
    if probe.adapter.mask_axes in (2, None):
        return None  # one mask serves the whole batch
    x = probe.random(2, LENGTH)
    masks = torch.ones(2, LENGTH, LENGTH, dtype=torch.bool, device=probe.device)
    lengths = (LENGTH, 3)
    masks[1, :, 3:] = False
    together = probe.call(x, masks).detach()
    for i, length in enumerate(lengths):
        alone = probe.call(x[i : i + 1, :length]).detach()[0]
        error = (together[i, :length] - alone).abs().max().item()
        if not error <= 100 * probe.tolerance:
            return finding(
                "padding",
                "fail",
                f"sample {i} of two with lengths {lengths} differs by {error:.2e} from alone",
                "the masks of the samples are mixed up: one sample's padding hides another's words",
            )
    return None


def empty_rows(probe: Probe) -> Finding:
    """A query that may attend to nothing gives finite numbers and gradients."""
    name = "empty rows"
    if why := mask_unfit(probe):
        return skip(name, why)
    exact = probe.module
    probe.module = probe.fresh_copy(torch.float32)
    try:
        return empty_rows_of(probe)
    finally:
        probe.module = exact


def empty_rows_of(probe: Probe) -> Finding:
    """Judge a mask with an empty row in the precision that models run in."""
    name = "empty rows"
    x = probe.random(1, LENGTH).requires_grad_()
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=probe.device)
    if probe.adapter.mask_axes == 1:
        mask[:] = False
    else:
        mask[2] = False
    output = probe.call(x, mask)
    parameters = [p for p in probe.module.parameters() if p.requires_grad]
    gradients = torch.autograd.grad(
        output.sum(), [x, *parameters], allow_unused=True, materialize_grads=True
    )
    forward = int((~output.isfinite()).sum())
    backward = sum(int((~g.isfinite()).sum()) for g in gradients)
    return judge(
        name,
        not forward and not backward,
        f"{forward} outputs and {backward} gradients are not finite",
        "softmax of a row of −∞ is NaN: set such rows aside before the softmax",
    )


def packing(probe: Probe) -> Finding:
    """Two documents in one row, kept apart by a mask, come out as alone."""
    name = "packing"
    if why := mask_unfit(probe, fit=("right", "columns")):
        return skip(name, why)
    if probe.adapter.mask_axes == 1:
        return skip(name, "the module takes no mask of queries and keys")
    if probe.positions:
        return skip(name, "the module adds positions of its own")
    first, second = probe.random(1, 3), probe.random(1, 4)
    mask = two_documents().to(probe.device)
    together = probe.call(torch.cat([first, second], 1), mask).detach()
    alone = torch.cat([probe.call(first), probe.call(second)], 1).detach()
    error = (together - alone).abs().max().item()
    return judge(
        name,
        error <= probe.tolerance,
        f"documents of 3 and 4 in one row differ by {error:.1e} from each alone",
        MASKS["columns"]
        if "columns" in {kind for kind, _ in probe.mask_behaviours.values()}
        else places_matter(probe)
        or "documents in one row see each other, or their place in the row matters",
    )


def batch(probe: Probe) -> Finding:
    """No sample depends on another sample of its batch."""
    x = probe.random(3, LENGTH).requires_grad_()
    output = probe.call(x)
    (gradient,) = torch.autograd.grad(output[1].sum(), x)
    leak = gradient[[0, 2]].nan_to_num(0.0).abs().max().item()
    together = output.detach()
    alone = torch.cat([probe.call(x.detach()[i : i + 1]) for i in range(3)]).detach()
    if together.isnan().any() and torch.equal(together.isnan(), alone.isnan()):
        return skip("batch", "the output is NaN, alone and in a batch")
    error = (together - alone).abs().max().item()
    return judge(
        "batch",
        leak <= 1e-12 and error <= probe.tolerance,
        f"gradient from another sample {leak:.1e}; alone and in a batch differ by {error:.1e}",
        "samples are mixed: batch and length axes are swapped, or a view crosses them",
    )


def permutation(probe: Probe) -> Finding:
    """A shuffled input gives the shuffled output, if nothing says where a word stands."""
    name = "permutation"
    if probe.built_in_causal:
        return skip(name, "the module is causal by itself")
    if probe.positions:
        return skip(name, "the module adds positions of its own")
    x = probe.random(1, LENGTH)
    order = torch.tensor([3, 0, 5, 1, 4, 2], device=probe.device)
    output = probe.call(x, causal=False).detach()
    shuffled = probe.call(x[:, order], causal=False).detach()
    error = (shuffled - output[:, order]).abs().max().item()
    if error <= probe.tolerance:
        return finding(name, "pass", f"shuffled input, shuffled output, within {error:.1e}")
    if probe.structure is not None and (cause := wrongs(probe.structure).get("head layout")):
        return finding(name, "fail", f"a shuffled input differs by {error:.2e}", cause)
    same = probe.call(x[:, :1].expand(-1, LENGTH, -1), causal=False).detach()
    spread = (same - same[:, :1]).abs().max().item()
    if spread <= probe.tolerance:
        return skip(name, "the order matters, though equal words come out equal: positions")
    return finding(
        name,
        "fail",
        f"{LENGTH} equal words come out different, by {spread:.2e}",
        places_matter(probe)
        or "heads are cut or joined so that positions mix (scrambled heads); if the module adds "
        "positions to its input, pass positions=True",
    )


def refusal(probe: Probe, error: Exception) -> str:
    """Return what a module says that takes no context however long; empty if it says nothing."""
    if isinstance(error, (ValueError, TypeError, NotImplementedError)):  # no shape that fails
        try:
            probe.call(
                probe.random(1, 4), None, probe.random(1, 4, probe.context_dim), causal=False
            )
        except type(error) as again:
            return str(again)
    return ""


def cross_attention(probe: Probe) -> Finding:
    """Output i depends on word i of `x` and on the context, of any length."""
    name = "cross-attention"
    if not probe.adapter.takes_context:
        return skip(name, "the module takes no context")
    x, context = probe.random(1, 4), probe.random(1, 7, probe.context_dim)
    try:
        output = probe.call(x, None, context, causal=False)
    except Exception as error:
        if refused := refusal(probe, error):
            return skip(name, f"the module refuses a context: {refused}")
        return finding(
            name,
            "fail",
            f"4 queries and 7 keys raised {type(error).__name__}: {error}",
            "keys or values are made from x, not from the context"
            if sees_other_words(probe)
            else "the length of the queries is used for the keys",
        )
    if output.shape[:2] != (1, 4):
        return finding(
            name,
            "fail",
            f"4 queries and 7 keys gave shape {tuple(output.shape)}",
            "queries are made from the context",
        )
    x = x.requires_grad_()
    output = probe.call(x, None, context, causal=False)
    (own,) = torch.autograd.grad(output[0, 1].sum(), x, allow_unused=True, materialize_grads=True)
    others = own[0, [0, 2, 3]].abs().max().item()
    from_context = probe.influence(x.detach(), of=context, causal=False)
    if others > 1e-9 * own.abs().max().item() and others > 0:
        return finding(
            name,
            "fail",
            f"output 1 depends on other words of x: gradient {others:.2e}",
            root_cause(probe) or "keys or values are made from x, not from the context",
        )
    missing = (from_context <= 1e-12).nonzero()
    if len(missing):
        i, j = missing[0].tolist()
        return finding(
            name,
            "fail",
            f"output {i} does not depend on word {j} of the context",
            "part of the context is cut off or masked",
        )
    if not own[0, 1].abs().max() > 0:
        return finding(
            name, "fail", "the output does not depend on x", "queries are not made from x"
        )
    if probe.adapter.takes_mask and probe.adapter.mask_axes != 1 and not mask_unfit(probe):
        mask = sample_mask(7, probe.device)[:4]
        seen = probe.influence(x.detach(), mask, of=context, causal=False) > 1e-12
        if not torch.equal(seen, mask):
            i, j = (seen != mask).nonzero()[0].tolist()
            return finding(
                name,
                "fail",
                f"with a mask, output {i} {'sees' if seen[i, j] else 'does not see'} key {j}",
                "the mask is not applied to the keys of the context",
            )
    return finding(name, "pass", "4 queries, 7 keys: each output sees its own word and all keys")


def sees_other_words(probe: Probe) -> bool:
    """Tell whether an output depends on other words of `x`, with a context of equal length."""
    x = probe.random(1, 4).requires_grad_()
    with suppress(Exception):
        output = probe.call(x, None, probe.random(1, 4, probe.context_dim, seed=1), causal=False)
        (gradient,) = torch.autograd.grad(output[0, 1].sum(), x)
        return bool(gradient[0, [0, 2, 3]].abs().max() > 1e-9 * gradient.abs().max())
    return False


def dropout(probe: Probe) -> Finding:
    """In training, weights are dropped and the rest grow to keep the mean."""
    name = "dropout"
    x = probe.random(1, LENGTH)
    outputs = []
    probe.module.train()
    for seed in (0, 1):
        torch.manual_seed(seed)
        outputs.append(probe.call(x).detach())
    probe.module.eval()
    if matches(outputs[0], outputs[1]):
        return skip(name, "training is as deterministic as evaluation: no dropout")
    quiet, trained = read_weights(probe), read_weights(probe, range(4))
    if quiet is None or trained is None:
        return skip(name, "the weights cannot be read back from the output")
    slack = 10 * probe.tolerance
    allowed = quiet[0] > (1e-6 if probe.dtype == torch.float64 else slack)
    ratio = torch.cat([(weights / quiet[0])[allowed] for weights in trained])
    sums = torch.cat([weights.sum(-1).flatten() for weights in trained])
    dropped = ratio.abs() < slack
    kept = ratio[~dropped]
    if not dropped.any() and matches(ratio, torch.ones_like(ratio)):
        return skip(name, "dropout is after the output projection, none is on the weights")
    factor = kept.median().item()
    same = bool(((kept - factor).abs() < 10 * slack).all())
    if dropped.any() and same and factor > 1 + slack / 10:
        return finding(
            name, "pass", f"weights are dropped, those kept grow by {factor:.4g} = 1/(1 − p)"
        )
    if dropped.any() and same:
        return finding(
            name,
            "fail",
            f"weights are dropped, those kept stay {factor:.4g} times what they were",
            "the kept weights are not divided by 1 − p",
        )
    if bool(((sums - 1).abs() < 10 * slack).all()):
        return finding(
            name,
            "fail",
            f"rows still sum to 1 in training, with weights changed by {ratio.min():.3g} to "
            f"{ratio.max():.3g} times",
            "dropout is applied to the scores, before the softmax; it belongs on the weights",
        )
    return finding(
        name,
        "fail",
        f"weights in training are {ratio.min():.3g} to {ratio.max():.3g} times those of evaluation",
        "dropout is not on the weights after the softmax",
    )


def dropout_off_in_eval(probe: Probe) -> Finding:
    """Calls in evaluation give the same, whatever the seed."""
    return judge(
        "dropout off in eval",
        not probe.random_eval,
        probe.random_eval or "three seeds in evaluation give the same",
        "something random that is none of PyTorch's dropout functions runs in evaluation"
        if probe.noisy
        else "dropout is applied in evaluation: pass dropout_p only when self.training",
    )


def cache(probe: Probe) -> Finding:
    """Decoding with a cache gives what the whole sequence gives."""
    name = "cache"
    if probe.adapter.step is None:
        return skip(name, "the adapter has no step(module, x, cache)")
    x = probe.random(2, LENGTH)
    whole = probe.call(x, causal=True).detach()
    worst, refused = 0.0, ""
    for sizes in ((LENGTH,), (1,) * LENGTH, (3, 1, 1, 1), (2, 3, 1)):
        try:
            stepped = in_steps(probe, x, sizes).detach()
        except Exception as error:
            refused = f"steps of {sizes} raised {type(error).__name__}: {error}"
            if max(sizes) == 1:
                cause = "a step cannot go on from the cache of the step before"
                return finding(name, "fail", refused, cache_root(probe) or cause)
            continue
        if stepped.shape != whole.shape:
            evidence = f"steps of {sizes} gave shape {tuple(stepped.shape)}"
            return finding(name, "fail", evidence, "a step returns other positions than it got")
        off = (stepped - whole).abs()
        if not off.max() <= probe.tolerance:
            position = int((~(off.amax((0, 2)) <= probe.tolerance)).nonzero()[0])
            return finding(
                name,
                "fail",
                f"in steps of {sizes} position {position} differs by {off.max():.2e} from the "
                "whole",
                cache_root(probe) or cache_cause(probe, sizes, position),
            )
        worst = max(worst, off.max().item())
    if refused:
        return skip(name, f"single steps agree, but {refused}")
    return finding(name, "pass", f"whole, single steps and chunks agree within {worst:.1e}")


def cache_root(probe: Probe) -> str:
    """Return what is wrong without a cache already; empty if nothing."""
    if causality(probe).verdict == "fail":
        return "later positions change earlier ones: see causality"
    if batch(probe).verdict == "fail":
        return "samples are mixed: see batch"
    if (crossed := cross_attention(probe)).verdict == "fail":
        return crossed.cause
    return root_cause(probe)


def in_steps(probe: Probe, x: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Return the outputs of the steps, side by side."""
    step, held, outputs, start = probe.adapter.step, None, [], 0
    if step is None:
        raise ValueError("the adapter has no step")
    with NoDropout() if probe.random_eval else nullcontext():
        for size in sizes:
            output, held = step(probe.module, x[:, start : start + size].clone(), held)
            outputs.append(output)
            start += size
    return torch.cat(outputs, 1)


def cache_cause(probe: Probe, sizes: tuple[int, ...], position: int) -> str:
    """Name the likely cause of a cache that gives other numbers: what does the position see?"""
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    start = max(s for s in starts if s <= position)  # of the position's own chunk
    x = probe.random(2, LENGTH)
    values = in_steps(probe, x, sizes)[:, position]

    def sees(j: int) -> bool:  # no gradient: it does not go through what is written in place
        changed = x.clone()
        changed[:, j] += 1.0
        return not matches(in_steps(probe, changed, sizes)[:, position], values)

    seen = [j for j in range(LENGTH) if sees(j)]
    if start and not any(j < start for j in seen):
        return (
            "the cache is overwritten, not extended: earlier keys and values are lost"
            if position in seen
            else "with a cache, the causal mask is aligned with the first key, expected the last"
        )
    if position not in seen:
        return (
            "with a cache, the causal mask is aligned with the first key, expected the last: "
            "query i of a chunk sees key i + (keys − queries)"
        )
    if any(j > position for j in seen):
        return "within a chunk the causal mask is not applied: a position sees later ones"
    if seen != list(range(position + 1)):
        lost = [j for j in range(position + 1) if j not in seen]
        return f"part of the cache is lost: position {position} does not see {lost}"
    if counts := key_counts(probe, sizes, position):
        return counts
    from_zero = "positions are counted from 0 in each step, expected from the number of kept keys"
    if probe.positions and start:
        return from_zero
    if start and probe.structure is not None and probe.structure.how.rotary:
        return f"{from_zero}; or kept keys are turned again"
    if not start:
        return "the first chunk itself differs from the whole: its causal mask, or its positions"
    return (
        "all earlier positions are seen, with other numbers: keys are in the cache more than once, "
        "or were changed there"
    )


def key_counts(probe: Probe, sizes: tuple[int, ...], position: int) -> str:
    """Say how often each key is counted, if that explains the numbers; empty if not."""
    found = probe.structure
    end = next(e for e in (sum(sizes[: i + 1]) for i in range(len(sizes))) if e > position)
    x = probe.random(1, LENGTH)
    mask = probe.causal_mask(LENGTH) if probe.built_in_causal else None
    layers, output = probe.layers_and_output(x, causal=probe.built_in_causal)
    if found is None or (again := probe.find(layers, output, x, mask, known=found)) is None:
        return ""
    stepped = in_steps(probe, x, sizes)[0, position].detach()
    below = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=probe.device).tril()
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    start = max(s for s in starts if s <= position)
    _, rest = split_layers(layers, x[0], probe.own_context(x)[0])
    for what, slots in (("the new", range(start, end)), ("the old", range(start))):
        for times in (2, 3):
            keys = [*range(LENGTH), *(list(slots) * (times - 1))]
            query, key, value = again.sources.tensors
            sources = replace(again.sources, tensors=(query, key[keys], value[keys]))
            made = reproduce(sources, found.how, below[:, keys], x.size(-1), probe.scale)
            if made is None:
                continue
            final = project(probe, rest[0], made[0]) if rest else made[0]
            if final is not None and matches(final[position], stepped):
                return f"{what} keys and values are in the cache {times} times"
    return ""


def project(probe: Probe, layer: Layer, inner: Tensor) -> Tensor | None:
    """Put other heads' results through the output projection."""
    weight = dict(probe.module.named_parameters())[layer.name].detach()
    if weight.ndim != 2:
        return None
    for matrix in (weight.mT, weight):
        if matrix.size(0) == inner.size(-1):
            bias = layer.output - layer.input @ matrix
            if torch.allclose(bias, bias[:1].expand_as(bias), atol=1e-5):
                result: Tensor = inner @ matrix + bias[:1]
                return result
    return None


def half_precision(probe: Probe) -> Finding:
    """In float16 the output is finite and close to float64's."""
    name = "half precision"
    exact = probe.module
    x = probe.random(1, LENGTH)
    mask = sample_mask(LENGTH, probe.device, columns=probe.adapter.mask_axes == 1)
    use_mask = probe.adapter.takes_mask and not mask_raises(probe)
    worst = 0.0
    try:
        for given in (None, mask) if use_mask else (None,):
            expected = probe.call(x, given).detach()
            if not expected.isfinite().all():
                return skip(name, "float64 is not finite either")
            probe.module = probe.fresh_copy(torch.float16)
            output = probe.call(x.half(), given).detach().double()
            probe.module = exact
            if not output.isfinite().all():
                return finding(
                    name,
                    "fail",
                    f"{int((~output.isfinite()).sum())} outputs are not finite",
                    "a value above 65504, the largest of float16, or a NaN from −∞",
                )
            worst = max(worst, (output - expected).abs().max().item() / expected.abs().max().item())
    except Exception as error:
        if "overflow" in str(error):
            return finding(
                name,
                "fail",
                f"float16 raised: {error}",
                "the fill value of the mask is too large for float16: use −inf",
            )
        return skip(name, f"float16 raised: {error}")
    finally:
        probe.module = exact
    return judge(
        name, worst < 0.05, f"float16 errs by {worst:.1e} of the largest", "precision is lost"
    )


def input_unchanged(probe: Probe) -> Finding:
    """The call writes into none of its arguments."""
    x = probe.random(2, LENGTH)
    mask = sample_mask(LENGTH, probe.device, columns=probe.adapter.mask_axes == 1)
    before, mask_before = x.clone(), mask.clone()
    use_mask = probe.adapter.takes_mask and not mask_raises(probe)
    probe.call(x, mask if use_mask else None, raw=True)
    changed = [
        name
        for name, a, b in (("x", x, before), ("attn_mask", mask, mask_before))
        if not torch.equal(a, b)
    ]
    return judge(
        "input unchanged",
        not changed,
        f"changed: {', '.join(changed)}" if changed else "x and the mask are as they were",
        "an in-place operation writes into an argument",
    )


def deterministic(probe: Probe) -> Finding:
    """The same call, with the same seed, gives the same numbers."""
    x = probe.random(2, LENGTH)
    outputs = []
    for _ in range(2):
        torch.manual_seed(0)
        outputs.append(probe.call(x).detach())
    error = (outputs[0] - outputs[1]).abs().max().item()
    same_nan = torch.equal(outputs[0].isnan(), outputs[1].isnan())
    if math.isnan(error) and same_nan:  # NaN both times
        error = (outputs[0] - outputs[1]).nan_to_num(0.0).abs().max().item()
    return judge(
        "deterministic",
        error == 0,
        f"two calls with one seed differ by {error:.1e}",
        "the module keeps state from call to call",
    )


def guarded(name: str, probe: Probe) -> Finding:
    """Run a check; one that the module makes impossible is not applicable."""
    if probe.noisy and name not in DESPITE_NOISE:
        return skip(name, "evaluation is random; mend that first")
    try:
        return CHECKS[name](probe)
    except Exception as error:
        return skip(name, f"the check raised {type(error).__name__}: {error}")
    finally:
        probe.module.eval()


DESPITE_NOISE = ("projections", "dropout off in eval", "input unchanged")
CHECKS: dict[str, Callable[[Probe], Finding]] = {
    "oracle": oracle,
    "scale": from_structure("scale", "scores are divided by {divisor}"),
    "weights": weights,
    "value projection": from_structure("value projection", "values come from {value}"),
    "projections": projections,
    "head layout": from_structure(
        "head layout", "{heads} heads, cut and joined position by position"
    ),
    "group order": from_structure(
        "group order", "{groups} key heads serve {heads} query heads in a row"
    ),
    "mask used": mask_check("mask used", ("none",)),
    "mask polarity": mask_check("mask polarity", ("inverted", "inverted and transposed")),
    "mask axis": mask_check("mask axis", ("transposed", "inverted and transposed")),
    "mask place": mask_check(
        "mask place", ("zero", "added", "after", "before", "values", "unknown")
    ),
    "causality": causality,
    "prefix": prefix,
    "padding": padding,
    "empty rows": empty_rows,
    "packing": packing,
    "batch": batch,
    "permutation": permutation,
    "cross-attention": cross_attention,
    "dropout": dropout,
    "dropout off in eval": dropout_off_in_eval,
    "cache": cache,
    "half precision": half_precision,
    "input unchanged": input_unchanged,
    "deterministic": deterministic,
}
