"""What windows cost: the loss of small models with them, and the time of three ways to attend."""

import time
from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from attn_docs import MultiHeadAttention, RotaryEmbedding, sliding_window_mask
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.language_model import (
    EMBED_DIM,
    HELD_OUT,
    NUM_HEADS,
    language_model,
    nats_by_kind,
    tell_stories,
    train,
)
from docs._kit.examples import example
from docs._kit.measure import kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

WINDOW = 16  # of the local layers
LAYERS: dict[str, tuple[int | None, int | None]] = {
    "global-global": (None, None),
    "local-global": (WINDOW, None),
    "global-local": (None, WINDOW),
    "local-local": (WINDOW, WINDOW),
}
SEEDS, STEPS, STORIES = (0, 1, 2, 3, 4), 1300, 300
JUDGED, BEGIN, CUT = 100, 100, 100  # held-out stories, from this character on, in this window
HEADS, HEAD_DIM, LENGTH, WIDE, BLOCK = 8, 64, 4096, 256, 256  # of the timing


def model_of(windows: tuple[int | None, int | None], seed: int = 0) -> DecoderModel:
    """Return the book's language model, untrained, with a window in each layer, or none."""
    rest = iter(windows)

    def attention() -> MultiHeadAttention:
        rotary = RotaryEmbedding(EMBED_DIM // NUM_HEADS)
        return MultiHeadAttention(EMBED_DIM, NUM_HEADS, rotary=rotary, window=next(rest))

    return language_model(seed, attention)


def of_layers() -> list[dict[str, Any]]:
    """Train each pattern of layers with each seed; return what a held-out story then costs."""
    stories, values = tell_stories(STORIES, HELD_OUT), []
    for layers, windows in LAYERS.items():
        for seed in SEEDS:
            start = time.process_time()
            model = model_of(windows, seed)
            train(model, STEPS, seed)
            nats = nats_by_kind(model.eval(), stories)
            found = {"loss": (sum(nats.values()), "nat")}
            found |= {kind: (nats[kind], "nat") for kind in ("owner", "colour again", "dream")}
            found["CPU time"] = (time.process_time() - start, "s")
            of = {"layers": layers, "seed": seed}
            values += [
                {**of, "quantity": name, "value": round(value, 3), "unit": unit}
                for name, (value, unit) in found.items()
            ]
            print(layers, seed, found, flush=True)
    kernel = kernel_of(lambda: nats_by_kind(model, stories[:4]))
    return [{**value, "kernel": kernel} for value in values]


def calls() -> dict[str, Callable[[], Tensor]]:
    """Return a call of each way to attend in a window, and one that attends to all."""
    query, key, value = torch.randn(3, 1, HEADS, LENGTH, HEAD_DIM).unbind()
    mask = sliding_window_mask(LENGTH, window=WIDE)
    windowed = example("checkpoints/window/blocks")["windowed"]

    def near(_b: Tensor, _h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        return cast("Tensor", (q >= kv) & (q - kv < WIDE))

    blocks = create_block_mask(near, None, None, LENGTH, LENGTH, device="cpu")
    compiled = cast("Any", torch.compile(flex_attention))
    attend = F.scaled_dot_product_attention
    return {
        "causal": lambda: attend(query, key, value, is_causal=True),
        "mask": lambda: attend(query, key, value, mask),
        "blocks": lambda: cast("Tensor", windowed(query, key, value, WIDE, BLOCK)),
        "flex": lambda: cast("Tensor", compiled(query, key, value, block_mask=blocks)),
    }


@torch.no_grad()
def of_time() -> list[dict[str, Any]]:
    """Return how long each way takes, in float32."""
    made = calls()
    spent = least_seconds(list(made.values()), budget=40.0, clock=time.process_time)
    return [
        {
            "way": way,
            "quantity": "time",
            "value": round(1e3 * seconds, 1),
            "unit": "ms",
            "kernel": "flex_attention, compiled" if way == "flex" else kernel_of(call),
        }
        for (way, call), seconds in zip(made.items(), spent, strict=True)
    ]


def measure() -> dict[str, Measurement]:
    """Measure on one thread: some twenty minutes, most of it training."""
    with one_thread():
        found = {"time": of_time(), "layers": of_layers()}
    return {name: measurement(values, threads=1) for name, values in found.items()}
