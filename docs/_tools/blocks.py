"""Python blocks: found in pages and docstrings, run alone, compared with their `#>` lines.

A block is a whole program. What it prints stands under the statement that printed it, as
comment lines at the margin: `#> text`. A block that cannot run everywhere says so to the reader
in its first line: `# skip: needs a GPU`. One that needs other packages names them there, and is
run where they are installed: `# pip install transformers`.
"""

import ast
import atexit
import functools
import io
import json
import os
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
INCLUDE = re.compile(r'--8<-- "(?P<path>[^":]+\.py)(?::(?P<section>\w+))?"\s*')
DOCSTRING_BLOCK = re.compile(r"^(?P<indent> *)```python\n(?P<source>.*?)^ *```$", re.M | re.S)
SKIP = re.compile(r"# skip\b:?(?P<reason>.*)")
INSTALL = re.compile(r"# pip install (?P<packages>.+)")
LIBRARY = re.compile(r"^\s*(?:from|import) transformers\b", re.M)
# what every model's file of that library imports, in a second
IN_ADVANCE = ("transformers.models.llama.modeling_llama",)
# every warning is an error, but one that importing x-transformers brings about
WARNINGS = (
    *("-W", "error"),
    *("-W", "ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
)

Outputs = dict[int, list[str]]  # last line of a statement -> the lines it printed


class BlockError(Exception):
    """A block that breaks a rule or fails; the message says what was expected."""


def included_file(content: str) -> tuple[str, str]:
    """Return path and source of the file a fence brings in; refuse anything typed by hand."""
    include = INCLUDE.fullmatch(content)
    if include is None:
        raise BlockError(
            "a Python block must hold one line, the include of a file of attn_docs; "
            f"got hand-typed text:\n{textwrap.indent(content, '    ')}"
        )
    path = include["path"]
    if not path.startswith("attn_docs/") or not (ROOT / path).is_file():
        raise BlockError(f"a Python block must include a file of attn_docs; there is no {path}")
    source = (ROOT / path).read_text(encoding="utf-8")
    if include["section"]:
        start, end = (f"# --8<-- [{mark}:{include['section']}]\n" for mark in ("start", "end"))
        if start not in source or end not in source:
            raise BlockError(f"{path} has no section {include['section']!r}")
        source = source.partition(start)[2].partition(end)[0]
    return path, source


def skip_reason(source: str) -> str | None:
    """Return why a block says it cannot run here, None if it says nothing."""
    match = SKIP.match(source)
    if match is None:
        return None
    if not match["reason"].strip():
        raise BlockError("a skipped block must tell its reader why: `# skip: <reason>`; got none")
    return match["reason"].strip()


def packages_of(source: str) -> set[str]:
    """Return the packages that a block says it needs besides what the page's line installs."""
    match = INSTALL.match(source)
    return {name.partition("==")[0] for name in match["packages"].split()} if match else set()


def written_outputs(source: str) -> Outputs:
    """Return the `#>` lines of a block under the last line of the statement they follow."""
    try:
        ends = sorted(node.end_lineno or 0 for node in ast.parse(source).body)
    except SyntaxError as error:
        raise BlockError(f"line {error.lineno} of the block: SyntaxError: {error.msg}") from error
    outputs: Outputs = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.string.startswith("#>"):
            line, column = token.start
            above = [end for end in ends if end < line]
            if column or not above or (line in ends):
                raise BlockError(f"line {line}: `#>` must stand at the margin under a statement")
            outputs.setdefault(above[-1], []).append(token.string[2:].removeprefix(" "))
    return outputs


def with_outputs(source: str, outputs: Outputs) -> str:
    """Return the block with its `#>` lines replaced by what a run printed."""
    old = {
        token.start[0]
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and token.string.startswith("#>")
    }
    lines: list[str] = []
    for number, line in enumerate(source.splitlines(), start=1):
        if number not in old:
            lines.append(line)
        lines += [f"#> {text}".rstrip() for text in outputs.get(number, [])]
    return "\n".join(lines) + "\n"


@functools.cache
def _runner(*modules: str) -> subprocess.Popen[str]:
    """Return the process that runs blocks, each alone, with modules imported: see alone.py."""
    alone = str(Path(__file__).with_name("alone.py"))
    command = [sys.executable, "-I", *WARNINGS, alone, *modules]
    # a process that was forked hangs where another one's threads should be
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    runner = subprocess.Popen(  # noqa: S603
        command, stdin=pipe, stdout=pipe, text=True, cwd="/", env=environment
    )
    atexit.register(runner.communicate)  # it ends where its input ends
    return runner


@functools.cache
def run(source: str) -> Outputs:
    """Run a block alone, in a process of its own."""
    runner = _runner(*(IN_ADVANCE if LIBRARY.search(source) else ()))
    requests, replies = runner.stdin, runner.stdout
    assert requests is not None  # noqa: S101
    assert replies is not None  # noqa: S101
    requests.write(json.dumps(source) + "\n")
    requests.flush()
    reply = replies.readline()
    if not reply:
        raise BlockError("no block can be run: docs/_tools/alone.py ended")
    outputs, error = json.loads(reply)
    if error:
        raise BlockError(error)
    return {int(line): printed for line, printed in outputs.items()}


def check(source: str) -> None:
    """Run a block and compare what it prints with its `#>` lines, statement by statement."""
    expected = written_outputs(source)
    actual = run(source)
    for line in sorted(expected.keys() | actual.keys()):
        if expected.get(line, []) != actual.get(line, []):
            raise BlockError(
                f"the statement that ends on line {line} of the block prints something else\n"
                f"expected:\n{textwrap.indent(chr(10).join(expected.get(line, [])), '    #> ')}\n"
                f"got:\n{textwrap.indent(chr(10).join(actual.get(line, [])), '    #> ')}\n"
                "(`make outputs` rewrites the `#>` lines when the change is meant)"
            )


def docstring_blocks(path: Path) -> list[str]:
    """Return the Python blocks in the docstrings of a module's public names."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node) or ""
            blocks += [textwrap.dedent(m["source"]) for m in DOCSTRING_BLOCK.finditer(text)]
    return blocks
