"""What conversion costs the models of the chapter, and what a little training repairs."""

import statistics

from attn_docs import KVConfig, kv_cache_bytes
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from . import benchmark
from .conversion import AT, HEADS, MORE, SEEDS, STEPS, STRONG, by_strong, choices

LLAMA_LAYERS, LLAMA_HEADS, LLAMA_HEAD_DIM = 32, 32, 128  # Llama 2 7B


def repaired(language: str) -> str:
    """Return the losses at once and after further training, by method and number of heads."""
    text, names = (texts(__file__, group, language) for group in ("repaired", "methods"))
    header = [*text["header"], *(text["later"].format(n=n) for n in AT[1:])]
    rows = [
        (str(kv_heads), names[method], *(shown(method, kv_heads, step) for step in AT))
        for method, kv_heads in benchmark.CASES
    ]
    caption = text["caption"].format(steps=STEPS, more=MORE, seeds=SEEDS)
    return f"{table(header, rows)}\n\n{load(__file__)['losses'].caption(caption, language)}"


def spread(method: str, kv_heads: int, step: int) -> list[float]:
    """Return the loss of each model, in the order of their seeds."""
    found, of = load(__file__)["losses"], {"method": method, "kv_heads": kv_heads, "step": step}
    return [found("loss", **of, seed=seed) for seed in range(SEEDS)]


def shown(method: str, kv_heads: int, step: int) -> str:
    """Return mean and standard deviation of the models' losses."""
    values = spread(method, kv_heads, step)
    return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def cached(kv_heads: int) -> int:
    """Count the bytes that Llama 2 7B caches of a token, or would with fewer KV heads."""
    config = KVConfig(full_layers=LLAMA_LAYERS, num_kv_heads=kv_heads, head_dim=LLAMA_HEAD_DIM)
    return kv_cache_bytes(config, 1)


TABLES = {"repaired": repaired}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    found = choices() | dict(zip(("kept", "dropped"), by_strong(), strict=True))
    both = (spread(method, 2, MORE) for method in ("first", "mean"))
    gaps = [first - mean for first, mean in zip(*both, strict=True)]
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
            "before": f"{statistics.mean(spread('none', HEADS, 0)):.2f}",
            "mean_at_once": f"{statistics.mean(spread('mean', 2, 0)):.2f}",
            "none_later": f"{statistics.mean(spread('none', HEADS, MORE)):.2f}",
            "mean_later": f"{statistics.mean(spread('mean', 2, MORE)):.2f}",
            "first_wins": str(sum(gap < 0 for gap in gaps)),
            "gap": f"{statistics.mean(gaps):.2f} ± {statistics.stdev(gaps):.2f}",
            "rotated_later": f"{statistics.mean(spread('rotated', 2, MORE)):.2f}",
            "seeds": str(SEEDS),
            "strong": str(STRONG),
        }
    )
