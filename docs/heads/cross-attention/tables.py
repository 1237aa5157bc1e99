"""What cross-attention costs, and what a small trained translator attends to."""

import torch
from torch import Tensor

from attn_docs import attention_weights
from attn_docs.sentence import embeddings
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

INPUT_DIM = CONTEXT_DIM = 512
OUTPUT_DIM = 64
LENGTHS = ((128, 128), (1024, 1024), (128, 8192))
LATIN = ("dormit", "feles", "somniat")  # of the worked example
TRAINED = "heads/cross_attention/learned"  # the program that trains its translator
TRANSLATED = ("the cat sleeps it dreams", "the small fox runs it sings")  # by the trained example
WHISPER = {"positions": 1500, "layers": 32, "size": 1280}  # large, from its published configuration


def sequence_weights() -> Tensor:
    """Return the weights of the worked example, (3, 5)."""
    query = 5 * torch.eye(4)[[2, 1, 3]]
    return attention_weights(query, embeddings()[:, 4:])


def learned() -> dict[str, tuple[list[str], Tensor]]:
    """Return the trained translator's translation and its weights for each sentence."""
    names = example(TRAINED)
    lengths = (sum(word in names["LATIN"] for word in text.split()) for text in TRANSLATED)
    return {
        text: names["translate"](names["model"], text.split(), length)
        for text, length in zip(TRANSLATED, lengths, strict=True)
    }


def parameters(input_dim: int, context_dim: int, output_dim: int) -> int:
    """Count the weights and biases of the three projections."""
    return output_dim * (input_dim + 1) + 2 * output_dim * (context_dim + 1)


def projection_flops(m: int) -> int:
    """Count the operations that make keys and values of the context, a multiply-add as two."""
    return 2 * 2 * m * CONTEXT_DIM * OUTPUT_DIM


def attention_flops(n: int, m: int) -> int:
    """Count the operations of QKᵀ and of weights times V."""
    return 2 * 2 * n * m * OUTPUT_DIM


def counted(operations: int) -> str:
    """Return a number of operations in millions, M, or in thousands of these, G."""
    millions = operations / 1e6
    return f"{millions:.0f} M" if millions < 1000 else f"{millions / 1000:.1f} G"


def cost(language: str) -> str:
    """Return the operations of generating n tokens while attending to m."""
    text = texts(__file__, "cost", language)
    rows = (
        (
            f"{n:,}, {m:,}",
            counted(projection_flops(m)),
            counted(n * projection_flops(m)),
            counted(attention_flops(n, m)),
        )
        for n, m in LENGTHS
    )
    caption = text["caption"].format(
        inputs=INPUT_DIM,
        size=OUTPUT_DIM,
        parameters=parameters(INPUT_DIM, CONTEXT_DIM, OUTPUT_DIM),
    )
    return f"{table(text['header'], rows)}\n\n{caption}"


def starts(language: str) -> str:
    """Return how many random starts translate the unseen pair rightly."""
    text = texts(__file__, "starts", language)
    measured = load(__file__)["seeds"]
    right = [value["value"] for value in measured.values]
    rows = [(str(len(right)), str(right.count(1)), str(right.count(0)))]
    return f"{table(text['header'], rows)}\n\n{measured.caption(text['caption'], language)}"


TABLES = {"cost": cost, "starts": starts}


def cached_bytes(positions: int, layers: int, size: int, dtype: torch.dtype) -> int:
    """Count the bytes of a context's keys and values in all layers."""
    return 2 * positions * layers * size * dtype.itemsize


def _trained_parameters() -> int:
    return sum(parameter.numel() for parameter in example(TRAINED)["model"].parameters())


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    cached = cached_bytes(**WHISPER, dtype=torch.float16)
    right = [value["value"] for value in load(__file__)["seeds"].values]
    return {
        "seeds": str(len(right)),
        "seeds_wrong": str(right.count(0)),
        "parameters": f"{_trained_parameters():,}",
        "high": f"{sequence_weights().max():.2f}",
        "whisper": f"{cached / 2**20:.0f} MiB",
    }
