"""Figures of the chapter on rotary position embedding."""

import functools
from collections.abc import Callable

import drawsvg
import matplotlib.style
import torch
from torch import Tensor

from attn_docs import apply_rotary
from docs._kit import chart
from docs._kit.draw import (
    ACCENT,
    ACCENT_2,
    INK,
    ON_ACCENT,
    box,
    canvas,
    cells,
    finish,
    stage_line,
    write,
)

from .tables import THETAS

KEY = "position-rotary"
QUERY, KEY_VECTOR = (3.0, 1.0), (2.0, 1.0)
PLACES = ((1, 2), (2, 3), (2, 1))  # of "cat", of "sleeps"
TURNS, SLOW_THETA = 6, 16.0
SIZE = 8
MAP_POSITIONS, MAP_DIM, MAP_THETA = 16, 16, 100.0
CHART_THETAS = (100.0, THETAS["RoFormer"], THETAS["Llama 3"])
CHART_DIM, CHART_LENGTH = 128, 257


def turned(vector: tuple[float, ...], position: int, *, theta: float = 10000.0) -> list[float]:
    """Return a vector turned by its position."""
    x = torch.tensor(vector, dtype=torch.float64).view(1, 1, 1, -1)
    return apply_rotary(x, torch.tensor([position]), theta=theta).flatten().tolist()


def _circle(parent: drawsvg.Group, x: float, y: float, radius: float) -> None:
    path = drawsvg.Path(fill="none", stroke=INK, stroke_width=1, stroke_opacity=0.35)
    path.M(x + radius, y).A(radius, radius, 0, 1, 0, x - radius, y)
    path.A(radius, radius, 0, 1, 0, x + radius, y)
    parent.append(path)


def _needle(
    parent: drawsvg.Group, x: float, y: float, tip: tuple[float, float], **attributes: object
) -> None:
    """Draw a vector from (x, y); upwards is positive."""
    parent.append(drawsvg.Line(x, y, x + tip[0], y - tip[1], stroke_width=2, **attributes))


_SAME = {
    "en": {
        "title": "The same distance, the same angle between query and key",
        "desc": (
            "Three panels, each with the query of “sleeps”, [3, 1], and the key of “cat”, [2, 1], "
            "turned by one radian for each position. {panels}. The first two panels have the same "
            "angle between the two vectors and the same score; the third has not."
        ),
        "panel": "With cat at position {cat} and sleeps at position {sleeps} the score is {score}",
        "join": "; ",
        "score": "score {score}",
        "query": "query of “sleeps”",
        "key": "key of “cat”",
        "cat": "cat: {cat}",
        "sleeps": "sleeps: {sleeps}",
    },
    "zh": {
        "title": "距离相同，查询与键之间的角度就相同",
        "desc": (
            "三幅小图，每幅画的是“sleeps”的查询 [3, 1] 和“cat”的键 [2, 1]，"
            "每过一个位置转一弧度。{panels}。前两幅小图里，两个向量之间的角度相同，分数也相同；"
            "第三幅则不同。"
        ),
        "panel": "cat 在位置 {cat}、sleeps 在位置 {sleeps} 时，分数是 {score}",
        "join": "；",
        "score": "分数 {score}",
        "query": "“sleeps”的查询",
        "key": "“cat”的键",
        "cat": "cat：{cat}",
        "sleeps": "sleeps：{sleeps}",
    },
}


def scores() -> list[float]:
    """Return the score of each panel, from the turned vectors."""
    return [
        sum(a * b for a, b in zip(turned(QUERY, sleeps), turned(KEY_VECTOR, cat), strict=True))
        for cat, sleeps in PLACES
    ]


