"""Whole models from entries as published files have them; how they load; how norms hide."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from attn_docs import decoder_from_config, load_decoder
from attn_docs.checkpoints import tiny_qwen3
from attn_docs.model import DecoderModel
from attn_docs.model.language_model import HELD_OUT, continue_text, tell_stories
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
