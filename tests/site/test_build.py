"""What makes a build faster changes nothing in what it makes."""

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from markdown import Markdown
from material.plugins.search.plugin import Parser
from pymdownx.superfences import SuperFencesBlockPreprocessor

from docs._tools import code_blocks
from docs._tools.rebuild import without_traces
from tests.conftest import ROOT, Site

HEADS = ("python", "text", 'python title="a"', 'python title="b"', 'python hl_lines="1"')
BLOCKS = [f"```{head}\n{body}\n```\n" for head in HEADS for body in ("x = 1", "x = 2")]
BLOCKS += [f"``` {{ .python {mark} }}\nx = 1\n```\n" for mark in (".wide", "#here")]
SETTINGS: list[dict[str, bool]] = [{}, {"linenums": True}]


def converted(text: str, settings: dict[str, bool]) -> str:
    names = ["attr_list", "pymdownx.highlight", "pymdownx.superfences"]
    extensions = [*names, code_blocks.CodeBlockExtension()]
    configured = {"pymdownx.highlight": settings}
    return str(Markdown(extensions=extensions, extension_configs=configured).convert(text))


def test_a_block_is_highlighted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    highlight, seen = SuperFencesBlockPreprocessor.highlight, []

    def counted(fences: SuperFencesBlockPreprocessor, **block: object) -> object:
        seen.append(block)
        return highlight(fences, **block)

    monkeypatch.setattr(SuperFencesBlockPreprocessor, "highlight", counted)
    monkeypatch.setattr(code_blocks, "_highlighted", {})
    once, again = (converted("\n".join(BLOCKS), {}) for _ in range(2))
    assert once == again
    assert len(seen) == len(BLOCKS)


def test_blocks_that_differ_in_anything_are_not_taken_for_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(code_blocks, "_highlighted", {})
    together = [converted(block, settings) for settings in SETTINGS for block in BLOCKS]
    alone = []
    for settings in SETTINGS:
        for block in BLOCKS:
            code_blocks._highlighted.clear()
            alone.append(converted(block, settings))
    assert together == alone
    assert len(set(alone)) == len(alone)


@pytest.mark.parametrize("repository", ["", "https://example.org/attn"])
def test_a_command_names_the_repository_once_it_is_known(
    monkeypatch: pytest.MonkeyPatch, repository: str
) -> None:
    edition = SimpleNamespace(config={"repo_url": repository})
    monkeypatch.setattr(code_blocks, "editions", lambda: (edition,))
    html = converted("```console\n$ git clone <this repository> attn-docs\n```\n", {})
    named = repository or "&lt;this repository&gt;"
    assert f"git clone {named} attn-docs" in re.sub("<[^>]*>", "", html)


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_a_port_that_is_taken_is_named_before_anything_is_built() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        # this environment, as it is
        given = ["-o", ".venv/site.done", f"BIN={Path(sys.executable).parent}", f"PORT={port}"]
        command = ["make", "serve", *given]
        done = subprocess.run(  # noqa: S603
            command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode
    assert f"Port {port} is taken. Try another: make serve PORT=8001" in done.stderr
    assert "Building" not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def entries(html: str) -> list[tuple[str | None, list[str], str]]:
    parser = Parser()
    parser.feed(html)
    return [(section.id, section.title, "".join(section.text)) for section in parser.data]


def test_the_search_index_misses_nothing_of_what_it_does_not_parse(site: Site) -> None:
    saved = 0
    for url, file in site.pages.items():
        text = file.read_text(encoding="utf-8")
        html = text[text.index("<article") : text.index("</article>")]
        lean = without_traces(html)
        assert entries(lean) == entries(html), url
        saved += 1 - lean.count("<") / html.count("<")
    assert saved / len(site.pages) > 1 / 3, "most tags are colours and formulas"
