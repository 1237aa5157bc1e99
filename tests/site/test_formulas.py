"""Formulas: MathML made from TeX at build time, with the TeX inside."""

import ast
import re
from collections import Counter
from xml.etree.ElementTree import Element

import pytest
from markdown import Markdown

from docs._tools import symbols
from docs._tools.formulas import FormulaError
from tests.conftest import ROOT, Site
from tests.site.test_census import SOURCES, address


def render(text: str) -> str:
    """Return a text as the site's extensions render it."""
    extensions = ["pymdownx.arithmatex", "tables", "docs._tools.formulas"]
    options = {"pymdownx.arithmatex": {"generic": True}}
    return Markdown(extensions=extensions, extension_configs=options).convert(text)


@pytest.mark.parametrize(
    "tex", [r"\sqrt{d}", r"j \le i", "a < b", "a & b".replace("&", r"\land"), r"Q K^\top", "x'"]
)
@pytest.mark.parametrize("form", ["word ${}$ word", "$$\n{}\n$$", "其中${}$是"])
def test_the_tex_of_a_formula_can_be_copied_from_it(tex: str, form: str) -> None:
    html = render(form.replace("{}", tex))
    assert "<math" in html
    [annotation] = re.findall('<annotation encoding="application/x-tex">(.*?)</annotation>', html)
    assert annotation.replace("&lt;", "<").replace("&amp;", "&") == tex


@pytest.mark.parametrize("tex", [r"\unknown{x}", r"\frac{1}{2", r"\begin{nothing}x\end{nothing}"])
def test_bad_tex_is_refused(tex: str) -> None:
    with pytest.raises(FormulaError, match="bad TeX in"):
        render(f"${tex}$")


@SOURCES
def test_every_formula_holds_its_tex(source, site: Site) -> None:
    for formula in site.tree(address(source)).iter("math"):
        assert formula.find(".//annotation") is not None


def formulas(site: Site, url: str) -> list[Element]:
    """Return the display formulas in the section `the-formula` of a page."""
    section, found = None, []
    for element in site.tree(url).iter():
        section = element.get("id") if element.tag == "h2" else section
        if section == "the-formula" and element.get("class") == "formula" and element.tag == "div":
            found.append(element)
    return found


def test_every_formula_is_evaluated_by_one_test(site: Site) -> None:
    shown = Counter(
        (url, "".join("".join(math.find(".//annotation").itertext()).split()))
        for url in site.pages
        for math in ([] if url.startswith("zh/") else formulas(site, url))
    )
    evaluated: Counter[tuple[str, str]] = Counter()
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        place = f"{path.parent.name}/{path.stem.removeprefix('test_')}/".replace("_", "-")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for mark in getattr(node, "decorator_list", []):
                if ast.unparse(mark).startswith("pytest.mark.formula(") and "test_" in node.name:
                    evaluated[place, "".join(ast.literal_eval(mark.args[0]).split())] += 1
    assert evaluated == shown


@SOURCES
def test_every_letter_of_a_formula_is_linked(source, site: Site) -> None:
    parts = [part for formula in formulas(site, address(source)) for part in formula.iter()]
    linked = {inner for part in parts if part.get("data-symbol") for inner in part.iter()}
    letters = (part for part in parts if part.tag in {"mi", "mo", "mtext"} and part not in linked)
    unlinked = {text for part in letters if re.search(r"\w", text := "".join(part.itertext()))}
    page = symbols.pages().get(address(source).removeprefix("zh/").strip("/"), {})
    assert unlinked == set(page.get("unlinked", ()))
