"""A copy of a module that somebody else wrote, in another precision and with random weights."""

import copy
from typing import Any

import torch
from torch import Tensor, nn

COMPLEX = {torch.float64: torch.complex128}
PRECISIONS = (torch.float64, torch.float32)


def precisions(device: torch.device) -> tuple[torch.dtype, ...]:
    """Return the precisions to try on a device, the widest first."""
    return PRECISIONS[1:] if device.type == "mps" else PRECISIONS  # Apple's GPUs have no float64


def check_real(module: nn.Module) -> None:
    """Refuse a module of which no copy with random weights can be made."""
    if isinstance(module, torch.jit.ScriptModule):
        raise TypeError(
            "module must be written in Python; got one that was traced or scripted: check the "
            "module that it was made of"
        )
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if tensor.is_meta or nn.parameter.is_lazy(tensor):
            raise ValueError(
                f"module must hold numbers; its {name} has none yet, as on the meta device"
            )


def random_copy(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Return a copy in evaluation mode whose parameters are random."""
    generator = torch.Generator().manual_seed(0)
    module = _converted(deep_copy(module), dtype).eval()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            values = _random(name, parameter.cpu().double(), generator)
            parameter.copy_(values)
            parameter.requires_grad_(True)
    return module


def deep_copy(module: nn.Module) -> nn.Module:
    """Return a deep copy, which shares what cannot be copied: a lock, a generator, a file.

    So does a weight that is computed anew in each call, pruned or normed, until the first call.
    """
    try:
        return copy.deepcopy(module)
    except Exception:
        held = (value for layer in module.modules() for value in vars(layer).values())
        shared = {id(value): value for value in held if not _can_be_copied(value)}
    return copy.deepcopy(module, shared)


def _can_be_copied(value: Any) -> bool:
    if isinstance(value, dict):  # of layers, which are looked at themselves, and the like
        return True
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True


def _converted(module: nn.Module, dtype: torch.dtype) -> nn.Module:
    """Return the module in another precision; what is complex stays complex."""

    def converted(tensor: Tensor) -> Tensor:
        if tensor.is_complex():
            return tensor.to(COMPLEX.get(dtype, torch.complex64))
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    for layer in module.modules():
        for parameter in layer.parameters(recurse=False):
            parameter.data = converted(parameter.data)
        for name, buffer in layer.named_buffers(recurse=False):
            setattr(layer, name, converted(buffer))
    return module


def _random(name: str, initial: Tensor, generator: torch.Generator) -> Tensor:
    """Return random numbers for a parameter, of a size that suits what it is."""
    noise = torch.randn(initial.shape, generator=generator, dtype=torch.float32).double()
    wide = [size for size in initial.shape if size > 1]  # a convolution's kernel may have size 1
    if len(wide) > 1:
        width: float = 1.5 * wide[-1] ** -0.5
        return noise * width
    if name.endswith("bias"):
        return 0.1 * noise
    if "sink" in name or not initial.isfinite().all():
        return noise
    if not initial.any():  # a gate that is closed at the start, or a gain that is added to one
        return 0.5 * noise.sign() + 0.1 * noise
    return initial * (0.25 * noise).exp()
