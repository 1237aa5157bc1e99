"""What holds for every figure: how it is built into pages, read aloud, and coloured."""

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from docs._kit.draw import SHADE

SVG = "{http://www.w3.org/2000/svg}"
DOCS = Path(__file__).parents[1] / "docs"
CSS = DOCS / "assets" / "stylesheets" / "attn-docs.css"
COLOURS = {
    "none",
    "currentColor",
    "var(--figure-accent)",
    "var(--figure-accent-2)",
    "var(--figure-soft)",
    "var(--figure-on-accent)",
}
# as they are in the tree: tests/site/test_generated.py draws them anew and compares
FIGURES = [
    SimpleNamespace(
        place=file.relative_to(DOCS).with_suffix("").as_posix().replace("made/", ""),
        language=language,
        svg=(svg := file.with_suffix(suffix).read_text(encoding="utf-8").strip()),
        root=ET.fromstring(svg),  # noqa: S314 - our own
    )
    for file in sorted(DOCS.glob("**/made/*.svg"))
    if not file.name.endswith(".zh.svg")
    for language, suffix in (("en", ".svg"), ("zh", ".zh.svg"))
]
every_figure = pytest.mark.parametrize(
    "figure", FIGURES, ids=[f"{figure.place}-{figure.language}" for figure in FIGURES]
)


@every_figure
def test_figure_is_one_block_of_html(figure):
    assert figure.svg.startswith("<svg ")
    assert figure.svg.endswith("</svg>")
    assert all(line.strip() for line in figure.svg.splitlines())
    assert "<!" not in figure.svg
    assert "<?" not in figure.svg
    assert {element.tag.removeprefix(SVG) for element in figure.root.iter()} <= {
        *("svg", "title", "desc", "g", "path", "rect", "line", "text", "a")
    }


@every_figure
def test_figure_has_title_and_description_in_its_language(figure):
    # the parts of an img are not read aloud, and its links could not be found
    links = figure.root.find(f".//{SVG}a") is not None
    assert figure.root.get("role") == ("group" if links else "img")
    named = {element.get("id"): element for element in figure.root.iter() if element.get("id")}
    told = figure.root.attrib["aria-labelledby"] + " " + figure.root.get("aria-describedby", "")
    title, desc = (named[name] for name in told.split())
    assert [title.tag, desc.tag] == [f"{SVG}title", f"{SVG}desc"]
    assert list(figure.root)[:2] == [title, desc]
    for element in (title, desc):
        assert element.text
        assert bool(re.search("[一-鿿]", element.text)) == (figure.language == "zh")
        assert not re.search(r"[{}]", element.text)
    assert desc.text.rstrip("。.") != title.text


@every_figure
def test_no_text_of_an_english_figure_is_chinese(figure):
    texts = " ".join(text.text or "" for text in figure.root.iter(f"{SVG}text"))
    if figure.language == "en":
        assert not re.search("[一-鿿]", texts)
    else:
        assert re.search("[一-鿿]", texts)


@every_figure
def test_figure_takes_font_and_colours_from_the_page(figure):
    for element in figure.root.iter():
        assert not {"style", "font-family", "font"} & set(element.attrib)
        assert not [name for name in element.attrib if "}href" in name or name.startswith("on")]
        # a page of this site, whose address the build makes
        assert re.fullmatch(r"[\w/-]+\.md(#[\w-]+)?", element.get("href", "page.md"))
        assert "url(" not in " ".join(element.attrib.values())
        for name in ("fill", "stroke"):
            assert element.get(name, "none") in COLOURS
    assert figure.root.get("fill") == "currentColor"
    for text in figure.root.iter(f"{SVG}text"):
        assert text.get("fill", "currentColor") in {"currentColor", "var(--figure-on-accent)"}


@every_figure
def test_figure_is_readable_on_a_phone(figure):
    left, top, width, _ = map(float, figure.root.attrib["viewBox"].split())
    assert (left, top) == (0, 0)
    assert width <= 400
    assert "height" not in figure.root.attrib
    sizes = [float(text.attrib["font-size"]) for text in figure.root.iter(f"{SVG}text")]
    assert sizes
    assert min(sizes) >= 11


