"""The checker's score: on the bugs of the page in each host, on wrong and on right strangers.

python -m tests.testing.score                    # everything, as Markdown
python -m tests.testing.score masked strangers   # some of: masked decoder encoder
                                                 # strangers functions hard right
"""

import inspect
import re
import statistics
import sys
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from attn_docs.testing import check_attention, check_module
from tests.testing import hosts, strangers

PARTS = (*hosts.FORMS, "strangers", "functions", "hard", "right")
CAUGHT, PASSED, NOT_JUDGED, RAISED = "caught", "passed", "not judged", "raised"


@dataclass
class Row:
    """What the checker said about one module or function."""

    part: str
    group: str
    name: str
    wrong: bool
    verdict: str  # one of the four above
    named: bool
    seconds: float
    said: str  # the causes, or what was raised


def verdict_of(report):
    """Return caught, passed or not judged; a report without a verdict passes or fails."""
    verdict = getattr(report, "verdict", "passed" if report.passed else "failed")
    if verdict != PASSED and report.failures:
        return CAUGHT
    return PASSED if verdict == PASSED else NOT_JUDGED


def supported(check, keywords):
    """Return the keywords that this checker has: an earlier one knew fewer claims."""
    known = inspect.signature(check).parameters
    return {name: value for name, value in keywords.items() if name in known}


def judge(part, group, name, make, check, keywords, named=None):
    """Run the checker once; `named` is None for a right module."""
    torch.manual_seed(0)
    subject, start = make(), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = check(subject, **supported(check, keywords))
        causes = [str(finding.cause) for finding in report.failures]
        verdict = verdict_of(report)
    except Exception as error:  # what the checker raises is a result, too
        causes, verdict = [f"{type(error).__name__}: {error}".splitlines()[0]], RAISED
    seconds = time.perf_counter() - start
    found = any(re.search(words, cause, re.I) for words in named or () for cause in causes)
    is_named = verdict == CAUGHT and found
    return Row(part, group, name, named is not None, verdict, is_named, seconds, "; ".join(causes))


def host_rows(form):
    """Yield a row for each bug in each host of a form, and for each right host."""
    for kind in hosts.FORM_KINDS[form]:
        for bug in (None, *hosts.BUGS):
            if bug is None or hosts.shows(form, kind, bug):
                yield judge(
                    form,
                    kind,
                    bug or "right",
                    lambda kind=kind, bug=bug: hosts.build(form, kind, bug),
                    check_module,
                    hosts.arguments(form, kind),
                    None if bug is None else hosts.NAMED_BY[bug],
                )


def stranger_rows(part, listed, check, wrong=True):
    """Yield a row for each stranger."""
    for one in listed:
        named = one.named if wrong else None
        yield judge(part, one.group, one.name, one.make, check, one.check, named)


def rows(parts: Iterable[str] = PARTS):
    """Yield all rows of some parts."""
    for part in parts:
        if part in hosts.FORMS:
            yield from host_rows(part)
        elif part == "strangers":
            yield from stranger_rows(part, strangers.WRONG, check_module)
        elif part == "functions":
            yield from stranger_rows(part, strangers.WRONG_FUNCTIONS, check_attention)
        elif part == "hard":
            yield from stranger_rows(part, strangers.HARD, check_module)
        else:
            yield from stranger_rows(part, strangers.RIGHT, check_module, wrong=False)
            yield from stranger_rows(part, strangers.RIGHT_FUNCTIONS, check_attention, wrong=False)


# ---- Markdown


def line(*cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def counts(some):
    """Return the cells for some rows: how many of each verdict, and the seconds."""
    seconds = [row.seconds for row in some]
    number = {verdict: sum(row.verdict == verdict for row in some) for verdict in VERDICTS}
    named = sum(row.named for row in some)
    times = (f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}")
    return len(some), number[CAUGHT], named, *(number[v] for v in VERDICTS[1:]), *times


VERDICTS = (CAUGHT, PASSED, NOT_JUDGED, RAISED)
HEADER = ("of", "caught", "named", "passed", "not judged", "raised", "median s", "worst s")


def table(part, some):
    """Return the table of a part: a line for each group, and their sum."""
    wrong = [row for row in some if row.wrong]
    right = {row.group: row.verdict for row in some if not row.wrong}
    with_right = bool(wrong and right)
    shown = wrong or some
    lines = [line(part, *HEADER, *(["right one"] if with_right else []))]
    lines.append("|" + " --- |" * (len(HEADER) + 1 + with_right))
    for group in dict.fromkeys(row.group for row in shown):
        cells = counts([row for row in shown if row.group == group])
        lines.append(line(group, *cells, *([right[group]] if with_right else [])))
    lines.append(line("**all**", *counts(shown), *([""] if with_right else [])))
    return "\n".join(lines)


def listed(title, some):
    lines = [f"- {row.part} / {row.group} / {row.name}: {row.verdict}. {row.said}" for row in some]
    return f"\n## {title} ({len(some)})\n\n" + "\n".join(line.rstrip() for line in lines)


def main(parts):
    judged = []
    for part in parts or PARTS:
        some = list(rows([part]))
        judged += some
        print(table(part, some) + "\n", flush=True)
    wrong, right = ([row for row in judged if row.wrong is kind] for kind in (True, False))
    print(listed("Missed", [row for row in wrong if row.verdict != CAUGHT]))
    print(listed("Caught, not named", [r for r in wrong if r.verdict == CAUGHT and not r.named]))
    print(listed("False alarms", [row for row in right if row.verdict in {CAUGHT, RAISED}]))
    print(listed("Right and not judged", [row for row in right if row.verdict == NOT_JUDGED]))


if __name__ == "__main__":
    main(sys.argv[1:])
