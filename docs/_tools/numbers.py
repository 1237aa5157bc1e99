"""Markdown extension: `{{ chapter.name }}` in prose or a formula becomes a generated number."""

import json
import re
from pathlib import Path

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

from docs._tools.page import page_name

NUMBERS = Path(__file__).parents[1] / "_generated" / "numbers.json"
NAME = re.compile(r"\{\{ ([a-z0-9_]+\.[a-z0-9_]+) \}\}")


class UnknownNumberError(ValueError):
    """A name that the data file does not hold; the message names page and name."""


class _Numbers(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        if not any("{{ " in line for line in lines):
            return lines
        numbers = json.loads(NUMBERS.read_text(encoding="utf-8"))

        def resolve(match: re.Match[str]) -> str:
            if match[1] not in numbers:
                raise UnknownNumberError(
                    f"{page_name(self.md)}: no number is named {match[1]}; "
                    f"`make outputs` writes those that exist to docs/_generated/numbers.json"
                )
            return str(numbers[match[1]])

        return [NAME.sub(resolve, line) for line in lines]


class NumberExtension(Extension):
    """Registers the lookup after SuperFences (25), whose code stays as it is."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(_Numbers(md), "numbers", 24)
