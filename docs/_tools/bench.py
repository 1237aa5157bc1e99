"""Run the measured comparisons, store those that pages show, and measure the site itself."""

import cProfile
import os
import pstats
import sys
import tempfile
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

from docs._kit.measured import store
from docs._tools import blocks
from docs._tools.page import DOCS, folders, page_module


def measure_chapters() -> None:
    """Run every chapter's benchmark and store what it measured, for `make outputs figures`."""
    for folder in folders():
        if (DOCS / folder / "benchmark.py").is_file():
            print(f"\n## {folder}\n")
            found = page_module(folder, "benchmark").measure()
            store(DOCS / folder, found)
            print((DOCS / folder / "measured.json").read_text(encoding="utf-8"))


def measure_site() -> None:
    """Build the site under the profiler; print our extensions' share."""
    with tempfile.TemporaryDirectory() as site:
        config = load_config(str(blocks.ROOT / "mkdocs.yml"), site_dir=site)
        profile = cProfile.Profile()
        config.plugins.on_startup(command="build", dirty=False)
        profile.runcall(build, config)
        config.plugins.on_shutdown()
        stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
        total = max(cumulative for *_, cumulative, _ in stats.values())
        ours = sum(
            cumulative
            for (file, _, name), (*_, cumulative, _) in stats.items()
            if Path(file).parent.name == "_tools" and name.startswith(("run", "on_"))
        )
        print(f"\n## Site\n\nbuild {total:.1f} s, of which our extensions {ours / total:.1%}")


if __name__ == "__main__":
    if os.environ.get("CI"):
        sys.exit("measurements are stored by a person, who reads the change: not under CI")
    os.chdir(blocks.ROOT)
    measure_chapters()
    measure_site()
