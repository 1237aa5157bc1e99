"""What a check comes to, and how a table of checks becomes the findings of a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from attn_docs.testing.progress import judging
from attn_docs.testing.report import PROPERTIES, Finding, Verdict
from attn_docs.testing.subject import SubjectError

Known = TypeVar("Known")


@dataclass(frozen=True)
class Judgement:
    """What a check came to; of which property, the table of checks says."""

    verdict: Verdict
    evidence: str
    cause: str = ""


def passed(evidence: str) -> Judgement:
    """Return that the property holds."""
    return Judgement("pass", evidence)


def failed(evidence: str, cause: str | Callable[[], str] = "") -> Judgement:
    """Return that the property does not hold.

    A cause that has to be looked for is a function: if the subject raises there, the failure
    stays, without a cause.
    """
    return Judgement("fail", evidence, cause if isinstance(cause, str) else _found(cause))


def skipped(why: str) -> Judgement:
    """Return that there is nothing to ask."""
    return Judgement("not applicable", why)


def unknown(why: str) -> Judgement:
    """Return that the property could not be judged, though there is something to ask."""
    return Judgement("not judged", why)


def _found(cause: Callable[[], str]) -> str:
    try:
        return cause()
    except SubjectError:
        return ""


def judge(good: bool, evidence: str, cause: str = "") -> Judgement:
    """Return whether the property holds."""
    return passed(evidence) if good else failed(evidence, cause)


def together(judgements: Sequence[Judgement]) -> Judgement:
    """Return one judgement of several of one kind: failed if one is, else passed if one is."""
    wrong = [each for each in judgements if each.verdict == "fail"]
    if wrong:
        return failed(
            "; ".join(each.evidence for each in wrong), "; ".join(each.cause for each in wrong)
        )
    right = [each.evidence for each in judgements if each.verdict == "pass"]
    open_ = [each.evidence for each in judgements if each.verdict == "not judged"]
    if right:
        return passed("; ".join(right + [f"not judged: {each}" for each in open_]))
    return unknown("; ".join(open_))


def because(
    check: Callable[[Known], Judgement], why: str | Callable[[Known], str]
) -> Callable[[Known], Judgement]:
    """Return the check, with the cause of a failure for which it names none itself."""

    def explained(known: Known) -> Judgement:
        judgement = check(known)
        if judgement.verdict != "fail" or judgement.cause:
            return judgement
        return replace(judgement, cause=why if isinstance(why, str) else _found(lambda: why(known)))

    return explained


def findings(
    checks: Mapping[str, Callable[[Known], Judgement]],
    known: Known,
    not_asked: Callable[[str], str],
) -> list[Finding]:
    """Return a finding for each property.

    `not_asked` says why a property is not asked about; empty if it is. A check in which the
    subject raises has failed. What the check itself raises is an error of the checker.
    """
    judgements = {
        name: skipped(why) if (why := not_asked(name)) else _judged(name, checks[name], known)
        for name in PROPERTIES
    }
    return [
        Finding(name, found.verdict, found.evidence, found.cause)
        for name, found in judgements.items()
    ]


def _judged(name: str, check: Callable[[Known], Judgement], known: Known) -> Judgement:
    judging(name)
    try:
        return check(known)
    except SubjectError as error:
        return failed(f"{error}", "the call raises an exception")
    except Exception as error:
        error.add_note(
            f"This is an error of attn_docs.testing, in its check {name!r}, and says nothing about "
            "what was checked."
        )
        raise
