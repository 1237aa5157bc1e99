"""What takes too long for every run: all combinations run, and a compiled attention."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from attn_docs.kernels.which_kernel import BACKENDS
from docs._tools.blocks import ROOT
from docs._tools.page import page_module

tables = page_module("kernels/which-kernel", "tables")
COMPILED = ROOT / "attn_docs/examples/kernels/which_kernel/compiled.py"


def kernels(cases: list) -> Iterator[str]:
    """Yield the backend of each call, all of them run under one profiler."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for case in cases:
            tensors, options = case.call()
            F.scaled_dot_product_attention(*tensors, **options)
    events = profiler.profiler.kineto_results.events()
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() in BACKENDS:
            yield BACKENDS[event.name()]


def test_all_combinations_run_the_kernel_that_the_page_predicts() -> None:
    cases = list(tables.combinations())
    for case, kernel in zip(cases, kernels(cases), strict=True):
        assert kernel == ("FLASH_ATTENTION" if case.fused else "MATH"), case


def test_compiling_replaces_the_written_out_form() -> None:
    source = COMPILED.read_text(encoding="utf-8")
    wanted = [line[3:] for line in source.splitlines() if line.startswith("#> ")]
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(COMPILED)], capture_output=True, text=True, check=False
    )
    if "InvalidCxxCompiler" in done.stderr:
        pytest.skip("needs a C++ compiler")
    assert done.stdout.splitlines() == wanted, done.stderr[-2000:]
