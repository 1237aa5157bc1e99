"""What the data says of norms, sinks, gates, positions and choices, against the models' classes."""

from functools import cache

import pytest
import torch
import transformers
from transformers import PretrainedConfig

from attn_docs import KVModel, kv_cache_bytes, load_models
from attn_docs.checkpoints.from_hugging_face import CONVERTERS
from docs._tools.page import page_module
from tests.checkpoints.test_models import (
    CLASSES,
    PUBLISHED,
    READ,
    ROWS,
    arrays,
    built,
    default,
    every_read,
    published,
    small,
)

tables = page_module("checkpoints/models", "tables")
MODELS = load_models()


@cache
def modules(name: str) -> dict[str, torch.nn.Module]:
    """Return the modules of attention of a small copy, by name."""
    # not what remembers by a state, and not what scores for the choice of keys
    other = ("Delta", "Linear", "Indexer", "Mamba", "Compressor")
    return {
        name: module
        for name, module in built(name).named_modules()
        if "Attention" in type(module).__name__
        and not any(o in type(module).__name__ for o in other)
    }


def dictionaries(config: PretrainedConfig) -> list[dict]:
    """Return the dictionaries of rotary parameters, one for each kind of layer."""
    found = getattr(config, "rope_parameters", None) or {}
    every = [found] if "rope_type" in found else list(found.values())
    return [given for given in every if given]  # rope_theta None: nothing is rotated


def positions(config: PretrainedConfig) -> set[str]:
    """Return what a configuration says of position."""
    rotary, found = dictionaries(config), set()
    types = {given["rope_type"] for given in rotary}
    found |= types - {"default"}
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
    found = positions(published(model))
    assert ("position" in model.elsewhere) == (found != positions(default(model)))
    if model.key_dim:
        found.discard("partial")  # the rotary key is a part of its own
    assert found == set(model.position)


def of_config(config: PretrainedConfig) -> set[str]:
    """Return what a configuration alone says of them."""
    found = set()
    if getattr(config, "attn_logit_softcapping", None):
        found.add("softcap")
    if getattr(config, "attn_temperature_tuning", None):  # of layers that do not rotate
        found.add("temperature" if all(config.no_rope_layers) else "temperature-some")
    if any(given.get("llama_4_scaling_beta") for given in dictionaries(config)):
        found.add("temperature")
    return found


def bounds(model: KVModel) -> set[str]:
    """Return what keeps scores in bounds, as the modules and the configuration of a class say."""
    found = of_config(config := small(model))
    for attention in modules(model.name).values():
        names = {name for name, _ in attention.named_modules() if "." not in name}
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
    return found | everywhere(model)


def everywhere(model: KVModel) -> set[str]:
    """Return norms and sinks, and whether only some of the layers with keys have them."""
    layers = [m for m in modules(model.name).values() if {*dir(m)} & {"o_proj", "o_b_proj"}]
    normed = [{*dict(m.named_children())} & {"q_norm", "qk_norm", "q_b_norm"} for m in layers]
    sinks = [getattr(m, "sinks", None) is not None for m in layers]
    found = {"qk-norm": list(map(bool, normed)), "sink": sinks}
    return {name if all(of) else f"{name}-some" for name, of in found.items() if any(of)}


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


# --- what the page says of names ---------------------------------------------------------------


def names_below_attention(name: str) -> set[str]:
    return {
        part
        for key, _ in built(name).named_parameters()
        if ".self_attn." in key
        for part in key.split(".self_attn.")[1].split(".")[:1]
    }


def test_gates_are_where_the_page_says() -> None:
    gated = {model.name for model in READ if "gate" in model.steadier}
    named = {name for name in gated if names_below_attention(name) & {"g_proj", "gate_proj"}}
    assert {name.split("-")[0] for name in named} == {"Muse", "Ling", "LFM3"}
    assert {name.split("-")[0] for name in gated - named} == {"Qwen3", "Qwen3.5"}
    llama = {key for key, _ in built("Llama-2-7B").named_parameters()}
    assert any(key.endswith("mlp.gate_proj.weight") for key in llama)
    assert not names_below_attention("Llama-2-7B") & {"g_proj", "gate_proj"}


