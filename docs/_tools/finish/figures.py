"""The site's drawings as files, for whoever shows a page's Markdown without its stylesheet."""

import re
from dataclasses import dataclass
from functools import cache

from docs._tools.page import DOCS, folder_of

STYLES = DOCS / "assets/stylesheets/attn-docs.css"
NAME = re.compile(r'aria-labelledby="([^\s"]+)')


@dataclass(frozen=True)
class Figures:
    """One language's drawings."""

    named: dict[str, str]  # where the site has each, by its identifier
    drawn: dict[str, str]  # each as a file of its own, by its place in the site


def figures_of(language: str, root: str) -> Figures:
    """Return the drawings of the edition that is published below `root`."""
    named, drawn = {}, {}
    colours = light(STYLES.read_text(encoding="utf-8"))
    for file in sorted(DOCS.glob("**/made/*.svg")):
        name, *translated = file.name.removesuffix(".svg").split(".")
        if translated == ([language] if root else []):
            folder = folder_of(file).replace("-", "_") or "index"
            place = f"{root}assets/figures/{folder}/{name}.svg"
            svg = file.read_text(encoding="utf-8")
            named[NAME.findall(svg)[0]] = place
            drawn[place] = coloured(svg, colours)
    return Figures(named, drawn)


@cache
def coloured(svg: str, light: tuple[tuple[str, str], ...]) -> str:
    """Return a drawing that stands alone: on white, in the colours of the site's light palette."""
    colours = dict(light)
    svg = re.sub(r"var\((--[\w-]+)\)", lambda match: colours[match[1]], svg)
    svg = svg.replace("currentColor", colours["--md-default-fg-color"])
    svg = re.sub("</?a[^>]*>", "", svg)  # a stage of the map leads nowhere from outside its page
    return svg.replace("</desc>", '</desc>\n<rect width="100%" height="100%" fill="#fff" />', 1)


def light(styles: str) -> tuple[tuple[str, str], ...]:
    """Return the colours of the light palette: the first of a name counts."""
    return tuple(reversed(re.findall(r"(--[\w-]+): (#\w+);", styles)))
