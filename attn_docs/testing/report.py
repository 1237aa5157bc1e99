"""What a check found: a list of findings that prints as a table a person can act on."""

import functools
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, ParamSpec, get_args

from attn_docs.testing import forms
from attn_docs.testing.links import see

Arguments = ParamSpec("Arguments")

Verdict = Literal["fail", "waived", "not judged", "pass", "not applicable"]
Outcome = Literal["passed", "failed", "not judged"]

# Each property with the one line that says what it asks. The chapter on it has its name as anchor.
PROPERTIES = {
    "runs": "each way to call runs, on one token and on many, in both modes",
    "oracle": "the output is the formula's, to rounding",
    "scale": "scores are divided by the root of the head's size",
    "weights": "the weights are a distribution over the keys",
    "gradients": "gradients are what the output does when something is moved",
    "attends": "each output depends on each token that it may see",
    "equal words": "many equal tokens give what one of them gives",
    "value projection": "values come from a projection of their own",
    "projections": "each weight of each projection reaches the output",
    "head layout": "heads are cut and joined without mixing positions",
    "group order": "neighbouring query heads share a key and value head",
    "rotation": "queries and keys of one position are rotated by one angle",
    "mask used": "a mask changes the output",
    "mask polarity": "True means: may attend",
    "mask axis": "the mask's rows are queries, its columns keys",
    "mask place": "the mask removes keys before the softmax",
    "causality": "no gradient from the future, in training and in evaluation",
    "prefix": "a shorter sequence gives the same beginning",
    "padding": "what stands in padded slots changes nothing, left or right",
    "empty rows": "a query that may attend to nothing stays finite, and its gradient",
    "packing": "documents in one row do not see each other",
    "long sequences": "many tokens are treated as a few are, beyond the blocks of a kernel",
    "flags agree": "what can be said in two ways gives the same numbers",
    "claims": "what was said of the module is so: heads, positions, window, dropout, weights",
    "options used": "each option changes the output, in the way that its name says",
    "batch": "samples of a batch do not see each other",
    "permutation": "without positions, a shuffled input gives the shuffled output",
    "cross-attention": "keys and values come from the context, whatever its length",
    "dropout": "dropout is on the weights, and keeps their mean",
    "dropout off in eval": "evaluation drops nothing",
    "cache": "step by step or in chunks gives what the whole gives",
    "half precision": "float16, bfloat16 and autocast stay finite and near float64",
    "input unchanged": "the arguments are as they were",
    "deterministic": "the same call gives the same result",
}
"""Each property with the one line that says what it asks, in the order of a report."""


ATTENTION = ("attends", "weights")
"""What makes it attention: a report that did not judge these has not passed."""

JUDGED = ("pass", "fail", "waived")
UNCUT = 240  # characters of a repr that pytest shows


@dataclass(frozen=True)
class Finding:
    """What one property came to.

    A property passes only if it was judged.

    Attributes:
        property: Its fixed name, a key of `attn_docs.testing.PROPERTIES`.
        verdict: "pass"; "fail"; "not judged" if it should be asked and could not be answered;
            "not applicable" if there is nothing to ask, as of masks where none is taken;
            "waived" if it failed and was said to be meant.
        evidence: Numbers, indices, and the smallest input that failed; or why it was not judged.
        cause: The likely cause of a failure; empty otherwise.
    """

    property: str
    verdict: Verdict
    evidence: str
    cause: str = ""


