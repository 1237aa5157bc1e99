"""The Python blocks that readers see are, one for one, the blocks that were run."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from sybil import Document

from docs._tools import blocks, built
from docs._tools.block_looks import VERIFIED
from docs._tools.page import DOCS, place_of, sources
from tests.conftest import Site
from tests.docs_plugin import OTHER_FENCES, parse

FILES = [DOCS / source for source in sources()]
PAGES = [page for page in FILES if "\nredirect: " not in page.read_text(encoding="utf-8")]
SOURCES = pytest.mark.parametrize("source", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
MODULE = re.compile(r"^::: ([\w.]+)$", re.M)


def address(source: Path) -> str:
    """Return where a page's source is published."""
    folder, language = place_of(source.relative_to(DOCS).as_posix())
    return ("zh/" if language == "zh" else "") + (f"{folder}/" if folder else "")


def collected(source: Path) -> list[str]:
    """Return the Python blocks that the test run collects for a page."""
    text = source.read_text(encoding="utf-8")
    regions = sorted(parse(Document(text, str(source))), key=lambda region: region.start)
    contents = [r.lexemes for r in regions if str(r.lexemes.get("info")).startswith("python")]
    shown = [blocks.included_file(str(lexemes["source"]))[1] for lexemes in contents]
    for module in MODULE.findall(text):
        shown += blocks.docstring_blocks(blocks.ROOT / f"{module.replace('.', '/')}.py")
    return shown


@SOURCES
def test_blocks_on_the_page_are_the_blocks_that_are_run(source: Path, site: Site) -> None:
    shown = [text.strip() for text in built.python_blocks(site.pages[address(source)])]
    run = [text.strip() for text in collected(source)]
    if MODULE.search(source.read_text(encoding="utf-8")):  # classes stand before functions there
        shown, run = sorted(shown), sorted(run)
    assert shown == run


@SOURCES
def test_every_block_names_its_language(source: Path, site: Site) -> None:
    languages = Counter(language for language, _ in built.code_blocks(site.pages[address(source)]))
    assert set(languages) <= {"python", *OTHER_FENCES}, languages


@SOURCES
def test_outputs_have_at_most_four_digits_after_the_point(source: Path) -> None:
    lines = [line for block in collected(source) for line in built.output_lines(block)]
    assert [line for line in lines if re.search(r"\.\d{5}", line)] == []


@SOURCES
def test_every_block_says_that_it_ran_and_the_page_how(source: Path, site: Site) -> None:
    page, versions = site.pages[address(source)], VERIFIED.read_text(encoding="utf-8").split()
    tree, shown = built.tree(page), built.python_blocks(page)
    run = [block for block in shown if not blocks.skip_reason(block)]
    ticks = tree.findall(".//span[@class='ran'][@role='img']")
    assert len(ticks) == len(run)
    assert len(tree.findall(".//span[@class='ran']")) == len(shown)
    assert all(tick.get("aria-label") for tick in ticks)
    told = tree.findall(".//p[@class='checked']")
    assert len(told) == bool(run)
    for mark in told:
        said = "".join(mark.itertext())
        assert all(version in said for version in versions), said
        assert (blocks.ROOT / said.rpartition(" pytest ")[2]).exists(), said


def test_blocks_run_with_the_versions_that_are_named() -> None:
    named = VERIFIED.read_text(encoding="utf-8").split()
    assert torch.__version__.partition("+")[0] in named
    pins = (blocks.ROOT / "requirements/test.txt").read_text(encoding="utf-8")
    assert f"torch=={named[-1]}\n" in pins


def test_every_page_is_built_and_no_other(site: Site) -> None:
    assert set(site.pages) == {address(source) for source in PAGES}


def test_counts_on_the_home_page_are_those_of_the_built_site(site: Site) -> None:
    numbers = json.loads((DOCS / "made" / "numbers.json").read_text(encoding="utf-8"))
    counted = built.count(site.path)
    assert {name: numbers[name] for name in counted} == counted, "run `make outputs`"


def test_no_todo_is_left() -> None:
    files = [*PAGES, *(blocks.ROOT / "attn_docs").rglob("*.py")]
    assert [str(path) for path in files if "TODO" in path.read_text(encoding="utf-8")] == []


def test_no_data_of_a_page_is_published(site: Site) -> None:
    assert [str(path) for path in site.path.rglob("*.toml")] == []
