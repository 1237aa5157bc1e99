"""Figures of the chapter on multi-query attention."""

from collections.abc import Callable

import drawsvg

from attn_docs import MultiHeadAttention, MultiQueryAttention
from docs._kit.draw import (
    INK,
    SHADE,
    box,
    canvas,
    cells,
    finish,
    write,
)
from docs._kit.text import texts

from .tables import shared_weights

KEY = "heads-multi-query"
EMBED_DIM, HEADS = 16, 4
WORDS = ("the", "cat", "sleeps")


def head_counts() -> tuple[tuple[int, int], tuple[int, int]]:
    """Return query heads and key heads of a module of either class, from its weights."""
    modules = (MultiHeadAttention(EMBED_DIM, HEADS), MultiQueryAttention(EMBED_DIM, HEADS))
    many, one = (
        (
            module.q_proj.out_features // module.head_dim,
            module.k_proj.out_features // module.head_dim,
        )
        for module in modules
    )
    return many, one


def sharing(language: str) -> str:
    """Draw the heads of multi-head and of multi-query attention, joined where they meet."""
    text = texts(__file__, "sharing", language)
    drawing = canvas(340, 330)
    counts = head_counts()
    for panel, (name, (heads, kv_heads)) in enumerate(zip(text["names"], counts, strict=True)):
        top = 172 * panel
        group = drawsvg.Group(data_kv_heads=kv_heads)
        write(group, name, 170, top + 8, font_weight="bold")
        write(group, text["query"], 1, top + 32, 12, text_anchor="start")
        write(group, text["key"], 1, top + 149, 12, text_anchor="start")
        queries = [43 + 85 * i for i in range(heads)]
        keys = queries if kv_heads == heads else [170]
        for i, x in enumerate(queries):
            below = keys[i * kv_heads // heads]
            join = {"stroke": INK, "stroke_width": 1.25, "data_query": i}
            group.append(drawsvg.Line(x, top + 70, below, top + 108, **join))
        for kind, places, y in (("Q", queries, 44), ("K, V", keys, 108)):
            for i, x in enumerate(places):
                lit = kind != "Q"
                box(group, x - 36, top + y, 72, 26, lit=lit, data_head=kind[0] + str(i))
                label = f"{kind} {i}" if len(places) > 1 else kind
                emphasis = {"fill": "var(--figure-on-accent)", "font_weight": "bold"} if lit else {}
                write(group, label, x, top + y + 13, **emphasis)
        drawing.append(group)
    (heads, many), (_, one) = counts
    desc = text["desc"].format(heads=heads, many=many, one=one)
    return finish(drawing.as_svg(header=""), f"{KEY}-sharing", text["title"], desc)


def same_keys(language: str) -> str:
    """Draw the weights that two heads give to the same keys."""
    text, weights = texts(__file__, "same_keys", language), shared_weights()
    drawing = canvas(340, 121)
    left, top, width, height = 84, 50, 80, 35
    write(drawing, f"{text['query']} ↓", left - 10, 36, 12, text_anchor="end")
    write(drawing, f"{text['key']} →", left + 1.5 * width, 10, 12)
    cells(drawing, (SHADE * weights / weights.max()).tolist(), left, top, width, height)
    for column, word in enumerate(WORDS):
        write(drawing, word, left + (column + 0.5) * width, 36, font_weight="bold")
    for row, line in enumerate(weights.tolist()):
        middle = top + (row + 0.5) * height
        write(drawing, f"{text['head']} {row}", left - 10, middle, text_anchor="end")
        for column, weight in enumerate(line):
            write(drawing, f"{weight:.4f}", left + (column + 0.5) * width, middle)
    outer, inner = text["join"]
    rows = outer.join(
        text["row"].format(head=head, weights=inner.join(f"{weight:.4f}" for weight in line))
        for head, line in enumerate(weights.tolist())
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-same-keys", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "sharing": sharing,
    "same-keys": same_keys,
}
