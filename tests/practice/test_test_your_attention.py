"""What the page on the checker claims."""

import importlib.metadata
import re
import sys
from collections import Counter
from xml.etree import ElementTree as ET

import pytest
import torch
from torch import nn

from attn_docs.exhibits.practice import scaled_by_embed_dim
from attn_docs.testing import PROPERTIES, Adapter, Finding, Report, check_attention, check_module
from docs._kit.text import texts
from docs._tools.blocks import ROOT, packages_of
from docs._tools.page import page_module
from tests.testing import hosts

figures = page_module("practice/test-your-attention", "figures")
tables = page_module("practice/test-your-attention", "tables")

EXAMPLES = ROOT / "attn_docs" / "examples" / "practice" / "test_your_attention"


def run(name: str) -> dict:
    """Run an example and return its names."""
    names: dict = {}
    source = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    exec(compile(source, name, "exec"), names)  # noqa: S102 - our own
    return names


def verdicts(report: Report) -> dict[str, str]:
    return {finding.property: finding.verdict for finding in report.findings}


def test_in_the_module_that_seems_right_no_word_sees_another():
    attend = run("seems_right")["Attention"]()
    x = torch.randn(1, 5, 32, requires_grad=True)
    (gradient,) = torch.autograd.grad(attend(x)[0, 1].sum(), x)
    assert gradient[0, 1].any()
    assert not gradient[0, [0, 2, 3, 4]].any()


def test_one_line_mends_it():
    lines = [
        (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
        for name in ("layer", "right_module")
    ]
    added = set(lines[1]) - set(lines[0])
    assert any("transpose(1, 2) for t in" in line for line in added)


def test_a_report_that_did_not_pass_is_raised_and_printed():
    report = run("core")["report"]
    with pytest.raises(AssertionError, match="transpose heads and length first") as raised:
        report.raise_if_failed()
    assert str(raised.value) == report.table("fail")
    first = str(report).splitlines()[1]
    assert first.split()[:2] == ["fail", "oracle"]


def test_nothing_judged_is_no_pass():
    report = Report("nothing", [Finding("oracle", "not applicable", "")])
    assert report.verdict == "not judged"
    assert not report.passed
    assert not report
    with pytest.raises(AssertionError, match="not judged"):
        report.raise_if_failed()


def test_a_waiver_is_shown_with_its_reason_and_what_it_waives():
    module = run("exercise_transposed")["Attention"](64)
    report = check_module(module, embed_dim=64, waive={"mask axis": "keys come first here"})
    (finding,) = [f for f in report.findings if f.verdict == "waived"]
    assert finding.property == "mask axis"
    assert finding.evidence.startswith("keys come first here; ")
    assert "waived" in str(report).splitlines()[0]


def test_the_file_for_pytest_fails_where_the_module_is_wrong():
    names = run("test_file")
    names["test_attention"]()
    names["MultiHeadAttention"] = scaled_by_embed_dim.Attention
    with pytest.raises(AssertionError, match="scaled by √embed_dim"):
        names["test_attention"]()


def test_module_and_random_state_stay_as_they_are():
    module = nn.MultiheadAttention(32, 4, dropout=0.5)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    state = torch.random.get_rng_state()
    check_module(module, embed_dim=32)
    check_attention(nn.functional.scaled_dot_product_attention)
    assert torch.equal(state, torch.random.get_rng_state())
    assert module.training
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_a_mask_that_is_read_wrongly_judges_nothing_else():
    found = verdicts(run("answer_transposed")["report"])
    assert found["mask axis"] == "fail"
    assert {found[name] for name in ("padding", "empty rows", "packing")} == {"not applicable"}


def test_the_cache_that_starts_at_the_last_key_passes():
    source = (EXAMPLES / "cached.py").read_text(encoding="utf-8")
    mended = source.replace(".tril()", ".tril(k.size(2) - q.size(2))")
    names: dict = {}
    exec(compile(mended, "cached", "exec"), names)  # noqa: S102 - our own
    assert verdicts(names["report"])["cache"] == "pass"
    assert names["report"].passed


def test_two_bugs_inside_are_not_explained_but_not_passed():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(32, 32) for _ in range(4))

        def forward(self, x):
            q, k, v = (f(x).view(x.size(0), 4, -1, 8) for f in (self.q, self.k, self.v))
            return self.out(((q @ k.mT).softmax(-1) @ v).reshape(x.shape))

    report = check_module(Two(), embed_dim=32)
    found = verdicts(report)
    assert found["permutation"] == "fail"
    assert not report.passed
    assert found["scale"] != "pass"


def test_the_table_names_every_property_in_both_languages():
    assert texts(tables.__file__, "asks", "en") == PROPERTIES
    for language in ("en", "zh"):
        asks = texts(tables.__file__, "asks", language)
        lines = tables.properties(language).splitlines()[2:]
        assert [line.split(" | ")[0] for line in lines] == [f"| `{name}`" for name in PROPERTIES]
        assert all(asks[name] in line for name, line in zip(PROPERTIES, lines, strict=True))
        assert Counter(line.split(" | ")[2] for line in lines)["✓"] == 27