@dataclass(frozen=True)
class Report:
    """All findings on one attention function or module.

    Printed, it is a table: the verdict, then failures first, each with its evidence and likely
    cause. In a condition it is true only if it passed, so `assert check_module(...)` is a test. A
    notebook shows it as HTML.

    Attributes:
        subject: What was checked.
        findings: One for each property.
        require: The properties without which it cannot pass.
        seconds: How long the check took.

    Example:
        ```python
        from attn_docs import MultiHeadAttention
        from attn_docs.testing import check_module

        report = check_module(MultiHeadAttention(64, 4), embed_dim=64)
        print(report.verdict, report.passed, report.failures)
        #> passed True []
        report.raise_if_failed()
        print([finding.verdict for finding in report.findings if finding.property == "cache"])
        #> ['not applicable']
        ```
    """

    subject: str
    findings: Sequence[Finding]
    require: Sequence[str] = field(default=ATTENTION)
    seconds: float = field(default=0.0, compare=False)

    @property
    def verdict(self) -> Outcome:
        """Whether it passed; "not judged" if nothing failed and a required property is open."""
        if self.failures:
            return "failed"
        return "not judged" if self.open else "passed"

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and every property that is required was judged."""
        return self.verdict == "passed"

    def __bool__(self) -> bool:
        """Return whether it passed."""
        return self.passed

    @property
    def failures(self) -> list[Finding]:
        """The findings that failed."""
        return [finding for finding in self.findings if finding.verdict == "fail"]

    @property
    def open(self) -> list[str]:
        """The required properties that were not judged."""
        judged = {f.property for f in self.findings if f.verdict in JUDGED}
        return [name for name in dict.fromkeys(self.require) if name not in judged]

    @property
    def formula(self) -> Literal["judged", "not judged"]:
        """Whether the numbers were compared with the formula's."""
        verdicts = {finding.property: finding.verdict for finding in self.findings}
        return "judged" if verdicts.get("oracle") in JUDGED else "not judged"

    @property
    def headline(self) -> str:
        """The verdict, whether the formula was judged, and how many findings are what."""
        counts = Counter(finding.verdict for finding in self.findings)
        said = [f"{counts[verdict]} {verdict}" for verdict in get_args(Verdict) if counts[verdict]]
        return f"{self.subject}: {self._outcome}; formula: {self.formula}; {', '.join(said)}"

    @property
    def _outcome(self) -> str:
        """The verdict; of "not judged", what is open."""
        if self.verdict == "not judged":
            return f"not judged ({', '.join(self.open)})"
        return self.verdict

    def raise_if_failed(self) -> None:
        """Raise an `AssertionError` that says what failed and what is open, unless it passed."""
        __tracebackhide__ = True  # pytest then shows the line of the test, and not this one
        if not self.passed:
            raise AssertionError(self.table("fail"))

    def table(self, *verdicts: Verdict) -> str:
        """Return the headline, and below it the findings with these verdicts and those open."""
        lines = [self.headline]
        for verdict in get_args(Verdict):
            for finding in self.findings:
                wanted = verdict in verdicts or finding.property in self.open
                if finding.verdict == verdict and wanted:
                    lines += _rows(finding)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, and the versions that it holds for, as `json` can write it."""
        return forms.as_dict(self)

    def __str__(self) -> str:
        """Return the findings as a table, failures first."""
        return self.table(*get_args(Verdict))

    def __repr__(self) -> str:
        """Return the verdict and the causes, in one line that pytest does not cut."""
        causes: dict[str, str] = {}
        for finding in self.failures:
            causes.setdefault(finding.cause or finding.evidence, finding.property)
        said = [f"{name}: {cause}" for cause, name in causes.items()]
        text = "; ".join([f"Report of {self.subject}: {self._outcome}", *said])
        return f"<{textwrap.shorten(text, UNCUT - 2, placeholder=' …')}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return forms.as_html(self)


def timed(check: Callable[Arguments, Report]) -> Callable[Arguments, Report]:
    """Return the check, whose report says how long it took."""

    @functools.wraps(check)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Report:
        started = time.perf_counter()
        report = check(*args, **kwargs)
        return replace(report, seconds=time.perf_counter() - started)

    return run


def waived(findings: Sequence[Finding], reasons: Mapping[str, str]) -> list[Finding]:
    """Return the findings, those that failed and are meant as "waived", with the reason."""
    return [
        replace(
            finding, verdict="waived", evidence=f"{reasons[finding.property]}; {finding.evidence}"
        )
        if finding.verdict == "fail" and finding.property in reasons
        else finding
        for finding in findings
    ]


def check_names(argument: str, names: Sequence[str] | Mapping[str, str]) -> None:
    """Refuse names that are none of a property."""
    if isinstance(names, str) or not isinstance(names, (Sequence, Mapping)):
        raise TypeError(f"{argument} must hold names of properties; got {names!r}")
    for name in names:
        if name not in PROPERTIES:
            raise ValueError(
                f"{argument} must hold names of attn_docs.testing.PROPERTIES; got {name!r}"
            )


def check_reasons(waive: Mapping[str, str]) -> None:
    """Refuse waivers that are not a reason for each of some properties."""
    if not isinstance(waive, Mapping):
        raise TypeError(f"waive must map names of properties to reasons; got {waive!r}")
    check_names("waive", waive)
    for name, reason in waive.items():
        if not isinstance(reason, str) or not reason.strip():
            raise ValueError(f"waive must give a reason for {name!r}; got {reason!r}")


def _rows(finding: Finding) -> list[str]:
    rows = [_row(finding.verdict, finding.property, finding.evidence)]
    if finding.cause not in ("", finding.evidence):
        rows.append(_row("", "", f"likely cause: {finding.cause}"))
    if finding.verdict in ("fail", "waived"):
        rows.append(_row("", "", see(finding.property)))
    return rows


def _row(verdict: str, name: str, text: str) -> str:
    first = f"  {verdict:14}  {name:19}  "
    return textwrap.fill(
        text,
        width=100,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
