"""The forms of a report: what a person, pytest, a notebook and a program are shown."""

import inspect
import json
import subprocess
import sys
from email.message import Message
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs.testing import ATTENTION, PROPERTIES, Finding, Report, check_attention, check_module
from attn_docs.testing import links as links_module
from attn_docs.testing.forms import as_junit
from attn_docs.testing.links import link, see, site_of
from tests.testing.plain import DIM, Plain, plain

FOUND = [
    Finding("oracle", "fail", "differs by 0.3", "scores are <scaled> twice & masked"),
    Finding("scale", "fail", "1 is not 2", "scores are <scaled> twice & masked"),
    Finding("weights", "pass", "rows sum to 1 <b>"),
    Finding("attends", "not judged", "no gradient <here> \x1b[31m"),
    Finding("group order", "waived", "tiled on purpose; differs by 1", "heads are tiled"),
    Finding("cache", "not applicable", "it has no cache"),
]
WRONG = Report("<lambda>", FOUND, (*ATTENTION, "cache"), seconds=1.25)
OPEN = Report("Layer", FOUND[2:], (*ATTENTION, "cache"))
RIGHT = Report("Layer", [Finding(name, "pass", "good") for name in ATTENTION])


@pytest.fixture(autouse=True)
def no_site(monkeypatch):
    monkeypatch.delenv("ATTN_DOCS_URL", raising=False)
    monkeypatch.setattr(links_module, "_installed_site", lambda: "")


def raised(report):
    with pytest.raises(AssertionError) as error:
        report.raise_if_failed()
    return str(error.value)


# ------------------------------------------------------------------------------------------ text


def test_what_is_raised_holds_failures_and_what_is_open_and_no_more():
    text = raised(WRONG)
    assert text.startswith("<lambda>: failed; formula: judged; 2 fail, 1 waived, 1 not judged, ")
    assert text.count("likely cause: scores are <scaled> twice & masked") == 2
    assert "no gradient" in text  # required, and not judged
    assert "it has no cache" in text
    assert "rows sum to 1" not in text
    assert "tiled on purpose" not in text


def test_what_is_open_is_raised_with_its_reason():
    text = raised(OPEN)
    assert text.startswith("Layer: not judged (attends, cache); formula: not judged; ")
    assert "no gradient" in text
    assert "rows sum to 1" not in text
    RIGHT.raise_if_failed()


def test_a_table_holds_all_or_what_is_asked_for():
    assert all(finding.evidence.split()[-1] in str(WRONG) for finding in FOUND)
    assert "tiled on purpose" in WRONG.table("waived")
    assert "differs by 0.3" not in WRONG.table("waived")


def test_what_is_required_twice_is_open_once():
    assert Report("Layer", [], ("attends", "attends")).open == ["attends"]


def test_a_repr_is_one_line_with_each_cause_once():
    assert repr(WRONG) == (
        "<Report of <lambda>: failed; oracle: scores are <scaled> twice & masked>"
    )
    assert repr(OPEN) == "<Report of Layer: not judged (attends, cache)>"
    assert repr(RIGHT) == "<Report of Layer: passed>"


def test_a_repr_is_as_long_as_pytest_shows():
    many = [Finding(name, "fail", "wrong", f"because of {name}\nand so on") for name in PROPERTIES]
    shown = repr(Report("Layer", many))
    assert 200 < len(shown) <= 240
    assert "\n" not in shown
    assert shown.endswith("…>")
    assert "oracle: because of oracle" in shown


def test_a_cause_that_is_the_evidence_is_said_once():
    report = Report("Layer", [Finding("scale", "fail", "divided by 3", "divided by 3")])
    assert str(report).count("divided by 3") == 1
    assert "see page" in str(report)


def test_a_failure_without_a_cause_shows_its_evidence():
    report = Report("Layer", [Finding("batch", "fail", "samples differ by 3")])
    assert repr(report) == "<Report of Layer: failed; batch: samples differ by 3>"


# --------------------------------------------------------------------------------------- seconds


def test_seconds_are_measured_and_no_part_of_what_a_report_says():
    for report in (check_module(Plain(), embed_dim=DIM), check_attention(plain)):
        assert 0.01 < report.seconds < 60
        same = Report(report.subject, report.findings, report.require)
        assert same == report
        assert (str(same), repr(same)) == (str(report), repr(report))


def test_who_reads_the_checkers_sees_their_own_signatures():
    assert "embed_dim" in inspect.signature(check_module).parameters
    assert check_attention.__doc__.startswith("Check a function")


# ----------------------------------------------------------------------------------------- forms


def test_a_dictionary_holds_everything_and_can_be_written():
    made = json.loads(json.dumps(WRONG.to_dict()))
    assert (made["subject"], made["verdict"], made["formula"]) == ("<lambda>", "failed", "judged")
    assert made["open"] == ["attends", "cache"]
    assert made["seconds"] == 1.25
    assert made["versions"]["torch"] == torch.__version__
    assert made["versions"]["attn_docs"]
    assert sys.version.startswith(made["versions"]["python"])
    assert made["findings"][0] == {
        "property": "oracle",
        "verdict": "fail",
        "evidence": "differs by 0.3",
        "cause": "scores are <scaled> twice & masked",
        "url": "",
    }
    assert len(made["findings"]) == len(FOUND)


def suite_of(report):
    return ET.fromstring(as_junit(report)).find("testsuite")  # noqa: S314 - our own


