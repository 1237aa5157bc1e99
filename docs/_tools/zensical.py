"""Build the site with Zensical, which takes one language at a time: what it moves to one day.

    python -m docs._tools.zensical site

Zensical knows no translations beside their pages: they are copied to where they are published,
and each language is built with what mkdocs.yml says of it. The API reference, which is in English,
is built beside the Chinese pages too, for their links to lead there, and thrown away.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

from docs._tools.blocks import ROOT
from docs._tools.editions import Edition, editions
from docs._tools.finish import finish
from docs._tools.page import DOCS, place_of, sources


def build(site: Path) -> None:
    """Build both languages into a folder, and finish them as MkDocs' are finished."""
    with tempfile.TemporaryDirectory() as scratch:
        stage = Path(scratch)
        _stage_pages(stage / "docs")
        for edition in editions():
            configuration = stage / f"{edition.language}.yml"
            text = yaml.safe_dump(_config(edition), allow_unicode=True, sort_keys=False)
            configuration.write_text(text, encoding="utf-8")
            command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", configuration]
            subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603
            built = stage / f"site-{edition.language}"
            shutil.copytree(built / edition.root, site / edition.root, dirs_exist_ok=True)
    finish(site, editions()[0].config["site_url"] or "")


def _stage_pages(docs: Path) -> None:
    """Copy what is published, each page to the folder that it is published in."""
    shutil.copytree(DOCS, docs, ignore=shutil.ignore_patterns("_*", "made", "*.zh.md"))
    for edition in editions():
        for source in sources():
            if edition.root and place_of(source).language == edition.language:
                page = docs / edition.root / place_of(source).folder / "index.md"
                page.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(DOCS / source, page)


def _config(edition: Edition) -> dict[str, Any]:
    """Return what Zensical builds a language from: paths are found from its file or from here."""
    config = dict(edition.config)
    others = [f"/{other.root}\n" for other in editions() if other.root and other != edition]
    config["exclude_docs"] += "".join(others)
    config["site_url"] = config["site_url"] or None
    config["site_dir"] = f"site-{edition.language}"
    config["theme"] = {**config["theme"], "custom_dir": str(ROOT / config["theme"]["custom_dir"])}
    config["nav"] = _below(edition.root, config["nav"])
    links = [{"name": e.name, "link": f"/{e.root}", "lang": e.language} for e in editions()]
    config["extra"] = {**config["extra"], "alternate": links}
    return config


def _below(root: str, nav: list[Any]) -> list[Any]:
    return [
        root + item
        if isinstance(item, str)
        else {title: _below(root, children) for title, children in item.items()}
        for item in nav
    ]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m docs._tools.zensical <the folder to build into>")
    build(Path(sys.argv[1]))
