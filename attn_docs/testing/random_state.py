"""Leave the random numbers of the program that calls as they were."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def random_state_kept() -> Iterator[None]:
    """Restore what random numbers come from: PyTorch's, on each device in use, and Python's.

    What is checked may draw from any of them, and `torch.manual_seed` seeds every device.
    """
    kept, numpy = random.getstate(), sys.modules.get("numpy")
    theirs = None if numpy is None else numpy.random.get_state()
    in_use = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    cuda = torch.cuda.get_rng_state_all() if in_use else []
    mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
    try:
        with torch.random.fork_rng([]):  # of the processor
            yield
    finally:
        random.setstate(kept)
        if numpy is not None:
            numpy.random.set_state(theirs)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)
        if mps is not None:
            torch.mps.set_rng_state(mps)
