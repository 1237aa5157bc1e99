"""Every block, as copied from the built site, runs in a fresh interpreter."""

from docs._tools import blocks, built
from tests.conftest import Site
from tests.site.test_census import run_isolated


def test_every_copied_block_runs_in_a_fresh_interpreter(site: Site) -> None:
    shown = {block for page in site.pages.values() for block in built.python_blocks(page)}
    for block in sorted(shown):
        if not blocks.skip_reason(block):
            run_isolated(block)
