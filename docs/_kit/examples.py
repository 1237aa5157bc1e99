"""What the programs that a page shows have computed, for its figures, tables and sentences."""

import contextlib
import io
import runpy
from functools import cache
from typing import Any

import torch

from docs._tools.blocks import ROOT


@cache
def example(path: str) -> dict[str, Any]:
    """Run a program of attn_docs/examples, such as "model/block/core"; return its names.

    A program that turns gradients off turns them off for itself.
    """
    gradients = torch.set_grad_enabled(torch.is_grad_enabled())
    with gradients, contextlib.redirect_stdout(io.StringIO()):
        return runpy.run_path(str(ROOT / f"attn_docs/examples/{path}.py"))
