"""What the checker says of the project's own wrong and right layers: counts, and seconds."""

import statistics
import warnings
from collections.abc import Sequence

import torch

from attn_docs.testing import check_module
from docs._kit.measure import one_thread
from docs._kit.measured import Measurement, measurement
from tests.testing import score

with warnings.catch_warnings():  # of x-transformers, about a decorator of PyTorch's
    warnings.simplefilter("ignore", DeprecationWarning)
    from tests.testing.real import ROWS

Values = list[dict[str, object]]


def counts(part: str, group: str, rows: Sequence[score.Row]) -> Values:
    """Return how many of some rows are there, caught, named and not judged."""
    wrong = [row for row in rows if row.wrong]
    right = [row for row in rows if not row.wrong]
    found = {
        "wrong": len(wrong),
        "caught": sum(row.verdict == score.CAUGHT for row in wrong),
        "named": sum(row.named for row in wrong),
        "right": len(right),
        "right passed": sum(row.verdict == score.PASSED for row in right),
        "right not judged": sum(row.verdict == score.NOT_JUDGED for row in right),
    }
    of = {"part": part, "group": group}
    return [of | {"quantity": name, "value": n, "unit": "layers"} for name, n in found.items()]


def of_part(part: str) -> Values:
    """Return the counts of each group of a part, and how long it took."""
    rows = list(score.rows([part]))
    groups = dict.fromkeys(row.group for row in rows)
    values = [
        v for name in groups for v in counts(part, name, [r for r in rows if r.group == name])
    ]
    values += counts(part, "all", rows)
    missed = [row for row in rows if row.wrong and row.verdict != score.CAUGHT]
    for row in missed:
        of = {"part": part, "group": row.group, "layer": row.name}
        values.append(of | {"quantity": "missed", "value": 1, "unit": "layers"})
    seconds = [row.seconds for row in rows]
    times = {"median": statistics.median(seconds), "worst": max(seconds)}
    of = {"part": part, "group": "all", "unit": "s"}
    return values + [of | {"quantity": name, "value": round(t, 2)} for name, t in times.items()]


def of_real_classes() -> Values:
    """Return how many configurations of others' classes pass, and how many fail for what reason."""
    found = {"configurations": len(ROWS), "passed": 0, "by design": 0, "false alarms": 0}
    for row in ROWS:
        torch.manual_seed(0)
        failing = {f.property for f in check_module(row.make(), **row.options).failures}
        kind = "by design" if failing <= set(row.fails) else "false alarms"
        found[kind if failing else "passed"] += 1
    of = {"part": "real classes", "group": "all", "unit": "layers"}
    return [of | {"quantity": name, "value": n} for name, n in found.items()]


def measure() -> dict[str, Measurement]:
    """Check all the layers that the project has."""
    with one_thread():
        values = [value for part in score.PARTS for value in of_part(part)] + of_real_classes()
    # no one operator does the work: a check calls a module in every way
    return {"score": measurement([value | {"kernel": "all"} for value in values], threads=1)}
