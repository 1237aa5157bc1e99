"""Markdown extension: a block that includes a file gets the file's name as its title.

A block that several pages show, such as a page and its translation, is highlighted once.
A block that shows a mechanism's module is followed by a link to its API entry. Output lines,
`#> …`, are marked to be styled apart from comments. Long docstrings can be folded; what is copied
holds them. A command names the repository, if it is known. What stands around a block is put there
by block_looks.py. SVG figures are let through as blocks of their own, and their links to
pages, which Markdown does not see, become the addresses of this build.
"""

import re
from functools import partial

from markdown import Extension, Markdown
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from pygments.token import STANDARD_TYPES, Name, Operator, Punctuation, Whitespace
from pymdownx.superfences import SuperFencesBlockPreprocessor

from docs._kit.text import texts
from docs._tools.api_signatures import laid_out
from docs._tools.block_looks import MODULE, checked, dressed
from docs._tools.editions import editions
from docs._tools.page import page_name, place_of
from docs._tools.symbols import link

OPENING = re.compile(r'^(?P<indent> *)```python( hl_lines="[^"]+")?$')
INCLUDE = re.compile(r'^ *--8<-- "(?P<path>[^":]+\.py)(?P<section>:\w+)?"$')

# the first line of a highlighted docstring, four lines or more, and the line that closes it
DOCSTRING = re.compile(
    r'(<span class="sd">"""[^<]*</span>)((?:\n+<span class="sd">[^<]*</span>){4,}?)'
    r'(\n<span class="sd"> *"""</span>)'
)
RAW_LINK = re.compile(r'(?<=<a href=")[^":]+\.md(#[^"]*)?(?=")')
# plain words, most of a block, are no elements of their own: half as many for a browser to lay out
STANDARD_TYPES.update(dict.fromkeys((Name, Operator, Punctuation, Whitespace), ""))

_highlighted: dict[str, str] = {}
# what a page says for the address of the repository, which only those who publish it know
REPOSITORY = "<this repository>"


def _highlight(fences: SuperFencesBlockPreprocessor, **block: object) -> str:
    """Highlight a block as SuperFences does, unless this process has highlighted it already."""
    repository = editions()[0].config["repo_url"] or REPOSITORY
    block["src"] = str(block["src"]).replace(REPOSITORY, repository)
    key = repr({**block, "md": fences.highlight_ext.getConfigs()})  # settings, not the converter
    if key not in _highlighted:
        _highlighted[key] = fences.highlight(**block)
    return _highlighted[key]


class _Titles(Preprocessor):
    def run(self, lines: list[str]) -> list[str]:
        result: list[str] = []
        link = ""
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            opening, include = OPENING.match(line), INCLUDE.match(following)
            if opening and include:
                path = include["path"]
                result.append(f'{line} title="{path}{include["section"] or ""}"')
                if MODULE.match(path):
                    name = path.removesuffix(".py").replace("/", ".")
                    link = f"{opening['indent']}[API: `{name}`][{name}]{{ .api-link }}"
                continue
            result.append(line)
            if link and line.strip() == "```":
                result += ["", link, ""]
                link = ""
        return result


class _Looks(Postprocessor):
    def run(self, text: str) -> str:
        text = text.replace('<span class="c1">#&gt;', '<span class="c1 output">#&gt;')
        text = laid_out(text)
        if "relpath" in self.md.treeprocessors:  # MkDocs; Zensical finds links in HTML by itself
            resolve = self.md.treeprocessors["relpath"].path_to_url
            text = RAW_LINK.sub(lambda link: resolve(link[0]), text)
        # Material's script puts a frame around each table: in a box of its own, the rest of the
        # page need not be styled again
        text = re.sub("(?s)(?<!<div>)<table>.*?</table>", r"<div>\g<0></div>", text)
        page = page_name(self.md)
        text = link(page, text)
        # a page that is misplaced stops the build; docstrings are in English
        language = place_of(page).language if page.endswith(".md") else "en"
        words = texts(__file__, "block", language)
        label = words["fold"]
        button = f'<button class="fold" type="button" aria-expanded="false" aria-label="{label}">'
        text = DOCSTRING.sub(rf'\1{button}</button><span class="docstring">\2</span>\3', text)
        text = dressed(text, words)
        return checked(text, page, words) if page.endswith(".md") else text


class CodeBlockExtension(Extension):
    """Registers titles before pymdownx.snippets (32), looks after raw HTML is put back (30)."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        md.preprocessors.register(_Titles(md), "code_block_titles", 33)
        fences = md.preprocessors["fenced_code_block"]
        any_language = fences.extension.superfences[0]
        fences.extension.extend_super_fences(
            "*", partial(_highlight, fences), any_language["validator"], any_language["reset"]
        )
        md.postprocessors.register(_Looks(md), "code_block_looks", 5)
        md.block_level_elements.append("svg")
