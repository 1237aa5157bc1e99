"""The English pages come out of Zensical as they come out of MkDocs, for the day MkDocs ends."""

import shutil
import subprocess
import sys
from typing import NamedTuple
from xml.etree.ElementTree import Element

import pytest

from tests.conftest import ROOT, Site


class Shown(NamedTuple):
    headings: list[tuple[str, str, str]]
    blocks: list[str]
    formulas: list[str]


def shown(tree: Element) -> Shown:
    """Return what both engines must show of a page, in order."""

    def text(element: Element) -> str:
        return "".join(element.itertext()).strip()

    headings = [e for e in tree.iter() if e.tag in {"h1", "h2", "h3", "h4", "h5", "h6"}]
    return Shown(
        [(e.tag, e.get("id") or "", text(e)) for e in headings],
        [text(e) for e in tree.iter("pre")],
        [text(e) for e in tree.iter("annotation")],
    )


@pytest.fixture(scope="module")
def zensical(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Build in a copy: Zensical writes its pages and a cache beside its configuration."""
    copy = tmp_path_factory.mktemp("zensical")
    for folder in ("docs", "attn_docs"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("mkdocs.yml", "zensical.yml"):
        shutil.copy(ROOT / file, copy)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", "zensical.yml"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stdout + done.stderr
    return Site(copy / "site")


def test_same_addresses(site: Site, zensical: Site):
    english = {url for url in site.pages if not url.startswith("zh/")}
    assert set(zensical.pages) == english


def test_same_headings_blocks_and_formulas(site: Site, zensical: Site):
    for url in zensical.pages:
        ours, theirs = shown(site.tree(url)), shown(zensical.tree(url))
        for part in Shown._fields:
            assert getattr(theirs, part) == getattr(ours, part), f"{url}: {part}"
