import tempfile
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from attn_docs import ring_attention


def work(rank, file, way):
    torch.set_num_threads(1)
    if rank == 1 and way == "breaks":
        raise MemoryError("rank 1 has no memory left")
    dist.init_process_group("gloo", f"file://{file}", timedelta(seconds=1), 3, rank)
    if rank == 1 and way == "sleeps":
        time.sleep(60)
    part = torch.zeros(4 + rank if way == "differ" else 4, 8)
    ring_attention(part, part, part)


if __name__ == "__main__":
    for way in ("breaks", "sleeps", "differ"):
        with tempfile.TemporaryDirectory() as folder:
            try:
                arguments = (f"{folder}/meet", way)
                mp.start_processes(work, arguments, nprocs=3, start_method="fork")
            except mp.ProcessRaisedException as error:
                *_, message = str(error).strip().splitlines()
                print(message.split("; got")[0])
#> MemoryError: rank 1 has no memory left
#> RuntimeError: all ranks of the ring must answer
#> ValueError: query, value and options must be alike on all ranks
