"""What conversion costs the model of the chapter, and what a little training repairs."""

from attn_docs import KVConfig, kv_cache_bytes
from docs._kit.markdown import table
from docs._kit.text import texts

from .conversion import (
    AT,
    HEADS,
    METHODS,
    MORE,
    STEPS,
    choices,
    losses,
)

KV_HEADS = (2, 1)
LLAMA_LAYERS, LLAMA_HEADS, LLAMA_HEAD_DIM = 32, 32, 128  # Llama 2 7B


def repaired(language: str) -> str:
    """Return the losses at once and after further training, by method and number of heads."""
    text, names = (texts(__file__, group, language) for group in ("repaired", "methods"))
    header = [*text["header"], *(text["later"].format(n=n) for n in AT[1:])]
    rows = [(str(HEADS), names["none"], *_shown("none", HEADS))]
    rows += [
        (str(kv_heads), names[method], *_shown(method, kv_heads))
        for kv_heads in KV_HEADS
        for method in METHODS
    ]
    caption = text["caption"].format(steps=STEPS, more=MORE)
    return f"{table(header, rows)}\n\n{caption}"


def _shown(method: str, kv_heads: int) -> list[str]:
    return [f"{losses(method, kv_heads)[step]:.2f}" for step in AT]


def cached(kv_heads: int) -> int:
    """Count the bytes that Llama 2 7B keeps of a word, or would with fewer key and value heads."""
    config = KVConfig(full_layers=LLAMA_LAYERS, num_kv_heads=kv_heads, head_dim=LLAMA_HEAD_DIM)
    return kv_cache_bytes(config, 1)


TABLES = {"repaired": repaired}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    found = choices()
    ends = {
        f"{name}_{end}": f"{pick(values):.2f}"
        for name, values in found.items()
        for end, pick in (("best", min), ("worst", max))
    }
    cache = {f"cache_{g}": f"{cached(g) / 2**10:,.0f} KiB" for g in (LLAMA_HEADS, 8)}
    return (
        ends
        | cache
        | {
            "before": f"{losses('none', HEADS)[0]:.2f}",
            "mean_at_once": f"{losses('mean', 2)[0]:.2f}",
            "mean_later": f"{losses('mean', 2)[MORE]:.2f}",
            "random_at_once": f"{losses('random', 2)[0]:.2f}",
        }
    )
