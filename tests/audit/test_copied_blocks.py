"""Every block, as copied from the built site, runs in a fresh interpreter."""

from concurrent.futures import ThreadPoolExecutor

from docs._tools import blocks, built
from tests.conftest import Site
from tests.site.test_alone import run_isolated


def test_every_copied_block_runs_in_a_fresh_interpreter(site: Site) -> None:
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    runnable = [block for block in sorted(shown) if not blocks.skip_reason(block)]
    with ThreadPoolExecutor(2) as pool:  # the work is done by the interpreters it starts
        list(pool.map(run_isolated, runnable))
