"""Size and distance apart: states of several sizes, and words on one side of the date or other."""

import statistics
import time
from typing import Any, NamedTuple

import torch

from attn_docs.model.alignment import (
    EXAMINED,
    accuracy,
    draw_lines,
    load_translator,
    train_translator,
)
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

SIZE, SEEDS, STEPS = 64, (0, 1, 2), 1000
AFTER = 6  # words, on one side of the date
EXTRA = (0, 2, 4, 8, 12, 16)  # words after the date, for the shipped models
TESTED = 1000


class Way(NamedTuple):
    """What translates: how large its states are, whether it looks back, and where the date is."""

    size: int
    attends: bool
    lines: str = "date first"
    backwards: bool = False

    def words(self) -> dict[str, int | None]:
        """Return how many words stand before the date, and how many after it; None if any few."""
        if self.lines == ANYWHERE:
            return {"before": None, "after": None}
        last = self.lines == DATE_LAST
        return {"before": AFTER if last else 0, "after": 0 if last else AFTER}


DATE_LAST, ANYWHERE = "date last", "date anywhere"
SIZES = (8, 16, 32, 64)
BY_SIZE = {
    (size, attends): Way(size, attends, lines=ANYWHERE)
    for size in SIZES
    for attends in (False, True)
}
FAR = {
    "forwards": Way(SIZE, attends=False),
    "near": Way(SIZE, attends=False, lines=DATE_LAST),
    "backwards": Way(SIZE, attends=False, backwards=True),
    "far": Way(SIZE, attends=True),
}
APART = {
    (size, lines): Way(size, attends=False, lines=lines)
    for size in (16, 32, 128)
    for lines in ("date first", DATE_LAST)
}  # and SIZE, which is in FAR
PATIENT = {"far": FAR["forwards"], "small": BY_SIZE[32, False]}
PATIENCE = 4  # times as many steps


def summary(way: Way) -> list[dict[str, Any]]:
    """Train a translator once a seed; return mean, lowest and highest, and the seconds it took."""
    found, seconds = [], []
    lines = draw_lines(TESTED, EXAMINED, unseen=True, **way.words())
    for seed in SEEDS:
        start = time.process_time()
        model = train_translator(
            way.size,
            attends=way.attends,
            seed=seed,
            steps=STEPS,
            **way.words(),
            backwards=way.backwards,
        )
        seconds.append(time.process_time() - start)
        found.append(accuracy(model, lines, backwards=way.backwards))
    texts = [text for text, _ in draw_lines(64, EXAMINED)]
    kernel = kernel_of(lambda: model.translate(texts))
    of = {**way._asdict(), "seeds": len(SEEDS), "steps": STEPS, "kernel": kernel, "words": -1}
    told = {"accuracy": statistics.mean(found), "lowest": min(found), "highest": max(found)}
    return [
        {**of, "quantity": "seconds", "value": statistics.mean(seconds), "unit": "s"},
        *(
            {**of, "quantity": name, "value": value, "unit": "ratio"}
            for name, value in told.items()
        ),
    ]


def patient(name: str) -> list[dict[str, Any]]:
    """Return how often a translator that fails is right once it is trained longer."""
    way = PATIENT[name]
    lines, found = draw_lines(TESTED, EXAMINED, unseen=True, **way.words()), []
    for seed in SEEDS:
        model = train_translator(
            way.size, attends=way.attends, seed=seed, steps=PATIENCE * STEPS, **way.words()
        )
        found.append(accuracy(model, lines))
    kernel = kernel_of(lambda: model.translate([text for text, _ in lines[:64]]))
    of = {"name": name, "steps": PATIENCE * STEPS, "seeds": len(SEEDS), "kernel": kernel}
    told = {"accuracy": statistics.mean(found), "lowest": min(found), "highest": max(found)}
    return [
        {**of, "quantity": quantity, "value": value, "unit": "ratio"}
        for quantity, value in told.items()
    ]


@torch.no_grad()
def longer(*, attends: bool) -> list[dict[str, Any]]:
    """Return how often a shipped model is right, by the words that follow the date."""
    model, values = load_translator(attends=attends), []
    for words in EXTRA:
        lines = draw_lines(TESTED, EXAMINED, unseen=True, before=0, after=words)
        texts = [text for text, _ in lines[:64]]
        kernel = kernel_of(lambda texts=texts: model.translate(texts))
        of = {"attends": attends, "words": words, "unit": "ratio", "kernel": kernel}
        values.append({**of, "quantity": "accuracy", "value": accuracy(model, lines)})
    return values


def measure() -> dict[str, Measurement]:
    """Train every way, once a seed, on one thread; then examine the shipped models."""
    with one_thread():
        far = [value for way in FAR.values() for value in summary(way)]
        after = [value for attends in (True, False) for value in longer(attends=attends)]
        sizes = [value for way in BY_SIZE.values() for value in summary(way)]
        apart = [value for way in APART.values() for value in summary(way)]
        patience = [value for name in PATIENT for value in patient(name)]
    measured = {"far": far, "longer": after, "sizes": sizes, "apart": apart, "patient": patience}
    return {name: measurement(values, threads=1) for name, values in measured.items()}
