"""The API reference: signatures with types, what belongs together, ways to and fro."""

import ast
import re
import tomllib
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from docs._tools import built
from docs._tools.api_pages import API, RECIPES, RELATED, exports, names_of, recipes, related
from docs._tools.api_signatures import laid_out
from docs._tools.page import DOCS
from tests.conftest import ROOT, Site

ENTRIES = sorted(
    path.relative_to(DOCS / API).as_posix().removesuffix(".md")
    for path in (DOCS / API).rglob("*.md")
    if path.parent.name != "made" and not path.name.startswith("index")
)
CHAPTERS = {entry: entry for entry in ENTRIES} | {"testing": "practice/test-your-attention"}
del CHAPTERS["sentence"]  # of all chapters


def block(code: str) -> str:
    start = '<div class="language-python doc-signature highlight"><pre><span></span>'
    return f"{start}<code>{code}\n</code></pre></div>"


def arguments(code: str) -> list[str]:
    found = re.findall(r'<span class="argument">(.*?)</span>(?=<span class="arg|\)|}|$)', code)
    return [re.sub("<[^>]*>", "", argument) for argument in found]


def test_a_short_signature_is_one_line():
    assert laid_out(block("crop(length: int)")) == (
        '<div class="signature" data-search-exclude><code>crop(length: int)</code></div>'
    )


def test_a_long_signature_has_an_argument_a_line():
    code = (
        'f(x: <span title="Map">Map</span>[str, int] = <span class="nf">None</span>, *, '
        "y: tuple[int, (1, 2)] = &#39;a, (b&#39;, z: Callable[[int, int], str]) -&gt; int"
    )
    laid = laid_out(block(code))
    assert arguments(laid) == [
        "x: Map[str, int] = None,",
        "*,",
        "y: tuple[int, (1, 2)] = &#39;a, (b&#39;,",
        "z: Callable[[int, int], str]",
    ]
    assert laid.endswith(") -&gt; int</code></div>")
    assert '"nf"' not in laid


@pytest.mark.parametrize("entry", ENTRIES)
def test_each_signature_of_an_entry_has_types(entry: str, site: Site):
    tree = built.tree(site.pages[f"{API}{entry}/"])
    shown = ["".join(code.itertext()) for code in tree.findall(".//div[@class='signature']/code")]
    assert shown
    functions = [text for text in shown if re.match(r"\w+\(", text)]
    for function in ast.parse("\n".join(f"def {text}: ..." for text in functions)).body:
        found = [node for node in ast.walk(function) if isinstance(node, ast.arg)]
        assert [node.arg for node in found if node.annotation is None] == []


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_says_how_its_names_are_imported(entry: str, site: Site):
    source = (DOCS / API / f"{entry}.md").read_text(encoding="utf-8")
    shown = site.pages[f"{API}{entry}/"].read_text(encoding="utf-8")
    for package, names in names_of(source).items():
        line = f"from {package} import {', '.join(names)}"
        assert shown.count(f"<code>{line}</code>") == 1
        exec(line, {})  # noqa: S102


@pytest.mark.parametrize("entry", CHAPTERS)
def test_an_entry_and_its_chapter_lead_to_each_other(entry: str, site: Site):
    up = "../" * (entry.count("/") + 3)
    for root in ("", "zh/"):
        chapter = site.pages[f"{root}{CHAPTERS[entry]}/"].read_text(encoding="utf-8")
        article = chapter.partition("<article")[2].partition("</article>")[0]
        assert f"{API}{entry}/#" in article or f'{API}{entry}/"' in article
    page = site.pages[f"{API}{entry}/"].read_text(encoding="utf-8")
    assert f'href="{up}{CHAPTERS[entry]}/"' in page


def test_entries_that_belong_together_name_each_other():
    groups = tomllib.loads(RELATED.read_text(encoding="utf-8"))["groups"]
    assert {entry for group in groups for entry in group} <= set(ENTRIES)
    for group in groups:
        for one, other in combinations(group, 2):
            assert other in related(one)
            assert one in related(other)
    assert {entry for entry in ENTRIES if not related(entry)} <= {"practice/bugs-that-train"}


def test_an_entry_leads_to_the_recipes_that_use_it(site: Site):
    page = site.pages[f"{API}memory/kv-memory/"].read_text(encoding="utf-8")
    assert "reference/recipes/#kv-cache-bytes" in page.replace("../../../", "reference/")
    assert "#load-gpt2" not in page
    mine = {recipe.anchor for recipe in recipes() if "KVConfig" in recipe.names}
    assert mine == {"kv-cache-bytes"}


TASKS = [
    task
    for group in tomllib.loads((DOCS / API / "tasks.toml").read_text(encoding="utf-8"))["group"]
    for task in group["task"]
]


def test_the_tasks_name_what_there_is():
    anchors = {recipe.anchor for recipe in recipes()}
    for task in TASKS:
        for name in task["use"]:
            module, _, own = name.rpartition(".")
            if name.startswith("attn_docs."):
                assert hasattr(import_module(module), own), task
            else:
                assert name.partition(".")[0] in exports(), task
        assert task.get("recipe", "ci") in anchors, task


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task["en"])
def test_the_link_of_a_task_shows_its_names(task: dict[str, Any]):
    address = task.get("chapter", f"{RECIPES}#{task.get('recipe')}")
    page, _, anchor = address.partition("#")
    text = (DOCS / page).read_text(encoding="utf-8")
    if "recipe" in task:
        text = text.partition(f"{{ #{anchor} }}")[2].partition("\n## ")[0]
    included = re.findall(r'--8<-- "(attn_docs/.+?)"', text)
    text += "".join((ROOT / path).read_text(encoding="utf-8") for path in included)
    assert [name for name in task["use"] if name.rpartition(".")[2] not in text] == []


@pytest.mark.parametrize(("page", "mark"), [("index.md", " (module)"), ("index.zh.md", "（模块）")])
def test_names_that_no_package_exports_are_marked(page: str, mark: str):
    text = (DOCS / API / page).read_text(encoding="utf-8")
    found = re.findall(r"^- \[`(\w+)`\]\[([\w.]+)\](.*)", text, re.M)
    assert len(found) > 100
    for name, place, rest in found:
        exported = exports().get(name, ("", ""))[0] == place.rpartition(".")[0]
        assert rest.startswith(mark) != exported, place


def test_every_recipe_is_reached_from_an_entry():
    listed = "".join(path.read_text(encoding="utf-8") for path in Path(DOCS / API).rglob("*.md"))
    names = {name for names in names_of(listed).values() for name in names}
    assert [recipe.title for recipe in recipes() if not recipe.names & names] == []