@every_figure
def test_figure_is_small(figure):
    assert len(figure.svg.encode()) < 20_000
    assert not re.search(r"\d\.\d{3}", figure.svg.partition("</desc>")[2].replace(">0.", ">"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_two_figures_share_an_id(language):
    ids = Counter(
        element.get("id")
        for figure in FIGURES
        if figure.language == language
        for element in figure.root.iter()
        if element.get("id")
    )
    assert len(ids) == len(FIGURES) > 100
    assert set(ids.values()) == {1}
    assert all(name.startswith("figure-") for name in ids)


def test_languages_draw_the_same_shapes():
    for english, chinese in zip(FIGURES[::2], FIGURES[1::2], strict=True):
        assert english.place == chinese.place
        for tag in ("rect", "path", "line"):
            shapes = [list(figure.root.iter(f"{SVG}{tag}")) for figure in (english, chinese)]
            assert len(shapes[0]) == len(shapes[1])


def luminance(colour: tuple[float, ...]) -> float:
    """Return the relative luminance that WCAG defines."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def rgb(colour: str) -> tuple[float, ...]:
    """Return a colour such as #fff or #3f4bb8 as three numbers from 0 to 1."""
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    return tuple(int(digits[index : index + 2], 16) / 255 for index in (0, 2, 4))


def blend(top: tuple[float, ...], bottom: tuple[float, ...], opacity: float) -> tuple[float, ...]:
    return tuple(opacity * t + (1 - opacity) * b for t, b in zip(top, bottom, strict=True))


@pytest.mark.parametrize("palette", [0, 1], ids=["light", "dark"])
def test_text_keeps_its_contrast_on_every_background_of_figures(palette):
    css = CSS.read_text(encoding="utf-8")

    def variable(name: str) -> tuple[float, ...]:
        return rgb(re.findall(rf"--figure-{name}: (#\w+);", css)[palette])

    if palette == 0:  # Material's own: black at 87 % on white
        page, text = rgb("#fff"), (0.13, 0.13, 0.13)
    else:
        page, text = (
            rgb(re.findall(rf"--md-default-{name}-color: (#\w+);", css)[-1])
            for name in ("bg", "fg")
        )
    assert contrast(text, page) >= 4.5
    assert contrast(text, variable("soft")) >= 4.5
    assert contrast(text, blend(variable("accent"), page, SHADE)) >= 4.5
    assert contrast(variable("on-accent"), variable("accent")) >= 4.5
    link = rgb(re.findall(r"--md-typeset-a-color: (#\w+);", css)[palette])
    assert contrast(link, variable("soft")) >= 4.5
    assert contrast(variable("accent"), page) >= 3
    assert contrast(variable("accent-2"), page) >= 3


MISFITS = """() => {
  const misfits = []
  for (const svg of document.querySelectorAll("svg")) {
    const edge = svg.getBoundingClientRect()
    const texts = [...svg.querySelectorAll("text")]
      .map(e => [e.textContent, e.getBoundingClientRect()])
    texts.forEach(([text, r], index) => {
      if (r.left < edge.left - 1 || r.right > edge.right + 1 || r.top < edge.top - 1 ||
          r.bottom > edge.bottom + 1) misfits.push(["outside", text])
      for (const [other, o] of texts.slice(index + 1)) {
        const across = Math.min(r.right, o.right) - Math.max(r.left, o.left)
        const down = Math.min(r.bottom, o.bottom) - Math.max(r.top, o.top)
        if (across > 1 && down > 3) misfits.push(["overlap", text, other])
      }
    })
  }
  return misfits
}"""


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_text_leaves_its_figure_or_covers_another(browser, language):
    page = browser.new_page(viewport={"width": 360, "height": 800})
    svgs = "".join(figure.svg for figure in FIGURES if figure.language == language)
    look = "<!doctype html><body style='margin: 16px; font-family: system-ui, sans-serif'>"
    page.set_content(look + svgs.replace("<svg ", "<svg style='display: block; max-width: 100%' "))
    assert page.evaluate(MISFITS) == []
    page.close()
