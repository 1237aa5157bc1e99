"""Markdown extension: a block that includes a file gets the file's name as its title.

A block that shows a mechanism's module is followed by a link to its API entry. SVG figures are
let through as blocks of their own.
"""

import re

from markdown import Extension, Markdown
from markdown.preprocessors import Preprocessor

OPENING = re.compile(r'^(?P<indent> *)```python( hl_lines="[^"]+")?$')
INCLUDE = re.compile(r'^ *--8<-- "(?P<path>[^":]+\.py)(:\w+)?"$')
MODULE = re.compile(r"^attn_docs/(?!examples/|exhibits/|figures/|tables/|benchmarks/)\w+/\w+\.py$")


class _Titles(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        result: list[str] = []
        link = ""
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            opening, include = OPENING.match(line), INCLUDE.match(following)
            if opening and include:
                path = include["path"]
                result.append(f'{line} title="{path}"')
                if MODULE.match(path):
                    name = path.removesuffix(".py").replace("/", ".")
                    link = f"{opening['indent']}[API: `{name}`][{name}]{{ .api-link }}"
                continue
            result.append(line)
            if link and line.strip() == "```":
                result += ["", link, ""]
                link = ""
        return result


class CodeBlockExtension(Extension):
    """Registers the titles before pymdownx.snippets (32) brings the files in."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(_Titles(md), "code_block_titles", 33)
        md.block_level_elements.append("svg")


def makeExtension(**options: object) -> CodeBlockExtension:  # noqa: N802
    """Return the extension, as Python-Markdown asks for it."""
    return CodeBlockExtension(**options)
