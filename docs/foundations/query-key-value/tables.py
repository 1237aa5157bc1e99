"""The worked numbers of the chapter on query, key and value by hand."""

import math

import torch
from torch import Tensor

from attn_docs import attention_weights, sentence
from attn_docs.exhibits.foundations import mistyped_value

WEIGHTS = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]], dtype=torch.float64)
VALUES = torch.tensor([[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]], dtype=torch.float64)
SHARP = 6.0  # what the core multiplies its queries by
IT = sentence.WORDS.index("it")
CAT = sentence.WORDS.index("cat")


def weights_of(sharpness: float, words: int = len(sentence.WORDS)) -> Tensor:
    """Return the weights of the sentence's first words, in float64."""
    x = sentence.embeddings()[:words].double()
    w_q, w_k, _ = (w.double() for w in sentence.projections(sharpness))
    return attention_weights(x @ w_q, x @ w_k)


def of_it(sharpness: float) -> tuple[Tensor, Tensor]:
    """Return the weights of "it" and what it ends up with."""
    weights = weights_of(sharpness)[IT]
    w_v = sentence.projections(sharpness)[2].double()
    return weights, weights @ (sentence.embeddings().double() @ w_v)


def mixing(language: str) -> str:  # noqa: ARG001 - formulas need no translation
    """Return the second row's weighted mean, one line a component."""
    lines = [
        " + ".join(f"{w:g} \\cdot {v:g}" for w, v in zip(WEIGHTS[1].tolist(), column, strict=True))
        + f" &= {mean:.2f}"
        for column, mean in zip(VALUES.T.tolist(), (WEIGHTS[1] @ VALUES).tolist(), strict=True)
    ]
    return "$$\n\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}\n$$"


TABLES = {"mixing": mixing}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    one = 1 / math.sqrt(3)
    total = math.exp(0) + math.exp(one) + math.exp(0)
    lead = math.exp(SHARP * one)
    x = sentence.embeddings().double()
    return {
        "cat_sharp": f"{of_it(SHARP)[0][CAT]:.2f}",
        "animal_of_cat": f"{weights_of(SHARP)[CAT][CAT]:.2f}",
        "cat_exact": f"{of_it(SHARP)[0][CAT]:.4f}",
        "other_sharp": f"{of_it(SHARP)[0][IT]:.2f}",
        "other_exact": f"{of_it(SHARP)[0][IT]:.4f}",
        "exp_one_short": f"{math.exp(one):.2f}",
        "lead_sharp": f"{lead:.0f}",
        "scaled_sharp": f"{SHARP * one:.2f}",
        "sleeps_third": f"{weights_of(SHARP)[sentence.WORDS.index('sleeps')][CAT]:.2f}",
        "cat_half": f"{weights_of(SHARP)[CAT][sentence.WORDS.index('sleeps')]:.2f}",
        "it_itself": f"{attention_weights(x, x)[IT, IT]:.2f}",
        "euler": f"{math.e:.3f}",
        "exp_one": f"{math.exp(one):.4f}",
        "meant": f"{VALUES[2, 2]:g}",
        "mistyped": f"{mistyped_value.weighted_mean():.2f}",
        "scaled_one": f"{one:.4f}",
        "second_row": ", ".join(f"{w:g}" for w in WEIGHTS[1].tolist()),
        "sum_first_row": f"{total:.4f}",
        "third_component": f"{(WEIGHTS[1] @ VALUES)[2]:.2f}",
        "typed": f"{mistyped_value.third_column[2]:g}",
        "weight_high": f"{math.exp(one) / total:.4f}",
        "weight_low": f"{1 / total:.4f}",
    }
