"""What multi-query attention saves."""

import torch
from torch import Tensor

from attn_docs import KVConfig, attention_weights, kv_cache_bytes
from docs._kit.markdown import table
from docs._kit.text import texts

LAYERS, EMBED_DIM, HEADS, HEAD_DIM = 32, 4096, 32, 128  # those of Llama 2 7B
FALCON_LAYERS, FALCON_HEADS, FALCON_HEAD_DIM = 32, 71, 64
LENGTHS = (1024, 4096, 32768)
# of the worked example
QUERY = ((0.0, 4, 0, 0), (0, 0, 4, 0))
KEYS = ((1.0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))


def shared_weights() -> Tensor:
    """Return the weights of the worked example: a row for each head's query."""
    query, key = torch.tensor(QUERY)[None, :, None], torch.tensor(KEYS)[None, None]
    return attention_weights(query, key)[0, :, 0]  # b h n m → h m


def cache_bytes(
    tokens: int,
    layers: int,
    kv_heads: int,
    head_dim: int,
    dtype: torch.dtype = torch.bfloat16,
) -> int:
    """Count the bytes of the keys and values of a text."""
    config = KVConfig(full_layers=layers, num_kv_heads=kv_heads, head_dim=head_dim)
    return kv_cache_bytes(config, tokens, dtype=dtype)


def parameters(embed_dim: int, heads: int, kv_heads: int, head_dim: int) -> dict[str, int]:
    """Count the weights of the four projections, without biases."""
    return {
        "q_proj": embed_dim * heads * head_dim,
        "k_proj": embed_dim * kv_heads * head_dim,
        "v_proj": embed_dim * kv_heads * head_dim,
        "out_proj": heads * head_dim * embed_dim,
    }


def _size(count: int) -> str:
    return f"{count // 2**20:,} MiB" if count >= 2**20 else f"{count // 2**10:,} KiB"


def cache(language: str) -> str:
    """Return the bytes of keys and values with a head for each query head and with one."""
    text = texts(__file__, "cache", language)
    rows = (
        (
            f"{length:,}",
            *(_size(cache_bytes(length, LAYERS, g, HEAD_DIM)) for g in (HEADS, 1)),
        )
        for length in (1, *LENGTHS)
    )
    header = [cell.format(h=HEADS) for cell in text["header"]]
    caption = text["caption"].format(layers=LAYERS, h=HEADS, d=HEAD_DIM)
    return f"{table(header, rows)}\n\n{caption}"


def cost(language: str) -> str:
    """Return the parameters of one layer with a head for each query head and with one."""
    text = texts(__file__, "cost", language)
    many, one = (parameters(EMBED_DIM, HEADS, g, HEAD_DIM) for g in (HEADS, 1))
    rows = (
        *((f"`{name}`", f"{many[name]:,}", f"{one[name]:,}") for name in many),
        (text["total"], f"{sum(many.values()):,}", f"{sum(one.values()):,}"),
    )
    caption = text["caption"].format(embed=EMBED_DIM, h=HEADS, d=HEAD_DIM)
    return f"{table(text['header'], rows)}\n\n{caption}"


TABLES = {"cache": cache, "cost": cost}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    low, high, _ = shared_weights()[0].tolist()
    many, one = (cache_bytes(1, LAYERS, g, HEAD_DIM) for g in (HEADS, 1))
    text = cache_bytes(4096, LAYERS, HEADS, HEAD_DIM)
    weights = [sum(parameters(EMBED_DIM, HEADS, g, HEAD_DIM).values()) for g in (HEADS, 1)]
    falcon = cache_bytes(1, FALCON_LAYERS, 1, FALCON_HEAD_DIM)
    return {
        "falcon_bytes": f"{falcon:,}",
        "falcon_multi_head_bytes": f"{FALCON_HEADS * falcon:,}",
        "high": f"{high:.4f}",
        "low": f"{low:.4f}",
        "multi_head_bytes": f"{many:,}",
        "multi_head_text": f"{text // 2**30} GiB",
        "multi_query_bytes": f"{one:,}",
        "multi_query_text": f"{text // HEADS // 2**20} MiB",
        "output_high": f"{10 * high:.2f}",
        "output_low": f"{10 * low:.2f}",
        "parameters_left": f"{weights[1] / weights[0]:.0%}",
        "text": f"{4096:,}",
    }
