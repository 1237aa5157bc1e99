"""What masks cost, and what `need_weights` costs."""

import torch

from attn_docs import causal_mask, mask_to_additive, padding_mask
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import BATCH as MEASURED_BATCH
from .benchmark import HEADS, ROUNDS, SIZE
from .benchmark import LENGTHS as MEASURED_LENGTHS
from .figures import sentence_weights

BATCH = 8
LENGTHS = (128, 1024, 8192)


def mask_bytes(n: int) -> dict[str, int]:
    """Count the bytes of each mask for a batch of texts of n words."""
    item = {
        "padding": padding_mask([1])[:, None, None, :],
        "causal": causal_mask(1),
        "additive": mask_to_additive(causal_mask(1)),
    }
    return {
        "padding": BATCH * n * item["padding"].element_size(),
        "causal": n * n * item["causal"].element_size(),
        "both": BATCH * n * n * item["causal"].element_size(),
        "additive": BATCH * n * n * item["additive"].element_size(),
    }


def unit(size: int) -> str:
    """Return a whole number of bytes in the largest unit that it fills."""
    power = min((size.bit_length() - 1) // 10, 3)
    return f"{size // 2 ** (10 * power)} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def cost(language: str) -> str:
    """Return the memory of masks against length."""
    text = texts(__file__, "cost", language)
    rows = ((f"{n:,}", *(unit(size) for size in mask_bytes(n).values())) for n in LENGTHS)
    return f"{table(text['header'], rows)}\n\n{text['caption'].format(batch=BATCH)}"


def need_weights(language: str) -> str:
    """Return how much longer PyTorch's module takes with its weights than without."""
    text = texts(__file__, "need-weights", language)
    measured = load(__file__)["need_weights"]
    rows = (
        (
            f"{n:,}",
            *(f"{measured('time', length=n, run=run):.1f}×" for run in ("train", "evaluate")),
        )
        for n in MEASURED_LENGTHS
    )
    caption = text["caption"].format(batch=MEASURED_BATCH, size=SIZE, heads=HEADS, rounds=ROUNDS)
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


TABLES = {"cost": cost, "need-weights": need_weights}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    measured = load(__file__)["need_weights"]
    (fused,) = {found["kernel"] for found in measured.values if found["run"] == "train"}
    weights, size = sentence_weights(), mask_bytes(LENGTHS[-1])
    return {
        "additive": unit(size["additive"]),
        "both": unit(size["both"]),
        "float16_lowest": f"{torch.finfo(torch.float16).min:,.0f}".replace("-", "−"),
        "kernel_fused": fused,
        "fifth": f"{1 / 5:.2f}",
        "it_cat": f"{weights['causal'][3, 1]:.2f}",
        "longest": f"{LENGTHS[-1]:,}",
        "the_cat": f"{weights['all'][0, 1]:.2f}",
        "torch": measured.torch.partition("+")[0],
        "unmasked": f"{weights['all'][0, 0]:.2f}",
    }
