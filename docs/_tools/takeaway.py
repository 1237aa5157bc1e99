"""MkDocs hook: what readers and programs take along, made while the site is built.

Every page gets a Markdown twin, every chapter a Jupyter notebook and its blocks as scripts. The
site carries the package's wheel. partials/takeaway.html and llms.html in docs/_theme lead to them.
"""

import base64
import hashlib
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable
from html import escape, unescape
from pathlib import Path
from posixpath import basename, dirname, join, normpath, relpath
from urllib.parse import urljoin

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
from html_to_markdown import ConversionOptions, convert
from jinja2 import Environment
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils import write_file

from docs._tools.blocks import ROOT
from docs._tools.page import DOCS, place_of

BLOCK = re.compile(r'(<div class="(language-\w+) [^>]*>.*?<pre)[^>]*>(.*?)</pre>', re.S)
MATH = re.compile(r"<math([^>]*)>.*?<annotation[^>]*>(.*?)</annotation></semantics></math>", re.S)
SVG = re.compile(r'<svg[^>]*aria-labelledby="(\S+) .*?</svg>', re.S)
HEADING = re.compile(r'(<h[2-6] id="([^"]+)".*?)(?=</h)', re.S)
# matched as well, to be left alone: fences, code in a line, formulas
LINK = re.compile(
    r"^ *(`{3,}).*?^ *\1$|`[^`\n]+`|(\$\$?)[^$]+\2|(?<=\]\()(?!\w+:)[^)\s]+", re.M | re.S
)
CODE = re.compile(r"(?:`(\S+)`\n\n)?^(`{3,})python\n(.*?)^\2$", re.M | re.S)
OPTIONS = ConversionOptions(
    compact_tables=True,
    extract_metadata=False,
    exclude_selectors=["form", "button", "script", ".headerlink", ".ran", ".symbols"],
)
# the first cell of a notebook undoes before each cell what one block sets and others print with
ALONE = """
import torch

get_ipython().events.register("pre_run_cell", lambda _: torch.set_printoptions(profile="default"))
"""
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
CSS = (ROOT / "docs/assets/stylesheets/attn-docs.css").read_text(encoding="utf-8")
LIGHT = dict(reversed(re.findall(r"(--[\w-]+): (#\w+);", CSS)))  # the first of a name counts
state: dict[str, Navigation] = {}  # MkDocs passes it before the pages have their content


def coloured(svg: str) -> str:
    """Return a figure that stands alone: on white, in the colours of the site's light palette."""
    svg = re.sub(r"var\((--[\w-]+)\)", lambda match: LIGHT[match[1]], svg)
    svg = svg.replace("currentColor", LIGHT["--md-default-fg-color"])
    svg = re.sub("</?a[^>]*>", "", svg)  # a stage of the map leads nowhere from outside its page
    return svg.replace("</desc>", '</desc>\n<rect width="100%" height="100%" fill="#fff" />', 1)


def markdown(html: str, folder: str, figures: dict[str, str]) -> str:
    """Return a page's HTML, in which the build has resolved everything, as Markdown."""
    formulas: list[str] = []

    def block(match: re.Match[str]) -> str:
        opening = re.sub(
            r'<span class="filename">(.*?)</span>', r"<p><code>\1</code></p>", match[1]
        )
        return f'{opening}><code class="{match[2]}">{re.sub("<[^>]*>", "", match[3])}</code></pre>'

    def formula(match: re.Match[str]) -> str:
        tex, bar = " ".join(unescape(match[2]).split()), r"\vert "  # a | would end a table's cell
        formulas.append(f"$${tex}$$" if "block" in match[1] else f"${tex.replace('|', bar)}$")
        return f"\ue000{len(formulas) - 1}\ue001"

    def image(match: re.Match[str]) -> str:
        told = re.findall(r"<(?:title|desc)[^>]*>(.*?)</", match[0], re.S)
        alt = escape(": ".join(" ".join(unescape(text).split()) for text in told))
        return f'<img src="{relpath(figures[match[1]], folder or ".")}" alt="{alt}">'

    html = HEADING.sub(r"\1 {#\2}", SVG.sub(image, MATH.sub(formula, BLOCK.sub(block, html))))
    # Markdown ends nothing bold between a full stop and a letter, as Chinese has it
    html = re.sub(r"([。：？”]+)(</strong>|</em>)(?=\w)", r"\2\1", html)
    text = convert(html, OPTIONS).content or ""
    return re.sub("\ue000(\\d+)\ue001", lambda match: formulas[int(match[1])], text)


def relinked(text: str, change: Callable[[str], str]) -> str:
    """Change the addresses of links and images that lead to a place of the site."""
    return LINK.sub(lambda m: m[0] if m[0].lstrip()[0] in "`$" else change(m[0]), text)


