"""Figures of the chapter on the block: a token's vector on its way up, and gradients by block."""

from collections.abc import Callable, Sequence

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    SHADE,
    arrow,
    box,
    canvas,
    finish,
    write,
)
from docs._kit.examples import example
from docs._kit.text import texts

from . import tables

KEY = "model-block"
SHOWN = ("verb", "pronoun", "animal", "dreaming")
COUNTS = (2, 8, 32)

_STREAM, _CELLS, _WIDTH, _HIGH = 22, 164, 58, 26
_ROWS = {"logits": 88, "up": 150, "mlp": 208, "middle": 266, "attention": 324, "bottom": 382}


def vectors() -> dict[str, list[float]]:
    """Return the vector of "it" in the stream and what each part adds, by row of the figure."""
    sentence = example(f"{tables.EXAMPLES}/sentence")
    embedding, read, written, total = sentence["parts"]
    columns = [sentence["FEATURES"].index(name) for name in SHOWN]
    rows = {
        "bottom": embedding,
        "attention": read,
        "middle": embedding + read,
        "mlp": written,
        "up": total,
    }
    return {name: row[columns].tolist() for name, row in rows.items()}


def next_words() -> dict[str, float]:
    """Return what the model expects after "it", by word."""
    sentence = example(f"{tables.EXAMPLES}/sentence")
    shares = sentence["model"](sentence["tokens"])[0, -1].softmax(-1)
    return dict(zip(sentence["WORDS"], shares.tolist(), strict=True))


def logits() -> dict[str, float]:
    """Return the score of each word after "it"."""
    sentence = example(f"{tables.EXAMPLES}/sentence")
    scores = sentence["model"](sentence["tokens"])[0, -1]
    return dict(zip(sentence["WORDS"], scores.tolist(), strict=True))


def stream(language: str) -> str:
    """Draw the residual stream of "it" from the embedding to the next word."""
    text, rows = texts(__file__, "stream", language), vectors()
    drawing = canvas(400, 446)
    arrow(drawing, (_STREAM, 422), (_STREAM, 104))
    for name in ("bottom", "middle", "up"):
        write(drawing, text[name], 40, _ROWS[name], 12, text_anchor="start")
        _cells(drawing, name, rows[name])
    for name in ("mlp", "attention"):
        _branch(drawing, text[name], _ROWS[name])
        _cells(drawing, name, rows[name], signed=True)
    for column, name in enumerate(SHOWN):
        for y in (_ROWS["up"] - 25, 414):
            write(drawing, name, _CELLS + (column + 0.5) * _WIDTH, y, 12)
    for name, y in (("softmax", 41), ("unembedding", _ROWS["logits"])):
        box(drawing, _STREAM - 16, y - 13, 124, 26)
        write(drawing, text[name], _STREAM + 46, y, 12, font_weight="bold")
    arrow(drawing, (_STREAM, 75), (_STREAM, 56))
    write(drawing, text["word"], _STREAM, 434, 12, text_anchor="start", font_weight="bold")
    _words(drawing)
    told = {name: text["and"].join(_told(rows[name])) for name in rows}
    best = max(next_words().items(), key=lambda pair: pair[1])
    told["logits"] = text["and"].join(f"{word} {score:.2f}" for word, score in logits().items())
    desc = text["desc"].format(word=best[0], share=best[1], **told)
    return finish(drawing.as_svg(header=""), f"{KEY}-stream", text["title"], desc, zoom=1.25)


def _told(row: Sequence[float]) -> list[str]:
    pairs = zip(SHOWN, row, strict=True)
    return [f"{name} {value:.2f}" for name, value in pairs if abs(value) >= 0.005]


def _branch(drawing: drawsvg.Drawing, name: str, y: float) -> None:
    """Draw a part that reads the stream below and adds to it above."""
    box(drawing, 52, y - 15, 96, 30, lit=True)
    write(drawing, name, 100, y, 12, font_weight="bold", fill="var(--figure-on-accent)")
    arrow(drawing, (_STREAM, y + 29), (76, y + 29), (76, y + 17))
    arrow(drawing, (76, y - 17), (76, y - 27), (_STREAM + 8, y - 27))
    box(drawing, _STREAM - 8, y - 35, 16, 16, rx=8, stroke=INK, stroke_width=1.25)
    write(drawing, "+", _STREAM, y - 27, 13, font_weight="bold")


def _cells(
    drawing: drawsvg.Drawing, name: str, row: Sequence[float], *, signed: bool = False
) -> None:
    """Draw a row of numbers, each cell the darker the larger its number."""
    group, top = drawsvg.Group(data_row=name), _ROWS[name] - _HIGH / 2
    for column, value in enumerate(row):
        shown = f"{value:+.2f}" if signed and abs(value) >= 0.005 else f"{abs(value):.2f}"
        shown = shown.replace("-", "−") if value < 0 and signed else shown
        shown = f"−{shown}" if value <= -0.005 and not signed else shown
        place = (_CELLS + column * _WIDTH, top, _WIDTH, _HIGH)
        opacity = round(SHADE * min(abs(value) / 4, 1), 2)
        colour = ACCENT if value >= 0 else ACCENT_2
        group.append(drawsvg.Rectangle(*place, fill=colour, fill_opacity=opacity))
        group.append(drawsvg.Rectangle(*place, fill="none", stroke=INK, stroke_opacity=0.35))
        write(group, shown, _CELLS + (column + 0.5) * _WIDTH, _ROWS[name], 12)
    drawing.append(group)


