"""What the data says of norms, sinks, gates, positions and choices, against the models' classes."""

from functools import cache

import pytest
import torch
import transformers
from transformers import PretrainedConfig

from attn_docs import KVModel, kv_cache_bytes, load_models
from docs._tools.page import page_module
from tests.checkpoints.test_models import CLASSES, READ, ROWS, arrays, default, every_read, small

tables = page_module("checkpoints/models", "tables")
MODELS = load_models()


@cache
def modules(name: str) -> dict[str, torch.nn.Module]:
    """Return the modules of attention of a small copy, by name, built without memory."""
    for auto in ("AutoModelForCausalLM", "AutoModel"):
        try:
            with torch.device("meta"):
                made = getattr(transformers, auto).from_config(small(MODELS[name]))
        except ValueError:
            continue
        # not what remembers by a state, and not what scores for the choice of keys
        other = ("Delta", "Linear", "Indexer", "Mamba", "Compressor")
        return {
            name: module
            for name, module in made.named_modules()
            if "Attention" in type(module).__name__
            and not any(o in type(module).__name__ for o in other)
        }
    raise AssertionError(name)


def dictionaries(config: PretrainedConfig) -> list[dict]:
    """Return the dictionaries of rotary parameters, one for each kind of layer."""
    found = getattr(config, "rope_parameters", None) or {}
    return [found] if "rope_type" in found else list(found.values())


def positions(config: PretrainedConfig) -> set[str]:
    """Return what a configuration says of position."""
    rotary, found = dictionaries(config), set()
    types = {given["rope_type"] for given in rotary}
    found |= types & {"yarn", "llama3", "linear", "proportional"}
    part = getattr(config, "rotary_dim", None)
    if any(g.get("partial_rotary_factor", 1) < 1 and g["rope_type"] == "default" for g in rotary):
        found.add("partial")
    if part and part < (
        getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    ):
        found.add("partial")
    if rotary or part:
        found.add("rope")
    bases = (
        getattr(config, "no_rope_layers", None) or getattr(config, "layer_rope_theta", None) or [1]
    )
    if not all(bases):
        found.add("nope-some")
    if hasattr(config, "relative_attention_num_buckets"):
        found.add("t5")
    if hasattr(config, "rel_extent"):
        found.add("relative")
    if config.model_type in {"gpt2", "openai-gpt"}:
        found.add("learned")
    return found or {"nope"}


@every_read
def test_positions_are_those_of_the_class(model: KVModel) -> None:
    if "position" in model.elsewhere:
        assert positions(default(model)) < set(model.position)
        return
    config = default(model)
    found = positions(config)
    if model.name == "MiniCPM3-4B" or model.key_dim:
        found.discard("partial")  # the rotary key is a part of its own
    assert found == set(model.position)


def of_config(config: PretrainedConfig) -> set[str]:
    """Return what a configuration alone says of them."""
    found = set()
    if getattr(config, "attn_logit_softcapping", None):
        found.add("softcap")
    if getattr(config, "attn_temperature_tuning", None):
        found.add("temperature")
    if any(given.get("llama_4_scaling_beta") for given in dictionaries(config)):
        found.add("temperature")
    return found


def bounds(model: KVModel) -> set[str]:
    """Return what keeps scores in bounds, as the modules and the configuration of a class say."""
    found = of_config(config := small(model))
    for attention in modules(model.name).values():
        names = {name for name, _ in attention.named_modules() if "." not in name}
        if names & {"q_norm", "qk_norm", "q_b_norm"}:
            found.add("qk-norm")
        if "v_norm" in names:
            found.add("v-norm")
        if names & {"g_proj", "gate_proj"}:
            found.add("gate")
        q_proj = getattr(attention, "q_proj", None)
        heads = config.num_attention_heads * (getattr(config, "head_dim", None) or 0)
        if hasattr(attention, "k_proj") and heads and q_proj.weight.shape[0] == 2 * heads:
            found.add("gate")  # queries and gates from one matrix
        if "softmax_scaling" in names:
            found.add("temperature")
        if any(name == "sinks" for name, _ in attention.named_parameters(recurse=False)):
            found.add("sink")
    return found


@every_read
def test_bounds_are_those_of_the_class(model: KVModel) -> None:
    assert bounds(model) == set(model.steadier)


