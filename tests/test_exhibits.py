"""What holds for every exhibit: it names its bug, marks one line, and has a test of its own."""

import ast
from pathlib import Path

import pytest

from docs._tools.blocks import ROOT
from docs._tools.bugs import FOLDER, MADE

EXHIBITS = sorted((ROOT / "attn_docs" / "exhibits").glob("*/[!_]*.py"))
every_exhibit = pytest.mark.parametrize("path", EXHIBITS, ids=lambda path: path.stem)


def test_there_are_exhibits() -> None:
    assert len(EXHIBITS) > 20


@every_exhibit
def test_it_names_its_bug_and_marks_one_line(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.removeprefix(MADE).startswith('"""Bug: ')
    assert (MADE in source) == (path.parent == FOLDER)
    assert source.count("# wrong: ") == 1


def test_exhibits_of_one_name_say_the_same() -> None:
    said = {}
    for path in EXHIBITS:
        sentence = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        said.setdefault(path.stem, set()).add(sentence)
    assert [name for name, sentences in said.items() if len(sentences) > 1] == []


# those of the part practice are run from their data, all by the same tests
@pytest.mark.parametrize(
    "path", [path for path in EXHIBITS if path.parent != FOLDER], ids=lambda path: path.stem
)
def test_its_part_tests_it(path: Path) -> None:
    tests = (ROOT / "tests" / path.parent.name).glob("test_*.py")
    assert any(path.stem in test.read_text(encoding="utf-8") for test in tests)
