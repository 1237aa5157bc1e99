"""Small models of transformers whose attention has another layout, and what a layer was given."""

from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from torch import Tensor, nn

from attn_docs.checkpoints._others import OTHERS, position_bias_from_transformers

BATCH, LENGTH = 3, 11
LAYERS = {"num_hidden_layers": 2}
SIZES = {"hidden_size": 48, "num_attention_heads": 6, "vocab_size": 31, **LAYERS}
LATENT = {
    **SIZES, "num_key_value_heads": 6, "q_lora_rank": 14, "kv_lora_rank": 10, "qk_nope_head_dim": 5,
    "qk_rope_head_dim": 4, "v_head_dim": 7, "intermediate_size": 20, "moe_intermediate_size": 10,
}  # fmt: skip
DENSE = {"first_k_dense_replace": 2}
YARN = {
    "rope_type": "yarn", "rope_theta": 500.0, "factor": 8.0, "mscale": 0.7, "mscale_all_dim": 1.3,
    "original_max_position_embeddings": 16, "beta_fast": 4.0,
}  # fmt: skip
T5 = {"d_model": 40, "num_heads": 6, "d_kv": 7, "d_ff": 20, "vocab_size": 31, "num_layers": 2}
BERT = {**SIZES, "intermediate_size": 20}


@dataclass(frozen=True)
class Other:
    """One family: the model to build, and where its attention is.

    Attributes:
        model: transformers' class of the model without a head.
        options: What its config is given.
        at: The attention of the last layer, as a path from the model.
        out: The output projection, as a path from the attention.
        x: The module that is given the layer's input, as a path from the attention.
        bias: The attention whose position bias the layer gets, as a path from the model.
        causal: Whether the model hides later positions.
        moves: Whether the model takes `position_ids` and rotates by them.
        rows: How near the gradients are in float64; some layers compute in float32.
    """

    model: str
    options: dict[str, Any] = field(default_factory=dict)
    at: str = "layers.1.self_attn"
    out: str = "o_proj"
    x: str = ""
    bias: str | None = None
    causal: bool = True
    moves: bool = True
    near: float = 1e-10


@dataclass(frozen=True)
class Call:
    """What the layer of a running model was given, and what its output projection returned."""

    layer: nn.Module
    config: Any
    x: Tensor
    out: Tensor
    bias: nn.Module | None
    seen: Tensor | None
    positions: Tensor | None


def config_of(family: Other, **changes: Any) -> Any:
    """Return the family's config with some options changed."""
    kind: Any = getattr(transformers, family.model).config_class
    implementation = {"attn_implementation": "eager"}
    return kind(**implementation | family.options | changes)


def randomised(model: nn.Module) -> nn.Module:
    """Give every parameter other numbers, norms and biases too."""
    torch.manual_seed(0)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1 and "weight" in name:
            nn.init.normal_(parameter, mean=1.0, std=0.3)
        else:
            nn.init.normal_(
                parameter, std=0.5 if parameter.ndim == 1 else parameter.size(-1) ** -0.5
            )
        if "relative" in name:
            nn.init.normal_(parameter, std=1.5)
    return model.eval()


