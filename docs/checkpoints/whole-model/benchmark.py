"""A token and a prompt of a whole model, step by step and in transformers; a token's parts."""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from transformers import Cache, DynamicCache, Qwen3Config, Qwen3ForCausalLM, StaticCache

from attn_docs import KVCache, decoder_from_config
from attn_docs.model import DecoderModel
from docs._kit.measure import kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

LONG = 4096
WINDOW, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 128, 6, 8, 2, 64
SECONDS = 30.0  # spent on each comparison
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
    "window": (SHAPE | GROUPED | WINDOWS, True),
    "ring": (SHAPE | GROUPED | WINDOWS, True),
}
CACHED = [step for step, (_, cached) in STEPS.items() if cached]
THEIRS = ("dynamic", "static")


class Masked(KVCache):
    """A window without a ring: every position stays cached, and a mask hides the old ones."""

    def visible(self, new: int, *, is_causal: bool = True) -> Tensor:
        """Return which keys new queries see, also for a single query."""
        keys = self.key_positions(new)
        queries = torch.arange(self.length, self.length + new)[:, None]
        allowed = keys > queries - WINDOW
        return allowed & (keys <= queries) if is_causal else allowed


def model_of(step: str) -> DecoderModel:
    """Return the model of a step, with the same random weights each time."""
    torch.manual_seed(0)
    return decoder_from_config(STEPS[step][0]).eval()


def caches_of(step: str, length: int, model: DecoderModel | None = None) -> list[KVCache]:
    """Return a step's caches with room for a text, none without."""
    if not STEPS[step][1]:
        return []
    caches = (model or model_of(step)).new_caches(1, length)
    if step == "window":
        for i, cache in enumerate(caches):
            if cache.window is not None:
                caches[i] = Masked(1, KV_HEADS, HEAD_DIM, length)
                caches[i].window = WINDOW
    return caches


def text_of(length: int) -> Tensor:
    """Return tokens (1, length)."""
    return torch.arange(length)[None] % int(str(SHAPE["vocab_size"]))


def decode(step: str, length: int) -> Callable[[], Tensor]:
    """Return the call that computes the logits after the last token of a text."""
    model, tokens = model_of(step), text_of(length)
    if not STEPS[step][1]:
        return lambda: model(tokens)[:, -1]
    caches = caches_of(step, length, model)
    if length > 1:
        model(tokens[:, :-1], caches=caches)

    def step_() -> Tensor:
        for cache in caches:
            cache.length = length - 1  # the same token each time
        output: Tensor = model(tokens[:, -1:], caches=caches)
        return output[:, -1]

    return step_


def products(step: str) -> Callable[[], Tensor]:
    """Return the call that multiplies each matrix of weights by one vector, and does no more."""
    layers = [each for each in model_of(step).modules() if isinstance(each, nn.Linear)]
    given = [torch.randn(1, 1, each.in_features) for each in layers]
    return lambda: [each(x) for each, x in zip(layers, given, strict=True)][-1]


def prefill(step: str, length: int) -> Callable[[], Tensor]:
    """Return the call that reads a text into empty caches, for the logits after its end."""
    model, tokens = model_of(step), text_of(length)

    def read() -> Tensor:
        output: Tensor = model(tokens, caches=caches_of(step, length, model))
        return output[:, -1]

    return read


def theirs_of() -> Qwen3ForCausalLM:
    """Return a model of the second step's shape in transformers."""
    torch.manual_seed(0)
    given = {name: value for name, value in SHAPE.items() if name != "model_type"}
    config = Qwen3Config(**given)
    config._attn_implementation = "sdpa"  # noqa: SLF001 - transformers' own default, made sure of
    return Qwen3ForCausalLM(config).eval()


def their_cache(kind: str, model: Qwen3ForCausalLM, length: int) -> Cache:
    """Return one of transformers' two caches: it grows by copying, or has all room at once."""
    if kind == "dynamic":
        return DynamicCache(config=model.config)
    return StaticCache(config=model.config, max_cache_len=length)


def decode_theirs(kind: str, length: int) -> Callable[[], Tensor]:
    """Return the step with a cache as transformers takes it."""
    model, tokens = theirs_of(), text_of(length)
    past = their_cache(kind, model, length)
    model(tokens[:, :-1], past_key_values=past)

    def step_() -> Tensor:
        output: Tensor = model(tokens[:, -1:], past_key_values=past).logits
        if kind == "dynamic":
            past.crop(-1)  # the same token each time
        else:
            for layer in past.layers:
                layer.cumulative_length.fill_(length - 1)
        return output[:, -1]

    return step_


def prefill_theirs(kind: str, length: int) -> Callable[[], Tensor]:
    """Return the call that reads a text into an empty cache of transformers."""
    model, tokens = theirs_of(), text_of(length)

    def read() -> Tensor:
        past = their_cache(kind, model, length)
        output: Tensor = model(tokens, past_key_values=past).logits
        return output[:, -1]

    return read


def rows(
    calls: dict[str, Callable[[], Tensor]], unit: str, budget: float
) -> list[dict[str, object]]:
    """Return the least processor time of each call, the calls taking turns."""
    spent = least_seconds(list(calls.values()), budget, clock=time.process_time)
    many = {"ms": 1000, "s": 1}[unit]
    return [
        {
            "step": step,
            "kernel": kernel_of(call),
            "quantity": "time",
            "value": many * x,
            "unit": unit,
        }
        for (step, call), x in zip(calls.items(), spent, strict=True)
    ]


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure on one thread: a token at the end of a long text, its parts, and the prompt."""
    with one_thread():
        calls = {step: decode(step, LONG) for step in CACHED}
        calls |= {kind: decode_theirs(kind, LONG) for kind in THEIRS}
        calls |= {f"{step} empty": decode(step, 1) for step in CACHED}
        calls |= {f"{step} products": products(step) for step in CACHED}
        token = rows(calls, "ms", SECONDS)
        token += rows({"none": decode("none", LONG)}, "ms", SECONDS / 3)
        calls = {step: prefill(step, LONG) for step in CACHED}
        calls |= {kind: prefill_theirs(kind, LONG) for kind in THEIRS}
        prompt = rows(calls, "s", 2 * SECONDS)
    return {
        "per_token": measurement(token, threads=1),
        "per_prompt": measurement(prompt, threads=1),
    }
