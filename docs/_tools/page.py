"""Which page a Markdown extension is working on, under MkDocs and under Zensical."""

from markdown import Markdown


def page_name(md: Markdown) -> str:
    """Return the page's path below docs/, or a stand-in where no engine tells it."""
    if "relpath" in md.treeprocessors:  # MkDocs
        return str(md.treeprocessors["relpath"].file.src_uri)
    if "rendering_context" in md.preprocessors:  # Zensical
        return str(md.preprocessors["rendering_context"].page.path)
    return "a docstring in the API reference"
