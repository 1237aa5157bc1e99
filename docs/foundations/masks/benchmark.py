"""What `need_weights` does to the time of `torch.nn.MultiheadAttention`, and to its kernel."""

import torch
from torch import Tensor, nn

from attn_docs import causal_mask, invert_mask
from docs._kit.measure import kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

BATCH, SIZE, HEADS = 2, 256, 4
LENGTHS = (256, 1024, 2048)
ROUNDS = 15


def train(module: nn.Module, x: Tensor, mask: Tensor, *, need_weights: bool) -> object:
    """Run a layer forward and backward."""
    module.train()
    output, _ = module(x, x, x, attn_mask=mask, need_weights=need_weights)
    return torch.autograd.grad(output.sum(), [x, *module.parameters()])


def evaluate(module: nn.Module, x: Tensor, mask: Tensor, *, need_weights: bool) -> object:
    """Run a layer as a model in use does: PyTorch has another way for that."""
    module.eval()
    with torch.no_grad():
        return module(x, x, x, attn_mask=mask, need_weights=need_weights)


def measure() -> dict[str, Measurement]:
    """Time a layer that returns its weights against one that does not, under a causal mask."""
    values = []
    with one_thread():
        torch.manual_seed(0)
        module = nn.MultiheadAttention(SIZE, HEADS, batch_first=True)
        for length in LENGTHS:
            x = torch.randn(BATCH, length, SIZE, requires_grad=True)
            mask = invert_mask(causal_mask(length))
            for run in (train, evaluate):
                calls = [
                    lambda run=run, x=x, mask=mask, need=need: run(
                        module, x, mask, need_weights=need
                    )
                    for need in (True, False)
                ]
                kernels = dict(
                    zip(("kernel_weights", "kernel"), map(kernel_of, calls), strict=True)
                )
                ratio = {"value": paired_ratio(*calls, rounds=ROUNDS), "unit": "ratio"}
                values.append(
                    {"length": length, "run": run.__name__, "quantity": "time"} | ratio | kernels
                )
    return {"need_weights": measurement(values, threads=1)}
