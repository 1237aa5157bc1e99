"""Sybil finds every fence of every page and docstring; each Python block is run alone."""

import ast
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from sybil import Document, Example, Region, Sybil
from sybil.document import PythonDocStringDocument
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer

from docs._tools import blocks

PYTHON_FENCE = re.compile(r'python( hl_lines="[\d -]+")?')
OTHER_FENCES = {"console", "diff", "markdown", "text", "toml", "yaml"}
DIRECTIVE = re.compile(r"<!--+\s*;?\s*(skip|clear-namespace|invisible-code)\b[^\n]*")


class DocStrings(PythonDocStringDocument):
    """Docstrings of a module whose blocks import what they need: the module is not imported."""

    def __init__(self, text: str, path: str) -> None:
        Document.__init__(self, text, path)


def parse(document: Document) -> Iterable[Region]:
    """Yield every outermost fence, whatever its spelling, and what would hide one."""
    lexer = RawFencedCodeBlockLexer(re.compile(r"(?P<info>[^\n]*)\n"))
    found = sorted(lexer(document), key=lambda region: (region.start, -region.end))
    end = 0
    for region in found:
        if region.start >= end:
            end = region.end
            region.evaluator = evaluate
            yield region
    for directive in DIRECTIVE.finditer(document.text):
        yield Region(directive.start(), directive.end(), evaluator=refuse_directive)


def refuse_directive(example: Example) -> str:
    """Say that a hidden instruction to the test run is not allowed."""
    where = f"{Path(example.path).relative_to(blocks.ROOT)}:{example.line}"
    return f"{where}: a block is skipped by its own first line, `# skip: <reason>`, never hidden"


def evaluate(example: Example) -> str | None:
    """Hold one fence against the rules; run it if it is Python."""
    page = Path(example.path).relative_to(blocks.ROOT).as_posix()
    where = f"{page}:{example.line}"
    info, content = example.region.lexemes["info"], str(example.region.lexemes["source"])
    try:
        if info in OTHER_FENCES:
            refuse_python(info, content)
            return None
        if not PYTHON_FENCE.fullmatch(info):
            allowed = ", ".join(["python", *sorted(OTHER_FENCES)])
            return f"{where}: a fence must open with one of {allowed}; got {info!r}"
        if page.endswith(".py"):
            path, source = page, content
        else:
            path, source = blocks.included_file(content)
            where += f" (from {path})"
        if reason := blocks.skip_reason(source):
            pytest.skip(f"{where}: {reason}")
        blocks.check(source)
    except blocks.BlockError as error:
        return f"{where}: {error}"
    return None


def refuse_python(info: str, content: str) -> None:
    """Refuse Python that passes as another language and so would never be run."""
    try:
        tree = ast.parse(content)
    except SyntaxError:
        return
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    if any(isinstance(node, kinds) for node in ast.walk(tree)):
        raise blocks.BlockError(f"a block marked {info!r} must not hold Python; mark it python")


# a pattern's ** stands for one folder
PAGES = ["docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "docs/*/*/*/*.md", "README.md"]
pages = Sybil([parse], path=str(blocks.ROOT), patterns=PAGES, excludes=["made/*.md"])
docstrings = Sybil(
    [parse],
    path=str(blocks.ROOT),
    patterns=["attn_docs/*.py", "attn_docs/**/*.py"],
    document_types={".py": DocStrings},
)
pytest_collect_file = (pages + docstrings).pytest()
