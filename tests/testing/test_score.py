"""The score counts what the checker says."""

from types import SimpleNamespace

import pytest
from torch import nn

from tests.testing import hosts, score, strangers


def report(passed, failures=(), verdict=None):
    found = [SimpleNamespace(cause=cause) for cause in failures]
    said = SimpleNamespace(passed=passed, failures=found)
    if verdict is not None:
        said.verdict = verdict
    return said


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        (report(True), "passed"),
        (report(False, ["a cause"]), "caught"),
        (report(False), "not judged"),
        (report(True, verdict="passed"), "passed"),
        (report(False, ["a cause"], "failed"), "caught"),
        (report(False, [], "not judged"), "not judged"),
        (report(False, ["a cause"], "not judged"), "caught"),
    ],
)
def test_verdicts(said, verdict):
    assert score.verdict_of(said) == verdict


def judged(check, named=(r"softmax",)):
    return score.judge(
        "part", "group", "name", nn.Identity, check, {"embed_dim": 4, "new": 1}, named
    )


def test_a_cause_that_names_the_bug_is_counted():
    row = judged(lambda module, embed_dim: report(False, ["no cause", "after the Softmax"]))
    assert (row.verdict, row.named, row.wrong) == ("caught", True, True)
    assert row.said == "no cause; after the Softmax"
    assert not judged(lambda module, embed_dim: report(False, ["elsewhere"])).named


def test_nothing_is_named_that_is_not_caught():
    row = judged(lambda module, embed_dim: report(True, ["softmax"], "passed"))
    assert (row.verdict, row.named) == ("passed", False)


def test_a_right_module_has_no_name_to_be_found():
    row = judged(lambda module, embed_dim: report(True), named=None)
    assert not row.wrong


def test_what_the_checker_raises_is_counted_apart():
    def check(module, embed_dim):
        message = "softmax\nand more"
        raise ValueError(message)

    row = judged(check)
    assert (row.verdict, row.named, row.said) == ("raised", False, "ValueError: softmax")


def test_claims_that_the_checker_does_not_know_are_left_out():
    assert score.supported(lambda module, window=None: 0, {"window": 1, "prefix": 2}) == {
        "window": 1
    }


def test_table_counts():
    made = [
        score.Row("masked", "plain", "right", False, "passed", False, 0.1, ""),
        score.Row("masked", "plain", "a", True, "caught", True, 0.2, "cause"),
        score.Row("masked", "plain", "b", True, "caught", False, 0.4, "cause"),
        score.Row("masked", "plain", "c", True, "not judged", False, 0.6, ""),
    ]
    group = score.table("masked", made).splitlines()[2]
    assert group == "| plain | 3 | 2 | 1 | 0 | 1 | 0 | 0.40 | 0.60 | passed |"


def test_every_host_and_stranger_is_run(monkeypatch):
    def passes(subject, **keywords):
        return report(True)

    for name in ("check_module", "check_attention"):
        monkeypatch.setattr(score, name, passes)
    run = list(score.rows())
    listed = [strangers.WRONG, strangers.WRONG_FUNCTIONS, strangers.HARD, strangers.RIGHT]
    listed.append(strangers.RIGHT_FUNCTIONS)
    assert len(run) == len(list(hosts.cases())) + len(hosts.hosts()) + sum(map(len, listed))


def test_command(capsys, monkeypatch):
    monkeypatch.setattr(score, "check_attention", lambda attend: report(True))
    score.main(["functions"])
    out = capsys.readouterr().out
    assert out.startswith("| functions | of | caught |")
    assert f"## Missed ({len(strangers.WRONG_FUNCTIONS)})" in out
    assert "## False alarms (0)" in out
