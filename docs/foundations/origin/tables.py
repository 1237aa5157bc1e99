"""Steps, paths, operations and time of a recurrent and of a self-attention layer."""

from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

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
    text = texts(__file__, "cost", language)
    rows = (
        (text["recurrent"], "$O(n \\cdot d^2)$", "$O(n)$", "$O(n)$"),
        (text["self-attention"], "$O(n^2 \\cdot d)$", "$O(1)$", "$O(1)$"),
    )
    return table(text["header"], rows)


def counted(language: str) -> str:
    """Return operations, steps and paths at several lengths."""
    text = texts(__file__, "counted", language)
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
    return f"{table(text['header'], rows)}\n\n{text['caption'].format(size=SIZE)}"


def over_length(language: str) -> str:
    """Return how long both layers take, and the ratios of the GRU's time to self-attention's."""
    return over_length_table(load(__file__)["over_length"], language)


def over_length_table(measured: Measurement, language: str) -> str:
    """Return a measurement of both layers as a table, a row a length."""
    text = texts(__file__, "over_length", language)
    rows = (
        (
            f"{words:,}",
            *(
                _milliseconds(measured("time", words=words, layer=layer, unit="ms"))
                for layer in ("gru", "attention")
            ),
            *(
                f"{measured('time', words=words, passes=passes, unit='ratio'):.2g}×"
                for passes in ("forward", "both")
            ),
        )
        for words in sorted({value["words"] for value in measured.values})
    )
    setting = {name: measured.values[0][name] for name in ("batch", "size")}
    caption = measured.caption(text["caption"].format(**setting), language)
    return f"{table(text['header'], rows)}\n\n{caption}"


def _milliseconds(milliseconds: float) -> str:
    return f"{milliseconds:.2g}" if milliseconds < 100 else f"{milliseconds:,.0f}"


TABLES = {"cost": cost, "counted": counted, "over_length": over_length}