def same_distance(language: str) -> str:
    """Draw query and key at three pairs of positions, as the function turns them."""
    text, unit = _SAME[language], 14
    drawing = canvas(340, 196)
    for label, colour, left in ((text["query"], ACCENT, 0), (text["key"], ACCENT_2, 150)):
        drawing.append(drawsvg.Rectangle(left, 4, 12, 12, fill=colour))
        write(drawing, label, left + 18, 10, 12, text_anchor="start")
    said = []
    for index, ((cat, sleeps), score) in enumerate(zip(PLACES, scores(), strict=True)):
        x, y = 54 + 116 * index, 108
        group = drawsvg.Group(data_panel=index)
        write(group, text["cat"].format(cat=cat), x, 36, 12)
        write(group, text["sleeps"].format(sleeps=sleeps), x, 51, 12)
        _circle(group, x, y, 10**0.5 * unit)
        for name, vector, position, colour in (
            ("query", QUERY, sleeps, ACCENT),
            ("key", KEY_VECTOR, cat, ACCENT_2),
        ):
            a, b = turned(vector, position)
            tip = (a * unit, b * unit)
            _needle(group, x, y, tip, stroke=colour, data_vector=name)
            group.append(drawsvg.Rectangle(x + tip[0] - 3, y - tip[1] - 3, 6, 6, rx=3, fill=colour))
        shown = f"{score:.2f}"
        bold = {"font_weight": "bold"}
        write(group, text["score"].format(score=shown), x, 172, 13, **bold)
        drawing.append(group)
        said.append(text["panel"].format(cat=cat, sleeps=sleeps, score=shown))
    desc = text["desc"].format(panels=text["join"].join(said))
    return finish(drawing.as_svg(header=""), f"{KEY}-same-distance", text["title"], desc)


_TURNED = {
    "en": {
        "title": "A fast and a slow pair at six positions",
        "desc": (
            "Two circles. In each, the vector [1, 0] at positions 0 to 5, counter-clockwise. Left, "
            "the first pair turns by one radian for each position, and is almost back at position "
            "6. Right, the second pair turns a quarter as fast."
        ),
        "first": "first pair",
        "second": "second pair",
    },
    "zh": {
        "title": "一快一慢两对数，在六个位置上",
        "desc": (
            "两个圆，各画出向量 [1, 0] 在位置 0 到 5 上的样子，按逆时针方向。左边是第一对，"
            "每过一个位置转一弧度，到位置 6 就差不多转完一圈。右边是第二对，"
            "速度只有四分之一。"
        ),
        "first": "第一对",
        "second": "第二对",
    },
}


def two_speeds(language: str) -> str:
    """Draw the pairs of a head of four numbers at six positions."""
    text, radius = _TURNED[language], 56
    drawing = canvas(340, 172)
    for pair, name in enumerate(("first", "second")):
        x, y = 84 + 172 * pair, 98
        group = drawsvg.Group(data_pair=pair)
        write(group, text[name], x, 9, 13, font_weight="bold")
        _circle(group, x, y, radius)
        for position in range(TURNS):
            numbers = turned((1.0, 1.0, 0.0, 0.0), position, theta=SLOW_THETA)
            a, b = numbers[pair], numbers[pair + 2]
            _needle(
                group,
                x,
                y,
                (a * radius, b * radius),
                stroke=ACCENT,
                stroke_opacity=0.4 + 0.12 * position,
                data_position=position,
            )
            away = radius + 10
            write(group, str(position), x + a * away, y - b * away, 12)
        drawing.append(group)
    return finish(drawing.as_svg(header=""), f"{KEY}-two-speeds", text["title"], text["desc"])


def pairs(*, interleaved: bool) -> list[tuple[int, int]]:
    """Find out from the function which numbers of a head it mixes."""
    unit = torch.eye(SIZE, dtype=torch.float64).view(1, 1, SIZE, SIZE)
    mixed = apply_rotary(unit, torch.ones(SIZE, dtype=torch.int64), interleaved=interleaved)
    found = {tuple(row.nonzero().flatten().tolist()) for row in mixed[0, 0]}
    return sorted((a, b) for a, b in found)


_LAYOUTS = {
    "en": {
        "title": "The two layouts, and the permutation between them",
        "desc": (
            "Above, the eight numbers of a head in order, 0 to 7; brackets join the pairs "
            "{neighbours}. Lines lead down to the same numbers in another order: {order}. There, "
            "brackets join the places {halves}, which hold the same pairs of numbers. The first "
            "pair is highlighted."
        ),
        "pair": "{a} with {b}",
        "comma": ", ",
        "above": "interleaved: neighbours",
        "below": "half-split: one of each half",
    },
    "zh": {
        "title": "两种布局，以及它们之间的置换",
        "desc": (
            "上面是一个头的八个数，按次序从 0 到 7；括线连起来的对是 {neighbours}。"
            "连线通向下面换了次序的同样的数：{order}。下面的括线把位置 {halves} 连成对，"
            "这些位置上正是同样的数。突出显示的是第一对。"
        ),
        "pair": "{a} 和 {b}",
        "comma": "、",
        "above": "交错：相邻的两个数成对",
        "below": "对半：前后两半各出一个",
    },
}


