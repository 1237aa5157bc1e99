"""Figures, tables and numbers in the tree are what their code makes now."""

import json
import re
from pathlib import Path

import pytest

from docs._tools import blocks, generate
from docs._tools.built import count
from docs._tools.page import DOCS
from tests.site.test_census import SOURCES

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
INCLUDE = re.compile(r'^ *--8<-- "(docs/[^"]+)"$', re.M)
# what a sentence may hold: sizes chosen by the author, sections, versions and ids of sources
NOT_PROSE = re.compile(
    r"^---\n.*?^---\n|^( *)(`{3,})[^\n]*\n.*?^\1\2$|`[^`\n]+`|\]\([^)]*\)|https?://\S+|<!--.*?-->"
    r"|arXiv:\d{4}\.\d{4,5}|[Ss]ections? [\d.]+(?:(?:, | and )[\d.]+)*|[\d.、和 ]+ 节"
    r"|(?:Llama|Qwen|GPT-|Gemma) ?\d\.\d"
    r"|\{\{ [a-z0-9_.]+ \}\}",
    re.M | re.S,
)
TYPED = re.compile(r"(?<![\w.])\d+\.\d+|\d,\d{3}")


def assert_same(old: str, new: str, what: str) -> None:
    """Compare two texts to the letter, but for coordinates in SVG, which may differ by rounding."""
    shown = [re.sub("<[^>]*>", "<>", text) for text in (old, new)]
    assert shown[0] == shown[1], f"{what} is stale"
    drawn = ["".join(re.findall("<[^>]*>", text)) for text in (old, new)]
    assert NUMBER.sub("0", drawn[0]) == NUMBER.sub("0", drawn[1]), f"{what} is stale"
    pairs = zip(*map(NUMBER.findall, drawn), strict=True)
    moved = [(a, b) for a, b in pairs if abs(float(a) - float(b)) > 0.011]
    assert not moved, f"{what} is stale: {moved[:5]}"


@pytest.mark.parametrize(("kind", "command"), [("FIGURES", "figures"), ("TABLES", "outputs")])
def test_files_are_fresh(kind: str, command: str) -> None:
    expected = generate.generated(kind)
    assert generate.stored(kind) == set(expected), f"run `make {command}`"
    for path, text in expected.items():
        name = f"{path.relative_to(blocks.ROOT)} (run `make {command}`)"
        assert_same(path.read_text(encoding="utf-8"), text, name)


def test_numbers_are_fresh() -> None:
    fresh = generate.numbers()
    assert set(DOCS.glob("**/made/numbers.json")) == set(fresh), "run `make outputs`"
    for path, computed in fresh.items():
        stored = json.loads(path.read_text(encoding="utf-8"))
        counted = count(None) if path.parents[1] == DOCS else {}  # those of a built site
        stale = {
            name: (stored.get(name), computed.get(name))
            for name in stored.keys() | computed.keys()
            if name not in counted and stored.get(name) != computed.get(name)
        }
        assert not stale, f"{path.relative_to(blocks.ROOT)}, stored and computed: {stale}"


def test_every_generated_file_is_shown_on_a_page() -> None:
    shown = {
        blocks.ROOT / path
        for page in DOCS.rglob("*.md")
        for path in INCLUDE.findall(page.read_text(encoding="utf-8"))
    }
    made = {*DOCS.glob("**/made/*.svg"), *DOCS.glob("**/made/*.md")}
    assert made - shown == set()


def test_both_languages_show_the_same_measurement() -> None:
    pages = set()
    for english in DOCS.glob("**/made/*.md"):
        both = [english, english.with_suffix(".zh.md")]
        texts = [path.read_text(encoding="utf-8") for path in both if path.is_file()]
        if any("{ .measured }" in text for text in texts) and not english.name.endswith(".zh.md"):
            assert all("{ .measured }" in text for text in texts), english
            assert NUMBER.findall(texts[0]) == NUMBER.findall(texts[1]), english
            assert re.search(r"20\d\d-\d\d-\d\d: PyTorch \d", texts[0]), "no date and version"
            pages.add(english.parents[1])
    assert {file.parent for file in DOCS.rglob("measured.json")} <= pages


@SOURCES
def test_no_computed_number_is_typed_into_a_sentence(source: Path) -> None:
    prose = NOT_PROSE.sub(" ", source.read_text(encoding="utf-8"))
    assert typed_numbers(prose) == [], f"{source.name}: name them in numbers()"


def typed_numbers(prose: str) -> list[str]:
    """Return decimals and thousands that stand in a text as digits."""
    return TYPED.findall(prose)


@pytest.mark.parametrize("what", ["outputs", "figures"])
def test_generators_refuse_under_ci(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("write", "write_all_outputs"):
        monkeypatch.setattr(generate, name, lambda *_: pytest.fail("it writes"))
    monkeypatch.setenv("CI", "true")
    with pytest.raises(SystemExit, match="not under CI"):
        generate.main(what, "")
