"""Time of a recurrent and of a self-attention layer, and what the memory test found."""

from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

from .recall import ATTENDING, BATCH, FIRST, KINDS, SIZES, Way
from .recall import LENGTHS as LENGTHS_RECALL


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


TABLES = {"over_length": over_length, "recall": recall}
