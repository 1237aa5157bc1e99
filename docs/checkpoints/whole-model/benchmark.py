"""A token and a prompt of a whole model: no cache, a cache, grouped heads, rings; transformers."""

import time
from collections.abc import Callable

import torch
from torch import Tensor
from transformers import DynamicCache, Qwen3Config, Qwen3ForCausalLM

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


def prefill(step: str, length: int) -> Callable[[], Tensor]:
    """Return the call that reads a text into empty caches, for the logits after its end."""
    model, tokens = model_of(step), torch.arange(length)[None] % int(str(SHAPE["vocab_size"]))

    def read() -> Tensor:
        output: Tensor = model(tokens, caches=model.new_caches(1, length))
        return output[:, -1]

    return read


def theirs(length: int) -> Callable[[], Tensor]:
    """Return the step with a cache as transformers takes it, with a model of the same shape."""
    torch.manual_seed(0)
    given = {name: value for name, value in SHAPE.items() if name != "model_type"}
    model = Qwen3ForCausalLM(Qwen3Config(**given)).eval()
    tokens = torch.arange(length)[None] % int(str(SHAPE["vocab_size"]))
    past = DynamicCache(config=model.config)
    model(tokens[:, :-1], past_key_values=past)

    def step_() -> Tensor:
        output: Tensor = model(tokens[:, -1:], past_key_values=past).logits
        past.crop(-1)  # the same token each time
        return output[:, -1]

    return step_


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure on one thread: the least processor time of a step, the ways taking turns."""
    values = []
    with one_thread():
        for length in LENGTHS:
            calls = {step: decode(step, length) for step in STEPS}
            if length == LENGTHS[-1]:
                calls["theirs"] = theirs(length)
            spent = least_seconds(list(calls.values()), SECONDS, clock=time.process_time)
            for step, seconds in zip(calls, spent, strict=True):
                of = {"step": step, "tokens": length, "kernel": kernel_of(calls[step])}
                values.append({**of, "quantity": "time", "value": 1000 * seconds, "unit": "ms"})
        prompts = []
        calls = {step: prefill(step, LENGTHS[-1]) for step in STEPS if STEPS[step][1]}
        spent = least_seconds(list(calls.values()), 3 * SECONDS, clock=time.process_time)
        for step, seconds in zip(calls, spent, strict=True):
            of = {"step": step, "tokens": LENGTHS[-1], "kernel": kernel_of(calls[step])}
            prompts.append({**of, "quantity": "time", "value": seconds, "unit": "s"})
    return {
        "per_token": measurement(values, threads=1),
        "per_prompt": measurement(prompts, threads=1),
    }
