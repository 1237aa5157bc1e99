"""Markdown extension: TeX found by pymdownx.arithmatex becomes MathML while the site is built."""

from html import unescape
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from math_core import LatexError, LatexToMathML

from docs._tools import symbols
from docs._tools.page import page_name


class FormulaError(ValueError):
    """A formula that is not TeX; the message names the page and the formula."""


class _Formulas(Treeprocessor):
    converter = LatexToMathML(annotation=True, fancy_error=False)

    def run(self, root: Element) -> None:
        page, section, found = page_name(self.md), None, list[str]()
        missing = {tex for symbol in symbols.symbols(page).values() for tex in symbol["tex"]}
        following = dict(zip(root, [*root][1:], strict=False))
        for element in root.iter():
            section = element.get("id") if element.tag == "h2" else section
            if element.get("class") == "arithmatex":
                # arithmatex leaves \( … \) in a span or \[ … \] in a div
                tex = unescape((element.text or "").strip()[2:-2].strip())
                mathml = self.convert(tex, block=element.tag == "div")
                if element.tag == "div" and section == "the-formula" and symbols.symbols(page):
                    mathml = symbols.mark_formula(page, mathml, self.convert, found)
                    missing.difference_update(found)
                    if following.get(element, root).get("class") != "arithmatex":
                        element.tail = self.md.htmlStash.store(symbols.links(page, found))
                        found = []
                element.set("class", "formula")
                element.set("data-search-exclude", "")
                if element.tag == "div":
                    element.set("tabindex", "0")  # wide formulas scroll, by keyboard too
                element.text = self.md.htmlStash.store(mathml)
        if missing:
            raise FormulaError(f"{page}: not in its formulas: {', '.join(missing)}")

    def convert(self, tex: str, *, block: bool = False) -> str:
        try:
            return self.converter.convert_with_local_state(tex, displaystyle=block)
        except LatexError as error:
            raise FormulaError(f"{page_name(self.md)}: bad TeX in ${tex}$: {error}") from error


class FormulaExtension(Extension):
    """Registers the conversion after arithmatex has found the formulas."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(_Formulas(md), "formulas", 1)


def makeExtension(**options: object) -> FormulaExtension:  # noqa: N802
    """Return the extension, as Python-Markdown asks for it."""
    return FormulaExtension(**options)
