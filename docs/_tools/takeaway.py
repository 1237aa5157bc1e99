"""MkDocs hook: what readers and programs take along, made while the site is built.

Every page gets a Markdown twin, every chapter a Jupyter notebook and its blocks as scripts. The
site carries the package's wheel. partials/takeaway.html and llms.html in docs/_theme lead to them.
"""

import base64
import functools
import hashlib
import io
import json
import re
import tempfile
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
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from docs._tools.blocks import ROOT

BLOCK = re.compile(r'(<div class="(language-\w+) [^>]*>.*?<pre)>(.*?)</pre>', re.S)
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
    exclude_selectors=["form", "button", "script", ".headerlink"],
)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
CSS = (ROOT / "docs/assets/stylesheets/attn-docs.css").read_text(encoding="utf-8")
LIGHT = dict(reversed(re.findall(r"(--[\w-]+): (#\w+);", CSS)))  # the first of a name counts
state: dict[str, Navigation] = {}  # MkDocs passes it before the pages have their content


def coloured(svg: str) -> str:
    """Return a figure that stands alone: on white, in the colours of the site's light palette."""
    svg = re.sub(r"var\((--[\w-]+)\)", lambda match: LIGHT[match[1]], svg)
    svg = svg.replace("currentColor", LIGHT["--md-default-fg-color"])
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
    text = convert(html, OPTIONS).content or ""
    return re.sub("\ue000(\\d+)\ue001", lambda match: formulas[int(match[1])], text)


def relinked(text: str, change: Callable[[str], str]) -> str:
    """Change the addresses of links and images that lead to other files of the site."""
    return LINK.sub(lambda m: m[0] if m[0].lstrip()[0] in "`$#" else change(m[0]), text)


def notebook(text: str, install: str) -> str:
    """Return a page as a notebook: each Python block a cell, the text between two another."""
    title, _, text = re.sub(" {#[^}]*}$", "", text, flags=re.M).partition("\n\n")
    sources, end = [title, f"%pip install --quiet {install}"], 0
    for block in CODE.finditer(text):
        sources += [text[end : block.start(2)], block[3]]
        end = block.end()
    cells = []
    for number, source in enumerate([*sources, text[end:]]):
        cell = {"id": f"cell-{number}", "metadata": {}, "source": source.strip("\n")}
        code = {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell | (code if number % 2 else {"cell_type": "markdown"}))
    whole = {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def scripts(name: str, text: str) -> bytes:
    """Return a page's blocks as an archive; numbers keep the reading order."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for number, block in enumerate(CODE.finditer(text), start=1):
            entry = zipfile.ZipInfo(f"{name}/{number:02}_{basename(block[1])}")
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, block[3], zipfile.ZIP_DEFLATED)
    return held.getvalue()


@functools.cache
def wheel(digest: str) -> tuple[str, bytes]:
    """Return name and bytes of the package's wheel; its version tells what it holds.

    Of a version that is installed already pip installs nothing: a reader would keep older code.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project["project"]["version"] += f".post{int(digest[:7], 16)}"
    builder = WheelBuilder(str(ROOT), metadata=ProjectMetadata(str(ROOT), PluginManager(), project))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(next(builder.build(directory=folder, versions=["standard"])))
        return path.name, path.read_bytes()


@event_priority(-150)  # once the titles are in the page's language
def on_nav(nav: Navigation, **_: object) -> None:
    """Remember the order of the pages."""
    state["nav"] = nav


@event_priority(-150)  # once all links are resolved
def on_env(env: Environment, config: MkDocsConfig, files: Files) -> None:
    """Write what is taken along, and lead to it from the pages."""
    package = [*sorted((ROOT / "attn_docs").rglob("*")), ROOT / "pyproject.toml"]
    content = [f.read_bytes() for f in package if f.is_file() and "__pycache__" not in f.parts]
    wheel_name, wheel_bytes = wheel(hashlib.sha256(b"\0".join(content)).hexdigest())
    pages, figures, drawn = state["nav"].pages, {}, {}
    root = dirname(pages[0].file.dest_uri)
    for file in files:
        if file.src_uri.startswith("assets/figures/"):
            file.content_string = drawn[file.dest_uri] = coloured(file.content_string)
            figures[SVG.findall(file.content_string)[0]] = file.dest_uri

    def write(path: str, content: bytes) -> None:
        file = Path(config.site_dir, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def place(path: str, folder: str = root) -> str:
        return urljoin(config.site_url, path) if config.site_url else relpath(path, folder or ".")

    def take(page: Page) -> str:
        uri, source = page.file.dest_uri, page.file.src_uri
        folder, name = dirname(uri), basename(source).split(".")[0]
        text = markdown(str(page.content), folder, figures)
        page.twin = uri.removesuffix("html") + "md"

        def twin(link: str) -> str:
            return re.sub(r"\.html(?=#|$)", ".md", re.sub("/(?=#|$)", "/index.md", link))

        def alone(link: str) -> str:
            if svg := drawn.get(normpath(join(folder, link))):
                return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
            return urljoin(f"{config.site_url}{page.url}", link) if config.site_url else link

        write(page.twin, relinked(text, twin).encode())
        taken = {"md": page.twin}
        if "/" in source and not source.startswith("reference/"):
            taken = {kind: join(folder, f"{name}.{kind}") for kind in ("ipynb", "zip")} | taken
            whole = notebook(relinked(text, alone), place(wheel_name, folder))
            write(taken["ipynb"], whole.encode())
            write(taken["zip"], scripts(name, text))
        made = env.get_template("partials/takeaway.html").make_module(
            {
                "config": config,
                "name": name,
                "files": taken,
                "wheel": wheel_name,
                "here": functools.partial(relpath, start=folder or "."),
            }
        )
        start, block, rest = str(page.content).partition('<div class="language-python')
        if folder != root:
            start = start.replace("</h1>", f"</h1>\n{made.links}", 1)
        page.content = f"{start}{made.install if block else ''}\n{block}{rest}"
        moved = relinked(text, lambda link: place(normpath(join(folder, twin(link)))))
        return f"<{place(page.twin)}>\n\n{moved}"

    write(wheel_name, wheel_bytes)
    whole = "\n---\n\n".join(map(take, pages))
    write(join(root, "llms-full.txt"), whole.encode())
    template = env.get_template("partials/llms.html")
    short = template.render(config=config, nav=state["nav"], place=place, wheel=wheel_name)
    write(join(root, "llms.txt"), short.encode())
