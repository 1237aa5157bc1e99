"""Every kind of rotary position in every attention layer: a cache and padding change nothing."""

import pytest
import torch
from torch import Tensor
from transformers import DeepseekV3Config, LlamaConfig
from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
    DeepseekV3Attention,
    DeepseekV3RotaryEmbedding,
)
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaRotaryEmbedding

from attn_docs import (
    DynamicScaling,
    GroupedQueryAttention,
    LinearScaling,
    Llama3Scaling,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    NTKScaling,
    ProportionalScaling,
    RotaryEmbedding,
    YaRNScaling,
)
from tests.kit import error, normal

SIZE, EMBED, N = 8, 24, 11
DYNAMIC = DynamicScaling(3.0, 6)
SCALINGS = {
    "plain": None,
    "linear": LinearScaling(3.0),
    "ntk": NTKScaling(3.0),
    "dynamic, fixed": DYNAMIC.at(N),
    "yarn": YaRNScaling(3.0, 40),
    "llama3": Llama3Scaling(3.0, 40),
    "proportional": ProportionalScaling(0.5),
}
scalings = pytest.mark.parametrize("name", SCALINGS)
CHUNKS = [(11,), (1,) * 11, (4, 1, 6), (1, 7, 1, 2)]
LAYERS = {
    "multi-head": lambda rotary: MultiHeadAttention(EMBED, 3, rotary=rotary),
    "grouped-query": lambda rotary: GroupedQueryAttention(48, 6, 2, rotary=rotary),
    "latent": lambda rotary: MultiHeadLatentAttention(
        EMBED, 3, kv_rank=7, head_dim=6, rope_dim=SIZE, value_dim=5, rotary=rotary
    ),
}
layers = pytest.mark.parametrize("kind", LAYERS)


def layer(kind: str, scaling: object, *, interleaved: bool = False) -> MultiHeadAttention:
    torch.manual_seed(0)
    rotary = RotaryEmbedding(SIZE, theta=30.0, scaling=scaling, interleaved=interleaved)
    return LAYERS[kind](rotary).double().requires_grad_(False)


def inputs(kind: str, length: int = N, batch: int = 2) -> Tensor:
    return 2 * normal(batch, length, 48 if kind == "grouped-query" else EMBED)


@layers
@scalings
@pytest.mark.parametrize("interleaved", [False, True])
def test_cached_is_full_in_uneven_chunks(kind: str, name: str, interleaved: bool) -> None:
    module, x = layer(kind, SCALINGS[name], interleaved=interleaved), inputs(kind)
    full = module(x, is_causal=True)
    for sizes in CHUNKS:
        cache = module.new_cache(2, N)
        parts = [module(part, cache=cache) for part in x.split(sizes, dim=1)]
        assert error(torch.cat(parts, dim=1), full) <= 1e-12


@layers
@pytest.mark.parametrize("name", sorted(set(SCALINGS) - {"plain"}))
def test_a_rule_changes_the_result(kind: str, name: str) -> None:
    found, plain = (
        layer(kind, rule)(inputs(kind), is_causal=True) for rule in (SCALINGS[name], None)
    )
    assert error(found, plain) > 1e-3


@layers
@scalings
def test_left_padded_rows_are_as_if_alone(kind: str, name: str) -> None:
    module, x = layer(kind, SCALINGS[name]), inputs(kind)
    padding = torch.tensor([4, 0])
    may = torch.arange(N) >= padding[:, None]
    positions = (torch.arange(N) - padding[:, None]).clamp(min=0)
    cache = module.new_cache(2, N)
    found = [
        module(
            x[:, part],
            cache=cache,
            positions=positions[:, part],
            key_padding_mask=may[:, : part.stop],
        )
        for part in (slice(0, 6), slice(6, 10), slice(10, 11))
    ]
    found = torch.cat(found, dim=1)
    for row, start in enumerate(padding.tolist()):
        alone = module(x[[row], start:], is_causal=True)
        assert error(found[[row], start:], alone) <= 1e-12


@layers
def test_dynamic_is_refused_with_a_cache_and_says_what_to_take(kind: str) -> None:
    module, x = layer(kind, DYNAMIC), inputs(kind)
    cache = module.new_cache(2, N)
    with pytest.raises(
        ValueError,
        match=r"scaling must have fixed frequencies with a cache, as "
        r"\.at\(length\) returns: .*; got DynamicScaling\(factor=3.0, ",
    ):
        module(x, cache=cache)
    assert cache.length == 0


@layers
def test_dynamic_without_a_cache_takes_the_length_of_the_call(kind: str) -> None:
    module, x = layer(kind, DYNAMIC), inputs(kind)
    assert error(module(x), layer(kind, DYNAMIC.at(N))(x)) <= 1e-12
    assert error(module(x[:, :6]), layer(kind, None)(x[:, :6])) == 0
    far = torch.arange(N) + 50
    assert error(module(x, positions=far), layer(kind, DYNAMIC.at(N + 50))(x)) <= 1e-12


