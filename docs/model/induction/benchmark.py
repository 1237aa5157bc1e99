"""Two layers against one over three seeds, and the moment at which induction is learned."""

import time
from typing import Any

import torch

from attn_docs.model import DecoderModel
from attn_docs.model.induction import (
    EXAMINED,
    STEPS,
    SYMBOLS,
    Behaviour,
    Examples,
    behaviour,
    repeated_tokens,
    train,
)
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

SEEDS, LAYERS = (0, 1, 2), (1, 2)
EVERY, UNTIL = 20, 600  # steps between two looks at a model in training, and of the last
EARLY, LATE = 100, 140  # steps before and after the moment at which it is learned
SEQUENCES = 256  # that a model is examined on
LATELY, LONG_AGO = range(4), range(9, 16)  # how many places back a single layer looks

Value = dict[str, Any]


def measure() -> dict[str, Measurement]:
    """Train each model once, and look at it on the way."""
    with one_thread():
        found = [trained(layers, seed) for layers in LAYERS for seed in SEEDS]
    return {
        name: measurement([value for one in found for value in one[name]], threads=1)
        for name in ("trained", "curve", "single")
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
    single = by_distance(model, examples.tokens[:, :-1]) + guessed(model, examples)
    return {
        "single": [{"seed": seed, **v, "kernel": kernel} for v in single if layers == 1],
        "trained": [{**of, "steps": STEPS, **value, "kernel": kernel} for value in ends],
        "curve": [{**of, **value, "kernel": kernel} for value in curve],
    }


@torch.no_grad()
def by_distance(model: DecoderModel, tokens: torch.Tensor) -> list[Value]:
    """Return how much of its weight a single layer gives to what stood lately, and long ago.

    Queries of the second half, which have seen enough of both.
    """
    weights = model(tokens, need_weights=True)[1][0][:, 0]  # b n n
    half = tokens.size(1) // 2
    back = [weights.diagonal(-far, -2, -1)[:, -half:].mean().item() for far in range(half)]
    places = {"lately": LATELY, "long ago": LONG_AGO}
    return [
        {"quantity": name, "value": round(sum(back[i] for i in far), 4), "unit": "ratio"}
        for name, far in places.items()
    ]


@torch.no_grad()
def guessed(model: DecoderModel, examples: Examples) -> list[Value]:
    """Return what a single layer predicts, and on which rule, where the sequence repeats itself."""
    tokens, answers = examples.tokens[:, :-1], examples.tokens[:, 1:]  # b n
    logits, weights = model(tokens, need_weights=True)
    guesses, n = logits.argmax(-1), tokens.size(1)  # b n
    each = tokens[:, None].expand(-1, n, -1)  # b n n: the token at each key
    given = torch.zeros(*tokens.shape, len(SYMBOLS)).scatter_add(-1, each, weights[0][:, 0])
    places = torch.arange(n)
    far = places[:, None] - places  # n n: how many places back a key stands
    band = (far >= LONG_AGO[0]) & (far <= LONG_AGO[-1])
    repeated, segment = examples.repeated, (~examples.repeated).sum(-1, keepdim=True)  # b 1
    rule = guesses == longest_ago(tokens)
    found = {
        "most weight": (guesses == given.argmax(-1))[repeated],
        "answer in band": ((each == answers[..., None]) & band).any(-1)[repeated],
        "as the rule": rule[repeated],
        "as the rule, long": rule[repeated & (segment >= LONG_AGO[0])],
        "copied": added(model).argmax(-1) == torch.arange(len(SYMBOLS)),
    }
    return [
        {"quantity": name, "value": round(hits.double().mean().item(), 4), "unit": "ratio"}
        for name, hits in found.items()
    ]


def longest_ago(tokens: torch.Tensor) -> torch.Tensor:
    """Return at each place the token seen so far whose last occurrence is longest ago."""
    rows = []
    for row in tokens.tolist():
        last: dict[int, int] = {}
        rows.append([])
        for place, token in enumerate(row):
            last[token] = place
            rows[-1].append(min(last, key=lambda seen: last[seen]))
    return torch.tensor(rows)


def added(model: DecoderModel) -> torch.Tensor:
    """Return what attending to one token alone adds to the logits of a single layer, a row each."""
    (block,) = model.blocks
    embedded = block.attention_norm(model.token_embedding.weight)
    return model.output(model.norm(block.attention.out_proj(block.attention.v_proj(embedded))))


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
