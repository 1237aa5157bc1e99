"""Markdown extension: names in a table's first column are marked where they are short.

A browser breaks "Qwen3-0.6B" in two to give long cells room. No style can tell a short name from a
long one, so this marks it, and the stylesheet keeps it whole where there is room.
"""

from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

SHORT = 20  # characters


class _FirstColumn(Treeprocessor):
    """Marks the first cell of each row of a table's body."""

    def run(self, root: Element) -> None:
        for row in root.findall(".//tbody/tr"):
            first = row.find("td")
            if first is not None and len("".join(first.itertext())) <= SHORT:
                first.set("class", "short")


class FirstColumnExtension(Extension):
    """Registered in mkdocs.yml as `docs._tools.first_column:FirstColumnExtension`."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Look once what stands in the cells is there."""
        md.treeprocessors.register(_FirstColumn(md), "first-column", 15)
