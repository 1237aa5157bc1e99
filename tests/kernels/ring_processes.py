"""The ring over real processes, started as a program: prints what each run found, as JSON.

Forked from a process without other threads, whatever pytest's own process holds; the loopback
and a file are all that the ranks need to find each other.
"""

import json
import sys
import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import ring_attention, ring_join, ring_split, scaled_dot_product_attention
from attn_docs.kernels import merging
from tests.kit import error, normal

D, E = 5, 7
DTYPES = {name: getattr(torch, name) for name in ("float64", "float32", "float16")}


def meet(rank: int, ranks: int, path: str, seconds: float) -> None:
    torch.set_num_threads(1)  # a forked process has lost the pool of threads
    address, timeout = f"file://{path}", timedelta(seconds=seconds)
    dist.init_process_group("gloo", address, timeout, ranks, rank)


def attend(rank: int, ranks: int, path: str, whole: list, results: list, options: dict) -> None:
    """Do one rank's work of a run; leave output, gradients and the scores counted in `results`."""
    meet(rank, ranks, path, 60)
    *whole, grad = (ring_split(x, ranks, zigzag=options.get("zigzag", False))[rank] for x in whole)
    leaves = [x.detach().transpose(-2, -1).contiguous().mT.requires_grad_() for x in whole]
    with FlopCounterMode(display=False) as counted:
        output = ring_attention(*leaves, **options)
    output.backward(grad)
    scores = counted.get_total_flops() / (2 * (D + E))
    for result, found in zip(
        results, [output, *(x.grad for x in leaves), torch.tensor(scores)], strict=True
    ):
        result[rank].copy_(found.detach())
    dist.destroy_process_group()


def agreement(ranks: int, dtype: str, options: dict) -> dict:
    """Compare a run with the whole: values and gradients, and count each rank's scores."""
    kv_heads = 1 if options.get("enable_gqa") else 3
    sizes = (3, D), (kv_heads, D), (kv_heads, E)
    whole = [
        normal(heads, 16, size, seed=i).to(DTYPES[dtype]) for i, (heads, size) in enumerate(sizes)
    ]
    grad = normal(3, 16, E, seed=9).to(DTYPES[dtype])
    zigzag = options.get("zigzag", False)
    results = [torch.stack(ring_split(x, ranks)).share_memory_() for x in (grad, *whole)]
    results.append(torch.zeros(ranks).share_memory_())
    with tempfile.TemporaryDirectory() as folder:
        arguments = (ranks, f"{folder}/store", [*whole, grad], results, options)
        mp.start_processes(attend, arguments, ranks, start_method="fork")
    leaves = [x.double().requires_grad_() for x in whole]
    same = {name: x for name, x in options.items() if name != "zigzag"}
    output = scaled_dot_product_attention(*leaves, **same)
    output.backward(grad.double())
    *results, scores = results
    found = [ring_join(list(parts), zigzag=zigzag).double() for parts in results]
    wanted = [output.detach(), *(x.grad for x in leaves)]
    errors = [error(*pair) for pair in zip(found, wanted, strict=True)]
    return {"errors": errors, "scores": (scores / 3).tolist()}  # three heads


def fail(rank: int, ranks: int, path: str, way: str) -> None:
    """Let rank 1 fail in a way, while the others wait for it."""
    if rank == 1 and way == "raises":
        raise MemoryError("rank 1 has no memory left")
    meet(rank, ranks, path, 1)
    x: Tensor = torch.zeros(4, 3)
    if rank == 1 and way == "stays away":
        time.sleep(60)
    if rank == 1 and way == "stops between steps":
        merging._pass_on = lambda *_: time.sleep(60)
    if rank == 1 and way == "has a longer part":
        x = torch.zeros(5, 3)
    ring_attention(x, x, x)


def failure(way: str) -> dict:
    """Return what a run says that fails, and after how many seconds."""
    start, said = time.perf_counter(), ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            mp.start_processes(fail, (3, f"{folder}/store", way), 3, start_method="fork")
        except mp.ProcessRaisedException as caught:
            said = str(caught)
    return {"said": said, "seconds": time.perf_counter() - start}


def pairs(rank: int, path: str, results: Tensor) -> None:
    """Attend in two rings at the same time: ranks 0 and 1, ranks 2 and 3."""
    meet(rank, 4, path, 60)
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    x = normal(2, 8, D, seed=rank // 2)
    part = ring_split(x, 2)[rank % 2]
    results[rank].copy_(ring_attention(part, part, part, group=groups[rank // 2], is_causal=True))
    dist.destroy_process_group()


def groups() -> dict:
    """Compare two rings of two ranks each with two wholes."""
    results = torch.zeros(4, 2, 4, D, dtype=torch.float64).share_memory_()
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(pairs, (f"{folder}/store", results), 4, start_method="fork")
    errors = []
    for ring in range(2):
        x = normal(2, 8, D, seed=ring)
        found = ring_join(list(results[2 * ring : 2 * ring + 2]))
        errors.append(error(found, scaled_dot_product_attention(x, x, x, is_causal=True)))
    return {"errors": errors}


if __name__ == "__main__":
    torch.set_num_threads(1)
    with FlopCounterMode(display=False):  # imports much, here once for all processes
        torch.zeros(1, 1) @ torch.zeros(1, 1)
    runs = json.loads(sys.argv[1])
    functions = {"agreement": agreement, "failure": failure, "groups": groups}
    sys.stdout.write(json.dumps([functions[name](*arguments) for name, *arguments in runs]))
