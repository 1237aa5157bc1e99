"""The modules against transformers' layers of Llama, GPT-2 and DeepSeek-V3, with their weights."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import DeepseekV3Config, GPT2Config, LlamaConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
)
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    RotaryEmbedding,
    causal_mask,
)
from tests.kit import error, normal

EMBED, BATCH, LENGTH = 48, 2, 11
CHUNKS = [[11], [4, 1, 1, 5], [1] * 11]
every_way = pytest.mark.parametrize("sizes", CHUNKS)


def inputs() -> Tensor:
    return normal(BATCH, LENGTH, EMBED, dtype=torch.float32)


def mask() -> Tensor:
    """Return the additive mask that transformers makes outside its layers."""
    zeros = torch.zeros(BATCH, 1, LENGTH, LENGTH)
    return zeros.masked_fill(~causal_mask(LENGTH), torch.finfo(torch.float32).min)


def randomised(layer: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    for name, parameter in layer.named_parameters():
        nn.init.normal_(parameter, std=1.0 if "norm" in name else parameter.shape[-1] ** -0.5)
    return layer.eval()


def assert_agrees(ours: nn.Module, wanted: Tensor, sizes: list[int], **options: Any) -> None:
    x, cache = inputs(), ours.new_cache(BATCH, LENGTH)
    assert error(ours(x, is_causal=True, **options), wanted) <= 2e-6
    with torch.no_grad():
        parts = [ours(part, cache=cache, **options) for part in x.split(sizes, dim=1)]
    assert error(torch.cat(parts, dim=1), wanted) <= 2e-6


@every_way
@pytest.mark.parametrize("bias", [False, True])
def test_llama(sizes: list[int], bias: bool) -> None:
    config = LlamaConfig(
        hidden_size=EMBED, num_attention_heads=6, num_key_value_heads=2, head_dim=10,
        attention_bias=bias, attn_implementation="eager",
    )  # fmt: skip
    layer = randomised(LlamaAttention(config, layer_idx=0))
    places = torch.arange(LENGTH)[None]
    turn = LlamaRotaryEmbedding(config)(inputs(), places)
    wanted = layer(inputs(), position_embeddings=turn, attention_mask=mask())[0]
    rotary = RotaryEmbedding(10, theta=10000.0)
    ours = GroupedQueryAttention(EMBED, 6, 2, head_dim=10, bias=bias, rotary=rotary)
    names = {name.replace("o_proj", "out_proj"): p for name, p in layer.state_dict().items()}
    ours.load_state_dict(names)
    assert_agrees(ours.eval(), wanted, sizes)


@every_way
def test_gpt2(sizes: list[int]) -> None:
    config = GPT2Config(n_embd=EMBED, n_head=6, n_positions=LENGTH, attn_implementation="eager")
    layer = randomised(GPT2Attention(config, layer_idx=0))
    wanted = layer(inputs(), attention_mask=mask())[0]
    ours, state = MultiHeadAttention(EMBED, 6), {}
    for kind in ("weight", "bias"):  # (in, out), the three side by side
        parts = getattr(layer.c_attn, kind).chunk(3, dim=-1)
        state |= {f"{n}_proj.{kind}": p.t() for n, p in zip("qkv", parts, strict=True)}
        state[f"out_proj.{kind}"] = getattr(layer.c_proj, kind).t()
    ours.load_state_dict(state)
    assert_agrees(ours.eval(), wanted, sizes)


@every_way
@pytest.mark.parametrize("absorb", [None, False, True])
@pytest.mark.parametrize("q_rank", [None, 14])
def test_deepseek_v3(sizes: list[int], absorb: bool | None, q_rank: int | None) -> None:
    config = DeepseekV3Config(
        hidden_size=EMBED, num_attention_heads=4, num_key_value_heads=4, q_lora_rank=q_rank,
        kv_lora_rank=10, qk_nope_head_dim=6, qk_rope_head_dim=4, v_head_dim=5,
        rope_interleave=True, attn_implementation="eager",
    )  # fmt: skip
    layer = randomised(DeepseekV3Attention(config, layer_idx=0))
    turn = DeepseekV3RotaryEmbedding(config)(inputs(), torch.arange(LENGTH)[None])
    wanted = layer(inputs(), position_embeddings=turn, attention_mask=mask())[0]
    ours = MultiHeadLatentAttention(
        EMBED, 4, kv_rank=10, q_rank=q_rank, head_dim=6, rope_dim=4, value_dim=5
    )
    theirs = {
        "kv_a_proj_with_mqa": "kv_a_proj", "kv_a_layernorm": "kv_a_norm",
        "q_a_layernorm": "q_a_norm", "o_proj": "out_proj",
    }  # fmt: skip
    state = {}
    for name, parameter in layer.state_dict().items():
        part, _, kind = name.rpartition(".")
        state[f"{theirs.get(part, part)}.{kind}"] = parameter
    ours.load_state_dict(state)
    assert_agrees(ours.eval(), wanted, sizes, absorb=absorb)
