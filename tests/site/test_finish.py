"""The step after the build finishes any engine's pages, none twice, and names what is wrong."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from docs._kit.text import texts
from docs._tools import finish as step
from docs._tools.blocks import ROOT
from docs._tools.editions import Edition, editions
from docs._tools.finish import wheel
from docs._tools.finish.policy import CHARSET

SCRIPT = "attn_docs/examples/foundations/masks/where_to_mask.py"
BLOCK = (
    f'<div class="language-python highlight"><span class="filename" title="{SCRIPT}">a.py</span>'
    "<pre><code>what is shown</code></pre></div>"
)
PAGE = (
    f'<!doctype html><html lang="en"><head>{CHARSET}<meta name="description" content="It is d.">'
    '<meta property="og:title" content="The title"></head><body><article><h1>Title</h1>{}'
    "</article></body></html>"
)


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Finish a site of one chapter with the given content; return its folder."""
    config = {**editions()[0].config, "nav": ["foundations/masks/index.md"]}
    monkeypatch.setattr(step, "editions", lambda: (Edition("en", "English", "", config),))
    monkeypatch.setattr(step, "_last", {})
    folder = tmp_path / "foundations/masks"

    def run(content: str, page: str = PAGE, address: str = "") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(page.format(content), encoding="utf-8")
        step.finish(tmp_path, address)
        return folder

    return run


def test_code_comes_from_the_file_that_a_block_includes(finished):
    folder = finished(f"<p>before</p>{BLOCK}<p>after</p>")
    source = (ROOT / SCRIPT).read_text(encoding="utf-8")
    assert f"`{SCRIPT}`\n\n```python\n{source}```\n" in (folder / "index.md").read_text("utf-8")
    cells = json.loads((folder / "masks.ipynb").read_bytes())["cells"]
    assert [cell["source"] for cell in cells[3::2]] == [source.strip("\n")]
    with zipfile.ZipFile(io.BytesIO((folder / "masks.zip").read_bytes())) as archive:
        assert archive.read("masks/01_where_to_mask.py").decode() == source


def test_text_keeps_what_markdown_would_read_otherwise(finished):
    svg = "foundations-masks-alignment"
    folder = finished(
        '<h2 id="a">A <code>b</code></h2><p>是<strong>粗体。</strong>后</p>'
        '<p><a href="../origin/#x">one</a>, <a href="#a">two</a>, <a href="">three</a>, '
        '<a href="https://example.org/a/">four</a></p>'
        "<p><math><semantics><mi>x</mi><annotation>a_1 * b_1|c</annotation></semantics></math></p>"
        f'<svg aria-labelledby="figure-{svg}-title figure-{svg}-desc"><title>T "q"</title>'
        '<desc>D</desc></svg><form><p>control</p></form><p class="ran">said</p>'
    )
    text = (folder / "index.md").read_text(encoding="utf-8")
    assert text.split("\n\n") == [
        "# Title",
        "## A `b` {#a}",
        "是**粗体**。后",
        "[one](../origin/index.md#x), [two](#a), [three](index.md), [four](https://example.org/a/)",
        r"$a_1 * b_1\vert c$",
        r'![T "q": D](../../assets/figures/foundations/masks/alignment.svg)' + "\n",
    ]


def test_a_folded_file_is_taken_along_once_and_installed_before(
    finished, monkeypatch: pytest.MonkeyPatch
):
    source = "from attn_docs import causal_mask\n"
    monkeypatch.setattr("docs._tools.finish.twin.included_file", lambda _: ("", source))
    fold = '<details class="package"><summary>what it offers</summary>{}</details>'
    folder = finished(fold.format(BLOCK))
    text = (folder / "index.md").read_text(encoding="utf-8")
    assert "what it offers" not in text
    assert text.count("\n```python\n") == 1
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert html.index('class="install"') < html.index("<details")


def test_how_to_install_stands_in_no_fold(finished):
    outer, done = "<details class=note><summary>more</summary>{}</details>", "<details></details>"
    folder = finished(done + outer.format(outer.format(BLOCK)))
    html = (folder / "index.html").read_text(encoding="utf-8")
    before, after = html.split('<div class="install"')
    assert before.count("<details") == before.count("</details>") == 1
    assert after.index("<details class=note>") < after.index("language-python")


def test_a_card_is_a_list_without_its_line(finished):
    math = "<math><semantics><mi>x</mi><annotation>n</annotation></semantics></math>"
    folder = finished(
        '<div class="glance"><ol class="stages"><li><a href="">score</a></li></ol>'
        f'<dl><dt>Cost</dt><dd>{math} <a href="../">rows</a></dd><dt>A</dt><dd>b</dd></dl></div>'
    )
    text = (folder / "index.md").read_text(encoding="utf-8")
    assert text.split("\n\n") == [
        "# Title",
        "- **Cost** $n$ [rows](../index.md)\n- **A** b\n",
    ]


@pytest.mark.parametrize("address", ["", "https://example.org/docs/"])
def test_a_notebook_installs_from_where_the_site_is_or_says_that_nobody_knows(
    finished, tmp_path: Path, address: str
):
    folder = finished(BLOCK)
    if address:
        finished(BLOCK, address=address)
    cells = json.loads((folder / "masks.ipynb").read_bytes())["cells"]
    *told, line = cells[1]["source"].partition("\n\n")[0].splitlines()
    (wheel,) = tmp_path.glob("*.whl")
    assert line == f"%pip install --quiet {address or '../../'}{wheel.name}"
    words = texts(step.__file__, "taken", "en")
    assert told == ([] if address else [f"# {line}" for line in words["moved"]])