def test_the_table_says_which_checker_asks():
    function = check_attention(nn.functional.scaled_dot_product_attention)
    asked = [line.split(" | ")[2] == "✓" for line in tables.properties("en").splitlines()[2:]]
    of_modules = [
        finding.evidence.startswith("a property of modules") for finding in function.findings
    ]
    assert asked == [not other for other in of_modules]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_bars_of_the_search_are_the_distances(language):
    root = ET.fromstring(figures.FIGURES["search"](language))  # noqa: S314 - our own
    bars = [element for element in root.iter() if element.get("data-way")]
    far = figures.errors()
    assert len(bars) == len(figures.WAYS) == len(far)
    assert [error < 1e-12 for error in far] == [False, False, False, False, True]
    widths = [float(bar.attrib["width"]) for bar in bars]
    longest = max(far)
    expected = [figures.BAR * error / longest for error in far]
    assert widths[:4] == pytest.approx(expected[:4], abs=0.06)
    assert widths[4] <= 3 < min(widths[:4]) / 3  # a distance of zero is no bar
    shown = [element.text for element in root.iter() if element.text in {f"{e:.2f}" for e in far}]
    assert shown == [f"{error:.2f}" for error in far[:4]]


def test_the_figure_shows_what_the_checker_finds():
    assert figures.module_output().shape == (6, 32)
    report = check_module(scaled_by_embed_dim.Attention(32, 4), embed_dim=32)
    assert "scaled by √embed_dim" in next(
        finding.cause for finding in report.failures if finding.property == "scale"
    )


def test_the_table_of_scores_adds_up_the_groups():
    assert {form: tables.groups(form) for form in hosts.FORMS} == {
        form: list(hosts.FORM_KINDS[form]) for form in hosts.FORMS
    }
    for form in hosts.FORMS:
        for group in tables.groups(form):
            shown = sum(hosts.shows(form, group, bug) for bug in hosts.BUGS)
            assert tables.count("wrong", form, group) == shown, (form, group)
    rows = tables.score("en").splitlines()[2 : 2 + len(tables.STRANGERS + tables.FORMS)]
    for row, part in zip(rows, tables.STRANGERS + tables.FORMS, strict=True):
        cells = [int(cell) for cell in row.strip("| ").split(" | ")[1:]]
        of = tables.groups(part)
        names = ("wrong", "caught", "named")
        assert cells == [sum(tables.count(name, part, group) for group in of) for name in names]


def test_the_command_on_the_page_fails_for_its_layer():
    shown = tables.command("en").splitlines()
    assert shown[1].startswith("$ python -m attn_docs.testing attn_docs.exhibits.practice.")
    assert "failed" in next(line for line in shown if line.startswith("Attention:"))
    assert shown[-3:] == ["$ echo $?", "1", "```"]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.py")), ids=lambda file: file.stem)
def test_a_block_names_what_has_to_be_installed_for_it(file):
    source = file.read_text(encoding="utf-8")
    used = set(re.findall(r"^(?:from|import) (\w+)", source, re.M)) - {"torch", "attn_docs"}
    used -= sys.stdlib_module_names
    asked = {name.replace("-", "_") for name in packages_of(source)}
    assert asked == used
    pins = (ROOT / "requirements" / "test.txt").read_text(encoding="utf-8")
    assert all(re.search(f"^{name}==", pins, re.M) for name in packages_of(source))
    for name, version in re.findall(r"([\w-]+)==([\d.]+)", source.splitlines()[0]):
        assert importlib.metadata.version(name) == version


def test_an_adapter_keeps_its_words():
    adapter = Adapter(mask_axes=4, mask_true="blocks")
    mask = torch.ones(3, 5, dtype=torch.bool).tril()
    x = torch.zeros(2, 3, 4)
    assert torch.equal(adapter.translate(mask, x), ~mask.expand(2, 1, 3, 5))
    added = Adapter(mask_axes=2, mask_true="added").translate(mask, x)
    assert torch.equal(added == 0, mask)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_figure_of_who_sees_whom_shows_gradients(language):
    root = ET.fromstring(figures.FIGURES["seen"](language))  # noqa: S314 - our own
    drawn = [element.get("data-seen") == "1" for element in root.iter() if element.get("data-seen")]
    n = figures.SEEN
    expected = [torch.eye(n), torch.ones(n, n), torch.ones(n, n).tril(1)]
    assert torch.tensor(drawn).view(3, n, n).equal(torch.stack(expected).bool())


class Causal(nn.Module):
    """Right but for its fill, and for no more than `most` tokens."""

    def __init__(self, fill: float, most: int) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(32, 32) for _ in range(4))
        self.fill = fill
        self.register_buffer("later", torch.ones(most, most, dtype=torch.bool).triu(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = x.size(1)
        q, k, v = (f(x).unflatten(-1, (4, 8)).transpose(1, 2) for f in (self.q, self.k, self.v))
        scores = (q @ k.mT / 8**0.5).masked_fill(self.later[:n, :n], self.fill)
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


def test_a_layer_that_takes_64_tokens_passes_where_its_length_is_said() -> None:
    layer = Causal(-torch.inf, 64)
    failed = check_module(layer, embed_dim=32, causal=True)
    assert {finding.property for finding in failed.failures} == {"runs", "long sequences"}
    assert any("length 70" in finding.evidence for finding in failed.failures)
    assert check_module(layer, embed_dim=32, causal=True, lengths=[64], require=["oracle"]).passed


def test_a_causal_fill_of_minus_30_is_caught_and_of_minus_10_000_is_not() -> None:
    (failure,) = check_module(Causal(-30.0, 256), embed_dim=32, causal=True).failures
    assert failure.property == "prefix"
    torch.manual_seed(0)
    layer = Causal(-1e4, 256).eval()
    assert check_module(layer, embed_dim=32, causal=True, require=["oracle", "causality"]).passed
    for size, leaks in ((100, False), (1000, True)):
        x = size * torch.randn(1, 6, 32)
        other = x.clone()
        other[:, 5] *= -1
        moved = (layer(x) - layer(other))[:, :5].abs().max().item()
        assert (moved > 0.1) == leaks
