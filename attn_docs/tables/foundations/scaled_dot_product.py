"""What scaled dot-product attention costs."""

import math

import torch

from attn_docs.tables._markdown import table

HEAD_DIM = 64
LENGTHS = (128, 1024, 8192)


def flops(n: int, m: int, d: int, e: int) -> int:
    """Count the operations of QKᵀ and of weights times V, a multiply-add as two."""
    return 2 * n * m * d + 2 * n * m * e


def weight_bytes(n: int, m: int, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes of one head's weights."""
    return n * m * dtype.itemsize


def cost(language: str) -> str:
    """Return operations and memory of one head against length."""
    header = {
        "en": ("length $n = m$", "parameters", "operations", "weights in float32"),
        "zh": ("长度 $n = m$", "参数量", "运算次数", "float32 权重占用"),
    }[language]
    rows = (
        (
            f"{n:,}",
            "0",
            f"{flops(n, n, HEAD_DIM, HEAD_DIM) / 1e6:,.1f} M",
            f"{weight_bytes(n, n) / 2**20:,.4g} MiB",
        )
        for n in LENGTHS
    )
    caption = {
        "en": f"One head, $d = e = {HEAD_DIM}$. One M is a million, one MiB is $2^{{20}}$ bytes.",
        "zh": f"一个头，$d = e = {HEAD_DIM}$。1 M 即百万，1 MiB 即 $2^{{20}}$ 字节。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    powers = torch.exp(torch.tensor([0.0, 1.0, 1.0]) / math.sqrt(3))
    weights = powers / powers.sum()
    return {
        "blind_guess": f"{math.log(8):.1f}",
        "float16_max": f"{torch.finfo(torch.float16).max:,.0f}",
        "sum_one_query": f"{powers.sum():.4f}",
        "weight_high": f"{weights[1]:.4f}",
        "weight_low": f"{weights[0]:.4f}",
    }
