import tempfile
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from attn_docs import ring_attention, ring_join, ring_split, scaled_dot_product_attention


def work(rank, ranks, file, whole, results):
    torch.set_num_threads(1)  # a forked process has no other threads
    dist.init_process_group("gloo", f"file://{file}", timedelta(seconds=30), ranks, rank)
    mine = [ring_split(x, ranks, zigzag=True)[rank].requires_grad_() for x in whole]
    output = ring_attention(*mine, is_causal=True, zigzag=True)
    output.square().sum().backward()  # gradients of keys and values travel too
    for i, found in enumerate([output, *(x.grad for x in mine)]):
        results[i, rank] = found.detach()  # in memory that all processes share
    dist.destroy_process_group()


if __name__ == "__main__":
    exact = torch.float64
    whole = [torch.randn(2, 3, 64, 8, dtype=exact) for _ in range(3)]  # b h n d: query, key, value
    for ranks in (2, 4):
        results = torch.zeros(4, ranks, 2, 3, 64 // ranks, 8, dtype=exact).share_memory_()
        with tempfile.TemporaryDirectory() as folder:
            arguments = (ranks, f"{folder}/meet", whole, results)
            mp.start_processes(work, arguments, nprocs=ranks, start_method="fork")
        leaves = [x.clone().requires_grad_() for x in whole]
        output = scaled_dot_product_attention(*leaves, is_causal=True)
        output.square().sum().backward()
        wanted = [output, *(x.grad for x in leaves)]
        found = [ring_join(list(parts), zigzag=True) for parts in results]
        same = [torch.allclose(f, w, atol=1e-12) for f, w in zip(found, wanted, strict=True)]
        print(ranks, "ranks:", same)
#> 2 ranks: [True, True, True, True]
#> 4 ranks: [True, True, True, True]