def order() -> list[int]:
    """Return which number stands at each place of the half-split layout."""
    places = dict(
        zip(
            (place for pair in pairs(interleaved=False) for place in pair),
            (number for pair in pairs(interleaved=True) for number in pair),
            strict=True,
        )
    )
    return [places[place] for place in range(SIZE)]


def layouts(language: str) -> str:
    """Draw which numbers form a pair in both layouts, and how one becomes the other."""
    text = _LAYOUTS[language]
    drawing = canvas(340, 246)
    neighbours, halves, moved = pairs(interleaved=True), pairs(interleaved=False), order()
    middle = [22 + 42.3 * place for place in range(SIZE)]
    write(drawing, text["above"], 0, 9, 13, text_anchor="start", font_weight="bold")
    write(drawing, text["below"], 0, 234, 13, text_anchor="start", font_weight="bold")
    for place, number in enumerate(moved):
        lit = number in neighbours[0]
        line = {"stroke": ACCENT if lit else INK, "stroke_width": 2 if lit else 1}
        where = {"data_from": number, "data_to": place}
        drawing.append(drawsvg.Line(middle[number], 74, middle[place], 134, **line, **where))
    for row, y, numbers in (("above", 42, list(range(SIZE))), ("below", 136, moved)):
        group = drawsvg.Group(data_row=row)
        for place, number in enumerate(numbers):
            lit = number in neighbours[0]
            box(group, middle[place] - 16, y, 32, 30, lit=lit, rx=4)
            emphasis = {"fill": ON_ACCENT, "font_weight": "bold"} if lit else {}
            write(group, str(number), middle[place], y + 15, 14, **emphasis)
        drawing.append(group)
    for row, joined, foot, step in (("above", neighbours, 40, 0), ("below", halves, 168, 10)):
        for index, (a, b) in enumerate(joined):
            height = -12 if row == "above" else 12 + step * index
            lit = index == 0
            path = drawsvg.Path(
                fill="none",
                stroke=ACCENT if lit else INK,
                stroke_width=2 if lit else 1,
                data_bracket=f"{row} {a} {b}",
            )
            path.M(middle[a], foot).L(middle[a], foot + height)
            path.L(middle[b], foot + height).L(middle[b], foot)
            drawing.append(path)
    comma = text["comma"]
    desc = text["desc"].format(
        neighbours=comma.join(text["pair"].format(a=a, b=b) for a, b in neighbours),
        halves=comma.join(text["pair"].format(a=a, b=b) for a, b in halves),
        order=" ".join(map(str, moved)),
    )
    return finish(drawing.as_svg(header=""), f"{KEY}-layouts", text["title"], desc)


_ANGLES = {
    "en": {
        "title": "The cosine of each pair's angle at each position",
        "desc": (
            "A grid with positions 0 to 15 as rows and the pairs 0 to 7 of a head of 16 numbers "
            "as columns, θ being 100. The darker a cell, the larger the cosine of the angle, "
            "from −1, empty, to 1, full. Pair 0 changes from row to row, the next ones in longer "
            "and longer waves, and the last pairs stay dark: they have hardly turned."
        ),
        "position": "position ↓",
        "pair": "pair →",
        "cosine": "cosine",
    },
    "zh": {
        "title": "每个位置上每一对的角度的余弦",
        "desc": (
            "一幅方格图，行是位置 0 到 15，列是一个头 16 个数组成的 8 对，编号 0 到 7，"
            "θ 为 100。格子越深，角度的余弦越大：−1 为空，1 为满。第 0 对逐行变化，"
            "后面各对的波动越来越长，最后几对一直是深色的，几乎没有转动。"
        ),
        "position": "位置 ↓",
        "pair": "对 →",
        "cosine": "余弦",
    },
}