def run(
    family: Other, *, padded: bool = False, dtype: torch.dtype = torch.float32, **changes: Any
) -> Call:
    """Run the family's model, and catch what passes its last layer's attention."""
    config = config_of(family, **changes)
    model = randomised(getattr(transformers, family.model)(config)).to(dtype)
    stack, caught = getattr(model, "decoder", model), {}
    layer = model.get_submodule(family.at)

    def entered(_: nn.Module, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        caught["x"] = args[0] if args else named["hidden_states"]

    def left(_: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
        caught["out"] = output

    inner = layer.get_submodule(family.x)
    inner.register_forward_pre_hook(entered, with_kwargs=True)
    layer.get_submodule(family.out).register_forward_hook(left)
    embedded = torch.randn(BATCH, LENGTH, config.hidden_size).to(dtype)
    given: dict[str, Any] = {"inputs_embeds": embedded.requires_grad_()}
    seen = positions = None
    if padded:
        seen = torch.arange(LENGTH) >= torch.tensor([[0], [4], [7]])
        given["attention_mask"] = seen.long()
        if family.moves:
            positions = (seen.cumsum(-1) - 1).clamp(min=0)
            given["position_ids"] = positions
    stack(**given, use_cache=False)
    bias = None
    if family.bias is not None:
        bias = position_bias_from_transformers(model.get_submodule(family.bias))
    return Call(layer, config, caught["x"], caught["out"], bias, seen, positions)


def converted(call: Call) -> nn.Module:
    """Return the layer as one of ours."""
    return OTHERS[type(call.layer).__name__](call.layer, call.config)


def options(call: Call, n: int, *, before: int = 0) -> dict[str, Any]:
    """Return how ours is called for n queries after others, so that it does what theirs did."""
    found: dict[str, Any] = {}
    if call.bias is not None:
        found["attn_mask"] = call.bias(n, before + n, offset=before)
    if call.seen is not None:
        found["key_padding_mask"] = call.seen[:, : before + n]
    if call.positions is not None:
        found["positions"] = call.positions[:, before : before + n]
    return found


FALCON = {**SIZES, "bias": True, "num_kv_heads": 2}
FALCON_AT = {"at": "h.1.self_attention", "out": "dense"}
GPT2 = {"n_embd": 48, "n_head": 6, "n_layer": 2, "n_positions": 16, "vocab_size": 31}
NEOX = {**SIZES, "intermediate_size": 20, "rope_parameters": {
    "rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 0.5,
}}  # fmt: skip
PHI3 = {**SIZES, "num_key_value_heads": 2, "intermediate_size": 20, "pad_token_id": 0}
BERT_AT = {
    "at": "encoder.layer.1.attention", "out": "output.dense", "x": "self", "causal": False,
    "moves": False,
}  # fmt: skip
BLOOM = {"hidden_size": 48, "n_head": 6, "n_layer": 2, "vocab_size": 31}
MPT = {"d_model": 48, "n_heads": 6, "n_layers": 2, "vocab_size": 31, "max_seq_len": 16}
ENCODER = {
    "at": "encoder.block.1.layer.0.SelfAttention", "out": "o", "causal": False, "moves": False,
    "bias": "encoder.block.0.layer.0.SelfAttention",
}  # fmt: skip
DECODER = {
    "at": "decoder.block.1.layer.0.SelfAttention", "out": "o", "moves": False,
    "bias": "decoder.block.0.layer.0.SelfAttention",
}  # fmt: skip

FAMILIES: dict[str, Other] = {
    "gpt2": Other("GPT2Model", GPT2, "h.1.attn", "c_proj", moves=False),
    "gpt2, by layer": Other(
        "GPT2Model", {**GPT2, "scale_attn_by_inverse_layer_idx": True}, "h.1.attn", "c_proj",
        moves=False,
    ),
    "gpt2, unscaled": Other(
        "GPT2Model", {**GPT2, "scale_attn_weights": False}, "h.1.attn", "c_proj", moves=False,
    ),
    "gpt2, upcast": Other(
        "GPT2Model", {**GPT2, "reorder_and_upcast_attn": True}, "h.1.attn", "c_proj", moves=False,
        near=1e-5,
    ),
    "gptj": Other(
        "GPTJModel", {**GPT2, "rotary_dim": 6}, "h.1.attn", "out_proj", near=1e-5,
    ),
    "gpt_neox": Other("GPTNeoXModel", NEOX, "layers.1.attention", "dense"),
    "gpt_neox, no bias": Other(
        "GPTNeoXModel", {**NEOX, "attention_bias": False}, "layers.1.attention", "dense"
    ),
    "falcon": Other("FalconModel", {**FALCON, "new_decoder_architecture": True}, **FALCON_AT),
    "falcon, one KV head": Other("FalconModel", FALCON, **FALCON_AT),
    "falcon, all KV heads": Other(
        "FalconModel", {**FALCON, "multi_query": False, "num_kv_heads": 6, "bias": False},
        **FALCON_AT,
    ),
    "falcon, alibi": Other(  # its eager path counts the bias twice
        "FalconModel",
        {**FALCON, "num_kv_heads": 6, "multi_query": False, "alibi": True,
         "attn_implementation": "sdpa"},
        **FALCON_AT, bias="h.0.self_attention", moves=False, near=1e-6,
    ),
    "bloom": Other(
        "BloomModel", BLOOM, "h.1.self_attention", "dense", bias="h.1.self_attention", moves=False,
        near=1e-6,
    ),
    "mpt": Other(
        "MptModel", MPT, "blocks.1.attn", "out_proj", bias="blocks.1.attn", moves=False, near=1e-6,
    ),
    "phi3": Other("Phi3Model", PHI3),
    "phi3, window and part": Other(
        "Phi3Model",
        {**PHI3, "sliding_window": 4, "rope_parameters": {
            "rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 0.5}},
    ),
    "bert": Other("BertModel", BERT, **BERT_AT),
    "bert, decoder": Other(
        "BertModel", {**BERT, "is_decoder": True}, **{**BERT_AT, "causal": True}
    ),
    "roberta": Other("RobertaModel", BERT, **BERT_AT),
    "xlm_roberta": Other("XLMRobertaModel", BERT, **BERT_AT),
    "electra": Other("ElectraModel", {**BERT, "embedding_size": 48}, **BERT_AT),
    "t5, encoder": Other("T5EncoderModel", T5, **ENCODER),
    "t5, decoder": Other("T5Model", T5, **DECODER),
    "mt5": Other("MT5EncoderModel", T5, **ENCODER),
    "umt5": Other("UMT5EncoderModel", T5, **{**ENCODER, "bias": ENCODER["at"]}),
    "deepseek_v2": Other("DeepseekV2Model", {**LATENT, **DENSE}, near=1e-5),
    "deepseek_v2, no rank": Other(
        "DeepseekV2Model", {**LATENT, **DENSE, "q_lora_rank": None}, near=1e-5
    ),
    "deepseek_v2, yarn": Other(
        "DeepseekV2Model", {**LATENT, **DENSE, "rope_parameters": YARN}, near=1e-5
    ),
    "deepseek_v3": Other("DeepseekV3Model", {**LATENT, **DENSE}),
    "deepseek_v3, halves": Other(
        "DeepseekV3Model", {**LATENT, **DENSE, "rope_interleave": False}
    ),
    "deepseek_v3, yarn": Other("DeepseekV3Model", {**LATENT, **DENSE, "rope_parameters": YARN}),
    "deepseek_v3, yarn, one mscale": Other(
        "DeepseekV3Model",
        {**LATENT, **DENSE, "rope_parameters": {**YARN, "mscale": None}},
    ),
    "glm4_moe_lite": Other("Glm4MoeLiteModel", {**LATENT, "mlp_layer_types": ["dense", "dense"]}),
    "youtu": Other("YoutuModel", LATENT),
}  # fmt: skip