def _words(drawing: drawsvg.Drawing) -> None:
    """Draw what the unembedding makes of the vector: a share for each word."""
    group, width = drawsvg.Group(data_row="next"), 4 * _WIDTH / 5
    for column, (word, share) in enumerate(next_words().items()):
        x = _CELLS + (column + 0.5) * width
        place = (_CELLS + column * width, 28, width, _HIGH)
        group.append(drawsvg.Rectangle(*place, fill=ACCENT, fill_opacity=round(SHADE * share, 2)))
        group.append(drawsvg.Rectangle(*place, fill="none", stroke=INK, stroke_opacity=0.35))
        write(group, f"{share:.2f}", x, 41, 12)
        write(group, word, x, 16, 12)
    drawing.append(group)
    scores = drawsvg.Group(data_row="logits")
    for column, score in enumerate(logits().values()):
        place = (_CELLS + column * width, _ROWS["logits"] - _HIGH / 2, width, _HIGH)
        shade = round(SHADE * min(abs(score) / 8, 1), 2)
        colour = ACCENT if score >= 0 else ACCENT_2
        scores.append(drawsvg.Rectangle(*place, fill=colour, fill_opacity=shade))
        scores.append(drawsvg.Rectangle(*place, fill="none", stroke=INK, stroke_opacity=0.35))
        shown = f"{score:.2f}".replace("-", "−")
        write(scores, shown, _CELLS + (column + 0.5) * width, _ROWS["logits"], 12)
    drawing.append(scores)


_BAR = 80  # from one bar to the next
_SHADES = {"attention": (ACCENT, 1.0), "mlp": (ACCENT_2, 0.55), "tokens": (INK, 0.12)}


def shares(language: str) -> str:
    """Draw the parameters of published models, a bar a model, divided by part."""
    text, names = (texts(__file__, name, language) for name in ("shares", "parameters"))
    drawing, told = canvas(400, 3 * _BAR - 12), []
    for index, (model, config) in enumerate(tables.MODELS.items()):
        counts = tables.by_part(tables.built(config))
        total, x = sum(counts.values()), 0.0
        group = drawsvg.Group(data_model=model)
        title = text["total"].format(model=model, total=f"{total / 1e6:,.0f}")
        write(group, title, 0, _BAR * index + 8, 12, text_anchor="start", font_weight="bold")
        for label, (part, count) in zip(text["labels"], counts.items(), strict=True):
            width, (colour, shade) = 400 * count / total, _SHADES.get(part, (INK, 0.25))
            place = (x, _BAR * index + 20, width, 30)
            group.append(drawsvg.Rectangle(*place, fill=colour, fill_opacity=shade, data_part=part))
            share = text["told"].format(part=label, share=f"{count / total:.0%}")
            middle = (x + width / 2, _BAR * index + 35)
            if count > total / 7:
                ink = {"fill": "var(--figure-on-accent)"} if part == "attention" else {}
                write(group, share if width > 80 else f"{count / total:.0%}", *middle, 12, **ink)
            elif label and count:  # too narrow for its name: below the bar, at its end
                end = (400, "end") if part == "unembedding" else (0, "start")
                write(group, share, end[0], _BAR * index + 59, 12, text_anchor=end[1])
            x += width
        pairs = [
            text["told"].format(part=names[part], share=f"{count / total:.0%}")
            for part, count in counts.items()
        ]
        told.append(f"{model}: {text['join'].join(pairs)}")
        drawing.append(group)
    desc = text["desc"].format(told=text["stop"].join(told))
    return finish(drawing.as_svg(header=""), f"{KEY}-shares", text["title"], desc, zoom=1.35)


def gradients(language: str) -> str:
    """Draw the gradient of each block at the start, for models of three depths."""
    text = texts(__file__, "gradients", language)
    found = example(f"{tables.EXAMPLES}/pre_or_post")["found"]
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(400, 222)
        for place, count in enumerate(COUNTS):
            axes = chart.panel(figure, 40 + 122 * place, 46, 106, 126)
            for name, colour in (("pre", chart.ACCENT), ("post", chart.ACCENT_2)):
                values = found[name, count].tolist()
                look = {"marker": "o"} if count <= 8 else {}
                look |= {"markersize": 3, "markeredgewidth": 0, "linewidth": 1.5}
                gid = f"part:{name}-{count}"
                axes.plot(range(1, count + 1), values, color=colour, gid=gid, **look)
            axes.set_yscale("log")
            axes.set_ylim(0.03, 0.4)
            axes.set_xlim(1 - count / 20, count + count / 20)
            chart.set_ticks(axes, "x", {1: "1", count: str(count)})
            labels = {level: f"{level:g}" if not place else "" for level in (0.05, 0.1, 0.2)}
            chart.set_ticks(axes, "y", labels)
            figure.text(
                (93 + 122 * place) / 400, 180 / 222, text["count"].format(count=count), ha="center"
            )
        figure.text(0, 216 / 222, text["gradient"], va="top")
        figure.text(390 / 400, 8 / 222, text["block"], ha="right")
        figure.text(93 / 400, 152 / 222, text["post"], ha="center")
        figure.text(93 / 400, 108 / 222, text["pre"], ha="center")
        ends = {
            f"{name}_{count}": text["ends"].format(
                first=found[name, count][0], last=found[name, count][-1]
            )
            for name in ("pre", "post")
            for count in COUNTS
        }
        desc = text["desc"].format(**ends)
        return chart.finish(figure, f"{KEY}-gradients", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "stream": stream,
    "gradients": gradients,
    "shares": shares,
}
