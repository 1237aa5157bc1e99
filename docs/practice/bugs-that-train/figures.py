"""Figures of the chapter on bugs that train."""

import functools
import math
from collections.abc import Callable

import drawsvg
import matplotlib.style

from docs._kit import chart
from docs._kit.draw import ACCENT, INK, STAGES, canvas, finish, stage_line, write

from .bugs import (
    COLUMNS,
    SECTIONS,
    last,
    losses,
    training,
    verdicts,
)

KEY = "practice-bugs-that-train"
PITCH, GAP, SIZE = 13.6, 6, 9  # of the columns of a matrix, between its blocks, of a filled cell

_CURVES = {
    "en": {
        "title": "The loss of the right layer and of five wrong ones",
        "desc": (
            "Five small charts of the loss over 60 steps. In each, a dotted line is the right "
            "layer, which falls from {start} to {right}; a solid line is a wrong one. {panels}."
        ),
        "panel": "{name}: {kind}",
        "join": ". ",
        "ends": "ends at {last}",
        "nan": "the line stops after the first step, since the loss is no number",
        "right": "⋯ the right layer",
        "wrong": "— the wrong one",
        "axes": "↑ loss, → step",
        "value_from_key": "values from k_proj",
        "causal_only_in_training": "causal in training only",
        "causal_only_in_eval": "causal in evaluation only",
        "inverted_mask": "mask inverted",
        "nan_in_empty_rows": "NaN in empty rows",
    },
    "zh": {
        "title": "正确的层和五个错误的层的损失",
        "desc": (
            "五张小图，画的是 60 步里的损失。每张图里，点线是正确的层，从 {start} 降到 {right}；"
            "实线是错误的层。{panels}。"
        ),
        "panel": "{name}：{kind}",
        "join": "。",
        "ends": "最后是 {last}",
        "nan": "线在第一步之后断开，因为损失不再是数",
        "right": "⋯ 正确的层",
        "wrong": "— 错误的层",
        "axes": "↑ 损失，→ 步",
        "value_from_key": "值来自 k_proj",
        "causal_only_in_training": "只在训练时因果",
        "causal_only_in_eval": "只在评估时因果",
        "inverted_mask": "掩码弄反",
        "nan_in_empty_rows": "空行里的 NaN",
    },
}
CURVES = (
    "value_from_key",
    "causal_only_in_training",
    "causal_only_in_eval",
    "inverted_mask",
    "nan_in_empty_rows",
)


def smooth(values: tuple[float, ...]) -> list[float]:
    """Return the mean of each loss and up to two before and after."""
    windows = (values[max(0, i - 2) : i + 3] for i in range(len(values)))
    return [sum(window) / len(window) for window in windows]


