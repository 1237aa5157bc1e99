"""The parameters of published models, what finds wrong blocks, and the numbers of sentences."""

import math

import torch
from torch import nn
from transformers import GPT2Config, LlamaConfig

from attn_docs import GroupedQueryAttention, MultiHeadAttention, RotaryEmbedding
from attn_docs.model import MLP, Block, DecoderModel, GatedMLP
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.text import texts

EXAMPLES = "model/block"
PARTS = ("tokens", "positions", "attention", "mlp", "norms", "unembedding")
LLAMA_3 = {"num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256}
MODELS = {
    "GPT-2 small": GPT2Config(),
    "Llama 2 7B": LlamaConfig(),
    "Llama 3 8B": LlamaConfig(**LLAMA_3),
}


def built(config: GPT2Config | LlamaConfig) -> DecoderModel:
    """Return our model of a published one's sizes, without memory for its parameters."""
    with torch.device("meta"):
        return _gpt2(config) if isinstance(config, GPT2Config) else _llama(config)


def _gpt2(config: GPT2Config) -> DecoderModel:
    size = config.n_embd
    blocks = [
        Block(
            MultiHeadAttention(size, config.n_head),
            MLP(size, approximate="tanh"),
            nn.LayerNorm(size),
            nn.LayerNorm(size),
        )
        for _ in range(config.n_layer)
    ]
    options = {"max_length": config.n_positions, "norm": nn.LayerNorm(size), "tied": True}
    return DecoderModel(config.vocab_size, size, blocks, **options)


def _llama(config: LlamaConfig) -> DecoderModel:
    size, heads = config.hidden_size, config.num_attention_heads
    groups = config.num_key_value_heads or heads
    rotary = RotaryEmbedding(size // heads)
    blocks = [
        Block(
            GroupedQueryAttention(size, heads, groups, bias=False, rotary=rotary),
            GatedMLP(size, config.intermediate_size),
            nn.RMSNorm(size),
            nn.RMSNorm(size),
        )
        for _ in range(config.num_hidden_layers)
    ]
    return DecoderModel(config.vocab_size, size, blocks, norm=nn.RMSNorm(size))


def by_part(model: DecoderModel) -> dict[str, int]:
    """Count a model's parameters by what they are for; a tied unembedding has none of its own."""
    counts = dict.fromkeys(PARTS, 0)
    marks = {
        "token_embedding": "tokens",
        "position_embedding": "positions",
        "norm": "norms",
        "mlp": "mlp",
        "attention": "attention",
        "output": "unembedding",
    }
    for name, parameter in model.named_parameters():
        places = [part for mark, part in marks.items() if mark in name]
        counts[places[0]] += parameter.numel()
    return counts


def checks(language: str) -> str:
    """Return which cheap check finds which wrong block, a row a bug."""
    text = texts(__file__, "checks", language)
    found = example(f"{EXAMPLES}/caught")["found"]
    rows = [
        (text[name], *(text["passes"] if passed else text["found"] for passed in row))
        for name, row in found.items()
    ]
    return table(text["header"], rows, words=range(len(text["header"])))


TABLES = {"checks": checks}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    sentence, deep = (example(f"{EXAMPLES}/{name}") for name in ("sentence", "deep"))
    norms = example(f"{EXAMPLES}/pre_or_post")
    parts, found, lengths = sentence["parts"], norms["found"], norms["lengths"]["pre", 32]
    columns, fresh = sentence["FEATURES"], example(f"{EXAMPLES}/fresh")["losses"]
    shares = sentence["model"](sentence["tokens"])[0, -1].softmax(-1).tolist()
    gpt2 = by_part(built(MODELS["GPT-2 small"]))
    ratio = found["post", 32][-1] / found["pre", 32][-1]
    logits = sentence["model"](sentence["tokens"])[0, -1].tolist()
    return {
        "fresh": f"{fresh[0]:.0f}",
        "fresh_spread": str(MODELS["GPT-2 small"].initializer_range),
        "fresh_small": f"{fresh[1]:.1f}",
        "fresh_guess": f"{math.log(1000):.1f}",
        "animal": f"{parts[1][columns.index('animal')]:.2f}",
        "neuron": f"{parts[2][columns.index('dreaming')]:.2f}",
        "dreams": f"{shares[4]:.2f}",
        "sleeps": f"{shares[2]:.2f}",
        "unlike": f"{deep['alike']['right'][1]:.2f}",
        "alike": f"{deep['alike']['no residual'][1]:.2f}",
        "spread": f"{deep['spread'][0]:.2f}",
        "spread_unnormed": f"{deep['spread'][1]:.2f}",
        "gated_hidden": f"{MODELS['Llama 2 7B'].intermediate_size:,}",
        "mlp_share": f"{gpt2['mlp'] / sum(gpt2.values()):.0%}",
        "attention_share": f"{gpt2['attention'] / sum(gpt2.values()):.0%}",
        "length_first": f"{lengths[0]:.0f}",
        "length_last": f"{lengths[-1]:.0f}",
        "ratio_32": f"{ratio:.0f}",
        "it_logit": f"{logits[3]:.2f}".replace("-", "−"),
        "dreams_logit": f"{logits[4]:.2f}",
    }
