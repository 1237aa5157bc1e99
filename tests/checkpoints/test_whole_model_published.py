"""Whole models from entries as published files have them; how they load; how norms hide."""

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from attn_docs import decoder_from_config, load_decoder, rename_weights
from attn_docs.checkpoints import tiny_qwen3
from attn_docs.model import DecoderModel
from attn_docs.model.language_model import HELD_OUT, continue_text, tell_stories
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.checkpoints.test_whole_model import (
    CLASSES,
    MENDED,
    QWEN3,
    SIZES,
    THEIRS,
    folder_of,
    off,
    renamed,
    text_of,
    theirs_of,
)
from tests.kit import load_exhibit

PROGRAM = ROOT / "attn_docs/examples/checkpoints/whole_model/your_weights.py"
# Entries of published files, and what they hold that others do not.
PUBLISHED: dict[str, dict[str, Any]] = {
    "SmolLM2-135M": {
        "_name_or_path": "HuggingFaceTB/SmolLM2-135M", "architectures": ["LlamaForCausalLM"],
        "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 0, "eos_token_id": 0,
        "head_dim": 64, "hidden_act": "silu", "hidden_size": 576,
        "initializer_range": 0.041666666666666664, "intermediate_size": 1536,
        "is_llama_config": True, "max_position_embeddings": 2048, "mlp_bias": False,
        "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30,
        "num_key_value_heads": 3, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
        "rope_interleaved": False, "rope_scaling": None, "rope_theta": 100000,
        "tie_word_embeddings": True, "torch_dtype": "bfloat16", "transformers_version": "4.48.0",
        "use_cache": True, "vocab_size": 49152,
        "transformers.js_config": {"kv_cache_dtype": {"fp16": "float16"}},
    },
    "Llama-3.2-1B by Unsloth": {
        "attention_bias": False, "hidden_act": "silu", "hidden_size": 2048,
        "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072,
        "mlp_bias": False, "model_type": "llama", "num_attention_heads": 32,
        "num_hidden_layers": 16, "num_key_value_heads": 8, "pad_token_id": 128004,
        "pretraining_tp": 1, "rms_norm_eps": 1e-05,
        "rope_scaling": {
            "factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3",
        },
        "rope_theta": 500000.0, "tie_word_embeddings": True, "torch_dtype": "bfloat16",
        "transformers_version": "4.52.0.dev0", "unsloth_fixed": True, "use_cache": True,
        "vocab_size": 128256,
    },
    "llama-7b of 2023": {
        "_name_or_path": "huggyllama/llama-7b", "architectures": ["LlamaForCausalLM"],
        "bos_token_id": 1, "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 4096,
        "initializer_range": 0.02, "intermediate_size": 11008, "max_position_embeddings": 2048,
        "max_sequence_length": 2048, "model_type": "llama", "num_attention_heads": 32,
        "num_hidden_layers": 32, "pad_token_id": 0, "rms_norm_eps": 1e-06,
        "tie_word_embeddings": False, "torch_dtype": "float16", "transformers_version": "4.34.0",
        "use_cache": True, "vocab_size": 32000,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_entries_are_accepted(name: str) -> None:
    with torch.device("meta"):
        model = decoder_from_config(PUBLISHED[name])
    theirs = transformers.LlamaConfig(**{  # transformers reads the same sizes
        key: value for key, value in PUBLISHED[name].items() if key != "model_type"
    })  # fmt: skip
    assert len(model.blocks) == theirs.num_hidden_layers
    assert model.blocks[0].attention.rotary.theta == theirs.rope_parameters["rope_theta"]


@pytest.mark.parametrize("kind", CLASSES)
def test_a_configuration_that_transformers_writes_in_full_is_accepted(kind: str) -> None:
    make_config, _ = CLASSES[kind]
    given = make_config(**SIZES, auto_map={"AutoModel": "code.Model"}, unsloth_version="1")
    decoder_from_config(given.to_dict())


def test_false_is_not_always_absent() -> None:
    theirs = theirs_of(QWEN3)
    wanted = theirs(text_of()).logits
    both = theirs_of(QWEN3 | {"is_causal": False})
    assert off(both(text_of()).logits, wanted) > 0.1  # transformers obeys it
    decoder_from_config(QWEN3 | {"is_causal": True})
    with pytest.raises(ValueError, match="is_causal must be True; got False"):
        decoder_from_config(QWEN3 | {"is_causal": False})


def test_the_model_is_built_without_numbers_and_keeps_none_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[DecoderModel] = []
    without_numbers: list[bool] = []

    def spy(config: dict[str, Any]) -> DecoderModel:
        built.append(decoder_from_config(config))
        without_numbers.append(all(each.is_meta for each in built[-1].parameters()))
        return built[-1]

    monkeypatch.setattr("attn_docs.checkpoints.whole_model.decoder_from_config", spy)
    tied = QWEN3 | {"tie_word_embeddings": True}
    weights = dict(theirs_of(tied).bfloat16().state_dict())
    folder_of(tmp_path, tied, {k: x for k, x in weights.items() if k != "lm_head.weight"})
    ours = load_decoder(tmp_path, dtype=torch.bfloat16)
    assert built == [ours]
    assert without_numbers == [True]
    assert ours.output.weight is ours.token_embedding.weight
    assert all(each.requires_grad and not each.is_meta for each in ours.parameters())
    before = ours(text_of())
    data = (tmp_path / "model.safetensors").read_bytes()
    with (tmp_path / "model.safetensors").open("r+b") as file:  # overwritten in its place
        file.write(data[:2000] + bytes(len(data) - 2000))
    assert ours(text_of()).equal(before)


def test_swapped_norms_write_about_four_in_five_stories_alike() -> None:
    module = load_exhibit("checkpoints/qk_norms_swapped", MENDED["qk_norms_swapped"], mended=False)
    stories = tiny_qwen3.tiny_qwen3()
    weights = renamed(stories.state_dict(), THEIRS["qk_norms_swapped"])
    wrong, alike = module.load(tiny_qwen3.CONFIG, weights), 0
    for story in tell_stories(40, HELD_OUT):
        first, second = "".join(part.text for part in story).strip().split(". ")[:2]
        prompt = first + ". " + " ".join(second.split()[:2])  # as far as "the dog"
        alike += continue_text(wrong, prompt) == continue_text(stories, prompt)
    assert 28 <= alike <= 37  # of 100 they were 82


# --- what the comparison of a folder may expect -----------------------------------------------


def random_pair(config: transformers.PretrainedConfig) -> tuple[Any, DecoderModel]:
    """Return a random model of transformers, and ours with the same weights."""
    theirs = transformers.AutoModelForCausalLM.from_config(config).eval().requires_grad_(False)
    ours = decoder_from_config(theirs.config.to_dict()).requires_grad_(False)
    return theirs, ours


@pytest.mark.parametrize(("spread", "sharper"), [(0.0, 1.0), (0.5, 2.0)])
def test_ours_is_off_as_much_as_two_kernels_of_transformers(spread: float, sharper: float) -> None:
    torch.manual_seed(0)
    sizes = {"vocab_size": 512, "hidden_size": 256, "intermediate_size": 768, "head_dim": 32}
    sizes |= {"num_attention_heads": 8, "num_key_value_heads": 4, "num_hidden_layers": 28}
    theirs, ours = random_pair(transformers.Qwen3Config(**sizes))
    for name, weight in theirs.named_parameters():
        if weight.ndim == 1:
            weight.mul_((spread * torch.randn_like(weight)).exp())
            weight.mul_(sharper if "q_norm" in name or "k_norm" in name else 1.0)
    ours.load_state_dict(rename_weights(theirs.state_dict()))
    tokens = torch.randint(512, (1, 600))
    right, caches = theirs(tokens).logits, ours.new_caches(1, 600)
    chunks = [ours(chunk, caches=caches) for chunk in tokens.split([540] + 60 * [1], dim=1)]
    theirs.set_attn_implementation("eager")
    yardstick = off(theirs(tokens).logits, right)
    assert off(torch.cat(chunks, dim=1), right) <= 5 * yardstick
    assert (yardstick < 1e-6) if sharper == 1.0 else (2e-5 < yardstick < 1e-3)


@pytest.mark.parametrize(
    "rule",
    [
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        {"rope_type": "yarn", "factor": 4.0},
        {"rope_type": "linear", "factor": 4.0},
    ],
    ids=lambda rule: str(rule["rope_type"]),
)
def test_a_forgotten_rule_for_long_texts_shows_in_600_tokens(rule: dict[str, Any]) -> None:
    torch.manual_seed(0)
    rope = rule | {"rope_theta": 5e5}
    if rule["rope_type"] != "linear":
        rope |= {"original_max_position_embeddings": 8192}
    sizes = {"vocab_size": 97, "hidden_size": 256, "intermediate_size": 512, "head_dim": 128}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3}
    given = transformers.LlamaConfig(**sizes, rope_parameters=rope, max_position_embeddings=131072)
    theirs, ours = random_pair(given)
    plain = {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}
    forgotten = decoder_from_config(theirs.config.to_dict() | plain)
    tokens, weights = torch.randint(97, (1, 600)), rename_weights(theirs.state_dict())
    for model, bounds in ((ours, (0.0, 1e-6)), (forgotten, (1e-3, 1.0))):
        model.load_state_dict(weights)
        assert bounds[0] <= off(model(tokens), theirs(tokens).logits) <= bounds[1]


def program_on(entries: dict[str, Any] | None, path: Path) -> dict[str, Any]:
    """Return what the page's program holds after a folder with another generation_config.json."""
    folder = tiny_qwen3.save_tiny_qwen3(path / "model")
    (folder / "generation_config.json").unlink()
    if entries is not None:
        (folder / "generation_config.json").write_text(json.dumps(entries))
    source = PROGRAM.read_text()
    source = source.replace("save_tiny_qwen3(tempfile.mkdtemp())", repr(str(folder)))
    (path / "program.py").write_text(source)
    return runpy.run_path(str(path / "program.py"))


@pytest.mark.parametrize(
    ("entries", "stop", "sampling"),
    [
        (None, {0}, {}),
        ({}, {0}, {}),
        ({"eos_token_id": None}, {0}, {}),
        ({"eos_token_id": [0, 5], "temperature": 0.6}, {0, 5}, {}),
        (
            {"do_sample": True, "temperature": 0.6, "top_p": 0.95},
            {0},
            {"temperature": 0.6, "top_p": 0.95, "top_k": 50},
        ),
    ],
    ids=["no file", "no entry", "null", "a list", "drawn"],
)
def test_the_program_of_the_page_stops_and_draws_as_the_folder_says(
    entries: dict[str, Any] | None, stop: set[int], sampling: dict[str, Any], tmp_path: Path
) -> None:
    told = program_on(entries, tmp_path)
    assert told["stop"] == stop
    assert told["sampling"] == sampling
    torch.manual_seed(0)
    written = list(told["write"](told["prompt"], most=100, temperature=5.0, top_k=29, top_p=1e-6))
    assert written == list(told["write"](told["prompt"], most=100))  # only the likeliest is left
    assert not stop & set(written)


@pytest.mark.parametrize("entries", [{"repetition_penalty": 1.05}, {"min_p": 0.1}])
def test_the_program_of_the_page_refuses_what_it_does_not_do(
    entries: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(entries))} must be absent, .*; got"):
        program_on(entries, tmp_path)


def test_top_k_of_zero_leaves_all_tokens(tmp_path: Path) -> None:
    told = program_on({"do_sample": True, "top_k": 0, "top_p": 0.9}, tmp_path)
    assert told["sampling"] == {"top_k": 0, "top_p": 0.9}
    assert len(list(told["write"](told["prompt"], most=20, temperature=9.0, top_k=0))) > 0


@torch.no_grad()
def test_a_window_by_a_mask_is_the_window_in_a_ring_and_no_cache_is_the_cache() -> None:
    benchmark = page_module("checkpoints/whole-model", "benchmark")
    for one, other in (("window", "ring"), ("none", "cache")):
        assert off(benchmark.decode(one, 300)(), benchmark.decode(other, 300)()) <= 1e-5
        if one == "window":
            assert off(benchmark.prefill(one, 300)(), benchmark.prefill(other, 300)()) <= 1e-5
    assert off(benchmark.decode("ring", 300)(), benchmark.decode("grouped", 300)()) > 1e-2
    for kind in benchmark.THEIRS:
        step = benchmark.decode_theirs(kind, 300)
        assert [off(step(), benchmark.prefill_theirs(kind, 300)()) <= 1e-5 for _ in "12"] == [
            True
        ] * 2
