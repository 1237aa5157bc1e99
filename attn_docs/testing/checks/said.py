"""Checks of what was said of a module: its claims."""

import inspect
import itertools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attn_docs.testing.insight import mask_unfit
from attn_docs.testing.judgement import Judgement, failed, judge, passed, skipped, unknown
from attn_docs.testing.module_insight import ModuleInsight
from attn_docs.testing.module_subject import ModuleSubject
from attn_docs.testing.patterns import shuffled
from attn_docs.testing.subject import influence, seeded


def claims(insight: ModuleInsight) -> Judgement:
    """What was said of the module is so."""
    said = []
    for check in (_heads, _scale, _positions, _window, _dropout, _weights):
        judgement = check(insight)
        if judgement is not None and judgement.verdict != "pass":
            return judgement
        if judgement is not None:
            said.append(judgement.evidence)
    return passed("; ".join(said)) if said else skipped("nothing was said that can be verified")


def _heads(insight: ModuleInsight) -> Judgement | None:
    """num_heads: the number in the formula that was found, or as they ran."""
    told, found = insight.subject.claims.num_heads, insight.num_heads
    if told is None or found is None:
        return None
    if found == told:
        return passed(f"{told} heads")
    wrong = f"num_heads={told} was said, the layer has {found}"
    return failed(wrong, wrong)


def _scale(insight: ModuleInsight) -> Judgement | None:
    """scale: the property of that name has judged it; here, whether it could."""
    told = insight.subject.claims.scale
    if told is None or "scale" in insight.wrongs:
        return None
    known = insight.structure is not None or insight.holds("scale")
    return passed(f"scale={told}") if known else unknown(f"scale={told}: it could not be measured")


def _positions(insight: ModuleInsight) -> Judgement | None:
    """positions: the order matters, and in the way that was said."""
    subject, told = insight.subject, insight.subject.claims.positions
    if not told:
        return None
    if not _order_matters(subject):
        wrong = "positions were said to be added, and the order of the tokens changes nothing"
        return failed(wrong, "positions are not applied, or not to both queries and keys")
    if told is True:
        return passed("the order of the tokens matters")
    if subject.runs_on(1) and subject.claims.weights == "softmax":
        words = subject.words(1, 1).expand(-1, subject.length, -1)
        made = subject.call(words, causal=subject.always_causal)
        spread = (made - made[:, :1]).abs().max().item()
        if (spread <= subject.tolerance) == (told == "added"):
            does = "differ by" if told == "rotary" else "come out the same, within"
            return failed(
                f"positions={told!r} was said, and equal tokens {does} {spread:.2e}",
                "positions reach the values"
                if told == "rotary"
                else "positions are not added to the tokens",
            )
    if told == "rotary" and (moved := _moved(insight)):
        return failed(moved, "queries and keys are not turned alike: not their distance counts")
    return passed(f"the order of the tokens matters, as with {told} positions")


def _order_matters(subject: ModuleSubject) -> bool:
    """Tell whether the last output changes when the tokens before it change places."""
    x = subject.words(1, subject.length)
    order = torch.cat([shuffled(subject.length - 1, x.device), torch.tensor([x.size(1) - 1])])
    causal = subject.always_causal
    error = subject.call(x, causal=causal)[:, -1] - subject.call(x[:, order], causal=causal)[:, -1]
    return bool(error.abs().max() > subject.tolerance)


def _moved(insight: ModuleInsight) -> str:
    """Say how tokens that stand behind masked slots differ from themselves at the start."""
    subject = insight.subject
    if mask_unfit(insight, "columns") or not subject.runs_on(4, 7):
        return ""
    x, slots = subject.words(1, 4), subject.words(1, 3, seed=3)
    mask = torch.ones(7, 7, dtype=torch.bool, device=subject.device)
    mask[:, :3] = False
    moved = subject.call(torch.cat([slots, x], 1), mask)[:, 3:]
    error = (moved - subject.call(x)).abs().max().item()
    off = not error <= 10 * subject.tolerance
    return f"4 tokens that stand 3 places later differ by {error:.2e}" if off else ""