def test_deepseek_v4_names_them_otherwise() -> None:
    names = {
        key.split(".self_attn.")[-1] for key, _ in built("DeepSeek-V4-Flash").named_parameters()
    }
    assert {"q_a_norm.weight", "kv_norm.weight", "compressor.gate_proj.weight"} <= names
    assert not names & {"q_norm.weight", "q_b_norm.weight", "gate_proj.weight", "g_proj.weight"}


def test_norms_are_where_the_page_says() -> None:
    for name in ("Llama-4-Scout", "Muse-Glimmer-30B", "Muse-Spark-816B"):
        assert {"qk-norm", "qk-norm-some"} & {*MODELS[name].steadier}
        assert not any("norm" in part for part in names_below_attention(name))
    for name in ("Llama4", "Cohere"):
        assert hasattr(getattr(transformers, f"{name}Config")().get_text_config(), "use_qk_norm")
    assert transformers.Lfm3Config().use_attention_gate


def test_of_the_classes_of_2026_one_is_converted() -> None:
    newest = [model.name for model in READ if model.year == 2026]
    kinds = {type(module).__name__ for name in newest for module in modules(name).values()}
    assert not kinds & CONVERTERS.keys()
    assert "Gemma4TextAttention" in CONVERTERS  # its rows are on no class's defaults


def test_a_model_is_long_only_where_its_context_is_recorded() -> None:
    for model in MODELS.values():
        long = model.context is not None and model.context >= 131_072
        assert tables.reaches(model) == long == ("long" in tables.has(model).split())


def test_what_is_read_from_a_class_alone_says_so_and_what_differs_is_marked() -> None:
    for model in MODELS.values():
        wanted = model.source.startswith(CLASSES) and not model.elsewhere
        assert tables.alone(model) == wanted == ("alone" in tables.has(model).split())
        marks = [part.after for part in tables.source(model, tables.NAMES)]
        assert (" ≠" in marks) == bool(model.elsewhere)
    told = {name: int(number) for name, number in tables.counted().items()}
    assert told["alone"] + told["compared"] == told["classes"] == len(READ)
    assert (
        sum(not tables.alone(model) and bool(model.elsewhere) for model in READ) == told["differ"]
    )


def test_who_has_which_idea() -> None:
    newest = [model for model in MODELS.values() if model.year == 2026]
    has = (tables._windowed, tables._stateful)
    assert [m.name for m in newest if all(one(m) for one in has)] == ["LFM3-1.7B"]
    assert [m.name for m in newest if not tables._one_for_several(m)] == ["Olmo-Hybrid-7B"]
    flash = MODELS["DeepSeek-V4-Flash"]  # has all five
    assert tables._windowed(flash)
    assert {"indexer", "compressed"} <= {*flash.choice}
    assert {"qk-norm", "sink"} <= {*flash.steadier}
    assert tables._part(flash)
    every = [
        m.name
        for m in newest
        if any(one(m) for one in has)
        and {"indexer", "blocks"} & {*m.choice}
        and {"qk-norm", "sink", "sink-some", "gate"} & {*m.steadier}
        and (tables._part(m) or tables._nope(m))
        and tables._one_for_several(m)
    ]
    assert every == [flash.name]


def test_no_model_before_2024_was_made_for_the_longest_text_of_the_table() -> None:
    assert all((m.context or 0) < tables.LENGTHS[-1] for m in MODELS.values() if m.year < 2024)


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
        "Kimi-Linear-48B", "DeepSeek-V4-Flash", "MiniMax-M3", "Nemotron-H-8B", "Phi-3-mini-4k",
    }  # fmt: skip
    positions_apart = {model.name for model in READ if "position" in model.elsewhere}
    assert positions_apart == {n for n, given in PUBLISHED.items() if "sliding_window" not in given}


def test_years_run_from_2017_to_2026() -> None:
    assert {model.year for model in MODELS.values()} == set(range(2017, 2027))
