"""A model of Qwen3's shape so small that it trains in two minutes, and tells stories."""

import json
from importlib import import_module
from pathlib import Path

import torch
from torch import nn

from attn_docs.checkpoints.whole_model import NAMES, decoder_from_config
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.language_model import ALPHABET
from attn_docs.model.weights import load_weights

WINDOW, STEPS = 16, 3600
# Each entry as in the config.json of a Qwen3, but for the sizes.
CONFIG = {
    "model_type": "qwen3",
    "vocab_size": len(ALPHABET),
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
    "max_position_embeddings": 256,
    "use_sliding_window": True,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "full_attention"],
    "eos_token_id": ALPHABET.index("\n"),
}


def untrained(seed: int = 0) -> DecoderModel:
    """Return the model before training: the tied embedding is drawn small, as GPT-2 does."""
    torch.manual_seed(seed)
    model = decoder_from_config(CONFIG)
    nn.init.normal_(model.token_embedding.weight, std=0.02)
    return model


def tiny_qwen3() -> DecoderModel:
    """Return the model with the weights that `python -m attn_docs.model tiny-qwen3` stored.

    Its tokens are the 29 characters of `attn_docs.model.language_model`, on whose stories it was
    trained: the first of its two layers sees 16 characters, the second all.

    Example:
        ```python
        from attn_docs.checkpoints.tiny_qwen3 import tiny_qwen3
        from attn_docs.model.language_model import continue_text

        prompt = "mia has a red hen and tom has a black fox. the fox"
        print(continue_text(tiny_qwen3(), prompt).removeprefix(prompt), end="")
        #>  naps in the hay. it dreams of geese. mia feeds the red fox.
        ```
    """
    model = decoder_from_config(CONFIG)
    weights = load_weights("tiny-qwen3")
    model.load_state_dict(weights | {"output.weight": weights["token_embedding.weight"]})
    return model.eval()


def save_tiny_qwen3(folder: str | Path) -> Path:
    """Write the model as a checkpoint is published: config, safetensors, tokenizer.

    It needs the package safetensors. `load_decoder` reads the folder, and so does transformers.

    Args:
        folder: Where to; made if it is missing.

    Returns:
        The folder.

    Raises:
        ModuleNotFoundError: If safetensors is not installed.

    Example:
        ```python
        # pip install safetensors
        import tempfile

        from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

        print(sorted(file.name for file in save_tiny_qwen3(tempfile.mkdtemp()).iterdir())[:2])
        #> ['config.json', 'generation_config.json']
        ```
    """
    save_file = import_module("safetensors.torch").save_file
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    weights = {_theirs(name): weight for name, weight in load_weights("tiny-qwen3").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = CONFIG | {"architectures": ["Qwen3ForCausalLM"], "dtype": "float32"}
    ends = {"eos_token_id": CONFIG["eos_token_id"]}
    for name, told in (("config", config), ("generation_config", ends), ("tokenizer", _TOKENIZER)):
        (folder / f"{name}.json").write_text(json.dumps(told, indent=2) + "\n", "utf-8")
    return folder


# A token for each character, in the format of the package tokenizers.
_TOKENIZER = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {
        "type": "Split",
        "pattern": {"Regex": r"[\s\S]"},
        "behavior": "Isolated",
        "invert": False,
    },
    "decoder": {"type": "Fuse"},
    "model": {
        "type": "WordLevel",
        "vocab": {character: token for token, character in enumerate(ALPHABET)},
        "unk_token": " ",
    },
}


def _theirs(name: str) -> str:
    """Return the name that transformers gives a weight."""
    for theirs, ours in NAMES.items():
        if ours.startswith("."):
            name = name.replace(ours, theirs)
        elif name.startswith(ours):
            name = theirs + name.removeprefix(ours)
    return name
