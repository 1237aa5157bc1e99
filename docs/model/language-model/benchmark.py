"""What five bugs do to the language model: each is trained as the right layer is, but shorter."""

import importlib
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs.model import DecoderModel
from attn_docs.model.language_model import (
    ALPHABET,
    CONTEXT,
    EMBED_DIM,
    HELD_OUT,
    NUM_HEADS,
    Part,
    batch_of,
    decode,
    encode,
    language_model,
    looks_at,
    nats_by_kind,
    tell_stories,
    text_of,
    train,
    word_map,
)
from attn_docs.model.language_model import STEPS as FULL
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

RIGHT = "attn_docs.examples.practice.bugs_that_train"
BUGS = (
    "missing_scale",
    "scrambled_heads",
    "softmax_over_queries",
    "causal_off_by_one",
    "causal_only_in_training",
)
STEPS, STORIES = 800, 40
SHOWN = tell_stories(1, HELD_OUT)[0]  # the story of the maps
PROMPT = text_of(SHOWN).partition(" it dreams")[0]
SEEDS, TOLD = (0, 1, 2), ("dream", "owner", "colour again")
LEAST = 0.05  # smaller weights are not stored


class Watched(nn.Module):
    """A layer of the chapter on bugs, called as a block calls its attention."""

    def __init__(self, name: str) -> None:
        super().__init__()
        place = RIGHT if name == "right" else "attn_docs.exhibits.practice"
        module = importlib.import_module(f"{place}.{name}")
        self.layer = module.Attention(EMBED_DIM, NUM_HEADS, dropout=0.0)
        self.layer.dropout.register_forward_hook(self._keep)

    def _keep(self, *called: Tensor) -> None:
        self.weights = called[-1]  # a hook gets module, inputs, output

    def forward(
        self, x: Tensor, *, is_causal: bool, need_weights: bool = False, **_: None
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Return the layer's output, and with `need_weights` what went through its dropout."""
        output = self.layer(x, is_causal=is_causal)
        return (output, self.weights) if need_weights else output


def measure() -> dict[str, Measurement]:
    """Train the right layer and each bug; store losses, a text and a map."""
    values: list[dict[str, Any]] = []
    with one_thread():
        for name in ("right", *BUGS):
            model = language_model(0, lambda name=name: Watched(name), CONTEXT)
            train(model, STEPS)
            kernel = kernel_of(lambda model=model: nats_by_kind(model, [SHOWN]))
            values += [{"layer": name, **value, "kernel": kernel} for value in examined(model)]
    found = {"bugs": values, "seeds": seeds()}
    return {name: measurement(values, threads=1) for name, values in found.items()}


def seeds() -> list[dict[str, Any]]:
    """Train the chapter's model with each seed; return what it ends at and its steadiest head."""
    with one_thread():
        return [
            {"seed": seed, **value} for seed in SEEDS for value in ended(language_model(seed), seed)
        ]


def ended(model: DecoderModel, seed: int) -> list[dict[str, Any]]:
    """Train a model; return its losses, its steadiest head and the seconds it took."""
    stories, start = tell_stories(100, HELD_OUT), time.process_time()
    train(model, FULL, seed)
    seconds, nats = time.process_time() - start, nats_by_kind(model.eval(), stories)
    found = {"loss": sum(nats.values())} | {f"loss {kind}": nats[kind] for kind in TOLD}
    units = dict.fromkeys(found, "nat") | {"time": "s", "dreamer": "ratio"}
    found["time"] = seconds
    found["dreamer"] = looks_at(model, stories, "dream", "sleeper").max().item()
    kernel = kernel_of(lambda: nats_by_kind(model, [SHOWN]))
    return [
        {"quantity": quantity, "value": round(value, 3), "unit": units[quantity], "kernel": kernel}
        for quantity, value in found.items()
    ]


@torch.no_grad()
def examined(model: nn.Module) -> list[dict[str, Any]]:
    """Return what a trained model loses on whole stories and step by step, its text, its map."""
    stories = tell_stories(STORIES, HELD_OUT)
    whole = sum(nats_by_kind(model.train(), stories).values())
    steps = step_by_step(model.eval(), stories)
    maps = model(encode("\n" + text_of(SHOWN)[:-1])[None], need_weights=True)[1]
    found = [
        {"quantity": "loss", "value": round(whole, 3), "unit": "nat"},
        {"quantity": "loss step by step", "value": round(steps, 3), "unit": "nat"},
        {"quantity": "length", "value": CONTEXT, "unit": "steps", "text": written(model)},
    ]
    seen = word_map(maps[-1][0].mean(0), text_of(SHOWN)).tolist()
    return found + [
        {"quantity": "weight", "value": round(value, 2), "unit": "ratio", "row": row, "column": at}
        for row, line in enumerate(seen)
        for at, value in enumerate(line)
        if value >= LEAST
    ]


def step_by_step(model: nn.Module, stories: list[list[Part]]) -> float:
    """Return the nats of a story when each character is predicted from those before it alone."""
    tokens, targets = batch_of(stories)
    total = 0.0
    for length in range(1, tokens.size(1) + 1):
        logits = model(tokens[:, :length])[:, -1]
        total += F.cross_entropy(logits, targets[:, length - 1], reduction="sum").item()
    return total / len(stories)


def written(model: nn.Module) -> str:
    """Return what the model puts after the prompt: the likeliest character, each time anew."""
    tokens = encode("\n" + PROMPT)[None]
    while tokens.size(1) < CONTEXT and (tokens.size(1) == 1 or tokens[0, -1] > 0):
        tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], 1)
    return decode(tokens[0, 1 + len(PROMPT) :]).strip(ALPHABET[0])
