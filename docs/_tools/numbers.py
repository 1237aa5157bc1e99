"""Markdown extension: `{{ page.name }}` in prose or a formula becomes a generated number.

`{{ scaled_dot_product.float16_max }}` is the entry `float16_max` of `made/numbers.json` in the
folder of the page scaled-dot-product, `{{ index.blocks }}` one of the home page's.
"""

import json
import re

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

from docs._tools.page import DOCS, Place, folder_of, page_name

NAME = re.compile(r"\{\{ (([a-z0-9_]+)\.([a-z0-9_]+)) \}\}")


class UnknownNumberError(ValueError):
    """A name that no data file holds; the message names page and name."""


def stored() -> dict[str, str]:
    """Return every number that a page may name, by its whole name."""
    found = {}
    for file in sorted(DOCS.glob("**/made/numbers.json")):
        page = Place(folder_of(file), "en").name.replace("-", "_")
        named = json.loads(file.read_text(encoding="utf-8"))
        found |= {f"{page}.{name}": str(number) for name, number in named.items()}
    return found


class _Numbers(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        if not any("{{ " in line for line in lines):
            return lines
        numbers = stored()

        def resolve(match: re.Match[str]) -> str:
            if match[1] not in numbers:
                raise UnknownNumberError(
                    f"{page_name(self.md)}: no number is named {match[1]}; "
                    f"`make outputs` writes those that exist to made/numbers.json of each page"
                )
            return numbers[match[1]]

        return [NAME.sub(resolve, line) for line in lines]


class NumberExtension(Extension):
    """Registers the lookup after SuperFences (25), whose code stays as it is."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(_Numbers(md), "numbers", 24)
