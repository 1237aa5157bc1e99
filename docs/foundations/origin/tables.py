"""Steps, paths, operations and time of a recurrent and of a self-attention layer."""

from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

from .recall import ATTENDING, BATCH, FIRST, KINDS, SIZES, Way
from .recall import LENGTHS as LENGTHS_RECALL

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
    return {"recurrent": n, "convolution": 1, "self-attention": 1}[layer]


def longest_path(layer: str, n: int) -> int:
    """Return how many steps lie between the input and the output that are furthest apart.

    Of the convolution with kernels of 2, each layer twice as wide as the one below: its layers.
    """
    return {"recurrent": n, "convolution": (n - 1).bit_length(), "self-attention": 1}[layer]


def cost(language: str) -> str:
    """Return the lines of the paper's table 1, and what training keeps of each layer."""
    text = texts(__file__, "cost", language)
    rows = (
        (text["recurrent"], "$O(n \\cdot d^2)$", "$O(n)$", "$O(n)$", "$O(n \\cdot d)$"),
        (
            text["convolution"],
            *("$O(k \\cdot n \\cdot d^2)$", "$O(1)$", "$O(\\log_k n)$", "$O(n \\cdot d)$"),
        ),
        (
            text["self-attention"],
            *("$O(n^2 \\cdot d)$", "$O(1)$", "$O(1)$", text["weights"]),
        ),
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


def recall(language: str) -> str:
    """Return how often each network remembers the word at place j, a row a network."""
    return recall_table(load(__file__)["recall"], language)


def recall_table(measured: Measurement, language: str) -> str:
    """Return a measurement of the memory test as a table."""
    text = texts(__file__, "recall", language)
    ways = (
        FIRST,
        *(Way(size, "any", attends=False) for size in SIZES),
        *(Way(size, "any", attends=True) for size in ATTENDING),
    )
    rows = (
        (
            text["attention" if way.attends else way.asked].format(size=way.size),
            *(_accuracy(measured, way, words, text["range"]) for words in LENGTHS_RECALL),
        )
        for way in ways
    )
    setting = {name: measured.values[0][name] for name in ("seeds", "steps")}
    words = text["caption"].format(**setting, kinds=KINDS, batch=BATCH)
    header = (text["header"], *(f"$n = {n}$" for n in LENGTHS_RECALL))
    return f"{table(header, rows)}\n\n{measured.caption(words, language)}"


def _accuracy(measured: Measurement, way: Way, words: int, spread: str) -> str:
    """Return the mean of the seeds, and the lowest and the highest where they differ."""
    if way.attends and words != LENGTHS_RECALL[-1]:
        return "—"
    mean, low, high = (
        f"{measured(quantity, **way._asdict(), words=words):.2f}"
        for quantity in ("accuracy", "lowest", "highest")
    )
    return mean if low == high else spread.format(mean=mean, low=low, high=high)


def numbers() -> dict[str, str]:
    """Return what the chapter's sentences say of the memory test and of the time."""
    measured = load(__file__)
    found = measured["recall"].values[0]
    ratios = {
        words: measured["over_length"]("time", words=words, passes="forward", unit="ratio")
        for words in (32, 4096)
    }
    return {
        "kinds": str(KINDS),
        "longest": f"{max(ratios):,}",
        "ratio_32": f"{ratios[32]:.0f}",
        "ratio_4096": f"{1 / ratios[4096]:.0f}",
        "seeds": str(found["seeds"]),
        "steps": f"{found['steps']:,}",
    }


def _milliseconds(milliseconds: float) -> str:
    return f"{milliseconds:.2g}" if milliseconds < 100 else f"{milliseconds:,.0f}"


TABLES = {"cost": cost, "counted": counted, "over_length": over_length, "recall": recall}
