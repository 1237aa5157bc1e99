"""What cross-attention costs."""

import math

import torch
from torch import Tensor

from attn_docs import attention_weights
from docs._kit.markdown import table
from docs._kit.text import texts

INPUT_DIM = CONTEXT_DIM = 512
OUTPUT_DIM = 64
LENGTHS = ((128, 128), (1024, 1024), (128, 8192))
# of the worked example
QUERY = ((0.0, 4, 0, 0), (0, 0, 4, 0))
KEYS = ((1.0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))


def sequence_weights() -> Tensor:
    """Return the weights of the worked example, (2, 3)."""
    return attention_weights(torch.tensor(QUERY), torch.tensor(KEYS))


def parameters(input_dim: int, context_dim: int, output_dim: int) -> int:
    """Count the weights and biases of the three projections."""
    return output_dim * (input_dim + 1) + 2 * output_dim * (context_dim + 1)


def projection_flops(m: int) -> int:
    """Count the operations that make keys and values of the context, a multiply-add as two."""
    return 2 * 2 * m * CONTEXT_DIM * OUTPUT_DIM


def attention_flops(n: int, m: int) -> int:
    """Count the operations of QKᵀ and of weights times V."""
    return 2 * 2 * n * m * OUTPUT_DIM


def cost(language: str) -> str:
    """Return the operations of writing n words while attending to m."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            f"{n:,}, {m:,}",
            f"{projection_flops(m) / 1e6:,.1f} M",
            f"{n * projection_flops(m) / 1e6:,.1f} M",
            f"{attention_flops(n, m) / 1e6:,.1f} M",
        )
        for n, m in LENGTHS
    )
    caption = text["caption"].format(
        inputs=INPUT_DIM,
        size=OUTPUT_DIM,
        parameters=parameters(INPUT_DIM, CONTEXT_DIM, OUTPUT_DIM),
    )
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    low, high, _ = sequence_weights()[0].tolist()
    return {
        "exp_two": f"{math.exp(2):.4f}",
        "high": f"{high:.4f}",
        "low": f"{low:.4f}",
        "output_high": f"{10 * high:.2f}",
        "output_low": f"{10 * low:.2f}",
        "sum": f"{math.exp(2) + 2:.4f}",
    }