@every_read
def test_choices_and_states_are_those_of_the_class(model: KVModel) -> None:
    config = default(model)
    assert ("indexer" in model.choice) == (getattr(config, "index_topk", None) is not None)
    assert ("blocks" in model.choice) == (getattr(config, "index_topk_blocks", None) is not None)
    assert ("compressed" in model.choice) == hasattr(config, "compress_rates")
    assert ("shared" in model.choice) == bool(getattr(config, "num_kv_shared_layers", 0))
    states = any(kind.state_bytes for kind in model.config.kinds)
    assert bool(model.state) == states


# models that are on no class's defaults, on their class with the sizes of the row
def gemma(embed: int, heads: int, groups: tuple[int, int]) -> PretrainedConfig:
    return type(transformers.Gemma4Config().get_text_config())(
        hidden_size=embed, num_attention_heads=heads, num_key_value_heads=groups[0],
        num_global_key_value_heads=groups[1], attention_k_eq_v=True, sliding_window=1024,
        num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"],
        intermediate_size=16, vocab_size=64, vocab_size_per_layer_input=64,
        hidden_size_per_layer_input=0, pad_token_id=0,
    )  # fmt: skip


GIVEN = {
    "Gemma-4-31B": (lambda: gemma(5376, 32, (16, 4)), (50, 10)),
    "Gemma-4-26B-A4B": (lambda: gemma(2816, 16, (8, 2)), (25, 5)),
    "Qwen3.5-0.8B": (
        lambda: type(transformers.Qwen3_5Config().get_text_config())(
            hidden_size=64, num_attention_heads=8, num_key_value_heads=2, linear_num_value_heads=16,
            num_hidden_layers=2, layer_types=["linear_attention", "full_attention"],
            intermediate_size=16, vocab_size=64,
        ),
        (18, 6),
    ),
    "Kimi-K2": (
        lambda: transformers.DeepseekV3Config(
            num_attention_heads=64, num_key_value_heads=64, num_hidden_layers=1, hidden_size=64,
            intermediate_size=16, moe_intermediate_size=16, q_lora_rank=16, vocab_size=64,
            n_routed_experts=8, first_k_dense_replace=1, pad_token_id=0, bos_token_id=1,
            eos_token_id=2,
        ),
        (61,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GIVEN)
def test_a_model_of_no_class_takes_what_its_class_caches_with_its_sizes(name: str) -> None:
    make, counts = GIVEN[name]
    with torch.no_grad(), torch.device("meta" if name.startswith("Gemma") else "cpu"):
        made = transformers.AutoModelForCausalLM.from_config(make(), dtype=torch.bfloat16).eval()
        found = made(torch.arange(20)[None] + 3, use_cache=True).past_key_values
    each = [sum(tensor.nbytes for tensor in arrays(layer)) for layer in found.layers]
    total = sum(count * one for count, one in zip(counts, each, strict=True))
    assert total == kv_cache_bytes(MODELS[name].config, 20)


# --- the data ---------------------------------------------------------------------------------


def test_every_short_name_has_a_chapter_or_is_known_to_have_none() -> None:
    named = {
        name
        for row in ROWS
        for key in ("position", "steadier", "choice")
        for name in row.get(key, [])
    }
    assert named <= tables.CHAPTERS.keys() | set(tables.NOT_YET)
    assert not tables.CHAPTERS.keys() & set(tables.NOT_YET)
    assert {name for row in ROWS for name in row.get("state", [])} == set(tables.STATES)


def test_what_is_not_read_from_the_class_is_named_and_really_differs() -> None:
    for model in READ:
        assert set(model.elsewhere) <= {"layers", "context", "position"}, model.name
        assert model.config_class
        if "layers" in model.elsewhere:  # then another source gives them
            assert not model.source.startswith(CLASSES)
        if model.context and "context" in model.elsewhere:
            assert default(model).max_position_embeddings != model.context
    assert {model.name for model in READ if "layers" in model.elsewhere} == {
        "Kimi-Linear-48B", "DeepSeek-V4-Flash", "MiniMax-M3", "Nemotron-H-8B",
    }  # fmt: skip


def test_years_run_from_2017_to_2026() -> None:
    assert {model.year for model in MODELS.values()} == set(range(2017, 2027))
