"""The checks are checked: each fault planted here must be noticed, with its place."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort
from sybil import Document

from docs._tools import blocks
from docs._tools.page import MisplacedPageError
from tests import docs_plugin
from tests.site.test_alone import run_isolated
from tests.site.test_census import PAGES
from tests.site.test_generated import NOT_PROSE, assert_same, typed_numbers

FAULTS = tomllib.loads((blocks.ROOT / "tests/site/faults.toml").read_text(encoding="utf-8"))
RIGHT = "print(1 + 1)\n#> 2\n"
INCLUDE = '```python\n--8<-- "attn_docs/canary.py"\n```\n'


@pytest.fixture
def verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return what the test run says of a page that includes a file."""
    monkeypatch.setattr(blocks, "ROOT", tmp_path)
    (tmp_path / "attn_docs").mkdir()

    def judge(page: str, file: str = RIGHT) -> list[str]:
        (tmp_path / "attn_docs" / "canary.py").write_text(file, encoding="utf-8")
        document = Document(page, str(tmp_path / "docs" / "canary.md"))
        for region in docs_plugin.parse(document):
            document.add(region)
        said = [example.region.evaluator(example) for example in document.examples()]
        return [message for message in said if message]

    return judge


def test_a_right_page_passes(verdicts) -> None:
    assert verdicts(f"# Page\n\n{INCLUDE}") == []


@pytest.mark.parametrize("fault", FAULTS["in_a_file"])
def test_a_fault_in_a_file_is_noticed(verdicts, fault: str) -> None:
    file, message = FAULTS["in_a_file"][fault]
    [said] = verdicts(f"# Page\n\n{INCLUDE}", file)
    assert said.startswith("docs/canary.md:3 (from attn_docs/canary.py): "), said
    assert re.search(message, said), said


@pytest.mark.parametrize("fault", FAULTS["on_a_page"])
def test_a_fault_on_a_page_is_noticed(verdicts, fault: str) -> None:
    page, message = FAULTS["on_a_page"][fault]
    [said] = verdicts(page)
    assert re.match(rf"docs/canary\.md:\d+[^\n]*{message}", said), said


def test_a_skip_with_a_reason_is_reported_as_skipped(verdicts) -> None:
    with pytest.raises(pytest.skip.Exception, match=r"canary\.md:1 .*: needs a GPU"):
        verdicts(INCLUDE, "# skip: needs a GPU\n")


def test_a_block_that_asks_for_packages_is_run_and_says_which(verdicts) -> None:
    asks = "# pip install transformers x-transformers==2.0\n"
    assert blocks.packages_of(asks) == {"transformers", "x-transformers"}
    assert blocks.packages_of(f"import torch\n{asks}") == set()
    [said] = verdicts(INCLUDE, f"{asks}1 / 0\n")
    assert "ZeroDivisionError" in said


def test_blocks_share_nothing(verdicts) -> None:
    page = INCLUDE + INCLUDE.replace("canary", "second")
    (blocks.ROOT / "attn_docs" / "second.py").write_text("print(x)\n", encoding="utf-8")
    [said] = verdicts(page, "x = 1\n")
    assert "NameError" in said


def test_a_fence_inside_another_is_text(verdicts) -> None:
    assert verdicts("````markdown\n```python\nprint(1)\n```\n````\n") == []


def test_every_fence_of_pages_and_docstrings_is_collected() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "docs", "attn_docs"]
    done = subprocess.run(  # noqa: S603
        command, cwd=blocks.ROOT, capture_output=True, text=True, check=False
    )
    found = re.findall(r"^(?:docs|attn_docs)/.*::line:\d+", done.stdout, re.M)
    texts = [
        *(page.read_text(encoding="utf-8") for page in PAGES),
        *(p.read_text(encoding="utf-8") for p in (blocks.ROOT / "attn_docs").rglob("*.py")),
    ]
    fences = sum(len(re.findall(r"^ *```+\w", text, re.M)) for text in texts)
    nested = sum(len(re.findall(r"^````markdown\n```python", text, re.M)) for text in texts)
    assert len(found) == fences - nested


@pytest.mark.parametrize("fault", FAULTS["in_the_build"])
def test_a_fault_stops_the_build(fault: str, tmp_path: Path, caplog) -> None:
    page, message = FAULTS["in_the_build"][fault]
    with pytest.raises(Exception, match=message):
        build_page(tmp_path, "canary/index.md", f"# Page\n\n{page}\n")
    assert "canary/index.md" in caplog.text


def build_page(folder: Path, source: str, text: str) -> None:
    """Build a site of one page."""
    page = folder / "docs" / source
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    config = load_config(
        str(blocks.ROOT / "mkdocs.yml"),
        docs_dir=str(folder / "docs"),
        site_dir=str(folder / "site"),
        nav=None,
        plugins=[],
        theme={"name": "mkdocs"},
    )
    build(config)


@pytest.mark.parametrize("source", ["part/canary.md", "canary/page.zh.md", "Part/canary/index.md"])
def test_a_misplaced_page_stops_the_build(source: str, tmp_path: Path) -> None:
    with pytest.raises(MisplacedPageError, match=f"docs/{re.escape(source)}: a page must be index"):
        build_page(tmp_path, source, "# Page\n")


def test_what_a_page_is_made_of_is_not_published(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "canary"
    for name in ("figures.py", "text.toml", "measured.json", "made/a.svg", "__pycache__/a.pyc"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    with pytest.raises(Abort):  # by the step after the build, which wants every page
        build_page(tmp_path, "canary/index.md", "# Page\n")
    published = tmp_path / "site" / "canary"
    assert [path.name for path in published.rglob("*")] == ["index.html"]


def test_stale_files_are_noticed() -> None:
    svg = '<svg><rect x="1.00"/><text>0.4711</text></svg>'
    assert_same(svg, svg.replace("1.00", "1.01"), "rounding")
    for fault in (("0.4711", "0.4712"), ("1.00", "1.50"), ("rect", "circle")):
        with pytest.raises(AssertionError, match="a figure is stale"):
            assert_same(svg, svg.replace(*fault), "a figure")


@pytest.mark.parametrize("text", ["is 0.34, not", "约 0.34。", "the 65,504 of", "$= 0.15$"])
def test_a_typed_number_is_noticed(text: str) -> None:
    assert typed_numbers(NOT_PROSE.sub(" ", text))


@pytest.mark.parametrize(
    "text", ["{{ a.b_1024 }}", "section 3.2.1 of", "arXiv:1706.03762", "`0.5`"]
)
def test_what_is_no_computed_number_passes(text: str) -> None:
    assert typed_numbers(NOT_PROSE.sub(" ", text)) == []


def test_a_copied_block_with_a_wrong_digit_is_noticed() -> None:
    run_isolated(RIGHT)
    with pytest.raises(AssertionError):
        run_isolated(RIGHT.replace("#> 2", "#> 3"))
