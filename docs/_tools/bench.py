"""Run the measured comparisons that pages show and store them beside the pages."""

import os
import sys

from docs._kit.measured import store
from docs._tools.page import DOCS, folders, page_module


def measure_chapters(page: str) -> None:
    """Run the benchmark of a page, or all; store what it measured, for `make outputs figures`."""
    for folder in folders():
        if page in ("", folder) and (DOCS / folder / "benchmark.py").is_file():
            print(f"\n## {folder}\n")
            found = page_module(folder, "benchmark").measure()
            store(DOCS / folder, found)
            print((DOCS / folder / "measured.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    if os.environ.get("CI"):
        sys.exit("measurements are stored by a person, who reads the change: not under CI")
    measure_chapters(sys.argv[1] if len(sys.argv) > 1 else "")
