"""A recurrent layer against a self-attention layer, over length, in time and in memory of words."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docs._kit.measure import kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

from . import recall

BATCH, SIZE = 16, 32
LENGTHS = (4, 32, 256, 2048, 4096)


class SelfAttention(nn.Module):
    """One head with its four projections, around PyTorch's function."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv_proj = nn.Linear(SIZE, 3 * SIZE)
        self.out_proj = nn.Linear(SIZE, SIZE)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return as many vectors as there are inputs."""
        # with an axis for the head, PyTorch takes its fast kernel
        query, key, value = self.qkv_proj(inputs).unsqueeze(1).chunk(3, dim=-1)
        return self.out_proj(F.scaled_dot_product_attention(query, key, value).squeeze(1))


def calls(words: int) -> dict[str, list[Callable[[], object]]]:
    """Return what is timed on so many words: the GRU and self-attention, for each pass."""
    torch.manual_seed(0)
    gru, attention = nn.GRU(SIZE, SIZE, batch_first=True), SelfAttention()
    inputs = torch.randn(BATCH, words, SIZE)

    def run_gru() -> Tensor:
        return gru(inputs)[0]

    def run_attention() -> Tensor:
        return attention(inputs)

    def backward(run: Callable[[], Tensor], module: nn.Module) -> object:
        return torch.autograd.grad(run().sum(), list(module.parameters()))

    return {
        "forward": [run_gru, run_attention],
        "both": [lambda: backward(run_gru, gru), lambda: backward(run_attention, attention)],
    }


def values(words: int, passes: str, seconds: list[float], kernels: list[str]) -> list[dict]:
    """Return the ratio of the GRU's time to self-attention's, and the times of a forward pass."""
    setting = {"batch": BATCH, "size": SIZE, "words": words, "passes": passes}
    found: list[dict[str, Any]] = []
    if passes == "forward":
        found = [
            setting
            | {"layer": layer, "quantity": "time", "value": 1000 * spent, "unit": "ms"}
            | {"kernel": kernel}
            for layer, spent, kernel in zip(("gru", "attention"), seconds, kernels, strict=True)
        ]
    ratio = {"quantity": "time", "value": seconds[0] / seconds[1], "unit": "ratio"}
    both = {"layer": "gru / attention", **ratio, "kernel": " / ".join(kernels)}
    return [*found, setting | both]


def measure() -> dict[str, Measurement]:
    """Measure both layers on the same inputs, length by length, on one thread; then recall."""
    found = []
    with one_thread():
        for words in LENGTHS:
            for passes, pair in calls(words).items():
                with torch.set_grad_enabled(passes == "both"):
                    seconds = least_seconds(pair)
                    found += values(words, passes, seconds, [kernel_of(call) for call in pair])
    return {"over_length": measurement(found, threads=1), **recall.measure()}
