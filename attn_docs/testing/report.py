"""What a check found: a list of findings that prints as a table a person can act on."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["pass", "fail", "not applicable"]

# Each property with the one line that says what it asks. The chapter on it has its name as anchor.
PROPERTIES = {
    "oracle": "the output is the formula's, to rounding",
    "scale": "scores are divided by the root of the head's size",
    "weights": "the weights are a distribution over the keys",
    "value projection": "values come from a projection of their own",
    "projections": "each weight of each projection reaches the output",
    "head layout": "heads are cut and joined without mixing positions",
    "group order": "neighbouring query heads share a key and value head",
    "mask used": "a mask changes the output",
    "mask polarity": "True means: may attend",
    "mask axis": "the mask's rows are queries, its columns keys",
    "mask place": "the mask removes keys before the softmax",
    "causality": "no gradient from the future, in training and in evaluation",
    "prefix": "a shorter sequence gives the same beginning",
    "padding": "what stands in padded slots changes nothing, left or right",
    "empty rows": "a query that may attend to nothing stays finite, and its gradient",
    "packing": "documents in one row do not see each other",
    "batch": "samples of a batch do not see each other",
    "permutation": "without positions, a shuffled input gives the shuffled output",
    "cross-attention": "keys and values come from the context, whatever its length",
    "dropout": "dropout is on the weights, and keeps their mean",
    "dropout off in eval": "evaluation drops nothing",
    "cache": "step by step or in chunks gives what the whole gives",
    "half precision": "float16 stays finite and near float64",
    "input unchanged": "the arguments are as they were",
    "deterministic": "the same call gives the same result",
}
"""Each property with the one line that says what it asks, in the order of a report."""


@dataclass(frozen=True)
class Finding:
    """What one property came to.

    A property passes only if it was judged. What could not be judged is "not applicable", and its
    evidence says why.

    Attributes:
        property: Its fixed name, a key of `attn_docs.testing.PROPERTIES`.
        verdict: "pass", "fail", or "not applicable" when it could not be judged.
        evidence: Numbers, indices, and the smallest input that failed.
        cause: The likely cause of a failure; empty otherwise.
    """

    property: str
    verdict: Verdict
    evidence: str
    cause: str = ""


@dataclass(frozen=True)
class Report:
    """All findings on one attention function or module.

    Printed, it is a table: failures first, each with its evidence and likely cause.

    Attributes:
        subject: What was checked.
        findings: One for each property.

    Example:
        ```python
        from attn_docs import MultiHeadAttention
        from attn_docs.testing import check_module

        report = check_module(MultiHeadAttention(64, 4), embed_dim=64)
        print(report.passed, report.failures)
        #> True []
        report.raise_if_failed()
        print([finding.verdict for finding in report.findings if finding.property == "cache"])
        #> ['not applicable']
        ```
    """

    subject: str
    findings: Sequence[Finding]

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something was judged."""
        verdicts = [finding.verdict for finding in self.findings]
        return "fail" not in verdicts and "pass" in verdicts

    @property
    def failures(self) -> list[Finding]:
        """The findings that failed."""
        return [finding for finding in self.findings if finding.verdict == "fail"]

    def raise_if_failed(self) -> None:
        """Raise an `AssertionError` that holds the report, unless it passed."""
        if not self.passed:
            raise AssertionError(f"{self}")

    def __str__(self) -> str:
        """Return the findings as a table, failures first."""
        counts = {
            verdict: sum(finding.verdict == verdict for finding in self.findings)
            for verdict in ("pass", "fail", "not applicable")
        }
        lines = [f"{self.subject}: " + ", ".join(f"{n} {v}" for v, n in counts.items())]
        order = {"fail": 0, "pass": 1, "not applicable": 2}
        for finding in sorted(self.findings, key=lambda finding: order[finding.verdict]):
            lines.append(_row(finding.verdict, finding.property, finding.evidence))
            if finding.cause:
                anchor = finding.property.replace(" ", "-")
                lines.append(_row("", "", f"likely cause: {finding.cause}"))
                lines.append(_row("", "", f"see practice/bugs-that-train/#{anchor}"))
        return "\n".join(lines)


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
