"""What masks cost, and the numbers that the chapter's sentences use."""

import torch

from attn_docs import causal_mask, mask_to_additive

from .figures import sentence_weights

BATCH = 8
LONGEST = 8192


def unit(size: int) -> str:
    """Return a whole number of bytes in the largest unit that it fills."""
    power = min((size.bit_length() - 1) // 10, 3)
    return f"{size // 2 ** (10 * power)} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    weights, mask = sentence_weights(), causal_mask(1)
    pairs = BATCH * LONGEST**2
    return {
        "additive": unit(pairs * mask_to_additive(mask).element_size()),
        "both": unit(pairs * mask.element_size()),
        "float16_lowest": f"{torch.finfo(torch.float16).min:,.0f}".replace("-", "−"),
        "fifth": f"{1 / 5:.2f}",
        "it_cat": f"{weights['causal'][3, 1]:.2f}",
        "longest": f"{LONGEST:,}",
        "the_cat": f"{weights['all'][0, 1]:.2f}",
        "torch": torch.__version__.partition("+")[0],
        "unmasked": f"{weights['all'][0, 0]:.2f}",
    }
