"""Figures of the home page, and how much it leads to."""

from collections.abc import Callable

import drawsvg

from docs._kit import draw
from docs._kit.draw import ON_ACCENT, box, finish, stage_grid, write
from docs._kit.text import texts
from docs._tools.page import DOCS, Place, folders

# Where each stage leads: a page as the home page names it.
LINKS = {
    "project": "self-attention/four-steps/index.md",
    "split": "heads/multi-head/index.md",
    "place": "position/rotary/index.md",
    "score": "foundations/scoring-functions/index.md",
    "mask": "foundations/masks/index.md",
    "normalise": "foundations/scaled-dot-product/index.md#why-softmax",
    "mix": "foundations/query-key-value/index.md#mixing-the-values",
    "merge": "heads/multi-head/index.md#splitting-and-merging",
    "output": "heads/multi-head/index.md#what-the-output-projection-mixes",
}


class _Link(drawsvg.DrawingParentElement):
    TAG_NAME = "a"


def attention_map(language: str) -> str:
    """Draw the nine stages as cards, each saying what it does and leading to a chapter about it."""
    text, works = texts(__file__, "map", language), texts(__file__, "work", language)
    chapters, names = (
        texts(__file__, "chapters", language),
        texts(draw.__file__, "stages", language),
    )
    lines = max(map(len, works.values()))
    width, head = 106, 28
    height = head + 16 * lines + 36
    between, within = text["join"]
    stages = {
        stage: text["stage"].format(name=names[stage], work=within.join(work))
        for stage, work in works.items()
    }

    def card_of(group: drawsvg.Group, stage: str, x: float, y: float) -> None:
        label = text["link"].format(stage=stages[stage], chapter=chapters[stage])
        card = _Link(href=LINKS[stage], aria_label=label)
        box(card, x, y, width, height)
        box(card, x, y, width, head, lit=True)
        name = {"fill": ON_ACCENT, "font_weight": "bold"}
        write(card, names[stage], x + width / 2, y + head / 2, **name)
        for index, line in enumerate(works[stage]):
            write(card, line, x + width / 2, y + head + 16 + 16 * index, 12)
        write(card, chapters[stage], x + width / 2, y + height - 14, 11)
        group.append(card)

    drawing = stage_grid(width, height, card_of)
    desc = text["desc"].format(stages=between.join(stages.values()))
    return finish(drawing.as_svg(header=""), "index-map", text["title"], desc, zoom=1.4)


FIGURES: dict[str, Callable[[str], str]] = {"map": attention_map}


def numbers() -> dict[str, str]:
    """Return how many pages there are in each language, and how many of them are chapters."""
    pages = [
        Place(folder, "zh")
        for folder in folders()
        if "\nredirect: " not in (DOCS / folder / "index.zh.md").read_text(encoding="utf-8")
    ]
    chapters = [page for page in pages if page.is_chapter]
    return {
        "chapters": str(len(chapters)),
        "pages": str(len(pages)),
    }
