"""Every block, as copied from the built site, runs in a fresh interpreter."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docs._tools import blocks, built
from tests.conftest import Site
from tests.site.test_alone import run_isolated
from tests.site.test_takeaway import reader, run

__all__ = ["reader"]


@pytest.mark.complete
def test_every_copied_block_runs_in_a_fresh_interpreter(site: Site) -> None:
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    runnable = [block for block in sorted(shown) if not blocks.skip_reason(block)]
    with ThreadPoolExecutor(2) as pool:  # the work is done by the interpreters it starts
        list(pool.map(run_isolated, runnable))


def test_every_copied_block_runs_in_what_the_line_on_the_page_makes(
    site: Site, reader: Path
) -> None:
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    runnable = [block for block in sorted(shown) if not blocks.skip_reason(block)]
    # a process each, forked after PyTorch was imported
    apart = (
        "import os\nif os.fork():\n    assert os.wait()[1] == 0, {0!r}\n"
        "else:\n    exec({0!r})\n    os._exit(0)"
    )
    run(reader, ["import torch", *(apart.format(block) for block in runnable)])
