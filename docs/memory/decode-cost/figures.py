"""Figures of the chapter on what decoding costs."""

import functools
from collections.abc import Callable
from pathlib import Path

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, ACCENT_2, canvas, finish, stage_line, write

from .benchmark import NAMES
from .tables import H100_BYTES, H100_FLOPS, MODELS, cost, ridge

KEY = "memory-decode-cost"
STORED = Path(__file__).with_name("measured") / "steps.md"

_ROOFLINE = {
    "en": {
        "title": "Five models below the roof of one machine",
        "desc": (
            "A chart with both axes logarithmic: FLOP per byte from left to right, TFLOP per "
            "second upwards. A line rises with slope one up to {ridge} FLOP per byte, where it "
            "turns level at {top} TFLOP per second. On the rising part stand squares: {points}."
        ),
        "point": "{name} at {intensity} FLOP per byte and {rate} TFLOP per second",
        "comma": "; ",
        "up": "↑ TFLOP per second",
        "right": "FLOP per byte →",
        "reads": "reading decides",
        "computes": "computing decides",
    },
    "zh": {
        "title": "同一台机器的屋顶之下，五个模型",
        "desc": (
            "一张双对数坐标图：从左到右是每字节的 FLOP，向上是每秒的 TFLOP。"
            "一条线以斜率一上升，到每字节 {ridge} FLOP 处变平，高度是每秒 {top} TFLOP。"
            "上升的一段上有几个方块：{points}。"
        ),
        "point": "{name} 在每字节 {intensity} FLOP、每秒 {rate} TFLOP 处",
        "comma": "；",
        "up": "↑ 每秒 TFLOP",
        "right": "每字节 FLOP →",
        "reads": "取决于读取",
        "computes": "取决于计算",
    },
}


def attainable(intensity: float) -> float:
    """Return the FLOP in a second that an H100 reaches at most, in units of 10¹²."""
    return min(H100_FLOPS, H100_BYTES * intensity) / 1e12


def roofline(language: str) -> str:
    """Chart the most that an H100 can compute against the intensity, with five models."""
    text = _ROOFLINE[language]
    width, height = 352, 280
    points = {name: cost(name).intensity for name in MODELS}
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        figure.text(0, 1 - 8 / height, text["up"], va="center", size=12)
        axes = chart.panel(figure, 34, 24, 306, 210)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlim(0.5, 2000)
        axes.set_ylim(1, 2500)
        chart.set_ticks(axes, "x", {x: f"{x}" for x in (1, 10, 100, 1000)})
        chart.set_ticks(axes, "y", {y: f"{y}" for y in (1, 10, 100, 1000)})
        corners = [0.5, ridge(), 2000]
        roof = {"color": chart.INK, "linewidth": 1.5}
        axes.plot(corners, [attainable(x) for x in corners], **roof, gid="part:roof")
        for name, intensity in points.items():
            mark = {"color": chart.ACCENT, "marker": "s", "markersize": 8, "linestyle": "none"}
            part = name.replace(" ", "-")
            axes.plot([intensity], [attainable(intensity)], **mark, gid=f"part:{part}")
            left = name == "DeepSeek-V3"
            axes.text(
                intensity * (0.8 if left else 1.3),
                attainable(intensity) * (1 if left else 0.92),
                name,
                ha="right" if left else "left",
                va="center" if left else "top",
                size=12,
            )
        axes.text(0.8, 60, text["reads"], size=12)
        axes.text(1900, 1400, text["computes"], size=12, ha="right")
        figure.text(340 / width, 1 - 268 / height, text["right"], ha="right", size=12, va="center")
        desc = text["desc"].format(
            ridge=f"{ridge():.0f}",
            top=f"{H100_FLOPS / 1e12:.0f}",
            points=text["comma"].join(
                text["point"].format(name=name, intensity=f"{x:.0f}", rate=f"{attainable(x):.0f}")
                for name, x in points.items()
            ),
        )
        return chart.finish(figure, f"{KEY}-roofline", text["title"], desc)


def stored() -> dict[str, tuple[float, float]]:
    """Read the bytes and the time at the greatest length, over multi-head's, from the table."""
    lines = STORED.read_text(encoding="utf-8").splitlines()[2 : 2 + len(NAMES["en"])]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        name: (float(row[2].rstrip("×")), float(row[5].rstrip("×")))
        for name, row in zip(NAMES["en"], rows, strict=True)
        if name != "repeat"  # so slow that no other bar could be seen
    }


_MEASURED = {
    "en": {
        "title": "Bytes of the cache, and time of a step",
        "desc": (
            "Two bars for each attention, over those of multi-head attention, with 32,768 words "
            "in the cache: bytes of the cache, and measured time. {rows}."
        ),
        "row": "{name}: {size:.2f} and {time:.2f}",
        "comma": "; ",
        "bytes": "bytes",
        "time": "time",
    },
    "zh": {
        "title": "缓存的字节数与一步的时间",
        "desc": (
            "每种注意力两根条，都是与多头注意力的比值，缓存里有 32,768 个词："
            "缓存的字节数，以及实测的时间。{rows}。"
        ),
        "row": "{name}：{size:.2f} 和 {time:.2f}",
        "comma": "；",
        "bytes": "字节数",
        "time": "时间",
    },
}


def measured(language: str) -> str:
    """Draw the stored measurement as bars: bytes and time over multi-head's."""
    text, values = _MEASURED[language], stored()
    drawing = canvas(340, 28 + 54 * len(values))
    full = max(1.0, *(time for _, time in values.values()))
    for label, colour, left in (("bytes", ACCENT_2, 0), ("time", ACCENT, 120)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, text[label], left + 18, 10, 12, text_anchor="start")
    for index, (name, pair) in enumerate(values.items()):
        top = 28 + 54 * index
        group = drawsvg.Group(data_attention=name)
        shown = NAMES[language][name]
        write(group, shown, 0, top + 8, 12, text_anchor="start", font_weight="bold")
        for row, (value, colour) in enumerate(zip(pair, (ACCENT_2, ACCENT), strict=True)):
            y, width = top + 18 + 14 * row, 270 * value / full
            kind = ("bytes", "time")[row]
            group.append(drawsvg.Rectangle(0, y, width, 12, fill=colour, data_bar=kind))
            write(group, f"{value:.2f}×", width + 6, y + 6, 12, text_anchor="start")
        drawing.append(group)
    rows = text["comma"].join(
        text["row"].format(name=NAMES[language][name], size=pair[0], time=pair[1])
        for name, pair in values.items()
    )
    desc = text["desc"].format(rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-measured", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(stage_line, KEY, lit=("score", "mix")),
    "roofline": roofline,
    "measured": measured,
}
