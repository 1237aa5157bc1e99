"""Charts drawn by matplotlib, made into figures that take the page's colours and font."""

import io
import warnings
from xml.etree import ElementTree as ET

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from docs._kit import draw

# Stand-ins, because matplotlib knows neither currentColor nor a stylesheet's variables.
INK, ACCENT, ACCENT_2 = "#000001", "#000002", "#000003"

STYLE = [
    "default",
    {
        "axes.edgecolor": INK,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "grid.alpha": 0.15,
        "grid.color": INK,
        "font.size": 12,
        "svg.fonttype": "none",
        "svg.hashsalt": "attn-docs",
        "text.color": INK,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
    },
]

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_COLOURS = {INK: draw.INK, ACCENT: draw.ACCENT, ACCENT_2: draw.ACCENT_2}
_KEPT = (
    "fill",
    "fill-opacity",
    "font-size",
    "font-weight",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
)


def new_figure(width: float, height: float) -> Figure:
    """Return an empty matplotlib figure whose points are the units of the SVG."""
    return Figure(figsize=(width / 72, height / 72), dpi=72)


def panel(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes at a place counted in units from the figure's top left corner."""
    full_width, full_height = figure.get_size_inches() * 72
    bottom = full_height - top - height
    place = (left / full_width, bottom / full_height, width / full_width, height / full_height)
    axes = figure.add_axes(place, facecolor="none")
    axes.grid(visible=True)
    return axes


def set_ticks(axes: Axes, which: str, ticks: dict[float, str]) -> None:
    """Put ticks on the "x" or "y" axis at these values, with these labels, and no others."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_ticklabels(list(ticks.values()))


def finish(figure: Figure, key: str, title: str, desc: str) -> str:
    """Return a matplotlib figure as a figure that can be put into a page.

    Artists that were given a gid are groups with that name in `data-part`.
    """
    file = io.StringIO()
    with warnings.catch_warnings():
        # matplotlib measures text in its own font; the page's font has the Chinese glyphs
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    root = ET.fromstring(file.getvalue())  # noqa: S314 - written one line above
    shapes = {element.get("id"): element for element in root.iter(f"{_SVG}path")}
    clean = ET.Element(f"{_SVG}svg", {"viewBox": root.attrib["viewBox"]})
    _copy(root, clean, shapes)
    return draw.finish(ET.tostring(clean, encoding="unicode"), key, title, desc)


def _copy(
    source: ET.Element,
    target: ET.Element,
    shapes: dict[str | None, ET.Element],
) -> None:
    """Copy what is seen: groups without a name are opened, uses replaced by what they use."""
    for element in source:
        tag = element.tag.removeprefix(_SVG)
        if tag == "g":
            name = element.get("id", "")
            inner = target
            if name.startswith("part:"):
                inner = ET.SubElement(target, f"{_SVG}g", {"data-part": name.removeprefix("part:")})
            _copy(element, inner, shapes)
        elif tag == "text":
            attributes = _attributes(element)
            attributes |= {"x": element.attrib["x"], "y": element.attrib["y"]}
            ET.SubElement(target, f"{_SVG}text", attributes).text = element.text
        elif tag == "path":
            attributes = {"d": _shorten(element.attrib["d"])} | _attributes(element)
            if attributes.get("fill") != "none" or "stroke" in attributes:
                ET.SubElement(target, f"{_SVG}path", attributes)
        elif tag == "use":
            shape = shapes[element.attrib[_HREF].removeprefix("#")]
            attributes = {"d": _shorten(shape.attrib["d"])} | _attributes(element)
            attributes["transform"] = f"translate({element.attrib['x']},{element.attrib['y']})"
            ET.SubElement(target, f"{_SVG}path", attributes)


def _attributes(element: ET.Element) -> dict[str, str]:
    """Return what a style says as presentation attributes, in the page's colours."""
    pairs = (part.split(":", 1) for part in element.get("style", "").split(";") if part.strip())
    style = {name.strip(): value.strip() for name, value in pairs}
    kept = {name: _COLOURS.get(style[name], style[name]) for name in _KEPT if name in style}
    if "font-size" in kept:
        kept["font-size"] = kept["font-size"].removesuffix("px")
        if kept["fill"] == draw.INK:
            del kept["fill"]  # the figure's own
    return kept


def _shorten(path: str) -> str:
    return " ".join(path.split())