def notebook(text: str, install: str) -> bytes:
    """Return a page as a notebook: each Python block a cell, the text between two another."""
    title, _, text = re.sub(" {#[^}]*}$", "", text, flags=re.M).partition("\n\n")
    sources, end = [title, f"%pip install --quiet {install}\n{ALONE}"], 0
    for block in CODE.finditer(text):
        sources += [text[end : block.start(2)], block[3]]
        end = block.end()
    cells = []
    for number, source in enumerate([*sources, text[end:]]):
        cell = {"id": f"cell-{number}", "metadata": {}, "source": source.strip("\n")}
        code = {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | (code if number % 2 else {"cell_type": "markdown"}))
    whole = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1).encode()


def scripts(name: str, text: str) -> bytes:
    """Return a page's blocks as an archive; numbers keep the reading order."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for number, block in enumerate(CODE.finditer(text), start=1):
            entry = zipfile.ZipInfo(f"{name}/{number:02}_{basename(block[1])}")
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, block[3], zipfile.ZIP_DEFLATED)
    return held.getvalue()


def wheel(folder: str) -> str:
    """Build the package's wheel and return its name; its version tells what it holds.

    Of a version that is installed already pip installs nothing: a reader would keep older code.
    """
    files = sorted(filter(Path.is_file, (ROOT / "attn_docs").rglob("*.*[!c]")))  # no .pyc
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project["project"]["version"] += f".post{int(digest[:7], 16)}"
    builder = WheelBuilder(str(ROOT), metadata=ProjectMetadata(str(ROOT), PluginManager(), project))
    return Path(next(builder.build(directory=folder, versions=["standard"]))).name


@event_priority(-150)  # once the titles are in the page's language
def on_nav(nav: Navigation, **_: object) -> None:
    """Remember the order of the pages."""
    state["nav"] = nav


@event_priority(-150)  # once all links are resolved
def on_env(env: Environment, config: MkDocsConfig, **_: object) -> None:
    """Write what is taken along, and lead to it from the pages."""
    pages, package, figures, drawn = state["nav"].pages, wheel(config.site_dir), {}, {}
    root = dirname(pages[0].file.dest_uri)
    ending = ".zh.svg" if root else ".svg"
    for file in sorted(DOCS.glob(f"**/made/*{ending}")):
        if file.name.endswith(".zh.svg") == bool(root):
            folder = file.parents[1].relative_to(DOCS).as_posix().strip(".").replace("-", "_")
            name = file.name.removesuffix(ending) + ".svg"
            address = join(root, "assets/figures", folder or "index", name)
            drawn[address] = coloured(file.read_text(encoding="utf-8"))
            figures[SVG.findall(drawn[address])[0]] = address
            write_file(drawn[address].encode(), join(config.site_dir, address))

    def place(path: str, folder: str = root) -> str:
        return urljoin(config.site_url, path) if config.site_url else relpath(path, folder or ".")

    def take(page: Page) -> str:
        source, twin = page.file.src_uri, page.file.dest_uri.removesuffix("html") + "md"
        folder, of = dirname(twin), place_of(source)
        name = of.name
        text = markdown(str(page.content), folder, figures)

        def to_twin(link: str) -> str:
            return re.sub(r"\.html(?=#|$)", ".md", re.sub("/(?=#|$)", "/index.md", link))

        def to_page(link: str) -> str:
            if svg := drawn.get(normpath(join(folder, link))):
                return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
            return urljoin(f"{config.site_url}{page.url}", link) if config.site_url else link

        chapter = of.is_chapter
        if chapter:
            book = notebook(relinked(text, to_page), place(package, folder))
            write_file(book, join(config.site_dir, folder, f"{name}.ipynb"))
            write_file(scripts(name, text), join(config.site_dir, folder, f"{name}.zip"))
        write_file(relinked(text, to_twin).encode(), join(config.site_dir, twin))
        known = {"page": page, "name": name, "chapter": chapter, "package": package}
        parts = env.get_template("partials/takeaway.html").make_module({"config": config, **known})
        before, block, rest = str(page.content).partition('<div class="language-python')
        before = before.replace("</h1>", f"</h1>\n{parts.links}", 1)
        page.content = f"{before}{parts.install if block else ''}{block}{rest}"
        page.twin = place(twin)
        moved = relinked(text, lambda link: place(urljoin(twin, to_twin(link))))
        return f"<{page.twin}>\n\n{moved}"

    whole = "\n---\n\n".join(map(take, pages))
    write_file(whole.encode(), join(config.site_dir, root, "llms-full.txt"))
    known = {"config": config, "nav": state["nav"], "package": place(package)}
    listed = env.get_template("partials/llms.html").render(known)
    write_file(listed.encode(), join(config.site_dir, root, "llms.txt"))


def on_post_build(config: MkDocsConfig) -> None:
    """Take back a sitemap of a site that does not know its address."""
    if not config.site_url:
        for file in Path(config.site_dir).glob("sitemap.xml*"):
            file.unlink()
