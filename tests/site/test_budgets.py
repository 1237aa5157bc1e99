"""What the site may cost its readers, and its machinery its maintainers."""

import gzip
from pathlib import Path

from pygments.lexers import PythonLexer
from pygments.token import Comment, String

from tests.conftest import ROOT, Site

MACHINERY = ["docs/_tools/*.py", "tests/[cd]*.py", "tests/site/*.py", "tests/audit/*.py"]


def test_interactive_figures_stay_small():
    scripts = (ROOT / "docs").rglob("explorer.js")
    assert sum(file.stat().st_size for file in scripts) <= 10 * 1024


def test_search_indexes_stay_small(site: Site):
    files = {file.name: file for file in (site.path / "search").iterdir()}
    sizes = {name: len(gzip.compress(file.read_bytes())) for name, file in files.items()}
    assert sizes.pop("search_index.json") <= 1024, "the settings alone"
    assert set(sizes) == {"en.js", "zh.js"}
    assert max(sizes.values()) <= 350 * 1024, sizes


def code_lines(file: Path) -> int:
    """Count a file's lines of code: no blank ones, no comments, no docstrings."""
    tokens = PythonLexer().get_tokens(file.read_text(encoding="utf-8"))
    code = "".join(text for kind, text in tokens if kind not in Comment and kind != String.Doc)
    return sum(bool(line.strip()) for line in code.splitlines())


def test_machinery_stays_small():
    files = [file for pattern in MACHINERY for file in ROOT.glob(pattern)]
    lines = {str(file.relative_to(ROOT)): code_lines(file) for file in files}
    assert sum(lines.values()) <= 2000, lines
