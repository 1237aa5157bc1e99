"""Converters of the attention layers with other layouts: fused or interleaved projections."""

import math
from collections.abc import Callable
from typing import Any, Unpack

import torch
from torch import Tensor, nn

from attn_docs.checkpoints._config import (
    Converter,
    copied,
    copy_linear,
    only_options,
    only_parts,
    place,
    refuse,
    require,
    rotary_of,
)
from attn_docs.heads._options import Options
from attn_docs.heads.grouped_query import GroupedQueryAttention
from attn_docs.heads.latent import MultiHeadLatentAttention
from attn_docs.heads.multi_head import MultiHeadAttention
from attn_docs.position.relative import RelativeBias, _positions, alibi_slopes
from attn_docs.position.rotary import RotaryEmbedding

# the parts of one of our modules, by name: their weight and their bias
Parts = dict[str, tuple[Tensor, Tensor | None]]


class _LinearBias(nn.Module):
    """ALiBi with slopes that are given: a key after the query gets as much as one before loses."""

    def __init__(self, slopes: Tensor, device: torch.device) -> None:
        super().__init__()
        self.at: Tensor
        self.slopes = tuple(slopes.tolist())  # no buffer, which .to(torch.bfloat16) would round
        self.register_buffer("at", torch.empty(0, device=device), persistent=False)

    def forward(self, query_len: int, key_len: int | None = None, *, offset: int = 0) -> Tensor:
        """Return the bias of queries and keys of these positions, (1, h, n, m) in float32."""
        device = self.at.device
        query, key = _positions(query_len, key_len, offset, device)
        slopes = torch.tensor(self.slopes, dtype=torch.float32, device=device).view(1, -1, 1, 1)
        return self._numbers(slopes, query.unsqueeze(-1), key)  # 1 h n m

    def _numbers(self, slopes: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return slopes * (key - query)

    def extra_repr(self) -> str:
        """Say what was set."""
        return f"num_heads={len(self.slopes)}"


class _FalconBias(_LinearBias):
    """ALiBi of Falcon: slope times position in bfloat16, then divided as the scores are."""

    def __init__(self, slopes: Tensor, device: torch.device, factor: float) -> None:
        super().__init__(slopes, device)
        self.factor = factor

    def _numbers(self, slopes: Tensor, query: Tensor, key: Tensor) -> Tensor:
        slopes = slopes.bfloat16()
        return ((slopes * key).float() - (slopes * query).float()) * self.factor


def _t5_bias(module: nn.Module) -> nn.Module:
    """Return T5's table."""
    layer: Any = module
    if not layer.has_relative_attention_bias:
        rule = "True: T5's first layer holds the table for all layers"
        refuse("has_relative_attention_bias", layer.has_relative_attention_bias, rule)
    bias = RelativeBias(
        layer.n_heads,
        num_buckets=layer.relative_attention_num_buckets,
        max_distance=layer.relative_attention_max_distance,
        bidirectional=not layer.is_decoder,
    )
    bias.relative_attention_bias.weight = copied(layer.relative_attention_bias.weight)
    return bias


def _alibi(module: nn.Module) -> nn.Module:
    """Return the ALiBi of BLOOM, and of MPT, whose `alibi_bias_max` its model does not read."""
    layer: Any = module
    heads = layer.n_heads if hasattr(layer, "n_heads") else layer.num_heads
    device = next(module.parameters()).device
    return _LinearBias(alibi_slopes(heads), device)


def _falcon_bias(module: nn.Module) -> nn.Module:
    """Return Falcon's ALiBi, if it has one."""
    layer: Any = module
    if not layer.config.alibi:
        refuse("alibi", layer.config.alibi, "True for a bias on the scores")
    device = next(module.parameters()).device
    return _FalconBias(alibi_slopes(layer.num_heads), device, layer.inv_norm_factor)


BIASES: dict[str, Callable[[nn.Module], nn.Module]] = {
    "T5Attention": _t5_bias,
    "MT5Attention": _t5_bias,
    "UMT5Attention": _t5_bias,
    "FalconAttention": _falcon_bias,
    "BloomAttention": _alibi,
    "MptAttention": _alibi,
}


# what sounds as if attention read it, in a family's config and layer, and is read, refused, or
# known not to matter
_GPT2 = (
    "attn_pdrop",
    "scale_attn_weights",
    "scale_attn_by_inverse_layer_idx",
    "reorder_and_upcast_attn",
    "add_cross_attention",
    "is_cross_attention",
)
_GPTJ = ("attn_pdrop", "rotary_dim", "scale_attn")
_FALCON = ("alibi", "bias", "parallel_attn", "num_ln_in_parallel_attn")
_MPT = ("attn_config", "no_bias", "attn_dropout_p", "clip_qkv", "softmax_scale")
_BERT = (
    "attention_probs_dropout_prob",
    "all_head_size",
    "is_cross_attention",
    "attention_head_size",
    "add_cross_attention",
    "position_embedding_type",
)
_T5 = (
    "d_kv",
    "relative_attention_num_buckets",
    "relative_attention_max_distance",
    "has_relative_attention_bias",
    "scale_decoder_outputs",
)
_LATENT = (
    "q_lora_rank",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "v_head_dim",
    "qk_head_dim",
    "rope_interleave",
    "routed_scaling_factor",
)
_HEADS = ("n_head", "n_heads", "num_heads", "num_kv_heads")


def _check(
    module: nn.Module,
    config: object,
    parts: tuple[str, ...],
    options: tuple[str, ...] = (),
    *,
    causal: bool = True,
    windows: bool = False,
) -> None:
    """Refuse a layer with parts, and a config or layer with options, that are not known."""
    only_parts(module, parts)
    for holder in (config, module):
        only_options(holder, (*options, *_HEADS))
        if not windows:
            require(holder, {"sliding_window": ()})
        if causal or holder is config:
            require(holder, {"is_causal": (True,)})


@torch.enable_grad()  # what is copied without it would look frozen
def _gpt2(module: nn.Module, config: object) -> nn.Module:
    """Convert GPT-2: queries, keys and values side by side in one Conv1D, (in, out)."""
    layer: Any = module
    require(layer, {"is_cross_attention": (False,)})
    _check(module, config, ("c_attn", "c_proj"), _GPT2)
    ours = MultiHeadAttention(
        layer.embed_dim,
        layer.num_heads,
        scale=_scale(layer.scaling, layer.head_dim),
        dropout=layer.attn_dropout.p,
    )
    fused, out = layer.c_attn, layer.c_proj
    parts = _side_by_side(fused.weight.t().contiguous(), fused.bias, 3 * [layer.embed_dim])
    parts["out_proj"] = (out.weight.t().contiguous(), out.bias)
    return _filled(ours, parts, module)


def _gptj(module: nn.Module, config: object) -> nn.Module:
    """Convert GPT-J: neighbours are rotated in pairs, in the first part of a head."""
    layer: Any = module
    if layer.rotary_dim is None:
        refuse("rotary_dim", None, "an int")
    names = ("q_proj", "k_proj", "v_proj", "out_proj")
    _check(module, config, (*names, "embed_positions"), _GPTJ)
    ours = MultiHeadAttention(
        layer.embed_dim,
        layer.num_attention_heads,
        bias=False,
        dropout=layer.attn_dropout.p,
        rotary=RotaryEmbedding(layer.head_dim, rotary_dim=layer.rotary_dim, interleaved=True),
    )
    return _filled(ours, {name: _both(getattr(layer, name)) for name in names}, module)


def _gpt_neox(module: nn.Module, config: object) -> nn.Module:
    """Convert GPT-NeoX: one projection, in which each head has its query, key and value."""
    layer: Any = module
    settings: Any = config
    _check(module, config, ("query_key_value", "dense"), ("head_size", "rotary_ndims"))
    ours = MultiHeadAttention(
        settings.hidden_size,
        settings.num_attention_heads,
        bias=layer.query_key_value.bias is not None,
        scale=_scale(layer.scaling, layer.head_size),
        dropout=float(layer.attention_dropout),
        rotary=rotary_of(config, layer.head_size, partial=True),
    )
    parts = _by_group(layer.query_key_value, settings.num_attention_heads, layer.head_size)
    return _filled(ours, parts | {"out_proj": _both(layer.dense)}, module)


def _falcon(module: nn.Module, config: object) -> nn.Module:
    """Convert Falcon: one projection, by KV head; with ALiBi, its bias is given to the call."""
    layer: Any = module
    settings: Any = config
    _check(module, config, ("query_key_value", "dense"), _FALCON)
    if not layer.new_decoder_architecture and not layer.multi_query:
        require(layer, {"num_kv_heads": (layer.num_heads,)})
    rotary = None if settings.alibi else rotary_of(config, layer.head_dim)
    ours = _heads(
        layer.hidden_size,
        layer.num_heads,
        layer.num_kv_heads,
        bias=layer.query_key_value.bias is not None,
        scale=_scale(layer.inv_norm_factor, layer.head_dim),
        # with rotary positions, transformers leaves its dropout out
        dropout=float(layer.attention_dropout.p) if settings.alibi else 0.0,
        rotary=rotary,
    )
    parts = _by_group(layer.query_key_value, layer.num_kv_heads, layer.head_dim)
    return _filled(ours, parts | {"out_proj": _both(layer.dense)}, module)


def _bloom(module: nn.Module, config: object) -> nn.Module:
    """Convert BLOOM, without the residual that its layer adds; its bias is given to the call."""
    layer: Any = module
    _check(module, config, ("query_key_value", "dense"))
    if layer.pretraining_tp > 1 and layer.slow_but_exact:
        rule = "False with pretraining_tp above 1, where transformers leaves the output's bias out"
        refuse("slow_but_exact", layer.slow_but_exact, rule)
    ours = MultiHeadAttention(
        layer.hidden_size,
        layer.num_heads,
        scale=_scale(layer.inv_norm_factor, layer.head_dim),
        dropout=float(layer.attention_dropout.p),
    )
    parts = _by_group(layer.query_key_value, layer.num_heads, layer.head_dim)
    return _filled(ours, parts | {"out_proj": _both(layer.dense)}, module)


def _mpt(module: nn.Module, config: object) -> nn.Module:
    """Convert MPT: projections side by side; its bias is given to the call."""
    layer: Any = module
    settings: Any = config
    _check(module, config, ("Wqkv", "out_proj"), _MPT)
    if layer.clip_qkv:
        refuse("clip_qkv", layer.clip_qkv, "None")
    if config is not None:  # what transformers' layer does not read
        held = {"attn_type": ("multihead_attention",), "alibi": (True,), "alibi_bias_max": (8,)}
        require(config, {"no_bias": (True,)})
        require(settings.attn_config, {**held, "qk_ln": (False,), "prefix_lm": (False,)})
    ours = MultiHeadAttention(
        layer.hidden_size,
        layer.n_heads,
        bias=False,
        scale=_scale(layer.softmax_scale, layer.head_dim),
        dropout=float(layer.attn_dropout_p),
    )
    parts = _side_by_side(layer.Wqkv.weight, None, 3 * [layer.hidden_size])
    return _filled(ours, parts | {"out_proj": _both(layer.out_proj)}, module)


def _phi3(module: nn.Module, config: object) -> nn.Module:
    """Convert Phi-3: queries, keys and values side by side in one projection."""
    layer: Any = module
    settings: Any = config
    _check(module, config, ("qkv_proj", "o_proj"), windows=True)
    ours = _heads(
        settings.hidden_size,
        settings.num_attention_heads,
        layer.num_key_value_heads,
        head_dim=layer.head_dim,
        bias=False,
        scale=_scale(layer.scaling, layer.head_dim),
        window=getattr(config, "sliding_window", None),
        dropout=float(layer.attention_dropout),
        rotary=rotary_of(config, layer.head_dim, partial=True),
    )
    heads = (settings.num_attention_heads, layer.num_key_value_heads, layer.num_key_value_heads)
    sizes = [count * layer.head_dim for count in heads]
    parts = _side_by_side(layer.qkv_proj.weight, layer.qkv_proj.bias, sizes)
    return _filled(ours, parts | {"out_proj": _both(layer.o_proj)}, module)


def _bert(module: nn.Module, config: object) -> nn.Module:
    """Convert BERT's `self` and `output.dense`; residual and LayerNorm stay with the block."""
    layer: Any = module
    require(layer, {"is_cross_attention": (False,)})
    require(config, {"position_embedding_type": ("absolute",)})
    _check(layer.self, config, ("query", "key", "value"), _BERT, causal=False)
    only_options(module, _BERT)
    only_parts(layer.output, ("dense", "LayerNorm"))
    inner = layer.self
    ours = MultiHeadAttention(
        inner.query.in_features,
        inner.num_attention_heads,
        head_dim=inner.attention_head_size,
        scale=_scale(inner.scaling, inner.attention_head_size),
        dropout=float(inner.dropout.p),
    )
    parts = {f"{name[0]}_proj": _both(getattr(inner, name)) for name in ("query", "key", "value")}
    return _filled(ours, parts | {"out_proj": _both(layer.output.dense)}, module)


def _t5(module: nn.Module, config: object) -> nn.Module:
    """Convert T5: scores are not scaled, and the table of distances is given to the call."""
    layer: Any = module
    _check(module, config, ("q", "k", "v", "o", "relative_attention_bias"), _T5, causal=False)
    ours = MultiHeadAttention(
        layer.d_model,
        layer.n_heads,
        head_dim=layer.key_value_proj_dim,
        bias=False,
        scale=float(layer.scaling),
        dropout=float(layer.dropout),
    )
    parts = {f"{name}_proj": _both(getattr(layer, name)) for name in "qkv"}
    return _filled(ours, parts | {"out_proj": _both(layer.o)}, module)


def _deepseek_v2(module: nn.Module, config: object) -> nn.Module:
    """Convert DeepSeek-V2, which always rotates neighbours."""
    return _latent(module, config, interleaved=True)


def _deepseek_v3(module: nn.Module, config: object) -> nn.Module:
    """Convert DeepSeek-V3, whose config says which elements are rotated in pairs."""
    settings: Any = config
    return _latent(module, config, interleaved=bool(settings.rope_interleave))


def _latent(module: nn.Module, config: object, *, interleaved: bool) -> nn.Module:
    """Convert latent attention, with YaRN's factor on all scores where there is one."""
    layer: Any = module
    require(config, {"attention_bias": (False,), "num_key_value_heads": (layer.num_heads,)})
    rotary = rotary_of(config, layer.qk_rope_head_dim, interleaved=interleaved)
    if rotary is None:
        refuse("rope_parameters", None, "a dict")
    ours = MultiHeadLatentAttention(
        layer.hidden_size,
        layer.num_heads,
        kv_rank=layer.kv_lora_rank,
        q_rank=layer.q_lora_rank,
        head_dim=layer.qk_nope_head_dim,
        rope_dim=layer.qk_rope_head_dim,
        value_dim=layer.v_head_dim,
        rotary=rotary,
        dropout=float(layer.attention_dropout),
        scale=_scale(layer.scaling, layer.qk_head_dim),
    )
    names = {"kv_a_proj": "kv_a_proj_with_mqa", "kv_b_proj": "kv_b_proj", "out_proj": "o_proj"}
    norms = {"kv_a_norm": "kv_a_layernorm"}
    if layer.q_lora_rank is None:
        names["q_proj"] = "q_proj"
    else:
        names |= {"q_a_proj": "q_a_proj", "q_b_proj": "q_b_proj"}
        norms["q_a_norm"] = "q_a_layernorm"
    _check(module, config, (*names.values(), *norms.values()), _LATENT)
    for mine, theirs in norms.items():
        norm, source = getattr(ours, mine), getattr(layer, theirs)
        norm.weight, norm.eps = copied(source.weight), source.variance_epsilon
    return _filled(ours, {name: _both(getattr(layer, at)) for name, at in names.items()}, module)


OTHERS: dict[str, Converter] = {
    "GPT2Attention": _gpt2,
    "GPTJAttention": _gptj,
    "GPTNeoXAttention": _gpt_neox,
    "FalconAttention": _falcon,
    "BloomAttention": _bloom,
    "MptAttention": _mpt,
    "Phi3Attention": _phi3,
    "BertAttention": _bert,
    "RobertaAttention": _bert,
    "XLMRobertaAttention": _bert,
    "CamembertAttention": _bert,
    "ElectraAttention": _bert,
    "T5Attention": _t5,
    "MT5Attention": _t5,
    "UMT5Attention": _t5,
    "DeepseekV2Attention": _deepseek_v2,
    "DeepseekV3Attention": _deepseek_v3,
    "Glm4MoeLiteAttention": _deepseek_v3,
    "YoutuAttention": _deepseek_v3,
}


def _heads(
    embed_dim: int, num_heads: int, num_kv_heads: int, **options: Unpack[Options]
) -> MultiHeadAttention:
    """Return the class that says whether heads share keys and values."""
    if num_kv_heads == num_heads:
        return MultiHeadAttention(embed_dim, num_heads, **options)
    return GroupedQueryAttention(embed_dim, num_heads, num_kv_heads, **options)


def _scale(scaling: float, head_dim: int) -> float | None:
    """Return a layer's factor on its scores; None where it is the usual one."""
    return None if math.isclose(scaling, head_dim**-0.5) else float(scaling)


def _both(linear: nn.Linear) -> tuple[Tensor, Tensor | None]:
    return linear.weight, linear.bias


def _side_by_side(weight: Tensor, bias: Tensor | None, sizes: list[int]) -> Parts:
    """Cut a fused projection whose rows are those of all queries, all keys, all values."""
    biases = (None, None, None) if bias is None else torch.split(bias, sizes)
    pairs = zip(torch.split(weight, sizes), biases, strict=True)
    return dict(zip(("q_proj", "k_proj", "v_proj"), pairs, strict=True))


@torch.enable_grad()
def _by_group(fused: nn.Linear, groups: int, head_dim: int) -> Parts:
    """Cut a fused projection: for each KV head the rows of its queries, of its key, its value."""

    def cut(rows: Tensor) -> tuple[Tensor, ...]:
        heads = rows.view(groups, -1, head_dim, *rows.shape[1:])  # g h/g+2 d …
        kinds = heads[:, :-2], heads[:, -2], heads[:, -1]
        return tuple(kind.reshape(-1, *rows.shape[1:]) for kind in kinds)

    biases = (None, None, None) if fused.bias is None else cut(fused.bias)
    pairs = zip(cut(fused.weight), biases, strict=True)
    return dict(zip(("q_proj", "k_proj", "v_proj"), pairs, strict=True))


def _filled(ours: nn.Module, parts: Parts, module: nn.Module) -> nn.Module:
    """Copy the parts, and return ours in the state that the layer of transformers is in."""
    for name, (weight, bias) in parts.items():
        copy_linear(getattr(ours, name), weight, bias)
    return place(ours, module)
