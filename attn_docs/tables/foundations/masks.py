"""What masks cost."""

import torch

from attn_docs import causal_mask, padding_mask, to_additive
from attn_docs.tables._markdown import table

BATCH = 8
LENGTHS = (128, 1024, 8192)


def mask_bytes(n: int) -> dict[str, int]:
    """Count the bytes of each mask for a batch of texts of n words."""
    item = {
        "padding": padding_mask([1])[:, None, None, :],
        "causal": causal_mask(1),
        "additive": to_additive(causal_mask(1)),
    }
    return {
        "padding": BATCH * n * item["padding"].element_size(),
        "causal": n * n * item["causal"].element_size(),
        "both": BATCH * n * n * item["causal"].element_size(),
        "additive": BATCH * n * n * item["additive"].element_size(),
    }


def cost(language: str) -> str:
    """Return the memory of masks against length."""
    header = {
        "en": (
            "length $n = m$",
            "padding $b \\times 1 \\times m$",
            "causal $n \\times m$",
            "both $b \\times n \\times m$",
            "both, additive float32",
        ),
        "zh": (
            "长度 $n = m$",
            "填充 $b \\times 1 \\times m$",
            "因果 $n \\times m$",
            "两者 $b \\times n \\times m$",
            "两者，加性 float32",
        ),
    }[language]
    rows = (
        (f"{n:,}", *(f"{size // 2**10:,} KiB" for size in mask_bytes(n).values())) for n in LENGTHS
    )
    caption = {
        "en": f"A batch of $b = {BATCH}$ texts. One KiB is $2^{{10}}$ bytes.",
        "zh": f"一个批次 $b = {BATCH}$ 段文本。1 KiB 即 $2^{{10}}$ 字节。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    first = torch.softmax(torch.tensor([0.0, 1.0, 0.0]) / 3**0.5, dim=-1)[0]
    return {
        "float16_lowest": f"{torch.finfo(torch.float16).min:,.0f}".replace("-", "−"),
        "third": f"{1 / 3:.4f}",
        "unmasked": f"{first:.4f}",
    }
