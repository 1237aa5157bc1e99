"""The data file against the models' own classes in transformers, built without memory."""

import json

import pytest
import torch
import transformers

from attn_docs import load_models
from docs._tools.blocks import ROOT
from tests.checkpoints.test_models import PARTLY

MODELS = load_models()
ROWS = json.loads((ROOT / "attn_docs/memory/kv_models.json").read_text(encoding="utf-8"))
# What the rows do not hold: the class, the vocabulary, the size of the MLP, and what else differs
MORE = {
    "GPT-2": ("GPT2", {}),
    "Falcon-7B": ("Falcon", {"vocab_size": 65024, "multi_query": True, "bias": False}),
    "Falcon-40B": ("Falcon", {"vocab_size": 65024, "new_decoder_architecture": True}),
    "Llama-2-7B": ("Llama", {"vocab_size": 32000, "intermediate_size": 11008}),
    "Llama-2-13B": ("Llama", {"vocab_size": 32000, "intermediate_size": 13824}),
    "Llama-2-70B": ("Llama", {"vocab_size": 32000, "intermediate_size": 28672}),
    "Llama-3-8B": ("Llama", {"vocab_size": 128256, "intermediate_size": 14336}),
    "Llama-3-70B": ("Llama", {"vocab_size": 128256, "intermediate_size": 28672}),
    "Llama-3.1-8B": ("Llama", {"vocab_size": 128256, "intermediate_size": 14336}),
    "Llama-3.1-70B": ("Llama", {"vocab_size": 128256, "intermediate_size": 28672}),
    "Llama-3.1-405B": ("Llama", {"vocab_size": 128256, "intermediate_size": 53248}),
    "Llama-3.2-1B": (
        "Llama",
        {"vocab_size": 128256, "intermediate_size": 8192, "tie_word_embeddings": True},
    ),
    "Mistral-7B v0.1": ("Mistral", {"vocab_size": 32000, "intermediate_size": 14336}),
    "Mistral-7B v0.3": (
        "Mistral",
        {"vocab_size": 32768, "intermediate_size": 14336, "sliding_window": None},
    ),
    "Qwen2.5-0.5B": (
        "Qwen2",
        {"vocab_size": 151936, "intermediate_size": 4864, "tie_word_embeddings": True},
    ),
    "Qwen2.5-7B": ("Qwen2", {"vocab_size": 152064, "intermediate_size": 18944}),
    "Qwen2.5-72B": ("Qwen2", {"vocab_size": 152064, "intermediate_size": 29568}),
    "Qwen3-0.6B": (
        "Qwen3",
        {"vocab_size": 151936, "intermediate_size": 3072, "tie_word_embeddings": True},
    ),
    "Qwen3-8B": ("Qwen3", {"vocab_size": 151936, "intermediate_size": 12288}),
    "Qwen3-32B": ("Qwen3", {"vocab_size": 151936, "intermediate_size": 25600}),
    "Qwen3-30B-A3B": (
        "Qwen3Moe",
        {"vocab_size": 151936, "moe_intermediate_size": 768, "num_experts": 128},
    ),
    "Qwen3-235B-A22B": (
        "Qwen3Moe",
        {"vocab_size": 151936, "moe_intermediate_size": 1536, "num_experts": 128},
    ),
    "Gemma-2-2B": ("Gemma2", {"vocab_size": 256000, "intermediate_size": 9216}),
    "Gemma-2-9B": ("Gemma2", {"vocab_size": 256000, "intermediate_size": 14336}),
    "Gemma-2-27B": ("Gemma2", {"vocab_size": 256000, "intermediate_size": 36864}),
    "Gemma-3-1B": ("Gemma3Text", {"vocab_size": 262144, "intermediate_size": 6912}),
    "Gemma-3-4B": ("Gemma3", {"vocab_size": 262208, "intermediate_size": 10240}),
    "Gemma-3-12B": ("Gemma3", {"vocab_size": 262208, "intermediate_size": 15360}),
    "Gemma-3-27B": ("Gemma3", {"vocab_size": 262208, "intermediate_size": 21504}),
    "Gemma-4-E2B": ("Gemma4", {"intermediate_size": 6144, "use_double_wide_mlp": True}),
    "Gemma-4-E4B": ("Gemma4", {"intermediate_size": 10240}),
    "gpt-oss-20b": ("GptOss", {"num_local_experts": 32}),
    "gpt-oss-120b": ("GptOss", {"num_local_experts": 128}),
    "Olmo-3-7B": ("Olmo3", {"vocab_size": 100278, "intermediate_size": 11008}),
    "DeepSeek-V2": (
        "DeepseekV2",
        {
            "vocab_size": 102400,
            "intermediate_size": 12288,
            "moe_intermediate_size": 1536,
            "n_routed_experts": 160,
            "first_k_dense_replace": 1,
        },
    ),
    "DeepSeek-V2-Lite": (
        "DeepseekV2",
        {
            "vocab_size": 102400,
            "intermediate_size": 10944,
            "moe_intermediate_size": 1408,
            "first_k_dense_replace": 1,
            "q_lora_rank": None,
        },
    ),
    "BLOOM 176B": ("Bloom", {"vocab_size": 250880}),
    "DeepSeek-V3": ("DeepseekV3", {}),
    "DeepSeek-V3.2": ("DeepseekV32", {}),
}
VISION = {  # of Gemma 3
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "num_attention_heads": 16,
    "image_size": 896,
    "patch_size": 14,
    "vision_use_head": False,
}


