"""What is served after a change is what a fresh build shows; no more than changed is made again."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.structure.pages import Page

from docs._tools.api_pages import RECIPES
from docs._tools.blocks import ROOT
from docs._tools.page import DOCS

OURS = ("docs/_tools", "docs/_theme", "docs/_kit", "docs/assets")
NEEDED = ("mkdocs.yml", "pyproject.toml", "README.md", "LICENSE")
NAV = """nav:
  - index.md
  - Part: [part/one/index.md, part/two/index.md]
  - API: [reference/api/index.md, reference/api/part/one.md, reference/api/part/two.md]
  - reference/recipes/index.md

"""
NAV_ZH = """          nav:
            - index.md
            - 部分: [part/one/index.md, part/two/index.md]
            - reference/api/index.md
            - reference/recipes/index.md
"""
PAGE = "---\ndescription: {0}.\n---\n\n# {0} {{ #top }}\n\n"
FILES = {
    "docs/reference/glossary/glossary.toml": (
        '[rarity]\nen = "rarity"\nzh = "罕见词"\naliases = []\npage = "part/one/"\n'
        'says.en = "A word that no page has."\nsays.zh = "哪一页都没有的词。"\n'
    ),
    "attn_docs/__init__.py": "",
    "attn_docs/part/__init__.py": "",
    "attn_docs/part/one.py": 'def one():\n    """Return one."""\n    return 1\n',
    "attn_docs/part/two.py": 'def two():\n    """Return [one][attn_docs.part.one.one]."""\n',
    "attn_docs/examples/part/one/core.py": "print(1)\n#> 1\n",
    "docs/index{}.md": PAGE.format("Home") + "[There](part/one/index.md#kept)\n",
    "docs/part/one/index{}.md": PAGE.format("One")
    + "## Kept { #kept }\n\nThe answer is {{ one.answer }}.\n\n"
    + '```python\n--8<-- "attn_docs/examples/part/one/core.py"\n```\n\n'
    + "## The formula { #the-formula }\n\n$$ x $$\n\n"
    + '```python\n--8<-- "attn_docs/part/one.py"\n```\n',
    "docs/part/one/made/numbers.json": '{"answer": "42"}',
    "docs/part/one/symbols.toml": 'file = "attn_docs/part/one.py"\n'
    '[symbols]\nx = { line = "return 1", en = "one $x$", zh = "一 $x$" }\n',
    "docs/part/two/index{}.md": PAGE.format("Two")
    + '[`one`][attn_docs.part.one.one]\n\n--8<-- "docs/part/two/made/table.md"\n',
    "docs/part/two/made/table.md": '--8<-- "docs/part/two/made/cell.md"\n',
    "docs/part/two/made/cell.md": "A cell\n",
    "docs/reference/api/index{}.md": PAGE.format("API") + "[`two`][attn_docs.part.two.two]\n",
    "docs/reference/api/part/one.md": PAGE.format("API of one") + "::: attn_docs.part.one\n",
    "docs/reference/api/part/two.md": PAGE.format("API of two") + "::: attn_docs.part.two\n",
    "docs/reference/api/related.toml": 'groups = [["part/one", "part/two"]]\n',
    "attn_docs/testing/__init__.py": "",
    "docs/reference/recipes/index{}.md": PAGE.format("Recipes"),
    "docs/reference/how-this-site-is-checked/verified.txt": "2.9.0\n",
}


class Served:
    """A small site, served and built anew."""

    def __init__(self, folder: Path, program: subprocess.Popen[str]) -> None:
        self.folder, self.program = folder, program

    def change(self, path: str, old: str, new: str) -> None:
        """Put another text into a file, and into its translation."""
        for file in [path.format("")] + [path.format(".zh")] * ("{}" in path):
            text = (self.folder / file).read_text(encoding="utf-8")
            assert old in text, file
            (self.folder / file).write_text(text.replace(old, new), encoding="utf-8")

    def build(self) -> SimpleNamespace:
        """Build what is served, and anew; tell what was said and what had to be made."""
        assert self.program.stdin
        assert self.program.stdout
        print(file=self.program.stdin, flush=True)
        return SimpleNamespace(**json.loads(self.program.stdout.readline()))

    def rebuild(self) -> SimpleNamespace:
        """Do the same, and compare: what is served is what is new, every byte of it."""
        said = self.build()
        assert said.served == said.fresh
        served, fresh = self.contents("served"), self.contents("fresh")
        if not said.fresh:
            assert served.keys() == fresh.keys()
            assert [path for path in fresh if served[path] != fresh[path]] == [], "stale"
        return said

    def contents(self, name: str) -> dict[str, bytes]:
        folder = self.folder / name
        files = (file for file in folder.rglob("*") if file.is_file())
        return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}

    def pages_with(self, text: str) -> list[str]:
        pages = {path: page for path, page in self.contents("served").items() if ".html" in path}
        return [
            path.removesuffix("index.html")
            for path, page in sorted(pages.items())
            if text.encode() in page
        ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("small")
    for path in OURS:
        shutil.copytree(ROOT / path, folder / path, ignore=shutil.ignore_patterns("__pycache__"))
    for path in NEEDED:
        shutil.copy(ROOT / path, folder / path)
    config = (folder / "mkdocs.yml").read_text(encoding="utf-8")
    config = re.sub(r"(?ms)^nav:\n.*?(?=^theme:)", NAV, config)
    config = re.sub(r"(?ms)^          nav:\n.*?(?=^  - )", NAV_ZH, config)
    (folder / "mkdocs.yml").write_text(config, encoding="utf-8")
    for path, text in FILES.items():
        for language in ("", ".zh")[: 1 + ("{}" in path)]:
            (folder / path.format(language)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.format(language)).write_text(text, encoding="utf-8")
    environment = {"PYTHONPATH": str(folder), "SOURCE_DATE_EPOCH": "1750000000"}
    with subprocess.Popen(  # noqa: S603
        [sys.executable, ROOT / "tests/audit/rebuilds.py"],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        served = Served(folder, program)
        assert served.rebuild().served == []
        yield served
        program.kill()


ENGLISH = ["", "part/one/", "part/two/", "reference/api/", "reference/recipes/"]
API = ["reference/api/part/one/", "reference/api/part/two/"]
CHINESE = ["zh/", "zh/part/one/", "zh/part/two/", "zh/reference/api/", "zh/reference/recipes/"]


def made(said: SimpleNamespace, what: str) -> list[str]:
    """Return the pages of which something was made that was not kept."""
    return [page for kind, _, page in (one.partition(" ") for one in said.made) if kind == what]


def test_nothing_is_made_again_where_nothing_changed(site: Served) -> None:
    assert site.rebuild().made == []


def test_a_page_is_made_of_its_text_and_of_what_it_includes(site: Served) -> None:
    site.change("docs/index.md", "There", "Over there")
    site.change("attn_docs/examples/part/one/core.py", "print(1)", "print(1 + 0)")
    site.change("docs/part/two/made/cell.md", "A cell", "Another cell")
    said = site.rebuild()
    changed = ["", "part/one/", "part/two/", *API, "zh/part/one/", "zh/part/two/"]
    assert made(said, "html") == made(said, "page") == changed


def test_a_title_stands_on_other_pages_too(site: Served) -> None:
    site.change("docs/part/two/index.md", "# Two", "# Second")
    said = site.rebuild()
    assert made(said, "html") == ["part/two/"]
    assert made(said, "page") == sorted(ENGLISH + API)
    assert set(site.pages_with("Second")) >= {*ENGLISH, *API}


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("docs/part/one/made/numbers.json", "42", "six times seven"),
        ("docs/part/one/symbols.toml", "one $x$", "some letter"),
        ("docs/reference/how-this-site-is-checked/verified.txt", "2.9.0", "2.10.0"),
        ("docs/_theme/partials/copyright.html", "What changed", "What is new"),
        ("docs/_tools/text.toml", "In the code:", "In the program:"),
        ("docs/_tools/finish/text.toml", "Download:", "To take along:"),
        ("mkdocs.yml", "site_name: attn-docs", "site_name: another name"),
    ],
)
def test_all_pages_are_made_of_data(site: Served, path: str, old: str, new: str) -> None:
    shown = new.removeprefix("site_name: ")
    assert not site.pages_with(shown)
    site.change(path, old, new)
    site.rebuild()
    assert site.pages_with(shown)


def test_a_docstring_stands_on_pages_of_the_api(site: Served) -> None:
    site.change("attn_docs/part/one.py", "Return one.", "Return the first number.")
    assert made(site.rebuild(), "html") == ["part/one/", *API, "zh/part/one/"]
    assert site.pages_with("<p>Return the first number.") == API[:1]


def test_links_follow_what_moves(site: Served) -> None:
    for page, there, here in (("one", "one", "two"), ("two", "two", "one")):
        site.change(f"docs/reference/api/part/{page}.md", f"part.{there}", f"part.{here}")
    link = 'href="../../../reference/api/part/{}/#attn_docs.part.two.two"'
    assert site.pages_with(link.format("two")) == ["zh/reference/api/"]
    said = site.rebuild()
    assert made(said, "html") == API
    assert site.pages_with(link.format("one")) == ["zh/reference/api/"]


def test_what_is_wrong_is_said_until_it_is_right(site: Served) -> None:
    site.change("docs/part/one/index{}.md", "{ #kept }", "{ #gone }")
    site.change("docs/part/two/index.md", "# Second", "[none](none.md)\n\n# Second")
    said = site.rebuild()
    assert "does not contain an anchor '#kept'" in str(said.served)
    assert "contains a link 'none.md'" in str(said.served)
    site.change("docs/reference/api/index.md", "# API", "# The API")
    assert site.rebuild().served == said.served
    site.change("docs/part/one/index{}.md", "{ #gone }", "{ #kept }")
    site.change("docs/part/two/index.md", "[none](none.md)\n\n", "")
    assert site.rebuild().served == []


def test_pages_come_and_go(site: Served) -> None:
    site.change("mkdocs.yml", "two/index.md]", "two/index.md, part/three/index.md]")
    shutil.copytree(site.folder / "docs/part/two", site.folder / "docs/part/three")
    site.change("docs/part/one/index{}.md", "The answer", "[Three](../three/index.md): the answer")
    assert site.rebuild().served == []
    assert "part/three/" in site.pages_with("<body")
    site.change("mkdocs.yml", ", part/three/index.md]", "]")
    shutil.rmtree(site.folder / "docs/part/three")
    assert "the target 'part/three/index.md' is not found" in str(site.rebuild().served)
    site.change("docs/part/one/index{}.md", "[Three](../three/index.md): the", "The")
    assert site.rebuild().served == []
    assert "part/three/" not in site.pages_with("<body")


def test_code_that_runs_is_not_changed_unseen(site: Served) -> None:
    site.change("docs/_tools/numbers.py", "import json", "import json  # changed")
    said = site.build()
    assert "numbers.py has changed" in str(said.served)
    assert said.fresh == []
    site.change("docs/_tools/numbers.py", "  # changed", "")
    assert site.rebuild().served == []


@pytest.mark.filterwarnings("ignore")  # of packages that MkDocs imports
def test_converting_a_page_opens_only_what_it_is_kept_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the site itself, whatever extensions it has."""
    monkeypatch.chdir(ROOT)
    config = load_config("mkdocs.yml", site_dir=str(tmp_path))
    hook = sys.modules["docs/_tools/rebuild.py"]
    convert, converted, opened = hook.Page.convert, [], []

    def noted(page: Page, *others: object) -> object:
        opened.clear()
        result = convert(page, *others)
        text, included = page.made_of[0], hook.included(page.made_of[0])
        files = {Path(file).resolve() for file in opened if isinstance(file, (str, Path))}
        unknown = {
            path.relative_to(ROOT).as_posix()
            for path in files
            if path.is_relative_to(ROOT) and not path.is_relative_to(sys.prefix)
            if not (hook.API in text and path.is_relative_to(ROOT / "attn_docs"))
            if not (hook.API in text and path.is_relative_to(ROOT / "docs/reference/api"))
            if not (hook.API in text and path == DOCS / RECIPES)
            if path.suffix not in hook.DATA
        }
        converted.append(page.url)
        assert unknown - included.keys() == set(), page.file.src_uri
        return result

    monkeypatch.setattr(hook.Page, "convert", noted)
    sys.addaudithook(lambda event, about: event == "open" and opened.append(about[0]))
    config.plugins.on_startup(command="serve", dirty=False)
    build(config)
    hook.code.clear()
    assert len(converted) == len(list(tmp_path.rglob("index.html")))
