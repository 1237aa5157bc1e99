"""What conversion costs the model of the chapter, and what a little training repairs."""

from docs._kit.markdown import table

from .conversion import (
    AT,
    HEADS,
    METHODS,
    MORE,
    STEPS,
    choices,
    losses,
)

NAMES = {
    "en": {"mean": "mean", "first": "first", "random": "random"},
    "zh": {"mean": "平均", "first": "第一个", "random": "随机"},
}
KV_HEADS = (2, 1)
# Llama 2 7B: layers, heads, head size, bytes of a number
LLAMA = (32, 32, 128, 2)


def repaired(language: str) -> str:
    """Return the losses at once and after further training, by method and number of heads."""
    header = {
        "en": ("key and value heads", "made by", "at once", *(f"{n} steps later" for n in AT[1:])),
        "zh": ("键头和值头的个数", "由来", "转换之后", *(f"再训练 {n} 步" for n in AT[1:])),
    }[language]
    as_it_was = {"en": "not converted", "zh": "未转换"}[language]
    rows = [(str(HEADS), as_it_was, *_shown("none", HEADS))]
    rows += [
        (str(kv_heads), NAMES[language][method], *_shown(method, kv_heads))
        for kv_heads in KV_HEADS
        for method in METHODS
    ]
    caption = {
        "en": f"Loss on 256 rows that were not trained on. The model was trained for {STEPS} "
        f"steps; {MORE} steps are 5 % of that.",
        "zh": f"在 256 行没有训练过的数据上的损失。模型原先训练了 {STEPS} 步，"
        f"{MORE} 步是其中的 5 %。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


def _shown(method: str, kv_heads: int) -> list[str]:
    return [f"{losses(method, kv_heads)[step]:.2f}" for step in AT]


TABLES = {"repaired": repaired}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    found = choices()
    ends = {
        f"{name}_{end}": f"{pick(values):.2f}"
        for name, values in found.items()
        for end, pick in (("best", min), ("worst", max))
    }
    layers, heads, size, each = LLAMA
    cache = {f"cache_{g}": f"{2 * layers * g * size * each / 2**10:,.0f} KiB" for g in (heads, 8)}
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
