"""What the site may cost its readers, and its machinery its maintainers."""

import gzip
import tokenize
from pathlib import Path

from tests.conftest import ROOT, Site

MACHINERY = ["docs/_tools/*.py", "tests/[cd]*.py", "tests/site/*.py", "tests/audit/*.py"]


def test_interactive_figures_stay_small():
    scripts = (ROOT / "docs/assets/javascripts").glob("*-explorer.js")
    assert sum(file.stat().st_size for file in scripts) <= 10 * 1024


def test_search_index_stays_small(site: Site):
    index = site.path / "search/search_index.json"
    assert len(gzip.compress(index.read_bytes())) <= 700 * 1024


def code_lines(file: Path) -> int:
    """Count a file's lines of code: no blank ones, no comments, no docstrings."""
    lines, starts_statement = set(), True
    with file.open("rb") as opened:
        for token in tokenize.tokenize(opened.readline):
            if token.type in {tokenize.COMMENT, tokenize.NL}:
                continue
            if token.type in {
                tokenize.NEWLINE,
                tokenize.INDENT,
                tokenize.DEDENT,
                tokenize.ENCODING,
            }:
                starts_statement = True
                continue
            if not (starts_statement and token.type == tokenize.STRING):
                lines.update(range(token.start[0], token.end[0] + 1))
            starts_statement = False
    return len(lines)


def test_machinery_stays_small():
    files = [file for pattern in MACHINERY for file in ROOT.glob(pattern)]
    lines = {str(file.relative_to(ROOT)): code_lines(file) for file in files}
    assert sum(lines.values()) <= 2000, lines
