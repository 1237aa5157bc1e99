"""What bilinear attention costs, and the numbers of its worked example."""

import math

from attn_docs import AdditiveAttention, BilinearAttention
from docs._kit.markdown import table
from docs._kit.text import texts

SIZES = ((64, 64), (64, 512), (768, 768))
HIDDEN = 64
LENGTH = 1024


def parameters(query_dim: int, key_dim: int) -> int:
    """Count the parameters of the module itself."""
    return BilinearAttention(query_dim, key_dim).weight.numel()


def operations(n: int, m: int, q: int, k: int) -> int:
    """Count the score's operations, a multiply-add as two: queries times W, then times keys."""
    return 2 * n * q * k + 2 * n * m * k


def cost(language: str) -> str:
    """Return parameters and operations for several sizes, beside additive attention's."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            f"{q}{text['comma']}{k}",
            f"{parameters(q, k):,}",
            f"{operations(LENGTH, LENGTH, q, k) / 1e6:,.0f} M",
            f"{operations(LENGTH, LENGTH, k, q) / 1e6:,.0f} M",  # the other order: sizes exchanged
            f"{sum(p.numel() for p in AdditiveAttention(q, k, HIDDEN).parameters()):,}",
            f"{LENGTH**2 * HIDDEN * 4 / 2**20:,.0f} MiB",
        )
        for q, k in SIZES
    )
    caption = text["caption"].format(length=LENGTH, hidden=HIDDEN)
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    divisor = (2 * 3) ** 0.25
    powers = [1.0, math.exp(2 / divisor), math.exp(-1 / divisor)]
    model, head = 768, 64  # GPT-2's
    return {
        "free": f"{parameters(model, model):,}",
        "factored": f"{2 * model * head:,}",
        "divisor": f"{divisor:.4f}",
        "wrong_divisor": f"{(16 * 64) ** -0.5:.2f}",
        "score_cat": f"{2 / divisor:.4f}",
        "weight_cat": f"{powers[1] / sum(powers):.4f}",
    }
