"""A report in the forms that programs read: JSON, JUnit's XML, and HTML for notebooks."""

import platform
import re
from html import escape
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import torch

from attn_docs.testing.links import WEB, link, see

if TYPE_CHECKING:
    from attn_docs.testing.report import Finding, Report

# what XML has no way to write, as the escape that colours a terminal
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SHOWN = ("fail", "waived", "not judged")  # before the rest, which a notebook folds away


def as_dict(report: "Report") -> dict[str, Any]:
    """Return what `json` can write."""
    return {
        "subject": report.subject,
        "verdict": report.verdict,
        "formula": report.formula,
        "open": report.open,
        "findings": [
            {
                "property": finding.property,
                "verdict": finding.verdict,
                "evidence": finding.evidence,
                "cause": finding.cause,
                "url": link(finding.property),
            }
            for finding in report.findings
        ],
        "seconds": report.seconds,
        "versions": {
            "attn_docs": _own_version(),
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
    }


def _own_version() -> str:
    try:
        return version("attn-docs")
    except PackageNotFoundError:  # the folder was copied
        return ""


def as_junit(report: "Report") -> bytes:
    """Return a suite of JUnit's XML with a case for each property.

    A failure is a failure, a required property that was not judged an error. The rest that was
    not asked, not judged or waived was skipped.
    """
    suite = ET.Element("testsuite", name="attn_docs.testing", time=f"{report.seconds:.3f}")
    for finding in report.findings:
        names = {"classname": f"attn_docs.testing.{report.subject}", "name": finding.property}
        case = ET.SubElement(suite, "testcase", {k: _written(v) for k, v in names.items()})
        if (kind := _junit(report, finding)) is not None:
            message = finding.cause or f"{finding.verdict}: {finding.evidence}"
            element = ET.SubElement(case, kind, message=_written(message))
            element.text = _written(f"{finding.evidence}\n{see(finding.property)}")
    kinds = [_junit(report, finding) for finding in report.findings]
    counted = {"tests": None, "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, kind in counted.items():
        suite.set(name, str(len(kinds) if kind is None else kinds.count(kind)))
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    return bytes(ET.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _junit(report: "Report", finding: "Finding") -> str | None:
    if finding.verdict == "pass":
        return None
    if finding.verdict == "fail":
        return "failure"
    return "error" if finding.property in report.open else "skipped"


def _written(text: str) -> str:
    return UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def as_html(report: "Report") -> str:
    """Return a table, of what needs attention first; what does not is folded."""
    first = [f for f in report.findings if f.verdict in SHOWN or f.property in report.open]
    rest = [finding for finding in report.findings if finding not in first]
    first.sort(key=lambda finding: finding.verdict != "fail")
    lines = [f"<p><strong>{escape(report.headline)}</strong></p>"]
    if first:
        lines.append(_table(first))
    if rest:
        lines.append(f"<details><summary>{len(rest)} more</summary>{_table(rest)}</details>")
    return "\n".join(lines)


def _table(findings: "list[Finding]") -> str:
    rows = "".join(
        f"<tr><td>{escape(finding.verdict)}</td><td>{_linked(finding.property)}</td>"
        f"<td>{escape(finding.evidence)}{_cause(finding)}</td></tr>\n"
        for finding in findings
    )
    return f"<table>\n{rows}</table>"


def _cause(finding: "Finding") -> str:
    return f"<br>likely cause: {escape(finding.cause)}" if finding.cause else ""


def _linked(name: str) -> str:
    address = link(name)
    if not address.startswith(WEB):
        return escape(name)
    return f'<a href="{escape(address)}">{escape(name)}</a>'
