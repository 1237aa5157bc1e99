"""What every layer of the page ends at, with five seeds: one run could be luck."""

import math

from attn_docs.practice.bugs_that_train import train
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

from .bugs import BUGS, ORDER, last, layer

SEEDS = range(5)
STEPS, LONG = 60, 600  # of the page's runs, and of the right layer when it is given time


def run(name: str, seed: int, *, grouped: bool = False, steps: int = STEPS) -> list[float]:
    """Train an exhibit, "right", or "none" for no attention at all; return the losses."""
    with one_thread():
        made = None if name == "none" else layer(name, grouped=grouped, seed=seed)
        return train(made, steps=steps, seed=seed)


def measure() -> dict[str, Measurement]:
    """Train every layer with each seed, on the same rows."""
    runs = [(name, BUGS[name].grouped, STEPS) for name in ORDER]
    runs += [("none", False, STEPS), *(("right", grouped, STEPS) for grouped in (False, True))]
    runs.append(("right", False, LONG))
    kernel = {"kernel": kernel_of(lambda: run("right", 0, steps=1))}
    values = []
    for name, grouped, steps in runs:
        for seed in SEEDS:
            losses = run(name, seed, grouped=grouped, steps=steps)
            finite = sum(1 for loss in losses if not math.isnan(loss))
            of = {"layer": name, "grouped": grouped, "steps": steps, "seed": seed}
            if finite == steps:
                found = {"quantity": "loss", "value": last(losses), "unit": "nat"}
            else:
                found = {"quantity": "finite losses", "value": finite, "unit": "steps"}
            values.append(of | found | kernel)
    return {"seeds": measurement(values, threads=1)}
