"""Two layers against one over three seeds, and the moment at which induction is learned."""

import time
from typing import Any

import torch

from attn_docs.model import DecoderModel
from attn_docs.model.induction import (
    EXAMINED,
    STEPS,
    Behaviour,
    behaviour,
    repeated_tokens,
    train,
)
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

SEEDS, LAYERS = (0, 1, 2), (1, 2)
EVERY, UNTIL = 20, 300  # steps between two looks at a model in training, and of the last
EARLY, LATE = 100, 140  # steps before and after the moment at which it is learned
SEQUENCES = 256  # that a model is examined on

Value = dict[str, Any]


def measure() -> dict[str, Measurement]:
    """Train each model once, and look at it on the way."""
    with one_thread():
        found = [trained(layers, seed) for layers in LAYERS for seed in SEEDS]
    return {
        name: measurement([value for one in found for value in one[name]], threads=1)
        for name in ("trained", "curve")
    }


def trained(layers: int, seed: int) -> dict[str, list[Value]]:
    """Return what a model does after its training and on the way, and its CPU seconds."""
    examples = repeated_tokens(SEQUENCES, torch.Generator().manual_seed(EXAMINED))
    few = repeated_tokens(SEQUENCES // 4, torch.Generator().manual_seed(EXAMINED + 1))
    curve: list[Value] = []
    looking = 0.0

    def watch(step: int, model: DecoderModel) -> None:
        nonlocal looking
        start = time.process_time()
        if step % EVERY == 0 and step <= UNTIL:
            seen = values(behaviour(model, few))
            curve.extend({"step": step, **value} for value in seen if told(layers, value))
        looking += time.process_time() - start

    start = time.process_time()
    model = train(layers, seed, watch=watch)
    seconds = time.process_time() - start - looking
    kernel = kernel_of(lambda: model(examples.tokens[:, :-1]))
    of = {"layers": layers, "seed": seed}
    ends = values(behaviour(model, examples))
    ends.append({"quantity": "CPU time", "value": round(seconds, 1), "unit": "s"})
    return {
        "trained": [{**of, "steps": STEPS, **value, "kernel": kernel} for value in ends],
        "curve": [{**of, **value, "kernel": kernel} for value in curve],
    }


def told(layers: int, value: Value) -> bool:
    """Return whether the figure shows a value: of two layers the score that each is there for."""
    scores = {("previous", 1), ("induction", 2)} if layers == 2 else set()
    return value["quantity"] == "accuracy" or (value["quantity"], value["layer"]) in scores


def values(found: Behaviour) -> list[Value]:
    """Return accuracy and scores, the scores by layer from 1."""
    seen = [{"quantity": "accuracy", "value": found.accuracy}]
    for name in ("previous", "induction"):
        scores = enumerate(getattr(found, name), 1)
        seen += [{"quantity": name, "layer": layer, "value": score} for layer, score in scores]
    return [{**value, "value": round(value["value"], 4), "unit": "ratio"} for value in seen]
