"""Markdown extension: TeX found by pymdownx.arithmatex becomes MathML while the site is built."""

import re
from html import unescape
from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from math_core import LatexError, LatexToMathML

from docs._tools.page import page_name

CONVERTER = LatexToMathML(annotation=True, fancy_error=False)
# the site's policy forbids style attributes: a class of attn-docs.css in place of each
CLASSES = {
    "margin-left:-0.16666667em;": "closer",
    "text-align: right;justify-items: end;padding-right: 0;": "aligned-right",
    "text-align: left;justify-items: start;padding-left: 0;": "aligned-left",
    "text-align: left;justify-items: start;padding-right: 0;": "case",
    "text-align: left;justify-items: start;padding-right: 0;padding-left:1em;": "case condition",
}

OPENING = re.compile(r"[(\[“「（《]+$")
CLOSING = re.compile(r"[)\]”」）》,.;:!?、，。；：！？…]+")


class FormulaError(ValueError):
    """A formula that is not TeX; the message names the page and the formula."""


class _Formulas(Treeprocessor):
    def run(self, root: Element) -> None:
        for element in root.iter():
            if element.get("class") == "arithmatex":
                # arithmatex leaves \( … \) in a span or \[ … \] in a div
                tex = unescape((element.text or "").strip()[2:-2].strip())
                mathml = self.convert(tex, block=element.tag == "div")
                element.set("class", "formula")
                element.set("data-search-exclude", "")
                if element.tag == "div":
                    element.set("tabindex", "0")  # wide formulas scroll, by keyboard too
                element.text = self.md.htmlStash.store(mathml)
        for parent in list(root.iter()):
            for element in list(parent):
                if element.tag == "span" and element.get("class") == "formula":
                    _keep_together(parent, element)

    def convert(self, tex: str, *, block: bool) -> str:
        try:
            mathml = CONVERTER.convert_with_local_state(tex, displaystyle=block)
            for style, name in CLASSES.items():
                mathml = mathml.replace(f'style="{style}"', f'class="{name}"')
        except LatexError as error:
            raise FormulaError(f"{page_name(self.md)}: bad TeX in ${tex}$: {error}") from error
        else:
            return mathml


def _keep_together(parent: Element, formula: Element) -> None:
    """Put a formula and its punctuation into one span: browsers break the line between them."""
    at = list(parent).index(formula)
    before = parent.text if at == 0 else parent[at - 1].tail
    opening = OPENING.search(before or "")
    closing = CLOSING.match(formula.tail or "")
    if opening is None and closing is None:
        return
    together = Element("span", {"class": "together"})
    if opening is not None:
        together.text = opening[0]
        rest = (before or "")[: opening.start()]
        if at == 0:
            parent.text = rest
        else:
            parent[at - 1].tail = rest
    end = closing.end() if closing is not None else 0
    together.tail = (formula.tail or "")[end:]
    formula.tail = (formula.tail or "")[:end]
    parent[at] = together
    together.append(formula)


class FormulaExtension(Extension):
    """Registers the conversion after arithmatex has found the formulas."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.treeprocessors.register(_Formulas(md), "formulas", 1)
