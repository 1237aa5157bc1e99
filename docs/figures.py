"""Figures of the home page, and how much it leads to."""

from collections.abc import Callable

import drawsvg

from attn_docs.sentence import WORDS
from docs import tables
from docs._kit import draw
from docs._kit.draw import ACCENT, ON_ACCENT, SOFT, box, canvas, finish, stage_grid, write
from docs._kit.text import texts
from docs._tools.page import DOCS, folders

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


def attention(language: str) -> str:
    """Draw what the form shows at first: arcs from a word to all, and what they bring it."""
    text, said = (texts(__file__, name, language) for name in ("attention_figure", "attention"))
    found = tables.weights()[tables.CHOSEN]
    output = (found @ tables.values()).tolist()
    drawing = canvas(400, 280)
    for j, weight in enumerate(found.tolist()):
        x, chosen = 40 + 80 * j, j == tables.CHOSEN
        line = {"fill": "none", "stroke": ACCENT, "stroke_width": 16 * weight}
        drawing.append(drawsvg.Path(tables.arc(tables.CHOSEN, j, 80, 104), **line))
        box(drawing, x - 34, 106, 68, 28, lit=chosen)
        write(drawing, WORDS[j], x, 120, **({"fill": ON_ACCENT} if chosen else {}))
        write(drawing, f"{weight:.2f}", x, 148)
    for k, (meaning, part) in enumerate(zip(said["meanings"], output, strict=True)):
        y = 184 + 26 * k
        write(drawing, meaning, 96, y, text_anchor="end")
        drawing.append(drawsvg.Rectangle(106, y - 8, 240, 16, fill=SOFT))
        drawing.append(drawsvg.Rectangle(106, y - 8, 240 * part, 16, fill=ACCENT))
        write(drawing, f"{part:.2f}", 372, y)
    told = {
        name: text["join"].join(f"{each} {part:.2f}" for each, part in zip(*both, strict=True))
        for name, both in (("weights", (WORDS, found)), ("brought", (said["meanings"], output)))
    }
    desc = text["desc"].format(**told)
    return finish(drawing.as_svg(header=""), "index-attention", text["title"], desc, zoom=1.6)


FIGURES: dict[str, Callable[[str], str]] = {"map": attention_map, "attention": attention}


def numbers() -> dict[str, str]:
    """Return how many pages there are in each language."""
    pages = [
        folder
        for folder in folders()
        if "\nredirect: " not in (DOCS / folder / "index.zh.md").read_text(encoding="utf-8")
    ]
    return {"pages": str(len(pages))}