def cosines() -> Tensor:
    """Return the cosines (position, pair) as the function applies them."""
    x = torch.zeros(1, 1, MAP_POSITIONS, MAP_DIM, dtype=torch.float64)
    x[..., : MAP_DIM // 2] = 1
    return apply_rotary(x, torch.arange(MAP_POSITIONS), theta=MAP_THETA)[0, 0, :, : MAP_DIM // 2]


def angles(language: str) -> str:
    """Draw the cosines as shaded cells."""
    text, (width, height) = _ANGLES[language], (26, 15)
    drawing = canvas(340, 308)
    left, top = 62, 58
    write(drawing, text["position"], 0, 40, 12, text_anchor="start")
    write(drawing, text["pair"], left, 20, 12, text_anchor="start")
    for pair in range(MAP_DIM // 2):
        write(drawing, str(pair), left + (pair + 0.5) * width, 46, 12)
    for position in range(MAP_POSITIONS):
        write(
            drawing, str(position), left - 8, top + (position + 0.5) * height, 11, text_anchor="end"
        )
    group = drawsvg.Group(data_part="map")
    shades = (cosines() + 1) / 2
    cells(group, shades.tolist(), left, top, width, height)
    drawing.append(group)
    legend = drawsvg.Group(data_part="legend")
    write(legend, text["cosine"], 310, 46, 12)
    for index, value in enumerate((1, 0.5, 0, -0.5, -1)):
        y = top + 20 * index
        cells(legend, [[(value + 1) / 2]], 288, y, width - 8, height)
        write(legend, f"{value:g}".replace("-", "−"), 309, y + 7.5, 11, text_anchor="start")
    drawing.append(legend)
    return finish(drawing.as_svg(header=""), f"{KEY}-angles", text["title"], text["desc"])


_CHART = {
    "en": {
        "title": "Score against distance for three θ",
        "desc": (
            "Query and key are the same vector of 128 equal numbers, scaled so that the score at "
            "distance 0 is 1. All curves fall and waver. At distance 256 the score is {values}. "
            "The larger θ, the less it falls."
        ),
        "value": "{score:.2f} for θ = {theta:,.0f}",
        "comma": ", ",
        "distance": "distance",
        "score": "score",
    },
    "zh": {
        "title": "三种 θ 下分数随距离的变化",
        "desc": (
            "查询和键是同一个向量，由 128 个相等的数组成，缩放到距离为 0 时分数为 1。"
            "每条曲线都在起伏中下降。距离为 256 时，分数是：{values}。θ 越大，下降得越少。"
        ),
        "value": "θ = {theta:,.0f} 时 {score:.2f}",
        "comma": "，",
        "distance": "距离",
        "score": "分数",
    },
}


def score_by_distance(theta: float) -> Tensor:
    """Return the score of a vector of equal numbers with itself, for each distance."""
    x = torch.ones(1, 1, CHART_LENGTH, CHART_DIM, dtype=torch.float64) / CHART_DIM**0.5
    keys = apply_rotary(x, torch.arange(CHART_LENGTH), theta=theta)[0, 0]
    return keys @ keys[0]


def distance(language: str) -> str:
    """Chart the score against the distance for three θ."""
    text = _CHART[language]
    styles = (
        {"color": chart.INK, "linestyle": (0, (2, 2)), "linewidth": 1},
        {"color": chart.ACCENT, "linewidth": 1.5},
        {"color": chart.ACCENT_2, "linewidth": 1.5},
    )
    labels = ((-0.23, "top"), (0.2, "top"), (0.73, "bottom"))
    said = []
    with matplotlib.style.context(chart.STYLE):
        figure = chart.new_figure(340, 230)
        axes = chart.panel(figure, 36, 24, 290, 160)
        axes.set_xlim(0, CHART_LENGTH - 1)
        axes.set_ylim(-0.4, 1.05)
        chart.set_ticks(axes, "x", {at: str(at) for at in (0, 64, 128, 192, 256)})
        chart.set_ticks(axes, "y", {0: "0", 0.5: "0.5", 1: "1"})
        for theta, style, (height, side) in zip(CHART_THETAS, styles, labels, strict=True):
            score = score_by_distance(theta)
            axes.plot(range(CHART_LENGTH), score, **style, gid=f"part:theta-{theta:g}")
            axes.text(252, height, f"θ = {theta:,.0f}", ha="right", va=side)
            said.append(text["value"].format(score=score[-1].item(), theta=theta))
        figure.text(0, 1 - 12 / 230, text["score"], va="baseline")
        figure.text(326 / 340, 8 / 230, text["distance"], ha="right", va="baseline")
        desc = text["desc"].format(values=text["comma"].join(said))
        return chart.finish(figure, f"{KEY}-distance", text["title"], desc)


FIGURES: dict[str, Callable[[str], str]] = {
    "stage-line": functools.partial(stage_line, KEY, lit=("place",)),
    "same-distance": same_distance,
    "two-speeds": two_speeds,
    "angles": angles,
    "distance": distance,
    "layouts": layouts,
}