def curves(language: str) -> str:
    """Chart the loss of five wrong layers, each beside the right one."""
    text = _CURVES[language]
    width, height = 352, 360
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(width, height)
        for index, name in enumerate(CURVES):
            left, top = 26 + 164 * (index % 2), 26 + 116 * (index // 2)
            figure.text(
                left / width, 1 - (top - 20) / height, text[name], weight="bold", va="top", size=11
            )
            axes = chart.panel(figure, left, top, 146, 74)
            axes.set_xlim(0, 61)
            axes.set_ylim(-0.15, 3.3)
            chart.set_ticks(axes, "x", {1: "1", 30: "30", 60: "60"})
            chart.set_ticks(axes, "y", {0: "0", 1: "1", 2: "2", 3: "3"})
            steps = range(1, 61)
            dots = {"color": chart.INK, "linestyle": (0, (1, 2)), "linewidth": 1.5}
            axes.plot(steps, smooth(losses("right")), **dots, gid=f"part:right-{name}")
            mine = [value for value in losses(name) if not math.isnan(value)]
            line = {"color": chart.ACCENT, "linewidth": 2}
            if len(mine) == 1:
                line |= {"marker": "s", "markersize": 7, "markeredgewidth": 0}
            mine = smooth(tuple(mine)) if len(mine) > 1 else mine
            axes.plot(steps[: len(mine)], mine, **line, gid=f"part:wrong-{name}")
        for index, key in enumerate(("right", "wrong", "axes")):
            figure.text(200 / width, 1 - (290 + 20 * index) / height, text[key], va="top")
        panels = text["join"].join(
            text["panel"].format(
                name=text[name],
                kind=text["nan"]
                if training(name).kind == "breaks"
                else text["ends"].format(last=f"{training(name).last:.2f}"),
            )
            for name in CURVES
        )
        desc = text["desc"].format(
            start=f"{losses('right')[0]:.2f}", right=f"{last(losses('right')):.2f}", panels=panels
        )
        return chart.finish(figure, f"{KEY}-curves", text["title"], desc)


_MATRIX = {
    "en": {
        "title": "Bugs against checks: {section}",
        "desc": (
            "A grid. Each row is a bug, each column a check: a test of the shape, whether the loss "
            "falls, and {count} properties. A filled square: caught. An empty square: missed. A "
            "dash: not judged. {rows}."
        ),
        "row": "{name}: {caught}; the loss {loss}",
        "join": ". ",
        "comma": ", ",
        "nan": "becomes NaN",
        "falls": "falls",
        "shape": "shape",
        "trains": "loss falls",
        "legend": ("caught", "missed", "not judged"),
        "sections": {
            "formula": "the formula",
            "mask": "the mask",
            "words": "which words count",
            "chance": "chance and state",
        },
    },
    "zh": {
        "title": "错误与检查：{section}",
        "desc": (
            "一张方格图。每一行是一个错误，每一列是一项检查："
            "形状测试、损失是否下降、{count} 条性质。"
            "实心方块：发现了。空心方块：漏过了。短横：无法判断。{rows}。"
        ),
        "row": "{name}：{caught}；损失{loss}",
        "join": "。",
        "comma": "、",
        "nan": "变成 NaN",
        "falls": "下降",
        "shape": "形状",
        "trains": "损失下降",
        "legend": ("发现", "漏过", "无法判断"),
        "sections": {
            "formula": "公式",
            "mask": "掩码",
            "words": "哪些词有影响",
            "chance": "随机与状态",
        },
    },
}


def cells_of(name: str) -> list[str]:
    """Return the verdict of each column: the shape test, the loss, the properties."""
    loss = "fail" if training(name).kind == "breaks" else "pass"
    return ["pass", loss, *verdicts(name)]


def column_places() -> list[float]:
    """Return where each column's middle is; a gap parts the blocks."""
    places, x = [], 8.0
    firsts = {next(iter(section)) for section in SECTIONS.values()}
    for column in ("shape", "trains", *COLUMNS):
        if column in firsts:
            x += GAP
        places.append(x)
        x += PITCH
    return places


def matrix(language: str, section: str) -> str:
    """Draw which check catches which bug of a section of the page."""
    text = _MATRIX[language]
    names = [name for shown in SECTIONS[section].values() for name in shown]
    top, row_height = 136, 30
    height = top + row_height * len(names) + 22
    drawing = canvas(400, height)
    places = column_places()
    headings = (text["shape"], text["trains"], *COLUMNS)
    for x, heading in zip(places, headings, strict=True):
        write(
            drawing, heading, 0, 0, 11, text_anchor="start",
            transform=f"translate({x:g},{top - 6}) rotate(-90)",
        )  # fmt: skip
    for index, name in enumerate(names):
        y = top + row_height * index
        write(drawing, name, 2, y + 8, 11, text_anchor="start", data_bug=name)
        middle = y + 21
        marks: dict[str, list[str]] = {"fail": [], "pass": [], "not applicable": []}
        for x, verdict in zip(places, cells_of(name), strict=True):
            marks[verdict].append(_mark(verdict, x, middle))
        group = drawsvg.Group(data_row=name)
        for verdict, paths in marks.items():
            look = {"fill": ACCENT} if verdict == "fail" else {"fill": "none", "stroke": INK}
            kind = verdict.replace(" ", "-")
            if paths:
                group.append(drawsvg.Path("".join(paths), **look, data_verdict=kind))
        drawing.append(group)
    y = height - 8
    x = 8.0
    for verdict, label in zip(("fail", "pass", "not applicable"), text["legend"], strict=True):
        look = {"fill": ACCENT} if verdict == "fail" else {"fill": "none", "stroke": INK}
        drawing.append(drawsvg.Path(_mark(verdict, x, y), **look))
        write(drawing, label, x + 10, y, 11, text_anchor="start")
        x += 110
    rows = text["join"].join(
        text["row"].format(
            name=name,
            caught=text["comma"].join(
                column
                for column, verdict in zip(COLUMNS, verdicts(name), strict=True)
                if verdict == "fail"
            ),
            loss=text["nan" if training(name).kind == "breaks" else "falls"],
        )
        for name in names
    )
    title = text["title"].format(section=text["sections"][section])
    desc = text["desc"].format(count=len(COLUMNS), rows=rows)
    return finish(drawing.as_svg(header=""), f"{KEY}-matrix-{section}", title, desc)


def _mark(verdict: str, x: float, y: float) -> str:
    if verdict == "fail":
        return f"M{x - SIZE / 2:g} {y - SIZE / 2:g}h{SIZE}v{SIZE}h-{SIZE}z"
    if verdict == "pass":
        return f"M{x - 2.5:g} {y - 2.5:g}h5v5h-5z"
    return f"M{x - 2.5:g} {y:g}h5"


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(
        stage_line, KEY, lit=[s for s in STAGES if s not in ("place", "output")]
    ),
    "curves": curves,
    **{f"matrix-{section}": functools.partial(matrix, section=section) for section in SECTIONS},
}
