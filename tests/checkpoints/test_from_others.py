"""Converters of fused and interleaved layouts: what is refused, and the bias on the scores."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor, nn
from transformers.models.bert.modeling_bert import BertAttention
from transformers.models.bloom import modeling_bloom as bloom
from transformers.models.deepseek_v2.modeling_deepseek_v2 import DeepseekV2Attention
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention
from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXAttention
from transformers.models.gptj.modeling_gptj import GPTJAttention
from transformers.models.mpt import modeling_mpt as mpt
from transformers.models.phi3.modeling_phi3 import Phi3Attention
from transformers.models.t5.modeling_t5 import T5Attention

from attn_docs import (
    MultiHeadAttention,
    RelativeBias,
    from_transformers,
    position_bias_from_transformers,
)
from attn_docs.checkpoints._others import OTHERS
from attn_docs.model.block import Block
from attn_docs.model.decoder import DecoderModel
from tests.checkpoints.families import FAMILIES, LENGTH, relative, tokens
from tests.kit import error, normal

SIZES = {"hidden_size": 48, "num_attention_heads": 6}
LATENT = {
    **SIZES, "q_lora_rank": 14, "kv_lora_rank": 10, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4,
    "v_head_dim": 7, "num_key_value_heads": 6,
}  # fmt: skip
T5 = {"d_model": 40, "num_heads": 6, "d_kv": 7}
LONGROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "factor": 2.0, "short_factor": [1.0] * 4,
    "long_factor": [2.0] * 4, "original_max_position_embeddings": 16, "partial_rotary_factor": 1.0,
}  # fmt: skip


def config_of(name: str, options: dict[str, Any], changed: dict[str, Any]) -> Any:
    return getattr(transformers, f"{name}Config")(**options | changed, attn_implementation="eager")


# a layer of each converter, given what is changed in its config
LAYERS: dict[str, tuple[Callable[..., nn.Module], str, dict[str, Any]]] = {
    "GPT2": (partial(GPT2Attention, layer_idx=1), "GPT2", SIZES),
    "GPTJ": (partial(GPTJAttention, layer_idx=1), "GPTJ", {**SIZES, "rotary_dim": 6}),
    "GPTNeoX": (partial(GPTNeoXAttention, layer_idx=1), "GPTNeoX", SIZES),
    "Falcon": (partial(falcon.FalconAttention, layer_idx=1), "Falcon", SIZES),
    "Bloom": (partial(bloom.BloomAttention, layer_idx=1), "Bloom", SIZES),
    "Mpt": (partial(mpt.MptAttention, layer_idx=1), "Mpt", {"d_model": 48, "n_heads": 6}),
    "Phi3": (partial(Phi3Attention, layer_idx=1), "Phi3", {**SIZES, "pad_token_id": 0}),
    "Bert": (BertAttention, "Bert", SIZES),
    "T5": (partial(T5Attention, layer_idx=1), "T5", T5),
    "DeepseekV2": (partial(DeepseekV2Attention, layer_idx=1), "DeepseekV2", LATENT),
    "DeepseekV3": (partial(DeepseekV3Attention, layer_idx=1), "DeepseekV3", LATENT),
}
each_layer = pytest.mark.parametrize("name", LAYERS)


def made(name: str, **changed: Any) -> tuple[Any, Any]:
    """Return a layer with random weights, and its config."""
    build, family, options = LAYERS[name]
    config = config_of(family, options, changed)
    torch.manual_seed(0)
    layer = build(config)
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.3)
    return layer, config


def convert(layer: nn.Module, config: Any) -> Any:
    return OTHERS[type(layer).__name__](layer, config)


# --- the same outputs and gradients ----------------------------------------------------------

# the others compute a cosine, a bias or a softmax in float32 whatever their weights are
EXACT = {"GPT2Model", "BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel"}
EXACT |= {"ElectraModel"}
EXACT |= {"T5EncoderModel", "T5Model", "MT5EncoderModel", "UMT5EncoderModel"}
MINE = {name: family for name, family in FAMILIES.items() if family.layer in OTHERS}


def test_every_converter_has_a_family() -> None:
    assert {family.layer for family in MINE.values()} == set(OTHERS)


def passed(model: nn.Module, layer: nn.Module, part: str) -> tuple[Tensor, Tensor]:
    """Run a model; return what a layer got and a part of it returned, with their graph."""
    found: list[Tensor] = []

    def before(_: nn.Module, args: Any, kwargs: Any) -> None:
        found.append(args[0] if args else kwargs["hidden_states"])

    def after(*call: Any) -> None:
        found.append(call[-1][0] if isinstance(call[-1], tuple) else call[-1])

    layer.register_forward_pre_hook(before, with_kwargs=True)
    layer.get_submodule(part).register_forward_hook(after)
    model(input_ids=tokens())
    x, output = found
    return x, output


@pytest.mark.parametrize("name", [name for name in MINE if name != "GPT-2, upcast"])
def test_gradients_are_theirs(name: str) -> None:
    family = MINE[name]
    model = family.build().double()
    layers = family.layers(model)
    number = 0 if family.bias == "first" else -1  # a later one's x depends on the table too
    layer, bias = layers[number], family.biases(layers)[number]
    x, wanted = passed(model, layer, family.output)
    ours: Any = from_transformers(layer, model.config)
    mask = {} if bias is None else {"attn_mask": bias(LENGTH)}
    found = ours(x, is_causal=family.decodes, **mask)
    along = normal(*found.shape, seed=3)
    to, at = [x], [x]
    if isinstance(bias, RelativeBias):
        to.append(bias.relative_attention_bias.weight)
        at.append(layer.get_parameter("relative_attention_bias.weight"))
    mine = torch.autograd.grad(found, to, along)
    theirs = torch.autograd.grad(wanted, at, along)
    near = 1e-12 if family.model in EXACT else 1e-6
    for one, other in zip((found, *mine), (wanted, *theirs), strict=True):
        assert relative(one.detach(), other.detach()) <= near


# --- refused ---------------------------------------------------------------------------------


def mpt_with(**changed: Any) -> dict[str, Any]:
    return {"attn_config": changed}


REFUSED = [
    ("Falcon", {"multi_query": False, "num_kv_heads": 2}, "num_kv_heads must be 6; got 2"),
    ("Bloom", {"pretraining_tp": 2, "slow_but_exact": True}, "slow_but_exact must be False"),
    ("Mpt", mpt_with(clip_qkv=2.0), "clip_qkv must be None; got 2.0"),
    ("Mpt", mpt_with(qk_ln=True), "qk_ln must be False; got True"),
    ("Mpt", mpt_with(prefix_lm=True), "prefix_lm must be False; got True"),
    ("Mpt", mpt_with(alibi=False), "alibi must be True; got False"),
    ("Mpt", mpt_with(alibi_bias_max=16), "alibi_bias_max must be 8; got 16"),
    ("Mpt", mpt_with(attn_type="multiquery_attention"), "attn_type must be 'multihead_attention'"),
    ("Mpt", {"no_bias": False}, "no_bias must be True; got False"),
    ("Phi3", {"rope_parameters": LONGROPE}, "rope_type must be one of .*; got 'longrope'"),
    ("GPTNeoX", {"rope_parameters": LONGROPE}, "rope_type must be one of .*; got 'longrope'"),
    (
        "Falcon",
        {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}},
        "partial_rotary_factor must be 1 in this family.*; got 0.5",
    ),
    (
        "Bert",
        {"position_embedding_type": "relative_key"},
        "position_embedding_type must be 'absolute'",
    ),
    ("DeepseekV2", {"attention_bias": True}, "attention_bias must be False; got True"),
    ("DeepseekV3", {"attention_bias": True}, "attention_bias must be False; got True"),
    ("DeepseekV3", {"num_key_value_heads": 3}, "num_key_value_heads must be 6; got 3"),
    ("DeepseekV3", {"rope_parameters": LONGROPE}, "rope_type must be one of .*; got 'longrope'"),
]


@pytest.mark.parametrize(("name", "changed", "message"), REFUSED)
def test_an_option_without_a_counterpart_is_refused_by_name_and_value(
    name: str, changed: dict[str, Any], message: str
) -> None:
    layer, config = made(name)
    convert(layer, config)
    with pytest.raises(ValueError, match=message):
        convert(*made(name, **changed))


def test_cross_attention_is_refused_where_its_layer_has_other_parts() -> None:
    config = config_of("GPT2", SIZES, {})
    with pytest.raises(ValueError, match="is_cross_attention must be False; got True"):
        convert(GPT2Attention(config, is_cross_attention=True, layer_idx=0), config)
    config = config_of("Bert", SIZES, {})
    with pytest.raises(ValueError, match="is_cross_attention must be False; got True"):
        convert(BertAttention(config, is_cross_attention=True), config)


def test_blooms_exact_sum_is_no_other_without_slices() -> None:
    assert isinstance(convert(*made("Bloom", slow_but_exact=True)), MultiHeadAttention)
    assert isinstance(convert(*made("Bloom", pretraining_tp=2)), MultiHeadAttention)


def test_gptj_without_a_rotary_dim_is_refused_as_its_own_rotation_does_not_fit() -> None:
    layer, config = made("GPTJ")
    layer.rotary_dim = None
    with pytest.raises(ValueError, match="rotary_dim must be an int; got None"):
        convert(layer, config)


@each_layer
def test_a_part_that_is_not_known_is_refused(name: str) -> None:
    layer, config = made(name)
    (layer.self if name == "Bert" else layer).adapter = nn.Linear(3, 2)
    with pytest.raises(ValueError, match=r"adapter.weight must be absent.*; got \(2, 3\)"):
        convert(layer, config)


UNKNOWN = {"softcap_of_next_year": 20.0, "attention_chunk_size": 8, "is_causal": False}
UNKNOWN["sliding_window"] = 4


@each_layer
@pytest.mark.parametrize("option", UNKNOWN)
@pytest.mark.parametrize("place", ["config", "layer"])
def test_an_option_about_attention_that_is_not_known_is_refused(
    name: str, option: str, place: str
) -> None:
    layer, config = made(name)
    holder = config if place == "config" else layer.self if name == "Bert" else layer
    vars(holder)[option] = UNKNOWN[option]  # unchecked
    both_ways = name in ("Bert", "T5") and (option, place) == ("is_causal", "layer")
    if both_ways or (name, option) == ("Phi3", "sliding_window"):
        convert(layer, config)
        return
    with pytest.raises(ValueError, match=rf"^{option} must be .*; got {UNKNOWN[option]!r}$"):
        convert(layer, config)


def test_layers_without_a_config_are_converted() -> None:
    for name in ("Bloom", "Mpt"):
        ours = from_transformers(made(name)[0])
        assert isinstance(ours, MultiHeadAttention)


# --- what a converted layer is ---------------------------------------------------------------


@each_layer
def test_a_layer_keeps_dtype_mode_and_what_learns_and_shares_no_memory(name: str) -> None:
    layer, config = made(name)
    with torch.no_grad():
        ours = convert(layer.to(torch.bfloat16).train(), config)
    assert ours.training
    assert all(parameter.requires_grad for parameter in ours.parameters())
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.bfloat16}
    assert all(parameter.is_contiguous() for parameter in ours.parameters())
    x = torch.randn(2, 5, ours.out_proj.out_features, dtype=torch.bfloat16)
    before = ours.eval()(x)
    for parameter in layer.eval().requires_grad_(False).parameters():
        nn.init.zeros_(parameter)
    assert ours(x).equal(before)
    frozen = convert(layer, config)
    assert not frozen.training
    assert not any(parameter.requires_grad for parameter in frozen.parameters())


@pytest.mark.parametrize(
    ("name", "changed", "dropout"),
    [
        ("GPT2", {"attn_pdrop": 0.3}, 0.3),
        ("GPTJ", {"attn_pdrop": 0.3}, 0.3),
        ("GPTNeoX", {"attention_dropout": 0.3}, 0.3),
        ("Falcon", {"attention_dropout": 0.3}, 0.0),  # which transformers does not apply
        ("Falcon", {"attention_dropout": 0.3, "alibi": True}, 0.3),
        ("Bloom", {"attention_dropout": 0.3}, 0.3),
        ("Phi3", {"attention_dropout": 0.3}, 0.3),
        ("Bert", {"attention_probs_dropout_prob": 0.3}, 0.3),
        ("T5", {"dropout_rate": 0.3}, 0.3),
        ("DeepseekV3", {"attention_dropout": 0.3}, 0.3),
    ],
)
def test_the_dropout_of_weights_is_that_of_the_layer(
    name: str, changed: dict[str, Any], dropout: float
) -> None:
    assert convert(*made(name, **changed)).dropout == dropout


@pytest.mark.parametrize(
    ("name", "changed", "kind", "kv_heads"),
    [
        ("Falcon", {}, "GroupedQueryAttention", 1),
        ("Falcon", {"new_decoder_architecture": True, "num_kv_heads": 3}, "Grouped", 3),
        ("Falcon", {"multi_query": False}, "MultiHeadAttention", 6),
        ("Phi3", {"num_key_value_heads": 2}, "GroupedQueryAttention", 2),
        ("Phi3", {}, "MultiHeadAttention", 6),
    ],
)
def test_the_class_says_whether_heads_share_keys(
    name: str, changed: dict[str, Any], kind: str, kv_heads: int
) -> None:
    ours = convert(*made(name, **changed))
    assert type(ours).__name__.startswith(kind)
    assert ours.num_kv_heads == kv_heads


def test_the_scale_is_left_to_the_attention_function_where_it_is_the_usual_one() -> None:
    for name in LAYERS:
        found = convert(*made(name)).scale
        assert found == (1.0 if name == "T5" else None), name
    assert convert(*made("GPT2", scale_attn_weights=False)).scale == 1.0
    found = convert(*made("GPT2", scale_attn_by_inverse_layer_idx=True)).scale
    assert found == pytest.approx(8**-0.5 / 2)  # of layer 1, counted from 0
    assert convert(*made("Mpt", attn_config={"softmax_scale": 0.2})).scale == 0.2


@pytest.mark.parametrize("name", ["DeepseekV2", "DeepseekV3"])
def test_latent_norms_keep_their_epsilon(name: str) -> None:
    layer, config = made(name)
    layer.kv_a_layernorm.variance_epsilon = 0.2
    layer.q_a_layernorm.variance_epsilon = 0.3
    ours = convert(layer, config)
    latent, query = normal(3, 10, dtype=torch.float32), normal(3, 14, dtype=torch.float32)
    assert error(ours.kv_a_norm(latent), layer.kv_a_layernorm(latent)) <= 1e-6
    assert error(ours.q_a_norm(query), layer.q_a_layernorm(query)) <= 1e-6


@pytest.mark.parametrize("name", ["DeepSeek-V2-Lite", "DeepSeek-V3"])
@pytest.mark.parametrize("absorb", [False, True])
def test_both_forms_of_latent_attention_have_the_factor_of_yarn(name: str, absorb: bool) -> None:
    family = MINE[name]
    model = family.build()
    layer = family.layers(model)[-1]
    x, wanted = passed(model, layer, "")
    ours: Any = from_transformers(layer)
    assert ours.scale > 1.3 * (ours.head_dim + ours.rope_dim) ** -0.5
    found = ours(x, is_causal=True, absorb=absorb)
    assert relative(found.detach(), wanted.detach()) <= 1e-6


def test_bert_leaves_residual_and_norm_outside() -> None:
    layer, config = made("Bert")
    x = normal(2, 5, 48, dtype=torch.float32)
    wanted = layer.eval()(x)[0]
    assert error(layer.output.LayerNorm(x + convert(layer, config)(x)), wanted) <= 1e-5


def test_t5_cross_attention_takes_a_context() -> None:
    layer, config = made("T5")
    x, context = normal(2, 5, 40, dtype=torch.float32), normal(2, 9, 40, dtype=torch.float32)
    wanted = layer.eval()(x, key_value_states=context)[0]
    assert error(convert(layer, config)(x, context), wanted) <= 1e-5


# --- the bias on the scores ------------------------------------------------------------------


def t5_layer(*, decoder: bool) -> Any:
    config = config_of("T5", T5, {"is_decoder": decoder, "relative_attention_num_buckets": 12,
                                  "relative_attention_max_distance": 20})  # fmt: skip
    layer = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    nn.init.normal_(layer.relative_attention_bias.weight)
    return layer


@pytest.mark.parametrize("decoder", [False, True])
def test_the_table_of_t5_is_a_relative_bias(decoder: bool) -> None:
    layer = t5_layer(decoder=decoder)
    bias: Any = position_bias_from_transformers(layer)
    assert isinstance(bias, RelativeBias)
    assert bias(40).equal(layer.compute_bias(40, 40))
    assert bias(3, 40, offset=37).equal(layer.compute_bias(3, 40, past_seen_tokens=37))
    nn.init.zeros_(layer.relative_attention_bias.weight)
    assert bias(5).any()
    bias(5).sum().backward()
    assert bias.relative_attention_bias.weight.grad.any()


def alibi_layers(heads: int) -> dict[str, tuple[nn.Module, Tensor]]:
    """Return layers with ALiBi, and theirs of 40 keys: a number for each head and key."""
    sizes = {"hidden_size": 4 * heads, "num_attention_heads": heads}
    seen = torch.ones(1, 40, dtype=torch.long)
    return {
        "bloom": (
            bloom.BloomAttention(config_of("Bloom", sizes, {}), layer_idx=0),
            bloom.build_alibi_tensor(seen, heads, torch.float32)[:, 0],
        ),
        "mpt": (
            mpt.MptAttention(config_of("Mpt", {"d_model": 4 * heads, "n_heads": heads}, {})),
            mpt.build_mpt_alibi_tensor(heads, 40)[:, 0],
        ),
        "falcon": (
            falcon.FalconAttention(config_of("Falcon", {**sizes, "alibi": True}, {}), layer_idx=0),
            falcon.build_alibi_tensor(seen, heads, torch.float32)[:, 0] / 2,
        ),
    }


@pytest.mark.parametrize("heads", [2, 6, 8, 13])
@pytest.mark.parametrize("family", ["bloom", "mpt", "falcon"])
def test_alibi_differs_from_theirs_by_a_number_for_each_query(family: str, heads: int) -> None:
    layer, theirs = alibi_layers(heads)[family]
    bias = position_bias_from_transformers(layer)
    whole = bias(40)
    assert whole.shape == (1, heads, 40, 40)
    assert bias(3, 40, offset=37).equal(whole[:, :, 37:])
    at_own = theirs.unsqueeze(-1)  # softmax does not see what all keys of a query have
    assert error(whole[0], theirs.unsqueeze(1) - at_own) <= 2e-5
    assert not whole.diagonal(dim1=-2, dim2=-1).any()
    assert not list(bias.parameters())
    assert not bias.state_dict()


def test_alibi_stays_float32_in_a_model_of_bfloat16() -> None:
    layer, _ = alibi_layers(6)["bloom"]
    bias = position_bias_from_transformers(layer)
    wanted = bias(300)
    assert bias.to(torch.bfloat16)(300).equal(wanted)
    x = normal(2, 5, 24, dtype=torch.bfloat16)
    ours = convert(layer.to(torch.bfloat16), None)
    assert ours(x, attn_mask=bias(5), is_causal=True).dtype == torch.bfloat16
    assert bias.to("meta")(3).is_meta


def test_falcon_counts_its_bias_twice_in_a_whole_eager_model() -> None:
    config = config_of("Falcon", SIZES, {"num_hidden_layers": 1, "alibi": True, "vocab_size": 31})
    torch.manual_seed(0)
    model, caught = transformers.FalconModel(config).eval(), []
    layer = model.h[0].self_attention
    nn.init.normal_(layer.query_key_value.weight, std=0.3)
    layer.register_forward_hook(lambda _, args, output: caught.append((args[0], output[0])))
    with torch.no_grad():
        model(torch.arange(9)[None])
        (x, wanted), bias = caught[0], position_bias_from_transformers(layer)(9)
        ours = convert(layer, config)
        assert error(ours(x, attn_mask=2 * bias, is_causal=True), wanted) <= 1e-5
        assert error(ours(x, attn_mask=bias, is_causal=True), wanted) > 1e-3


@pytest.mark.parametrize("family", ["t5", "bloom"])
def test_a_model_takes_the_bias(family: str) -> None:
    layer = t5_layer(decoder=True) if family == "t5" else alibi_layers(6)["bloom"][0]
    bias = position_bias_from_transformers(layer)
    model = DecoderModel(
        31, 24, [Block(MultiHeadAttention(24, 6), None, nn.LayerNorm(24), None)], position_bias=bias
    )
    tokens = torch.arange(10)[None]
    assert model(tokens).shape == (1, 10, 31)


def test_a_layer_without_a_bias_is_refused() -> None:
    later = T5Attention(config_of("T5", T5, {}), layer_idx=1)
    with pytest.raises(ValueError, match=r"has_relative_attention_bias must be True.*; got False"):
        position_bias_from_transformers(later)
    with pytest.raises(ValueError, match=r"alibi must be True for a bias.*; got False"):
        position_bias_from_transformers(made("Falcon")[0])
    with pytest.raises(ValueError, match=r"module must be one of BloomA.*; got GPT2Attention"):
        position_bias_from_transformers(made("GPT2")[0])
    with pytest.raises(TypeError, match="module must be a Module; got str"):
        position_bias_from_transformers("t5-small")  # type: ignore[arg-type]
