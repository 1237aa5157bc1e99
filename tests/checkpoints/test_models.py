"""The data on models against the classes of transformers: sizes, caches, norms, positions."""

import json
import math
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
import transformers
from transformers import PretrainedConfig

from attn_docs import KVConfig, KVLayers, KVModel, kv_cache_bytes, load_models
from docs._tools.blocks import ROOT
from docs._tools.page import page_module

MODELS = load_models()
tables = page_module("checkpoints/models", "tables")
ROWS = json.loads((ROOT / "attn_docs/memory/kv_models.json").read_text(encoding="utf-8"))
CLASSES = "https://github.com/huggingface/transformers/tree/main/src/transformers/models/"
READ = [model for model in MODELS.values() if model.config_class]
every_read = pytest.mark.parametrize("model", READ, ids=[model.name for model in READ])

# what is small in a copy of a model: nothing of it decides the cache
SMALL = {
    **dict.fromkeys(("vocab_size", "unpadded_vocab_size", "vocab_size_per_layer_input"), 64),
    **dict.fromkeys(("hidden_size", "moe_hidden_size"), 64),
    **dict.fromkeys(("q_lora_rank", "o_lora_rank", "intermediate_size"), 16),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("shared_intermediate_size", "dense_intermediate_size"), 16),
    **dict.fromkeys(("intermediate_size_mlp", "moe_shared_expert_intermediate_size"), 16),
    **dict.fromkeys(("num_local_experts", "num_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "num_experts_per_token"), 2),
    **dict.fromkeys(("n_group", "topk_group", "n_shared_experts", "bos_token_id"), 1),
    "hidden_size_per_layer_input": 8,
    "laurel_rank": 4,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "num_nextn_predict_layers": 0,
    "use_mamba_kernels": False,
}
# one for each layer, so it must be made anew
LISTS = ("mlp_layer_types", "layer_rope_theta", "no_rope_layers", "indexer_types", "moe_layers")
LISTS += ("kv_source_layers", "activation_sparsity_pattern")
# the layers of released checkpoints where the class has others by default
CSA, HCA = "compressed_sparse_attention", "heavily_compressed_attention"
RELEASED = {
    "Kimi-Linear-48B": ["full_attention"] * 7 + ["linear_attention"] * 20,
    "DeepSeek-V4-Flash": ["sliding_attention"] * 2 + [CSA] * 21 + [HCA] * 20,
    "MiniMax-M3": ["full_attention"] * 3 + ["minimax_m3_sparse"] * 57,
    "Nemotron-H-8B": ["full_attention"] * 4 + ["linear_attention"] * 24,
}
# rows that take layers or positions from config.json, and sizes from the class
PARTLY = ("Phi-3-mini-4k", "MiniCPM3-4B", "Llama-4-Scout")
# fields of published configurations that the class has otherwise by default
YARN = {"rope_type": "yarn", "rope_theta": 10_000.0, "factor": 40.0}
YARN |= {"original_max_position_embeddings": 4096}
LONG = {"rope_type": "longrope", "short_factor": [1.0] * 16, "long_factor": [1.0] * 16}
SCOUT = {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0}
PUBLISHED: dict[str, dict[str, Any]] = {
    "Phi-3-mini-4k": {"sliding_window": 2047},  # trl #7257
    "Olmo-Hybrid-7B": {"rope_parameters": {"rope_theta": None}},  # modeling_olmo_hybrid.py
    "Olmo-3-7B": {"rope_parameters": {"full_attention": YARN}},
    "MiniCPM3-4B": {"rope_parameters": LONG},  # config.json of openbmb/MiniCPM3-4B
    "Llama-4-Scout": {"rope_parameters": SCOUT},  # llama-models #322
    "DeepSeek-V3": {"rope_parameters": YARN},
    "DeepSeek-V3.2": {"rope_parameters": YARN},
    "DeepSeek-V4-Flash": {
        "rope_parameters": {
            "main": {"rope_type": "default", "partial_rotary_factor": 0.125},
            "compress": YARN | {"partial_rotary_factor": 0.125},
        }
    },
    "MiniMax-M2": {"rotary_dim": 64},
}
# models whose keys or state depend on the width: they are built on the device without memory
WIDTHS = {"Jamba-v0.1", "LFM3-1.7B", "Inkling", "Nemotron-H-8B", "Olmo-Hybrid-7B", "Olmo-3-7B"}
WIDTHS |= {
    "Kimi-Linear-48B",
    "Ling-3.0-Flash",
    "Phi-3-mini-4k",
    "Granite-swash-2B",
    "Gemma-2-2B",
    "Mistral-7B v0.1",
    "Falcon-7B",
}
MORE = {
    "MiniCPM3-4B": {"hidden_size": 80},
    "Muse-Spark-816B": {"hidden_size": 128, "moe_hidden_size": 128},
    "Phi-3-mini-4k": PUBLISHED["Phi-3-mini-4k"],
    "Jamba-v0.1": {"num_hidden_layers": 5, "num_experts": 2, "intermediate_size": 16},
    "Gemma-3n-E4B": {"num_hidden_layers": 10, "num_kv_shared_layers": 5},
    "Mistral-Large-4": {"num_hidden_layers": 4},
    "Llama-4-Scout": {"no_rope_layers": [1, 0]},
    "Nemotron-H-8B": {"layers_block_type": ["full_attention", "linear_attention"]},
}


def plain(model: KVModel) -> bool:
    """Say whether all layers cache all keys and values of one size: then sizes are enough."""
    config = model.config
    return not (config.layers or config.windowed_layers or config.latent_layers)


BUILT = [model for model in READ if not plain(model)]
every_built = pytest.mark.parametrize("model", BUILT, ids=[model.name for model in BUILT])


def default(model: KVModel) -> PretrainedConfig:
    """Return the defaults of a model's class, of its text model if it has others."""
    return getattr(transformers, model.config_class)().get_text_config()


def published(model: KVModel) -> PretrainedConfig:
    """Return those defaults with the fields that the released configuration has otherwise."""
    config = default(model)
    for name, value in PUBLISHED.get(model.name, {}).items():
        setattr(config, name, value)
    return config


def kinds_of(model: KVModel) -> list[Any]:
    """Return a name of the kind of each layer, as the class or the release has them."""
    config = default(model)
    return listed(config, RELEASED.get(model.name))


def listed(config: PretrainedConfig, released: list[str] | None = None) -> list[Any]:
    """Return a name of the kind of each layer of a configuration."""
    kinds = released or getattr(config, "layer_types", None)
    if config.model_type == "mistral_large4_text":  # a layer without rotation has no rotary key
        kinds = list(config.no_rope_layers)
    if kinds is None:
        kinds = ["full_attention"] * config.num_hidden_layers
    shared = getattr(config, "num_kv_shared_layers", 0)
    return [*kinds[: len(kinds) - shared], *(f"shared {k}" for k in kinds[len(kinds) - shared :])]


def small(model: KVModel) -> PretrainedConfig:
    """Return the class's configuration with what decides the cache, and one layer of each kind."""
    config = default(model)
    names = config.to_dict()
    given = {name: size for name, size in SMALL.items() if names.get(name) is not None}
    if model.name in WIDTHS:
        given.pop("hidden_size", None)
    given |= {name: None for name in LISTS if isinstance(names.get(name), list)}
    kinds = [kind for kind in dict.fromkeys(kinds_of(model)) if not str(kind).startswith("shared")]
    given["num_hidden_layers"] = len(kinds)
    if isinstance(names.get("layer_types"), list):
        given["layer_types"] = None if model.name in MORE else kinds
    given |= MORE.get(model.name, {})
    return type(config)(**given)


def arrays(layer: object) -> list[torch.Tensor]:
    """Return what a layer of transformers' cache holds: keys that are values once."""
    waiting = ("buffer_kv", "buffer_gate", "overlap_kv", "overlap_gate")  # for V4's next entry
    stack = [value for name, value in vars(layer).items() if name not in waiting]
    found: list[torch.Tensor] = []
    while stack:
        value = stack.pop()
        if isinstance(value, (dict, list, tuple)):
            stack += value.values() if isinstance(value, dict) else value
        elif isinstance(value, torch.Tensor) and value.ndim > 1:
            same = (torch.equal(value, other) for other in found if value.shape == other.shape)
            if value.is_meta or not any(same):
                found.append(value)
    return found


@cache
def built(name: str) -> torch.nn.Module:
    """Build a small copy of a model on its class, in bfloat16 as it would be served."""
    config = small(MODELS[name])
    for auto in ("AutoModelForCausalLM", "AutoModel"):
        try:
            with torch.device("meta" if name in WIDTHS or plain(MODELS[name]) else "cpu"):
                made = getattr(transformers, auto).from_config(config, dtype=torch.bfloat16)
        except ValueError as error:
            said = error
        else:
            return made.eval()
    raise said


def held(name: str, length: int) -> list[list[torch.Tensor]]:
    """Return what each layer of a small copy caches after so many tokens."""
    with torch.no_grad(), torch.device("meta" if name in WIDTHS else "cpu"):
        ids = torch.arange(length)[None] % 60 + 3
        found = built(name)(ids, use_cache=True).past_key_values
    return [arrays(layer) for layer in found.layers]


def least_window(model: KVModel) -> KVConfig:
    """Return the layers with what transformers keeps of a window: the new token comes later."""
    kinds = [k if k.window is None else replace(k, window=k.window - 1) for k in model.config.kinds]
    return KVConfig(layers=kinds)


# --- sizes ------------------------------------------------------------------------------------


@every_read
def test_sizes_are_the_defaults_of_the_class(model: KVModel) -> None:
    theirs, ours = default(model), model.config
    assert theirs.hidden_size == model.embed_dim
    assert theirs.num_attention_heads == model.num_heads
    if "layers" not in model.elsewhere:
        assert len(kinds_of(model)) == ours.num_layers
    if plain(model):
        shared = 1 if getattr(theirs, "multi_query", False) else None
        groups = shared or getattr(theirs, "num_key_value_heads", None) or model.num_heads
        head_dim = getattr(theirs, "head_dim", None) or model.embed_dim // model.num_heads
        assert (ours.num_kv_heads, ours.head_dim) == (groups, head_dim)
    if model.key_dim:
        assert theirs.qk_nope_head_dim + theirs.qk_rope_head_dim == model.key_dim
        assert theirs.v_head_dim == model.value_dim
    if model.context and "context" not in model.elsewhere:
        assert theirs.max_position_embeddings == model.context
    if model.parameters and model.source.startswith(CLASSES):
        assert model.parameters_source == model.source


@every_built
def test_a_models_own_cache_takes_as_many_bytes(model: KVModel) -> None:
    counts = Counter(kinds_of(model))
    kinds = [kind for kind in counts if not str(kind).startswith("shared")]
    length = 300 if any(2 < (k.window or 0) < 300 for k in model.config.kinds) else 20
    found = zip(listed(small(model)), held(model.name, length), strict=True)
    one = {kind: sum(tensor.nbytes for tensor in tensors) for kind, tensors in found}
    total = sum(counts[kind] * one[kind] for kind in kinds)
    assert total == kv_cache_bytes(least_window(model), length)


@every_read
def test_windows_are_those_of_the_class(model: KVModel) -> None:
    config = small(model)
    fields = ("sliding_window", "attention_chunk_size")
    given = {getattr(config, name, None) for name in fields} - {None}
    windows = {
        layer.sliding_window
        for layer in transformers.DynamicCache(config=config).layers
        if hasattr(layer, "sliding_window")
    }
    assert windows == given == {kind.window for kind in model.config.kinds if kind.window}
    assert (model.name in tables.CHUNKED) == ("chunked_attention" in kinds_of(model))


@pytest.mark.parametrize("name", PUBLISHED)
def test_what_is_published_otherwise_is_said_to_be_elsewhere(name: str) -> None:
    theirs, model = default(MODELS[name]), MODELS[name]
    for field, value in PUBLISHED[name].items():
        assert getattr(theirs, field, None) != value
        assert ("layers" if field == "sliding_window" else "position") in model.elsewhere


@cache
def parameters_of(config_class: str) -> int:
    """Count the parameters that the defaults of a class make, without memory."""
    config = getattr(transformers, config_class)().get_text_config()
    for auto in ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModel"):
        try:
            with torch.device("meta"):
                made = getattr(transformers, auto).from_config(config)
        except ValueError:
            continue
        return sum(parameter.numel() for parameter in made.parameters())
    raise AssertionError(config_class)


# in 10^9, where a name does not say it. From model cards: GLM-5, DeepSeek-V4-Flash, MiMo, Mistral,
# Hy3, Scout, MiniMax-M2, Ling (atomic-llama-cpp-turboquant #63), Inkling (vLLM recipes #638),
# GLM-5.3-Flash (transformers #48342); of the others only as they are commonly named
STATED = {
    "DeepSeek-V3": 671, "DeepSeek-V3.2": 672, "GLM-5": 744, "DeepSeek-V4-Flash": 284, "GPT": 0.117,
    "T5-small": 0.06, "Phi-3-mini-4k": 3.8, "Jamba-v0.1": 52, "Llama-4-Scout": 109,
    "MiniMax-M2": 230, "MiMo-V2-Flash": 309, "Mistral-Small-4": 119, "Mistral-Large-4": 1050,
    "Inkling": 975, "Ling-3.0-Flash": 124, "Hy3-preview": 295, "GLM-5.3-Flash": 320,
    "Mixtral-8x7B": 46.7, "Gemma-3n-E4B": 6.87, "Gemma-7B": 8.54,
}  # fmt: skip


@pytest.mark.parametrize(
    "model",
    [m for m in READ if m.source.startswith(CLASSES) or m.name in PARTLY],
    ids=lambda m: m.name,
)
def test_the_class_has_the_parameters_that_the_models_makers_state(model: KVModel) -> None:
    total = parameters_of(model.config_class)
    sizes = re.findall(r"(\d+(?:\.\d+)?)B", model.name)
    stated = STATED.get(model.name) or float(sizes[0])
    assert total == pytest.approx(stated * 1e9, rel=0.125)
    assert model.parameters in (None, total)


# --- the bytes of layers of every kind ---------------------------------------------------------

KINDS = [
    KVLayers(2, 3, 5, 4),
    KVLayers(3, 2, 7, window=6),
    KVLayers(4, 1, 9, value_dim=0, index_dim=8),
    KVLayers(2, 1, 10, value_dim=0, window=5, ratio=4, compressed_dim=11),
    KVLayers(5, state_bytes=13),
    KVLayers(7, 2, 3, shared=4),
]


def test_the_function_is_a_sum_over_layers_of_every_kind() -> None:
    b = 3
    for m in (0, 1, 4, 5, 6, 7, 8, 100):
        for dtype, s in ((torch.bfloat16, 2), (torch.float32, 4)):
            total = 0
            for kind in KINDS:
                g, d = kind.num_kv_heads, kind.head_dim
                e = d if kind.value_dim is None else kind.value_dim
                W, r = kind.window or math.inf, kind.ratio or math.inf
                x, c, f = kind.index_dim, kind.compressed_dim, kind.state_bytes
                elements = g * (d + e) * min(m, W) + x * m + c * math.floor(m / r)
                total += (kind.count - kind.shared) * (s * elements + f)
            assert kv_cache_bytes(KVConfig(layers=KINDS), m, b, dtype) == b * total