def sizes(row: dict) -> dict:
    """Return a row's sizes under transformers' names."""
    config = MODELS[row["name"]].config
    found = {
        "hidden_size": row["embed_dim"],
        "num_attention_heads": row["num_heads"],
        "num_hidden_layers": config.num_layers,
    }
    if "key_dim" in row:
        rank, rope = (config.kv_rank, config.rope_dim) if config.latent_layers else (512, 64)
        assert config.kinds[0].head_dim == rank + rope
        found |= {"kv_lora_rank": rank, "qk_rope_head_dim": rope}
        found |= {"qk_nope_head_dim": row["key_dim"] - rope}
        return found | {"v_head_dim": row["value_dim"], "num_key_value_heads": row["num_heads"]}
    found["num_key_value_heads"] = config.num_kv_heads
    if row["name"].startswith("Falcon"):
        return found | {"num_kv_heads": config.num_kv_heads}
    if config.windowed_layers:
        found["sliding_window"] = config.window
    if config.windowed_head_dim:
        shared = config.shared_full_layers + config.shared_windowed_layers
        found |= {"global_head_dim": config.head_dim, "num_kv_shared_layers": shared}
    return found | {"head_dim": config.windowed_head_dim or config.head_dim}


def build(row: dict) -> torch.nn.Module:
    """Build a row's model on its class in transformers, on the device that takes no memory."""
    name, more = MORE.get(row["name"]) or MORE["GPT-2"]
    given = sizes(row) | more
    if name == "GPT2":
        given = {
            "n_embd": row["embed_dim"],
            "n_layer": given["num_hidden_layers"],
            "n_head": row["num_heads"],
        }
    if row["name"] == "Gemma-4-E2B":  # four windowed layers, then a full one
        given["layer_types"] = [*["sliding_attention"] * 4, "full_attention"] * 7
    if name == "Gemma3":
        config = transformers.Gemma3Config(text_config=given, vision_config=VISION)
    elif name == "Gemma4":
        parts = {"text_config": given, "vision_config": {}, "audio_config": {}}
        config = transformers.Gemma4Config(**parts)
    else:
        config = getattr(transformers, f"{name}Config")(**given)
    several = name in ("Gemma3", "Gemma4")
    auto = "AutoModelForImageTextToText" if several else "AutoModelForCausalLM"
    with torch.device("meta"):
        return getattr(transformers, auto).from_config(config)


# what the defaults of a class are is counted in tests/checkpoints
COUNTED = [
    row
    for row in ROWS
    if "transformers" in row.get("parameters_source", "")
    and row["parameters_source"] != row["source"]
    and row["name"] not in PARTLY
]


def test_every_counted_row_is_compared() -> None:
    names = {row["name"] for row in COUNTED}
    assert {name for name in names if not name.startswith("GPT-2")} == MORE.keys() - {"GPT-2"}


@pytest.mark.parametrize("row", COUNTED, ids=[row["name"] for row in COUNTED])
def test_a_model_has_the_parameters_and_layers_of_its_class(row: dict) -> None:
    model = build(row)
    assert sum(p.numel() for p in model.parameters()) == row["parameters"]
    if "quantized" in row:
        wide = ("embed", "lm_head", "mlp.gate.weight", "mlp.router", "weights_proj")
        if row["name"].startswith("gpt-oss"):
            wide += ("self_attn",)  # only the experts' matrices are in MXFP4
        small = [
            parameter.numel()
            for name, parameter in model.named_parameters()
            if parameter.ndim > 1 and "bias" not in name and not any(w in name for w in wide)
        ]
        assert sum(small) == row["quantized"]
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if row["name"].startswith(("Gemma", "gpt-oss", "Olmo")):
        assert kinds.count("sliding_attention") == row["windowed_layers"]
        assert kinds.count("full_attention") == row["full_layers"]
