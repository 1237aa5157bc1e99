"""What the recipes say beside their programs: what the layers refuse, and what would bite."""

import re
import runpy
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    from_transformers,
    kv_cache_bytes,
    load_models,
)
from tests.conftest import ROOT

RECIPES = ROOT / "attn_docs/examples/reference/recipes"
PAGE = ROOT / "docs/reference/recipes/index.md"
LINES = 25  # of a recipe, besides what it prints


def run(name: str) -> dict[str, object]:
    return runpy.run_path(str(RECIPES / f"{name}.py"))


def test_each_recipe_is_on_the_page_and_short():
    shown = re.findall(r"recipes/(\w+)\.py", PAGE.read_text(encoding="utf-8"))
    assert sorted(shown) == sorted(path.stem for path in RECIPES.glob("*.py"))
    for path in RECIPES.glob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len([line for line in lines if not line.startswith(("#>", "# pip"))]) <= LINES, (
            path.name
        )


@pytest.mark.parametrize("path", [PAGE, PAGE.with_name("index.zh.md")])
def test_each_recipe_says_what_to_watch_for_and_where_more_is(path: Path):
    for recipe in path.read_text(encoding="utf-8").split("\n## ")[1:]:
        assert re.search("Watch for|注意", recipe), recipe[:40]
        assert "](../../" in recipe, recipe[:40]
        assert "][attn_docs." in recipe, recipe[:40]


def test_the_tests_for_ci_pass_as_they_stand():
    names = run("test_attention")
    for layer, claims in names["LAYERS"]:
        names["test_layer"](layer, claims)
    names["test_function"]()


def test_llama_3_1_is_stopped():
    pytest.importorskip("transformers")
    source = (RECIPES / "load_llama.py").read_text(encoding="utf-8")
    rope = '{"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,'
    rope += '"high_freq_factor": 4.0, "original_max_position_embeddings": 8192}'
    changed = source.replace("LlamaConfig(**sizes", f"LlamaConfig(rope_parameters={rope}, **sizes")
    with pytest.raises(AssertionError, match="pass scaling="):
        exec(changed, {})  # noqa: S102


def test_in_bfloat16_a_llama_layer_agrees_only_roughly():
    names = run("load_llama") if pytest.importorskip("transformers") else {}
    theirs, x, half = names["theirs"].bfloat16(), names["x"], torch.bfloat16
    with pytest.raises(RuntimeError, match="same dtype"):
        theirs(x, position_embeddings=names["cos_sin"], attention_mask=None)
    places = tuple(value.to(half) for value in names["cos_sin"])
    expected = theirs(x.to(half), position_embeddings=places, attention_mask=None)[0]
    found = from_transformers(theirs)(x.to(half), is_causal=True)
    assert not torch.allclose(found, expected, atol=1e-6)
    assert (found - expected).abs().max() < 0.01 * expected.abs().max()


def test_strict_loading_names_norms_and_sinks():
    layer = GroupedQueryAttention(16, 4, 2, bias=False)
    for more in ("q_norm.weight", "sinks"):
        with pytest.raises(RuntimeError, match=more):
            layer.load_state_dict({**layer.state_dict(), more: torch.ones(4)})


SMALL = {"num_attention_heads": 4, "num_hidden_layers": 6, "hidden_size": 32, "vocab_size": 50}
SMALL |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = {"intermediate_size": 64, "num_key_value_heads": 2, "sliding_window": 16, "head_dim": 8}


LATENT = {"kv_lora_rank": 16, "q_lora_rank": None, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8}
LATENT |= {"v_head_dim": 8, "head_dim": 8, "num_key_value_heads": 4, "n_group": 1, "topk_group": 1}
LATENT |= {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}


OFTEN = ("llama", "gemma2", "gpt2", "deepseek_v3")  # all others in `make audit`
REST = set(
    re.findall(r"\w+", (RECIPES / "kv_bytes.py").read_text(encoding="utf-8").split('"""')[1])
)


