"""What masks cost, and the numbers that the chapter's sentences use."""

import torch
import torch.nn.functional as F

from attn_docs import causal_mask, mask_to_additive
from attn_docs.practice.bugs_that_train import NextWord, fit, rounds
from docs._kit.measure import one_thread
from docs._tools.page import page_module

from .figures import sentence_weights

BATCH = 8
LONGEST = 8192


def unit(size: int) -> str:
    """Return a whole number of bytes in the largest unit that it fills."""
    power = min((size.bit_length() - 1) // 10, 3)
    return f"{size // 2 ** (10 * power)} {('B', 'KiB', 'MiB', 'GiB')[power]}"


def without_the_future(name: str) -> float:
    """Return the loss on new rows of a layer that was trained, the future hidden as it should be.

    The layer is of the chapter on bugs that train; its mask is right in evaluation.
    """
    layer = page_module("practice/bugs-that-train", "bugs").layer(name)
    torch.manual_seed(0)
    model = NextWord(layer).double()
    with one_thread(), torch.no_grad():
        with torch.enable_grad():
            fit(model)
        rows = rounds(1024, torch.Generator().manual_seed(1))
        is_token = rows[:, :-1] > 0
        scores = model.eval()(rows[:, :-1])
    return F.cross_entropy(scores[is_token], rows[:, 1:][is_token]).item()


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    weights, mask = sentence_weights(), causal_mask(1)
    bugs = page_module("practice/bugs-that-train", "bugs")
    pairs = BATCH * LONGEST**2
    return {
        "additive": unit(pairs * mask_to_additive(mask).element_size()),
        "both": unit(pairs * mask.element_size()),
        "float16_lowest": f"{torch.finfo(torch.float16).min:,.0f}".replace("-", "−"),
        "blind": f"{bugs.entropy():.1f}",
        "fifth": f"{1 / 5:.2f}",
        "forgotten": f"{max(bugs.ended('causal_only_in_eval')):.2f}",
        "forgotten_in_use": f"{without_the_future('causal_only_in_eval'):.0f}",
        "it_cat": f"{weights['causal'][3, 1]:.2f}",
        "longest": f"{LONGEST:,}",
        "the_cat": f"{weights['all'][0, 1]:.2f}",
        "torch": torch.__version__.partition("+")[0],
        "unmasked": f"{weights['all'][0, 0]:.2f}",
    }
