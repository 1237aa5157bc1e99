"""In which precision attention is computed."""

import torch
from torch import Tensor


def at_least_float32(x: Tensor) -> Tensor:
    """Return half precision as float32, the rest as it is."""
    # rounding scores and weights to half precision costs several times PyTorch's error
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
