"""The card at the head of a chapter, made of its `text.toml` and the front matter of its page.

A row says one thing, in Markdown, below `[glance]`: its labels are ROWS. It is shown without a stop
at its end. Above the rows stands the line of the nine stages, each a link to where the map of the
home page leads, those that the chapter is about in bold; a page that names no `stages` has no line.
"""

from pathlib import Path
from posixpath import relpath
from typing import Any

import yaml

from docs._kit import draw
from docs._kit.text import LANGUAGES, load, texts
from docs._tools.page import DOCS, folders
from docs.figures import LINKS

ROWS = ("changes", "shapes", "costs", "used", "choose")
MOST, LEAST = 5, 2
CARD = """<div class="glance" role="group" aria-label="{title}" markdown="1">
{line}<dl markdown="1">
{rows}
</dl>
</div>
"""
LINE = '<ol class="stages" aria-label="{label}" data-search-exclude>\n{stages}\n</ol>\n'


class GlanceError(ValueError):
    """A card that cannot be made; the message names the file and what it must hold."""


def stages_of(folder: str) -> list[str]:
    """Return the stages that a chapter is about, as the front matter of its page names them."""
    text = (DOCS / folder / "index.md").read_text(encoding="utf-8")
    meta: dict[str, Any] = yaml.safe_load(text.split("---\n")[1])
    named = list(meta.get("stages", []))
    if named != [stage for stage in draw.STAGES if stage in named]:
        raise GlanceError(
            f"docs/{folder}/index.md: stages must be of {list(draw.STAGES)}, in this order; "
            f"got {named}"
        )
    return named


def card(folder: str, language: str) -> str:
    """Return the card of a chapter, as Markdown that its page includes."""
    file, words = DOCS / folder / "text.toml", texts(draw.__file__, "glance", language)
    said = load(file)[language]["glance"]
    if list(said) != [row for row in ROWS if row in said] or not LEAST <= len(said) <= MOST:
        raise GlanceError(
            f"docs/{folder}/text.toml: glance must have {LEAST} to {MOST} of {list(ROWS)}, in this "
            f"order; got {list(said)}"
        )
    told = {row: said[row].rstrip(".。") for row in said}
    rows = "\n".join(
        f'<dt data-search-exclude>{words[row]}</dt>\n<dd markdown="span">{text}</dd>'
        for row, text in told.items()
    )
    return CARD.format(title=words["title"], line=_line(folder, language), rows=rows)


def _line(folder: str, language: str) -> str:
    lit = stages_of(folder)
    if not lit:
        return ""
    names, current = texts(draw.__file__, "stages", language), ' aria-current="true"'
    links = "\n".join(
        f'<li><a href="{relpath(page, folder)}"'
        f"{current if stage in lit else ''}>{names[stage]}</a></li>"
        for stage, page in LINKS.items()
    )
    label = texts(draw.__file__, "glance", language)["stages"]
    return LINE.format(label=label, stages=links)


def cards(page: str = "") -> dict[Path, str]:
    """Return the card of each chapter that has one, or of one page, by the file it belongs in."""
    return {
        DOCS / folder / "made" / f"glance{'' if language == 'en' else f'.{language}'}.md": card(
            folder, language
        )
        for folder in folders()
        if page in ("", folder) and _has_rows(DOCS / folder / "text.toml")
        for language in LANGUAGES
    }


def _has_rows(file: Path) -> bool:
    return file.is_file() and "glance" in load(file)["en"]
