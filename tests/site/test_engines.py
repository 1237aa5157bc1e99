"""The English pages come out of Zensical as they come out of MkDocs, for the day MkDocs ends."""

import shutil
import subprocess
import sys
from xml.etree.ElementTree import Element

import pytest

from tests.conftest import ROOT, Site

SHOWN = {"h1", "h2", "h3", "h4", "h5", "h6", "pre", "annotation"}  # headings, blocks, formulas


def shown(tree: Element) -> list[tuple[str, str | None, str]]:
    """Return what both engines must show of a page, in order."""
    elements = [element for element in tree.iter() if element.tag in SHOWN]
    return [(e.tag, e.get("id"), "".join(e.itertext()).strip()) for e in elements]


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


def test_same_pages(site: Site, zensical: Site):
    assert set(zensical.pages) == {url for url in site.pages if not url.startswith("zh/")}
    for url in zensical.pages:
        assert shown(zensical.tree(url)) == shown(site.tree(url)), url
