"""What readers and programs take along holds what the pages show, and the wheel their code."""

import io
import json
import re
import shlex
import site as interpreter
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from posixpath import basename, dirname, join, normpath
from urllib.parse import urldefrag
from xml.etree import ElementTree as ET

import nbformat
import pytest

from docs._tools import blocks, built, takeaway
from tests.conftest import ROOT, Site

SVG_IMAGE = re.compile(r"\]\(data:image/svg\+xml;base64,")


def chapters(site: Site) -> list[str]:
    return [url for url in site.pages if (site.pages[url].parent / f"{slug(url)}.ipynb").is_file()]


def slug(url: str) -> str:
    return basename(url.rstrip("/"))


def links(text: str) -> list[str]:
    found: list[str] = []
    takeaway.relinked(text, lambda link: found.append(link) or link)
    return found


def flat(tex: str) -> str:
    return re.sub(r"\\vert(?: |$)|\|", "|", " ".join(tex.split())).replace(" ", "")


def test_twins_say_what_the_pages_show(site: Site):
    for url, page in site.pages.items():
        text = page.with_suffix(".md").read_text(encoding="utf-8")
        fences = re.findall(r"^( *)(`{3,})python\n(.*?)^ *\2$", text, re.M | re.S)
        code = [re.sub(f"^{indent}", "", body, flags=re.M) for indent, _, body in fences]
        assert [c.strip() for c in code] == [c.strip() for c in built.python_blocks(page)], url
        for link in links(text):
            target = normpath(join(url, urldefrag(link).url))
            assert (site.path / target).is_file(), f"{url}: {link}"
            assert not target.endswith(".html"), f"{url}: {link} leaves the twins"
        tree = site.tree(url)
        formulas = [flat("".join(e.itertext())) for e in tree.iter("annotation")]
        assert [flat(tex) for tex in FORMULA.findall(prose)] == formulas, url
