"""What a small trained translator attends to, and the numbers of the sentences."""

import torch
from torch import Tensor

from attn_docs import attention_weights
from attn_docs.sentence import embeddings
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

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


def starts(language: str) -> str:
    """Return how many random starts translate the unseen pair rightly."""
    text = texts(__file__, "starts", language)
    measured = load(__file__)["seeds"]
    right = [value["value"] for value in measured.values]
    rows = [(str(len(right)), str(right.count(1)), str(right.count(0)))]
    return f"{table(text['header'], rows)}\n\n{measured.caption(text['caption'], language)}"


TABLES = {"starts": starts}


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
