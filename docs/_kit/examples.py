"""What the programs that a page shows have computed, for its figures, tables and sentences."""

import contextlib
import io
import runpy
from functools import cache
from typing import Any

from docs._tools.blocks import ROOT


@cache
def example(path: str) -> dict[str, Any]:
    """Run a program of attn_docs/examples, such as "model/block/core"; return its names."""
    with contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(ROOT / f"attn_docs/examples/{path}.py"))