def _window(insight: ModuleInsight) -> Judgement | None:
    """Window and prefix: each token sees those that were said, and no others."""
    subject = insight.subject
    window, prefix = subject.claims.window, subject.claims.prefix
    if window is None and prefix is None:
        return None
    length = max(subject.length, (window or 0) + 2, (prefix or 0) + 2)
    if not subject.runs_on(length):
        return unknown(f"the module takes no {length} tokens, in which a window would show")
    seen = influence(subject, subject.words(1, length), causal=True)
    wrong = ((seen > 1e-9 * seen.max()) != subject.shown(length)).nonzero()
    named = [f"{n}={v}" for n, v in (("window", window), ("prefix", prefix)) if v is not None]
    if not len(wrong):
        return passed(f"{' and '.join(named)}: the tokens seen are those")
    i, j = wrong[0].tolist()
    does = "does not depend" if subject.shown(length)[i, j] else "depends"
    return failed(
        f"{' and '.join(named)} was said, and of {length} tokens output {i} {does} on token {j}",
        "the window or prefix has another size, or is not applied; the token itself counts",
    )


# the names of the arguments that may be given by place, up to the probability, and its default
DROPS: dict[Any, tuple[tuple[str, ...], float]] = {
    F.dropout: (("input", "p"), 0.5),
    F.scaled_dot_product_attention: (("query", "key", "value", "attn_mask", "dropout_p"), 0.0),
    F.multi_head_attention_forward: (
        tuple(inspect.signature(F.multi_head_attention_forward).parameters)[:11],
        0.0,
    ),
}


class _Probabilities(TorchFunctionMode):
    """Write down with which probability PyTorch's functions drop."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[float] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function."""
        kwargs = dict(kwargs or {})
        if func in DROPS:
            names, default = DROPS[func]
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            if given.get("training", True):
                self.found.add(given.get(names[-1], default))
        return func(*args, **kwargs)


def _dropout(insight: ModuleInsight) -> Judgement | None:
    """dropout: something is dropped in training, with that probability."""
    told = insight.subject.claims.dropout
    if told is None:
        return None
    subject = insight.subject.in_mode("training", quiet=False)
    outputs = []
    with _Probabilities() as recorder:
        for seed in (0, 1, 2):
            seeded(seed, subject.device)
            outputs.append(subject.call(subject.words(1, subject.length)).detach())
    random = any((output - outputs[0]).abs().max() > 0 for output in outputs)
    found = sorted(p for p in recorder.found if p)
    if random != (told > 0):
        does = "is random" if random else "gives the same for each seed"
        return failed(
            f"dropout={told} was said, and training {does}",
            f"it drops with {found}" if found else "the probability does not reach the weights",
        )
    if told == 0 or told in found:
        return passed(f"dropout={told}")
    if found:
        wrong = f"dropout={told} was said, and it drops with {', '.join(map(str, found))}"
        return failed(wrong, wrong)
    return unknown(f"dropout={told}: something is random, and no function of PyTorch's drops")


def _weights(insight: ModuleInsight) -> Judgement | None:
    """weights: sinks or a sigmoid, with which equal tokens do not give what one gives."""
    told, subject = insight.subject.claims.weights, insight.subject
    if told == "softmax" or subject.positions or not subject.runs_on(1, 2):
        return None
    one, two = (_equal(subject, count) for count in (1, 2))
    if (one - two).abs().max() <= subject.tolerance:
        return failed(
            f"weights={told!r} was said, and two equal tokens give what one gives",
            "the weights sum to one: a softmax over the tokens alone",
        )
    return passed(f"weights={told!r}: equal tokens give more than one")


def _equal(subject: ModuleSubject, count: int) -> Tensor:
    words = subject.words(1, 1).expand(-1, count, -1)
    return subject.call(words, causal=subject.always_causal)[:, -1].detach()


def other_weights(insight: ModuleInsight) -> Judgement:
    """Weights that do not sum to one: what n equal tokens give grows as was said."""
    subject, told = insight.subject, insight.subject.claims.weights
    counts = (8, 16, 32, 64) if told == "sinks" else (1, 2, 3, 4)
    if subject.positions or not subject.runs_on(*counts):
        return unknown(f"weights={told!r}: where positions are added it cannot be told")
    made = [_equal(subject, count) for count in counts]
    first, *_, last = (b - a for a, b in itertools.pairwise(made))
    if told == "sigmoid":  # each token adds what it adds by itself
        off = (first - last).abs().max().item()
        if off <= subject.tolerance:
            return passed("each of up to 4 equal tokens adds the same: no weight knows the others")
        return unknown(f"equal tokens add what differs by {off:.1e}: the number of tokens counts")
    ratio = (last.norm() / first.norm().clamp(min=1e-30)).item()
    # what goes to no token is sink / (n · weight + sink): it falls, the more tokens there are
    said = (
        f"from 32 to 64 equal tokens the output changes {ratio:.2f} times as much as from 8 to 16"
    )
    return judge(ratio < 3.5, said, "it grows with the number of tokens: nothing is normalised")