def test_junit_has_a_case_for_each_property():
    suite = suite_of(WRONG)
    assert suite.attrib == {
        "name": "attn_docs.testing",
        "time": "1.250",
        "tests": "6",
        "failures": "2",
        "errors": "2",
        "skipped": "1",
    }
    cases = {case.get("name"): case for case in suite}
    assert cases["oracle"].get("classname") == "attn_docs.testing.<lambda>"
    assert [element.tag for element in cases["oracle"]] == ["failure"]
    assert cases["oracle"][0].get("message") == "scores are <scaled> twice & masked"
    assert cases["oracle"][0].text.startswith("differs by 0.3\nsee page practice/")
    assert not list(cases["weights"])
    assert cases["group order"][0].tag == "skipped"
    assert cases["attends"][0].tag == "error"  # required
    assert cases["cache"][0].get("message") == "not applicable: it has no cache"
    free = suite_of(Report("Layer", FOUND))
    assert (free.get("errors"), free.get("skipped")) == ("1", "2")


class Tags(HTMLParser):
    """Collects tags and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def test_a_notebook_shows_failures_first_and_escapes_everything():
    page = Tags(WRONG._repr_html_())
    known = {"p", "strong", "table", "tr", "td", "br", "details", "summary"}
    assert {tag for tag, _ in page.tags} == known
    text = "".join(page.text)
    assert text.startswith("<lambda>: failed; formula: judged")
    assert "likely cause: scores are <scaled> twice & masked" in text
    order = [text.index(f.evidence) for f in FOUND]
    assert order[0] < order[1] < min(order[3:]) < order[2]  # what passed is folded, at the end
    assert text.index("1 more") < text.index("rows sum to 1")


def test_a_notebook_links_to_a_site_and_to_nothing_else(monkeypatch):
    monkeypatch.setenv("ATTN_DOCS_URL", 'https://docs.test/"on')
    ((_, attributes), *_) = [tag for tag in Tags(WRONG._repr_html_()).tags if tag[0] == "a"]
    assert attributes == {"href": 'https://docs.test/"on/practice/bugs-that-train/#oracle'}
    monkeypatch.setenv("ATTN_DOCS_URL", "javascript:alert(1)")
    assert "<a" not in WRONG._repr_html_()


# ----------------------------------------------------------------------------------------- links


class Installed:
    """A distribution as it may be installed."""

    def __init__(self, *urls, version="0.1.0.post7", source=None):
        self.metadata, self.version, self.source = Message(), version, source
        for url in urls:
            self.metadata["Project-URL"] = url

    def read_text(self, name):
        assert name == "direct_url.json"
        return self.source and json.dumps({"url": self.source})


WHEEL = "https://docs.test/attention/attn_docs-0.1.0.post7-py3-none-any.whl"


@pytest.mark.parametrize(
    ("installed", "site"),
    [
        (Installed("Documentation, https://docs.test/a"), "https://docs.test/a"),
        (
            Installed("Source, https://code.test", "documentation,https://docs.test"),
            "https://docs.test",
        ),
        (Installed("Source, https://code.test"), ""),
        (Installed(), ""),
        (Installed(source=WHEEL), "https://docs.test/attention/"),
        (Installed("Documentation, https://docs.test/a", source=WHEEL), "https://docs.test/a"),
        (Installed(source="file:///home/me/attn_docs-0.1.0.post7-py3-none-any.whl"), ""),
        (Installed(source="https://code.test/attn-docs.git"), ""),
        # a wheel that no site has made lies anywhere
        (Installed(version="0.1.0", source=WHEEL.replace(".post7", "")), ""),
    ],
)
def test_the_site_is_where_the_installed_package_says_or_comes_from(installed, site):
    assert site_of(installed) == site


def test_without_a_site_the_page_is_named():
    assert link("mask axis") == ""
    assert see("mask axis") == "see page practice/bugs-that-train, section mask-axis"
    assert "see page practice/bugs-that-train, section oracle" in str(WRONG)


@pytest.mark.parametrize("site", ["https://docs.test/a", " https://docs.test/a/ "])
def test_the_environment_names_a_site(monkeypatch, site):
    monkeypatch.setattr(links_module, "_installed_site", lambda: "https://other.test")
    monkeypatch.setenv("ATTN_DOCS_URL", site)
    address = "https://docs.test/a/practice/bugs-that-train/#mask-axis"
    assert link("mask axis") == address
    assert see("mask axis") == f"see {address}"
    assert WRONG.to_dict()["findings"][1]["url"].endswith("bugs-that-train/#scale")
    monkeypatch.setenv("ATTN_DOCS_URL", "")
    assert link("scale") == "https://other.test/practice/bugs-that-train/#scale"


def test_this_tree_knows_no_site(monkeypatch):
    monkeypatch.undo()
    monkeypatch.delenv("ATTN_DOCS_URL", raising=False)
    assert link("scale") == ""


# ---------------------------------------------------------------------------------------- pytest

TESTS = """
from torch import nn
from attn_docs.testing import check_module


class Attention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k, v = (t.transpose(1, 2) for t in (q, k, v))
        weights = (q @ k.mT / x.size(-1) ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


def test_condition():
    assert check_module(Attention(), embed_dim=32)


def test_passed():
    assert check_module(Attention(), embed_dim=32).passed


def test_raised():
    check_module(Attention(), embed_dim=32).raise_if_failed()
"""


def test_pytest_shows_the_cause_and_little_else(tmp_path):
    (tmp_path / "test_layer.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_layer.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 1
    assert "3 failed" in done.stdout
    sections = done.stdout.split("short test summary")[0].split("____ test_")[1:]
    assert len(sections) == 3
    for section in sections:
        errors = [line for line in section.splitlines() if line.startswith("E ")]
        assert any("scaled by √embed_dim = 5.657, expected √head_dim" in line for line in errors)
        assert len(errors) <= 10
        assert max(map(len, errors)) < 400
        assert "not applicable   " not in section
        assert "report.py" not in section
