"""Every block, as copied from the built site, runs in a fresh interpreter."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docs._tools import blocks, built
from tests.conftest import Site
from tests.site.test_alone import run_isolated
from tests.site.test_takeaway import asked, environment, reader, run

__all__ = ["reader"]

# a process each, forked after PyTorch was imported
APART = (
    "import os\nif os.fork():\n    assert os.wait()[1] == 0, {0!r}\n"
    "else:\n    exec({0!r})\n    os._exit(0)"
)


def runnable(site: Site) -> list[str]:
    """Return the blocks of all pages that do not say that they cannot run here."""
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    return [block for block in sorted(shown) if not blocks.skip_reason(block)]


@pytest.mark.complete
def test_every_copied_block_runs_in_a_fresh_interpreter(site: Site) -> None:
    with ThreadPoolExecutor(2) as pool:  # the work is done by the interpreters it starts
        list(pool.map(run_isolated, runnable(site)))


def test_every_copied_block_runs_in_what_the_line_on_the_page_makes(
    site: Site, reader: Path
) -> None:
    alone = [block for block in runnable(site) if not blocks.packages_of(block)]
    run(reader, ["import torch", *(APART.format(block) for block in alone)])


def test_a_block_that_asks_for_more_runs_with_what_its_first_line_installs(
    site: Site, tmp_path: Path
) -> None:
    more = [block for block in runnable(site) if blocks.packages_of(block)]
    assert more
    python = environment(tmp_path, asked(site).union(*map(blocks.packages_of, more)))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-index"]
    subprocess.run([*pip, *site.path.glob("*.whl")], check=True, capture_output=True)  # noqa: S603
    run(python, ["import torch", *(APART.format(block) for block in more)])