# --- the layers of real models, with random weights --------------------------------------------


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama_3_is_our_layer(factor: float) -> None:
    rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": factor}
    rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rope |= {"original_max_position_embeddings": 8192}
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(**sizes, rope_parameters=rope, attn_implementation="sdpa")
    theirs, x = LlamaAttention(config, layer_idx=0).eval(), torch.randn(1, 6, 64)
    rotary = RotaryEmbedding(16, theta=500000.0, scaling=Llama3Scaling(factor, 8192))
    ours = GroupedQueryAttention(64, 4, 2, bias=False, rotary=rotary)
    state = theirs.state_dict()
    ours.load_state_dict({k.replace("o_proj", "out_proj"): v for k, v in state.items()})
    positions = torch.arange(6) * 1500
    cos_sin = LlamaRotaryEmbedding(config)(x, positions[None])
    expected, _ = theirs(x, position_embeddings=cos_sin, attention_mask=None)
    assert error(ours(x, positions=positions, is_causal=True), expected) < 1e-5


NAMES = {
    "q_a_layernorm": "q_a_norm",
    "kv_a_layernorm": "kv_a_norm",
    "kv_a_proj_with_mqa": "kv_a_proj",
    "o_proj": "out_proj",
}


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("mscale", "all_dim"), [(1.0, 1.0), (1.0, 0.5), (0.707, 0.707)])
@pytest.mark.parametrize("absorb", [False, True])
def test_deepseek_v3_is_our_layer(
    interleaved: bool, mscale: float, all_dim: float, absorb: bool
) -> None:
    rope = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "beta_fast": 32}
    rope |= {"beta_slow": 1, "mscale": mscale, "mscale_all_dim": all_dim}
    rope |= {"original_max_position_embeddings": 4096}
    sizes = {"kv_lora_rank": 9, "q_lora_rank": 7, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4}
    sizes |= {"hidden_size": 24, "num_attention_heads": 3, "num_key_value_heads": 3}
    config = DeepseekV3Config(
        **sizes,
        v_head_dim=5,
        rope_parameters=rope,
        rope_interleave=interleaved,
        max_position_embeddings=163840,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    theirs, x = DeepseekV3Attention(config, layer_idx=0).eval(), torch.randn(2, 6, 24)
    rule = YaRNScaling(40.0, 4096, mscale=mscale, mscale_all_dim=all_dim)
    sharper = 0.1 * all_dim * torch.tensor(40.0).log().item() + 1
    ours = MultiHeadLatentAttention(
        24, 3, kv_rank=9, q_rank=7, head_dim=6, rope_dim=4, value_dim=5,
        rotary=RotaryEmbedding(4, scaling=rule, interleaved=interleaved),
        scale=10**-0.5 * sharper**2,
    )  # fmt: skip
    state = {
        ".".join(NAMES.get(part, part) for part in name.split(".")): 3 * value
        for name, value in theirs.state_dict().items()
    }
    ours.load_state_dict(state)
    theirs.load_state_dict({name: 3 * value for name, value in theirs.state_dict().items()})
    positions = torch.arange(6) * 1700
    cos_sin = DeepseekV3RotaryEmbedding(config)(x, positions[None])
    mask = torch.full((6, 6), -torch.inf).triu(1).expand(2, 1, 6, 6)
    expected, _ = theirs(x, position_embeddings=cos_sin, attention_mask=mask)
    found = ours(x, positions=positions, is_causal=True, absorb=absorb)
    assert error(found, expected) < 1e-4 * expected.abs().max()


# --- the seam of latent attention --------------------------------------------------------------


def latent(**options: object) -> MultiHeadLatentAttention:
    sizes = {"kv_rank": 7, "head_dim": 6, "rope_dim": 8, "value_dim": 5}
    return MultiHeadLatentAttention(24, 3, **(sizes | options))


def test_rotary_replaces_theta_and_interleaved() -> None:
    given, x = RotaryEmbedding(8, theta=30.0), 2 * normal(2, 5, 24)
    torch.manual_seed(0)
    ours = latent(rotary=given).double()
    assert ours.rotary is given
    torch.manual_seed(0)
    settings = latent(theta=30.0, interleaved=False).double()
    assert ours(x).equal(settings(x))


@pytest.mark.parametrize(
    ("kind", "message", "options"),
    [
        (ValueError, "rotary must have head_dim 8; got 6", {"rotary": RotaryEmbedding(6)}),
        (TypeError, "rotary must be a RotaryEmbedding or None; got int", {"rotary": 8}),
        (
            ValueError,
            "theta must be left at 10000.0 with rotary; got 500.0",
            {"rotary": RotaryEmbedding(8), "theta": 500.0},
        ),
        (
            ValueError,
            "interleaved must be left at True with rotary; got False",
            {"rotary": RotaryEmbedding(8), "interleaved": False},
        ),
    ],
)
def test_a_rotary_that_does_not_fit_is_refused(kind: type, message: str, options: dict) -> None:
    with pytest.raises(kind) as caught:
        latent(**options)
    assert str(caught.value) == message