@pytest.mark.parametrize(
    "family",
    [*OFTEN, *(pytest.param(name, marks=pytest.mark.complete) for name in sorted(REST - {*OFTEN}))],
)
def test_the_bytes_of_a_configuration_are_those_of_its_models_cache(family: str):
    transformers = pytest.importorskip("transformers")
    more = {"gpt2": {}, "gpt_neox": {}, "deepseek_v2": LATENT, "deepseek_v3": LATENT}
    config = transformers.AutoConfig.for_model(family, **SMALL, **more.get(family, GROUPED))
    model = transformers.AutoModel.from_config(config).eval()
    counted = run("kv_bytes")["kv_config"](config)
    with torch.no_grad():
        cache = model(torch.zeros(3, 10, dtype=torch.long)).past_key_values
        there = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
        assert there == kv_cache_bytes(counted, length=10, batch=3, dtype=torch.float32)
        cache = model(torch.zeros(1, 40, dtype=torch.long)).past_key_values
        lengths = [layer.keys.size(2) for layer in cache.layers]
        assert lengths.count(15) == counted.windowed_layers  # one position less than the window
        assert lengths.count(40) == counted.full_layers + counted.latent_layers


def test_layers_that_are_not_known_are_refused_by_name():
    transformers = pytest.importorskip("transformers")
    kv_config = run("kv_bytes")["kv_config"]
    refused = ["Llama4Text", "Qwen3Next", "Gemma3nText", "Gemma4Text", "Falcon", "GPTNeo"]
    for family in [*refused, "MllamaText", "KimiLinear", "BailingHybrid"]:
        config = getattr(transformers, f"{family}Config")()
        with pytest.raises(ValueError, match=f"{config.model_type} is not counted here"):
            kv_config(config)


@pytest.mark.parametrize(
    ("name", "model"), [("Mistral", "Mistral-7B v0.1"), ("DeepseekV3", "DeepSeek-V3")]
)
def test_defaults_count_as_the_published_models(name: str, model: str):
    transformers = pytest.importorskip("transformers")
    config = run("kv_bytes")["kv_config"](getattr(transformers, f"{name}Config")())
    published = load_models()[model].config
    assert kv_cache_bytes(config, 131_072) == kv_cache_bytes(published, 131_072)


def test_padding_that_a_left_padded_prompt_begins_with_stays_finite():
    names = run("left_padding")
    real = names["real"][:, :5]
    positions = (real.cumsum(1) - 1).clamp(min=0)
    options = {"key_padding_mask": real, "positions": positions, "is_causal": True}
    assert names["attend"](names["prompts"], **options).isfinite().all()


def test_a_ring_that_has_come_round_cannot_go_back():
    cache = run("sliding_window")["cache"]
    with pytest.raises(ValueError, match="length"):
        cache.crop(10)


@pytest.mark.parametrize(
    "layer",
    [
        MultiHeadAttention(16, 4, window=4),
        MultiHeadLatentAttention(16, 4, kv_rank=8, head_dim=4, rope_dim=2, value_dim=4),
    ],
)
def test_other_layers_are_traced_twice_as_well(layer: nn.Module):
    graphs: list[object] = []

    def backend(graph: torch.fx.GraphModule, _inputs: object):
        graphs.append(graph)
        return graph.forward

    compiled, x = torch.compile(layer, fullgraph=True, backend=backend), torch.randn(1, 20, 16)
    with torch.no_grad():
        cache = layer.new_cache(batch=1, capacity=32)
        outputs = [compiled(new, cache=cache) for new in x.split([6] + [1] * 14, dim=1)]
        torch.testing.assert_close(torch.cat(outputs, dim=1), layer(x, is_causal=True))
    assert len(graphs) == 2


def test_another_length_and_another_capacity_are_traced_again():
    torch.compiler.reset()  # forget the lengths of the tests before
    graphs: list[object] = []

    def backend(graph: torch.fx.GraphModule, _inputs: object):
        graphs.append(graph)
        return graph.forward

    layer = GroupedQueryAttention(24, 6, 2).eval()
    compiled, counts = torch.compile(layer, fullgraph=True, backend=backend), []
    for length, capacity in [(8, 64), (12, 64), (17, 64), (23, 128)]:
        with torch.no_grad():
            cache = layer.new_cache(batch=2, capacity=capacity)
            for new in torch.randn(2, length + 3, 24).split([length, 1, 1, 1], dim=1):
                compiled(new, cache=cache)
        counts.append(len(graphs))
    assert counts == [2, 3, 3, 5]


def test_multihead_attention_of_torch_often_does_not_call_its_function(monkeypatch):
    calls = []
    usual = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *args: calls.append(1) or usual(*args)
    )
    layer, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(2, 3, 8)
    layer(x, x, x)
    with torch.no_grad():
        layer.eval()(x, x, x, need_weights=False)
    assert not calls
    layer.train()(x, x, x, need_weights=False)
    assert calls
