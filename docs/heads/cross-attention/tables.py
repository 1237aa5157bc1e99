"""What cross-attention costs."""

import math

import torch

from attn_docs import attention_weights
from docs._kit.markdown import table

from .figures import KEYS, QUERY

INPUT_DIM = CONTEXT_DIM = 512
OUTPUT_DIM = 64
LENGTHS = ((128, 128), (1024, 1024), (128, 8192))


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
    header = {
        "en": (
            "target $n$, source $m$",
            "keys and values, once",
            "keys and values, at each word",
            "scores and mixing",
        ),
        "zh": ("目标 $n$，源 $m$", "键和值：只算一次", "键和值：每个词都算", "打分与加权求和"),
    }[language]
    rows = (
        (
            f"{n:,}, {m:,}",
            f"{projection_flops(m) / 1e6:,.1f} M",
            f"{n * projection_flops(m) / 1e6:,.1f} M",
            f"{attention_flops(n, m) / 1e6:,.1f} M",
        )
        for n, m in LENGTHS
    )
    count = parameters(INPUT_DIM, CONTEXT_DIM, OUTPUT_DIM)
    caption = {
        "en": (
            f"Operations of one head with $D = c = {INPUT_DIM}$, $d = e = {OUTPUT_DIM}$ and "
            f"{count:,} parameters. One M is a million."
        ),
        "zh": (
            f"一个头的运算次数，$D = c = {INPUT_DIM}$，$d = e = {OUTPUT_DIM}$，"
            f"参数 {count:,} 个。1 M 即百万。"
        ),
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    low, high, _ = attention_weights(torch.tensor(QUERY), torch.tensor(KEYS))[0].tolist()
    return {
        "exp_two": f"{math.exp(2):.4f}",
        "high": f"{high:.4f}",
        "low": f"{low:.4f}",
        "output_high": f"{10 * high:.2f}",
        "output_low": f"{10 * low:.2f}",
        "sum": f"{math.exp(2) + 2:.4f}",
    }
