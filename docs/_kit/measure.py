"""Time and peak memory of a call, its operations, and the kernel that ran."""

import itertools
import multiprocessing
import re
import resource
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

THREADS = 2


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute on one thread, the fastest for so little, and leave chance as it was."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)


def kernel_of(call: Callable[[], object]) -> str:
    """Return the operator that does a call's work: PyTorch's attention kernel if it ran one."""
    call()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(5):  # of one call a busy machine would decide
            call()
    spent = {event.key: event.self_cpu_time_total for event in profiler.key_averages()}
    attention = [name for name in spent if re.match(r"aten::_scaled_dot_product_\w+", name)]
    return min(attention) if attention else max(spent, key=lambda name: spent[name])


def paired_ratio(
    first: Callable[[], object], second: Callable[[], object], rounds: int = 31
) -> float:
    """Return the first call's time over the second's: the median of pairs taken in turns.

    A busy machine slows both calls of a pair alike.
    """
    first()
    calls = max(1, round(0.002 / _seconds(second, 3)))
    ratios = []
    for turn in range(rounds):
        order = (first, second) if turn % 2 else (second, first)
        spent = {call: _seconds(call, calls) for call in order}
        ratios.append(spent[first] / spent[second])
    return statistics.median(ratios)


def least_seconds(
    calls: list[Callable[[], object]],
    budget: float = 1.0,
    *,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Return each call's least time; the calls take turns, so a busy machine slows all alike.

    With `time.process_time` as the clock, what others do meanwhile does not count.
    """
    for call in calls:
        call()
    least = [float("inf")] * len(calls)
    end = time.perf_counter() + budget
    while time.perf_counter() < end:
        for index, call in enumerate(calls):
            start = clock()
            call()
            least[index] = min(least[index], clock() - start)
    return least


def _seconds(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def allocated_mebibytes(call: Callable[[], object]) -> float:
    """Return how much memory a call's arrays, its result too, take at most at one time.

    PyTorch's allocator counts them, so that neither the process nor the machine adds noise.
    """
    call()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        kept = call()
    events = (e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]")
    sizes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    del kept
    return max(itertools.accumulate(sizes), default=0) / 2**20


class _Operations(TorchDispatchMode):
    """Counts the operations that PyTorch is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        self.counts[str(func)] += 1
        return func(*args, **(kwargs or {}))


def operations_of(call: Callable[[], object]) -> Counter[str]:
    """Return how often a call carries out each of PyTorch's operations."""
    with _Operations() as counted:
        call()
    return counted.counts


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
