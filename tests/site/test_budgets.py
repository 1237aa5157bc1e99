"""What the site may cost its readers, and its machinery its maintainers."""

import ast
import gzip
from pathlib import Path

from tests.conftest import ROOT, Site

CODE = ["attn_docs/**/*.py", "docs/**/*.py", "tests/*.py", "tests/site/*.py", "tests/audit/*.py"]


def test_interactive_figures_stay_small():
    scripts = list((ROOT / "docs").rglob("explorer.js"))
    sizes = {str(file): len(gzip.compress(file.read_bytes())) for file in scripts}
    assert len(sizes) == 8
    assert max(sizes.values()) <= 3 * 1024, sizes


def test_search_indexes_stay_small(site: Site):
    files = {file.name: file for file in (site.path / "search").iterdir()}
    sizes = {name: len(gzip.compress(file.read_bytes())) for name, file in files.items()}
    assert set(sizes) == {"en.js", "zh.js"}
    pages = [url for url in site.pages if not url.startswith("zh/")]  # both hold the API's
    assert max(sizes.values()) <= len(pages) * 6 * 1024, sizes  # fetched when somebody searches


def lengths(file: Path) -> dict[str, int]:
    """Return the lines of a file and of its functions, these without their docstrings."""
    text = file.read_text(encoding="utf-8")
    found = {"the file": len(text.splitlines())}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            told = node.body[0] if ast.get_docstring(node) else None
            docstring = (told.end_lineno or 0) - told.lineno + 1 if told else 0
            found[node.name] = (node.end_lineno or 0) - node.lineno + 1 - docstring
    return found


def too_long(file: Path) -> dict[str, int]:
    """Return what nobody holds in mind at once: a file over 600 lines, a function over 50."""
    limits = {"the file": 600}
    return {name: n for name, n in lengths(file).items() if n > limits.get(name, 50)}


def test_files_and_functions_are_of_a_sitting() -> None:
    files = [file for pattern in CODE for file in ROOT.glob(pattern)]
    found = {str(file.relative_to(ROOT)): over for file in files if (over := too_long(file))}
    assert not found


def test_what_is_too_long_is_seen(tmp_path: Path) -> None:
    file = tmp_path / "long.py"
    file.write_text("def f():\n" + "    x = 1\n" * 50 + "\n" * 550, encoding="utf-8")
    assert too_long(file) == {"the file": 601, "f": 51}
