"""The checker's score on the thirty-two bugs in each host layer: its aims, and the stored table."""

import pytest

from docs._kit.measured import load
from docs._tools.page import DOCS
from tests.testing import hosts
from tests.testing.score import CAUGHT, PASSED, host_rows

STORED = load(str(DOCS / "practice/test-your-attention/tables.py"))["score"]

# of all bugs in a host: how many may be missed, and how many caught under another name
AIMS = {"masked": (1, 4), "decoder": (1, 4), "encoder": (1, 1)}


@pytest.mark.parametrize("form", hosts.FORMS)
def test_the_bugs_are_caught_and_named_in_every_host(form):
    rows = list(host_rows(form))
    for kind in hosts.FORM_KINDS[form]:
        (right,) = [row for row in rows if row.group == kind and not row.wrong]
        assert right.verdict == PASSED, right
        wrong = [row for row in rows if row.group == kind and row.wrong]
        missed = [row.name for row in wrong if row.verdict != CAUGHT]
        unnamed = [(row.name, row.said) for row in wrong if not row.named]
        may_miss, may_misname = AIMS[form]
        assert len(missed) <= may_miss, (kind, missed)
        assert len(unnamed) <= may_misname, (kind, unnamed)
        counted = {"wrong": len(wrong), "caught": len(wrong) - len(missed)}
        counted["named"] = len(wrong) - len(unnamed)
        stored = {name: STORED(name, part=form, group=kind) for name in counted}
        assert counted == stored, (
            f"{form}, {kind}: run `make bench PAGE=practice/test-your-attention`"
        )
