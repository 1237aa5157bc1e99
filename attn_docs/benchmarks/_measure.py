"""Time and peak memory of a function, and where and when they were measured."""

import multiprocessing
import platform
import resource
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from torch.utils.benchmark import Timer

THREADS = 2


def seconds(function: Callable[[], object]) -> float:
    """Return the median time of a call."""
    timer = Timer("function()", globals={"function": function}, num_threads=THREADS)
    return timer.blocked_autorange(min_run_time=0.5).median


def peak_mebibytes(function: Callable[[], object]) -> float:
    """Return how far one call raises the peak memory of a fresh process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_peak, args=(function, sender))
    process.start()
    peak: float = receiver.recv()
    process.join()
    return peak


def _peak(function: Callable[[], object], sender: Connection) -> None:
    torch.set_num_threads(1)  # a forked process has lost the pool of threads
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    function()
    sender.send((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def circumstances(language: str, threads: int = THREADS) -> str:
    """Return date, versions and machine, for the caption of a measurement."""
    date = datetime.now(UTC).date().isoformat()
    parts = [f"PyTorch {torch.__version__}", f"Python {platform.python_version()}", _processor()]
    return {
        "en": f"Measured on {date}: {', '.join(parts)}, {threads} thread{'s' * (threads > 1)}.",
        "zh": f"测量于 {date}：{'，'.join(parts)}，{threads} 个线程。",
    }[language]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
