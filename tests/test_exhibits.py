"""What holds for every exhibit: it names its bug, marks one line, and has a test of its own."""

from pathlib import Path

import pytest

from docs._tools.blocks import ROOT

EXHIBITS = sorted((ROOT / "attn_docs" / "exhibits").glob("*/[!_]*.py"))
every_exhibit = pytest.mark.parametrize("path", EXHIBITS, ids=lambda path: path.stem)


def test_there_are_exhibits() -> None:
    assert len(EXHIBITS) > 20


@every_exhibit
def test_it_names_its_bug_and_marks_one_line(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.startswith('"""Bug: ')
    assert source.count("# wrong: ") == 1


@every_exhibit
def test_its_part_tests_it(path: Path) -> None:
    tests = (ROOT / "tests" / path.parent.name).glob("test_*.py")
    assert any(path.stem in test.read_text(encoding="utf-8") for test in tests)
