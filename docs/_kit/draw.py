"""Drawing helpers that the figures share: text, boxes, arrows, cells, the nine stages."""

import itertools
import re
from collections.abc import Callable, Sequence
from xml.etree import ElementTree as ET

import drawsvg

ACCENT = "var(--figure-accent)"
ACCENT_2 = "var(--figure-accent-2)"
SOFT = "var(--figure-soft)"
ON_ACCENT = "var(--figure-on-accent)"
INK = "currentColor"

# The strongest accent that text in currentColor is still easily read on, in both palettes.
SHADE = 0.45

STAGES = ("project", "split", "place", "score", "mask", "normalise", "mix", "merge", "output")

_SVG = "http://www.w3.org/2000/svg"
_NOT_GEOMETRY = re.compile("id|class|role|fill|href|aria-.*")
_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")


def canvas(width: float, height: float) -> drawsvg.Drawing:
    """Return an empty drawing whose text and lines take the page's text colour."""
    return drawsvg.Drawing(width, height, fill=INK)


def write(
    parent: drawsvg.DrawingParentElement,
    text: str,
    x: float,
    y: float,
    size: float = 13,
    **attributes: object,
) -> None:
    """Write one line of text whose middle is at height y, centred on x unless told otherwise."""
    attributes = {"text_anchor": "middle", **attributes}
    # dominant-baseline differs between browsers; a third of the size down does not
    parent.append(drawsvg.Text(text, size, x, y + 0.35 * size, **attributes))


def box(
    parent: drawsvg.DrawingParentElement,
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    lit: bool = False,
    **attributes: object,
) -> None:
    """Draw a box with round corners: filled with the accent if lit, else with the soft colour."""
    attributes = {"fill": ACCENT if lit else SOFT, "rx": 6, **attributes}
    parent.append(drawsvg.Rectangle(x, y, width, height, **attributes))


def circle(
    parent: drawsvg.Drawing | drawsvg.Group,
    x: float,
    y: float,
    radius: float,
    *,
    fill: str = "none",
) -> None:
    """Draw a circle, such as the face of a clock, as a path: figures have few elements."""
    path = drawsvg.Path(fill=fill, stroke=INK, stroke_width=1, stroke_opacity=0.35)
    path.M(x + radius, y).A(radius, radius, 0, 1, 0, x - radius, y)
    path.A(radius, radius, 0, 1, 0, x + radius, y)
    parent.append(path)


def arrow(
    parent: drawsvg.DrawingParentElement, *points: tuple[float, float], radius: float = 6
) -> None:
    """Draw an arrow along points joined by level and upright lines, its corners rounded."""
    line = drawsvg.Path(fill="none", stroke=INK, stroke_width=1.25)
    line.M(*points[0])
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        line.L(*_towards(corner, before, radius)).Q(*corner, *_towards(corner, after, radius))
    tip, base = points[-1], _towards(points[-1], points[-2], 6)
    line.L(*base)
    parent.append(line)
    across = ((base[1] - tip[1]) * 0.58, (tip[0] - base[0]) * 0.58)
    parent.append(
        drawsvg.Lines(
            *tip,
            *(base[0] + across[0], base[1] + across[1]),
            *(base[0] - across[0], base[1] - across[1]),
            close=True,
        )
    )


def _towards(
    start: tuple[float, float], end: tuple[float, float], distance: float
) -> tuple[float, float]:
    length = abs(end[0] - start[0]) + abs(end[1] - start[1])  # level or upright: one is zero
    part = min(distance / length, 0.5)
    return start[0] + (end[0] - start[0]) * part, start[1] + (end[1] - start[1]) * part


def stage_grid(
    width: float, height: float, draw: Callable[[drawsvg.Group, str, float, float], None]
) -> drawsvg.Drawing:
    """Draw the nine stages in three rows, joined by arrows; `draw` fills each one's place."""
    pitch_x, pitch_y = (340 - width) / 2, height + 26
    drawing = canvas(340, 2 * pitch_y + height)
    corners = [(column * pitch_x, row * pitch_y) for row in range(3) for column in range(3)]
    for stage, (x, y) in zip(STAGES, corners, strict=True):
        group = drawsvg.Group(data_stage=stage)
        draw(group, stage, x, y)
        drawing.append(group)
    for (x, y), (right, below) in itertools.pairwise(corners):
        if below == y:
            arrow(drawing, (x + width + 2, y + height / 2), (right - 2, y + height / 2))
        else:
            start, middle, end = x + width / 2, (y + height + below) / 2, right + width / 2
            points = ((start, y + height + 2), (start, middle), (end, middle), (end, below - 2))
            arrow(drawing, *points)
    return drawing


def cells(
    parent: drawsvg.DrawingParentElement,
    opacities: Sequence[Sequence[float]],
    x: float,
    y: float,
    width: float,
    height: float,
) -> None:
    """Draw a matrix as cells, row by row from the top, shaded with the accent."""
    group = drawsvg.Group(fill=ACCENT, stroke=INK, stroke_opacity=0.35)
    for row, line in enumerate(opacities):
        for column, opacity in enumerate(line):
            place = (x + column * width, y + row * height, width, height)
            where = {"data_row": row, "data_column": column}
            group.append(drawsvg.Rectangle(*place, fill_opacity=round(opacity, 4), **where))
    parent.append(group)


def finish(svg: str, key: str, title: str, desc: str, *, zoom: float = 1.2) -> str:
    """Return a drawing as a figure that can be put into a page.

    The figure scales with its column, up to `zoom` times the size it was drawn at; it has a
    title and a description for those who do not see it, and ids that start with `key`. Links in
    it can be reached: a screen reader takes it for a group, not for one picture.
    """
    ET.register_namespace("", _SVG)
    source = ET.fromstring(svg)  # noqa: S314 - our own drawing
    view_box = source.attrib["viewBox"]
    width = float(view_box.split()[2])
    names = (f"figure-{key}-title", f"figure-{key}-desc")
    if source.find(f".//{{{_SVG}}}a") is None:
        told = {"role": "img", "aria-labelledby": " ".join(names)}
    else:
        told = {"role": "group", "aria-labelledby": names[0], "aria-describedby": names[1]}
    size = {"viewBox": _round(view_box), "width": f"{width * zoom:.0f}"}
    root = ET.Element(f"{{{_SVG}}}svg", {"class": "figure", **size, **told, "fill": INK})
    for tag, name, text in zip(("title", "desc"), names, (title, desc), strict=True):
        ET.SubElement(root, f"{{{_SVG}}}{tag}", {"id": name}).text = text
    root.extend(child for child in source if child.tag != f"{{{_SVG}}}defs")
    for element in root.iter():
        for name, value in element.attrib.items():
            if not _NOT_GEOMETRY.fullmatch(name):
                element.set(name, _round(value))
        if element.text and not element.text.strip():
            element.text = None
        element.tail = None
    ET.indent(root, "")
    return ET.tostring(root, encoding="unicode")


def _round(text: str) -> str:
    def shorten(number: re.Match[str]) -> str:
        short = f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
        return "0" if short == "-0" else short

    return _DECIMALS.sub(shorten, text)
