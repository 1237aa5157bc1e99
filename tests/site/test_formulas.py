"""Formulas: MathML made from TeX at build time, with the TeX inside."""

import re

import pytest
from markdown import Markdown

from docs._tools.formulas import FormulaError
from tests.conftest import Site
from tests.site.test_census import SOURCES, address


def render(text: str) -> str:
    """Return a text as the site's extensions render it."""
    extensions = ["pymdownx.arithmatex", "tables", "docs._tools.formulas:FormulaExtension"]
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


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a ($x$), b", "(#),"), ("取 $x$，再取 $y$。", "#，|#。"), ("$x$", ""), ("a $x$ b", "")],
)
def test_punctuation_stays_on_the_line_of_its_formula(text: str, kept: str) -> None:
    html = re.sub('(?s)<span class="formula".*?</math></span>', "#", render(text))
    assert "|".join(re.findall('<span class="together">(.*?)</span>', html)) == kept
    assert re.sub("<.*?>", "", html) == re.sub(r"\$.\$", "#", text)


# the box of each formula with a sign behind it, and of that sign
PARTED = """() => [...document.querySelectorAll("article span.formula")].filter(formula => {
    const sign = formula.nextSibling
    if (sign?.nodeType !== 3 || !/^[,.;:)，。；：、）]/.test(sign.data)) return false
    const range = new Range()
    range.setStart(sign, 0)
    range.setEnd(sign, 1)
    const { height, top } = range.getBoundingClientRect()
    return height && top > formula.getBoundingClientRect().bottom
}).length"""


def test_no_line_begins_with_punctuation_after_a_formula(visit) -> None:
    tab = visit("zh/foundations/kernel-regression/").tab
    assert tab.evaluate(PARTED) == 0
    all_of_them = tab.locator(".together")
    all_of_them.evaluate_all("found => found.forEach(e => { e.style.whiteSpace = 'normal' })")
    assert tab.evaluate(PARTED) > 0
