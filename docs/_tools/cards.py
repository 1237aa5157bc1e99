"""The picture that other sites show of a link to a page: its title, what it says, a drawing of it.

`make figures` draws `made/card.png` and `card.zh.png` of each page, in Chromium, with the system's
fonts (DejaVu Sans and Noto Sans CJK SC on Debian). A card remembers what it was drawn from, and is
drawn again only if that has changed. Building the site takes the cards as they are.
"""

import io
import re
import shutil
import sys
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import yaml
from PIL import Image, ImageColor
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import sync_playwright

from docs._tools.editions import Edition, editions
from docs._tools.finish.cards import NAMES
from docs._tools.finish.figures import STYLES, coloured, light
from docs._tools.page import DOCS, folders, place_of, title_of

WIDTH, HEIGHT = 1200, 630
# ground, ink and the figures' colours, and what lies between each and the white that it stands on
DARK = ("#272c63", "#1e2133", "#3f4bb8", "#00717d")
COLOURS = ("#ffffff", "#e9ebf7", "#b9bddd", "#d6d9ef")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
DRAWING = re.compile(r'^ *--8<-- "docs/(\S+/made/\S+\.svg)"', re.M)
ORIENTATION = "stage-line"  # on every page, and so of none


def words(edition: Edition, folder: str) -> dict[str, str]:
    """Return what a page's card says: site and part, title and description."""
    text = (DOCS / folder / edition.source("index.md")).read_text(encoding="utf-8")
    front = yaml.safe_load(text.split("---")[1])
    title = front.get("headline") or title_of(folder, edition.language)
    part = _part(edition.config["nav"], f"{folder}/index.md".lstrip("/"))
    return {
        "part": " · ".join(filter(None, (edition.config["site_name"], part))),
        "title": title.replace("`", ""),
        "description": front["description"],
    }


def _part(nav: list[Any], page: str) -> str:
    """Return the tab that holds a page, "" if none does."""
    for item in nav:
        for title, children in item.items() if isinstance(item, dict) else ():
            if f"'{page}'" in repr(children):  # however deep it lies
                return str(title)
    return ""


def card_page(edition: Edition, folder: str) -> str:
    """Return the card as HTML, which draws it."""
    template = (Path(__file__).parent / "skeleton/card.html").read_text(encoding="utf-8")
    said = {name: escape(text) for name, text in words(edition, folder).items()}
    text = (DOCS / folder / edition.source("index.md")).read_text(encoding="utf-8")
    drawings = [name for name in DRAWING.findall(text) if ORIENTATION not in name]
    drawing = _mark()
    if drawings:
        colours = light(STYLES.read_text(encoding="utf-8"))
        drawing = coloured((DOCS / drawings[0]).read_text(encoding="utf-8"), colours)
    return Template(template).substitute(said, language=edition.language, drawing=drawing)


def _mark() -> str:
    """Return the drawing of a page that has none: words that see themselves and those before."""
    cells = (
        f'<rect x="{10 * key}" y="{10 * query}" width="9" height="9" rx="1" '
        f'fill="{DARK[2] if key <= query else COLOURS[1]}"/>'
        for query in range(5)
        for key in range(5)
    )
    return f'<svg viewBox="0 0 49 49">{"".join(cells)}</svg>'


def stale(page: str = "") -> Iterator[tuple[Path, Edition, str]]:
    """Yield each card that is not of the present page: its file, what is to be drawn, its page."""
    for edition in editions():
        listed = {place_of(source).folder for source in edition.sources}
        for folder in folders():
            if page in ("", folder) and folder in listed:
                html = card_page(edition, folder)
                file = DOCS / folder / "made" / NAMES[edition.language]
                if remembered(file).get("drawn from") != _digest(html):
                    yield file, edition, folder


def remembered(file: Path) -> dict[str, str]:
    """Return the words of a card that is there, and a digest of all that it was drawn from."""
    if not file.is_file():
        return {}
    with Image.open(file) as image:
        image.load()
        return {str(name): str(text) for name, text in image.info.items() if isinstance(text, str)}


def _digest(html: str) -> str:
    return sha256(html.encode()).hexdigest()


def write(page: str = "") -> None:
    """Draw the cards of all pages, or of one, that are not of what the page says now."""
    wanted = list(stale(page))
    if not wanted:
        return
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"{len(wanted)} cards are to be drawn, and no Chromium is here to draw them")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        tab = chromium.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        for file, edition, folder in wanted:
            html = card_page(edition, folder)
            tab.set_content(html)
            file.parent.mkdir(parents=True, exist_ok=True)
            told = {**words(edition, folder), "drawn from": _digest(html)}
            file.write_bytes(_small(tab.screenshot(), told))
        chromium.close()


def _palette() -> Image.Image:
    """Return the card's colours, with two steps from each dark one to white."""
    chosen = [ImageColor.getrgb(colour) for colour in COLOURS]
    for dark in map(ImageColor.getrgb, DARK):
        chosen += [tuple(c + (255 - c) * step // 3 for c in dark) for step in range(3)]
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour in chosen for part in colour])
    return palette


def _small(png: bytes, told: dict[str, str]) -> bytes:
    """Return a picture with few colours that holds these words, readable by programs."""
    with Image.open(io.BytesIO(png)) as image:
        few = image.convert("RGB").quantize(palette=_palette(), dither=Image.Dither.NONE)
    info = PngInfo()
    for name, text in told.items():
        info.add_itxt(name, text)
    file = io.BytesIO()
    few.save(file, "PNG", optimize=True, pnginfo=info)
    return file.getvalue()
