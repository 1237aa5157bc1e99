"""Steps, paths and operations of a recurrent and of a self-attention layer."""

from docs._kit.markdown import table

SIZE = 512
LENGTHS = (16, 512, 4096)


def gru_operations(n: int, d: int) -> int:
    """Count a GRU's operations: n words, two gates, a candidate; d × d for word and for state."""
    return 2 * n * 3 * 2 * d * d


def self_attention_operations(n: int, d: int) -> int:
    """Count those of one head: four d × d projections of n words, QKᵀ, and weights times V."""
    return 2 * n * 4 * d * d + 2 * 2 * n * n * d


def sequential_steps(layer: str, n: int) -> int:
    """Return how many steps must wait for one another."""
    return {"recurrent": n, "self-attention": 1}[layer]


def longest_path(layer: str, n: int) -> int:
    """Return how many steps lie between the input and the output that are furthest apart."""
    return {"recurrent": n, "self-attention": 1}[layer]


def cost(language: str) -> str:
    """Return the two lines of the paper's table 1 that this chapter is about."""
    header = {
        "en": ("layer", "operations", "steps in sequence", "longest path"),
        "zh": ("层", "运算量", "顺序步数", "最长路径"),
    }[language]
    names = {"en": ("recurrent", "self-attention"), "zh": ("循环层", "自注意力")}[language]
    return table(
        header,
        (
            (names[0], "$O(n \\cdot d^2)$", "$O(n)$", "$O(n)$"),
            (names[1], "$O(n^2 \\cdot d)$", "$O(1)$", "$O(1)$"),
        ),
    )


def counted(language: str) -> str:
    """Return operations, steps and paths at several lengths."""
    header = {
        "en": ("$n$", "GRU", "self-attention", "ratio", "steps, GRU", "steps, self-attention"),
        "zh": ("$n$", "GRU", "自注意力", "比值", "GRU 的步数", "自注意力的步数"),
    }[language]
    rows = (
        (
            f"{n:,}",
            f"{gru / 1e6:,.0f} M",
            f"{attention / 1e6:,.0f} M",
            f"{attention / gru:.2f}×",
            f"{sequential_steps('recurrent', n):,}",
            f"{sequential_steps('self-attention', n):,}",
        )
        for n in LENGTHS
        for gru, attention in ((gru_operations(n, SIZE), self_attention_operations(n, SIZE)),)
    )
    caption = {
        "en": f"Input and output size $d = {SIZE}$, one sentence, one layer, forward only. One M "
        "is a million operations; the ratio is self-attention's to the GRU's.",
        "zh": f"输入和输出的维度 $d = {SIZE}$，一个句子，一层，仅前向。1 M 即百万次运算；"
        "比值是自注意力的运算量除以 GRU 的。",
    }[language]
    return f"{table(header, rows)}\n\n{caption}"


TABLES = {"cost": cost, "counted": counted}
