"""One new token of a whole model: without a cache, with one, with grouped heads, with rings."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from attn_docs import KVCache, decoder_from_config
from attn_docs.model import DecoderModel
from docs._kit.measure import kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

LENGTHS = (256, 512, 1024, 2048, 4096)
WINDOW, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 128, 6, 8, 2, 64
SECONDS = 8.0  # spent on each length
SHAPE = {
    "model_type": "qwen3",
    "vocab_size": 1024,
    "hidden_size": 256,
    "intermediate_size": 768,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": HEAD_DIM,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    "max_position_embeddings": 8192,
}
GROUPED = {"num_key_value_heads": KV_HEADS}
WINDOWS = {
    "use_sliding_window": True,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention"] * (LAYERS - 1) + ["full_attention"],
}
# Each step: what it adds to the config.json, and whether it has a cache.
STEPS = {
    "none": (SHAPE, False),
    "cache": (SHAPE, True),
    "grouped": (SHAPE | GROUPED, True),
    "ring": (SHAPE | GROUPED | WINDOWS, True),
}


def model_of(step: str) -> DecoderModel:
    """Return the model of a step, with the same random weights each time."""
    torch.manual_seed(0)
    return decoder_from_config(STEPS[step][0]).eval()


def caches_of(step: str, length: int) -> list[KVCache]:
    """Return a step's caches with room for a text, none without."""
    return model_of(step).new_caches(1, length) if STEPS[step][1] else []


def decode(step: str, length: int) -> Callable[[], Tensor]:
    """Return the call that computes the logits after the last token of a text."""
    model, tokens = model_of(step), torch.arange(length)[None] % int(str(SHAPE["vocab_size"]))
    if not STEPS[step][1]:
        return lambda: model(tokens)[:, -1]
    caches = model.new_caches(1, length)
    model(tokens[:, :-1], caches=caches)

    def step_() -> Tensor:
        for cache in caches:
            cache.length = length - 1  # the same token each time
        output: Tensor = model(tokens[:, -1:], caches=caches)
        return output[:, -1]

    return step_


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure on one thread: the least processor time of a step, the ways taking turns."""
    values = []
    with one_thread():
        for length in LENGTHS:
            calls = {step: decode(step, length) for step in STEPS}
            spent = least_seconds(list(calls.values()), SECONDS, clock=time.process_time)
            for step, seconds in zip(calls, spent, strict=True):
                of = {"step": step, "tokens": length, "kernel": kernel_of(calls[step])}
                values.append({**of, "quantity": "time", "value": 1000 * seconds, "unit": "ms"})
    return {"per_token": measurement(values, threads=1)}
