"""What stands in the way: states of several sizes; words on either side of the date, or dots."""

import statistics
import time
from typing import Any, NamedTuple
from unittest.mock import patch

import torch

from attn_docs.model.alignment import (
    EXAMINED,
    DateTranslator,
    Line,
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
DATE_FIRST, DOTS, DATE_LAST, ANYWHERE = "date first", "dots", "date last", "date anywhere"


class Way(NamedTuple):
    """What translates: how large its states are, whether it looks back, and where the date is."""

    size: int
    attends: bool
    lines: str = DATE_FIRST

    def words(self) -> dict[str, int | None]:
        """Return how many words stand before the date, and how many after it; None if any few."""
        if self.lines == ANYWHERE:
            return {"before": None, "after": None}
        last = self.lines == DATE_LAST
        return {"before": AFTER if last else 0, "after": 0 if last else AFTER}

    def draw(self, count: int, seed: int, *, unseen: bool = False, **_: object) -> list[Line]:
        """Draw lines such as `draw_lines` does, with the words of this way, or dots for them."""
        lines = draw_lines(count, seed, unseen=unseen, **self.words())
        return [dotted(line) for line in lines] if self.lines == DOTS else lines

    def train(self, seed: int, steps: int) -> DateTranslator:
        """Train a translator on such lines."""
        with patch("attn_docs.model.alignment.draw_lines", self.draw):
            return train_translator(self.size, attends=self.attends, seed=seed, steps=steps)


def dotted(line: Line) -> Line:
    """Return a line that begins with its date, with a dot for each character that follows it."""
    day = line.text.rsplit(maxsplit=AFTER)[0]
    return Line(day.ljust(len(line.text), "."), line.iso)


SIZES = (8, 16, 32, 64)
BY_SIZE = {
    (size, attends): Way(size, attends, lines=ANYWHERE)
    for size in SIZES
    for attends in (False, True)
}
FAR = {
    "forwards": Way(SIZE, attends=False),
    "near": Way(SIZE, attends=False, lines=DATE_LAST),
    "far": Way(SIZE, attends=True),
}
APART = {
    (size, lines): Way(size, attends=False, lines=lines)
    for size in (16, 32, SIZE, 128)
    for lines in (DATE_FIRST, DOTS, DATE_LAST)
    if (size != SIZE if lines != DOTS else size <= SIZE)
}  # the others of SIZE are in FAR; larger ones are right even with words
ATTENDING = {size: Way(size, attends=True) for size in (16, 32)}  # 64 is in FAR
PATIENT = {"far": FAR["forwards"], "small": BY_SIZE[32, False]}
PATIENCE = 4  # times as many steps


def summary(way: Way) -> list[dict[str, Any]]:
    """Train a translator once a seed; return mean, lowest and highest, and the seconds it took."""
    found, seconds = [], []
    lines = way.draw(TESTED, EXAMINED, unseen=True)
    for seed in SEEDS:
        start = time.process_time()
        model = way.train(seed, STEPS)
        seconds.append(time.process_time() - start)
        found.append(accuracy(model, lines))
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
    lines, found = way.draw(TESTED, EXAMINED, unseen=True), []
    for seed in SEEDS:
        model = way.train(seed, PATIENCE * STEPS)
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
        attending = [value for way in ATTENDING.values() for value in summary(way)]
        patience = [value for name in PATIENT for value in patient(name)]
    measured = {"far": far, "longer": after, "sizes": sizes, "apart": apart}
    measured |= {"attending": attending, "patient": patience}
    return {name: measurement(values, threads=1) for name, values in measured.items()}
