"""The numbers of the chapter on multi-query attention."""

import torch
from torch import Tensor

from attn_docs import attention_weights, load_models
from attn_docs.sentence import KINDS, WORDS, embeddings, projections
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark

# of the worked example: what "it" looks for, and the tokens that it sees
SOUGHT, TOKENS = ("noun", "verb"), WORDS[:4]
SHARPNESS = 6.0
MODEL = "Llama-2-7B"


def shared_weights() -> Tensor:
    """Return the weights of the worked example: a row for each query of the token "it"."""
    _, w_k, _ = projections()
    query = torch.zeros(len(SOUGHT), w_k.size(1))
    for row, sought in enumerate(SOUGHT):
        query[row, KINDS.index(sought)] = SHARPNESS
    return attention_weights(query, embeddings()[: len(TOKENS)] @ w_k)


def parameters(embed_dim: int, heads: int, kv_heads: int, head_dim: int) -> int:
    """Count the weights of the four projections, without biases."""
    return 2 * embed_dim * (heads + kv_heads) * head_dim


def steps() -> dict[int, tuple[float, float]]:
    """Return, for each number of KV heads, a step's mebibytes of cache and its milliseconds."""
    found = load(__file__)["steps"]
    return {
        kv_heads: (benchmark.cache_bytes(kv_heads) / 2**20, found("step", kv_heads=kv_heads))
        for kv_heads in benchmark.KV_HEADS
    }


def step_table(language: str) -> str:
    """Return what a step reads and how long it takes, a row for each number of KV heads."""
    text = texts(__file__, "step_table", language)
    rows = [
        (str(g), f"{mebibytes:.0f} MiB", f"{ms:.1f} ms") for g, (mebibytes, ms) in steps().items()
    ]
    caption = load(__file__)["steps"].caption(text["caption"], language)
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"step_table": step_table}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    model = load_models()[MODEL]
    heads, size = model.num_heads or 0, model.config.head_dim
    sizes = (model.embed_dim or 0, heads)
    weights = [parameters(*sizes, g, size) for g in (heads, 1)]
    return {
        "heads": str(heads),
        "parameters_left": f"{weights[1] / weights[0]:.0%}",
        "context": f"{benchmark.LENGTH:,}",
        "layer_heads": str(benchmark.HEADS),
        "layer_dim": f"{benchmark.EMBED_DIM:,}",
        "most_cache": f"{steps()[benchmark.HEADS][0]:.0f} MiB",
        "least_cache": f"{steps()[1][0]:.0f} MiB",
        "most_time": f"{steps()[benchmark.HEADS][1]:.2f} ms",
        "least_time": f"{steps()[1][1]:.2f} ms",
        "two_time": f"{steps()[2][1]:.2f} ms",
        "faster": f"{steps()[benchmark.HEADS][1] / steps()[1][1]:.1f}",
        "found": f"{shared_weights().max().item():.2f}",
    }
