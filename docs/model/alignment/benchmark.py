"""The translator of dates with attention and without: over the size of a state, over length."""

import statistics
import time
from typing import Any, NamedTuple

from attn_docs.model.alignment import (
    EXAMINED,
    DateTranslator,
    accuracy,
    draw_lines,
    train_translator,
)
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

SIZES, SEEDS, STEPS = (16, 32, 64), (0, 1, 2), 1000
MIDDLE = 32  # the size that attention is trained with on mixed lines
AFTER = 6  # words, where the date always comes first
EXTRA = (0, 2, 4, 8, 12, 16)  # words after the date; up to two in training
TESTED, LENGTHENED = 1000, 300


class Way(NamedTuple):
    """What translates: how large its states are, whether it looks back, and what it reads."""

    size: int
    attends: bool
    lines: str = "mixed"  # or "date first"
    backwards: bool = False


MIXED = [Way(MIDDLE, attends=True), *(Way(size, attends=False) for size in SIZES)]
FAR = [
    Way(SIZES[-1], attends=False, lines="date first"),
    Way(SIZES[-1], attends=False, lines="date first", backwards=True),
    Way(SIZES[-1], attends=True, lines="date first"),
]


def notes(way: Way) -> dict[str, int]:
    """Return how many words stand before and after the dates; chance decides if nothing is said."""
    return {} if way.lines == "mixed" else {"before": 0, "after": AFTER}


def examine(model: DateTranslator, way: Way) -> dict[int, float]:
    """Return how often a translator is right on unseen dates: -1 in lines like those of training.

    Those of mixed lines are also given lines that begin with the date, by the words after it.
    """
    lines = draw_lines(TESTED, EXAMINED, unseen=True, **notes(way))
    found = {-1: accuracy(model, lines, backwards=way.backwards)}
    for words in EXTRA if way.lines == "mixed" else ():
        lines = draw_lines(LENGTHENED, EXAMINED, unseen=True, before=0, after=words)
        found[words] = accuracy(model, lines)
    return found


def summary(way: Way) -> list[dict[str, Any]]:
    """Train a translator once a seed; return mean, lowest and highest, and the seconds it took."""
    runs, seconds = [], []
    for seed in SEEDS:
        start = time.process_time()
        model = train_translator(
            way.size,
            attends=way.attends,
            seed=seed,
            steps=STEPS,
            backwards=way.backwards,
            **notes(way),
        )
        seconds.append(time.process_time() - start)
        runs.append(examine(model, way))
    texts = [text for text, _ in draw_lines(64, EXAMINED)]
    kernel = kernel_of(lambda: model.translate(texts))
    of = {**way._asdict(), "seeds": len(SEEDS), "steps": STEPS, "kernel": kernel}
    values = [{**of, "quantity": "seconds", "value": statistics.mean(seconds), "unit": "s"}]
    for words in runs[0]:
        found = [run[words] for run in runs]
        told = {"accuracy": statistics.mean(found), "lowest": min(found), "highest": max(found)}
        values += [
            {**of, "words": words, "quantity": name, "value": value, "unit": "ratio"}
            for name, value in told.items()
        ]
    return values


def measure() -> dict[str, Measurement]:
    """Train every way, once a seed, on one thread."""
    with one_thread():
        values = [value for way in (*MIXED, *FAR) for value in summary(way)]
    return {"accuracy": measurement(values, threads=1)}