@pytest.mark.parametrize(
    ("source", "lines"), [("import torch\n", 0), ("from attn_docs import causal_mask\n", 1)]
)
def test_only_a_page_that_needs_the_package_says_how_to_install_it(
    finished, monkeypatch: pytest.MonkeyPatch, source: str, lines: int
):
    monkeypatch.setattr("docs._tools.finish.twin.included_file", lambda _: ("", source))
    html = (finished(BLOCK) / "index.html").read_text(encoding="utf-8")
    assert html.count('class="install"') == lines


def test_a_fence_is_longer_than_any_in_its_block(finished):
    block = '<div class="language-text highlight"><pre><code>{}</code></pre></div>'
    folder = finished(f"<ul><li>item{block.format('```&lt;```')}</li></ul>")
    assert "  ````text\n  ```<```\n  ````" in (folder / "index.md").read_text(encoding="utf-8")


FAULTS = {
    "a style attribute": ("<p style='top: 0'>", r"index\.html: its policy forbids style="),
    "a file that is not there": (BLOCK.replace("where_", "x_"), r"index\.html: .*there is no attn"),
    "code without a file": (
        BLOCK.replace(f' title="{SCRIPT}"', ""),
        r"index\.html: each block must name its file",
    ),
    "a drawing without a file": (
        '<svg aria-labelledby="figure-x-title"></svg>',
        r"index\.html: each drawing must be a file of docs/\*\*/made; got figure-x-title",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_its_page(finished, fault: str):
    content, message = FAULTS[fault]
    with pytest.raises(ValueError, match=f"^foundations/masks/{message}"):
        finished(content)


@pytest.mark.parametrize("part", [CHARSET, "<h1>Title</h1>", ' name="description"', "og:title"])
def test_a_page_without_what_is_needed_is_named(finished, part: str):
    with pytest.raises(ValueError, match=r"^foundations/masks/index\.html: a page must "):
        finished("", PAGE.replace(part, ""))


def test_a_missing_page_is_named(finished, tmp_path: Path):
    folder = finished("")
    (folder / "index.html").unlink()
    with pytest.raises(
        ValueError, match=r"^docs/foundations/masks/index\.md: .* got none at /foun"
    ):
        step.finish(tmp_path)


def test_only_what_has_changed_is_made_again(finished, monkeypatch: pytest.MonkeyPatch):
    made = []
    taken = step.taken
    monkeypatch.setattr(step, "taken", lambda page, *a: made.append(page.file) or taken(page, *a))
    folder = finished("<p>one</p>")
    files = {file: file.read_bytes() for file in folder.iterdir()}
    shutil.rmtree(folder)  # as MkDocs does before it builds
    finished("<p>one</p>")
    step.finish(folder.parents[1])  # as if the engine had left the page as it was
    assert {file: file.read_bytes() for file in folder.iterdir()} == files
    assert len(made) == 1
    finished("<p>two</p>")
    assert len(made) == 2
    assert "two" in (folder / "index.md").read_text(encoding="utf-8")
    monkeypatch.setattr(step, "_last", {})
    with pytest.raises(ValueError, match=r"a page must be as its engine left it"):
        step.finish(folder.parents[1])


def test_the_version_changes_with_code_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = {
        "attn_docs/__init__.py": '"""Code."""\n',
        "attn_docs/data.json": "{}\n",
        "docs/foundations/masks/text.toml": "[caption]\n",
        "README.md": "# Read me\n",
        "LICENSE": "MIT\n",
    }
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.setattr(wheel, "ROOT", tmp_path)
    first, code = wheel.package_wheel()
    assert zipfile.is_zipfile(io.BytesIO(code))
    for file in ("docs/foundations/masks/text.toml", "README.md"):
        (tmp_path / file).write_text("# changed\n", encoding="utf-8")
    assert wheel.package_wheel()[0] == first
    seen = {first}
    for file in ("attn_docs/__init__.py", "attn_docs/data.json", "attn_docs/new.py"):
        (tmp_path / file).write_text("1\n", encoding="utf-8")
        seen.add(wheel.package_wheel()[0])
    (tmp_path / "attn_docs/new.py").rename(tmp_path / "attn_docs/other.py")
    seen.add(wheel.package_wheel()[0])
    assert len(seen) == 5


@pytest.mark.parametrize("command", ["build", "serve"])
def test_mkdocs_has_its_pages_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, command: str
):
    monkeypatch.setattr(step, "editions", tuple)
    for folder, file, text in (
        ("theme", "main.html", f"<!doctype html>{CHARSET}{{{{ page.content }}}}"),
        ("docs", "index.md", "text"),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / file).write_text(text, encoding="utf-8")
    given = {name: str(tmp_path / name) for name in ("docs", "site")}
    config = load_config(
        str(ROOT / "mkdocs.yml"),
        docs_dir=given["docs"],
        site_dir=given["site"],
        nav=["index.md"],
        plugins=[],
        hooks=["docs/_tools/hook.py"],
        theme={"name": None, "custom_dir": str(tmp_path / "theme")},
    )
    config.plugins.on_startup(command=command, dirty=False)
    build(config)
    html = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    # the pages that are served reload by a script that MkDocs adds
    assert ("Content-Security-Policy" in html) == (command == "build")
    (tmp_path / "docs/index.md").write_text('<p style="top: 0">text</p>', encoding="utf-8")
    with pytest.raises(Abort):
        build(config)
    assert 'index.html: its policy forbids style="top: 0" of <p>' in caplog.text
