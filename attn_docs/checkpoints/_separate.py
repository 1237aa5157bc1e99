"""Converters of the attention layers that have q_proj, k_proj, v_proj and o_proj apart."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypedDict

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs.checkpoints._config import (
    Converter,
    copied,
    copy_linear,
    only_options,
    only_parts,
    refuse,
    require,
    rotary_of,
)
from attn_docs.checkpoints.steadier import AcrossHeads, SinkAttention, softcap_attention
from attn_docs.heads.grouped_query import GroupedQueryAttention
from attn_docs.heads.multi_head import MultiHeadAttention
from attn_docs.position.rotary import RotaryEmbedding

# a layer of transformers, whose attributes only its class knows
Layer = Any
_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


class Additions(TypedDict, total=False):
    """What a family gives to `MultiHeadAttention` besides what all give."""

    q_norm: nn.Module
    k_norm: nn.Module
    v_norm: nn.Module
    gate: nn.Module
    attend: Callable[..., Tensor]


class HeadLayerNorm(nn.Module):
    """Layer normalisation of each head, with a gain for each head and element, and no bias.

    Args:
        weight: (heads, head_dim).
        eps: Added to the variance.
    """

    def __init__(self, weight: nn.Parameter, eps: float) -> None:
        super().__init__()
        self.weight = weight
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalise heads (batch, heads, length, head_dim)."""
        normed = F.layer_norm(x.float(), x.shape[-1:], eps=self.eps)  # b h n d
        return (normed * self.weight.float().unsqueeze(1)).to(x.dtype)  # b h n d

    def extra_repr(self) -> str:
        """Say how large it is."""
        return f"{tuple(self.weight.shape)}, eps={self.eps}"


@dataclass(frozen=True)
class Family:
    """What sets one family's layers apart from Llama's; called, it converts one.

    Attributes:
        options: Names of the config and the layer that this family reads or refuses.
        parts: Names of its parameters besides those of the four projections.
        held: For each option that may be refused, the values that are held.
        interleaved: Whether its rotary pairs are neighbours.
        partial: Whether its rotary class reads `partial_rotary_factor`.
        window: Whose `sliding_window` counts, the "layer"'s or the "config"'s; none if None.
        rotated: Whether a layer's queries and keys are rotated.
        adds: What else a layer gives to our module.
    """

    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    held: Mapping[str, tuple[object, ...]] = field(default_factory=dict)
    interleaved: bool = False
    partial: bool = False
    window: str | None = None
    rotated: Callable[[Layer], bool] = lambda _: True
    adds: Callable[[Layer], Additions] = lambda _: {}

    def __call__(self, module: nn.Module, config: object) -> nn.Module:
        """Return our module with the weights of theirs."""
        layer: Layer = module
        if config is None:
            refuse("config", None, f"given for {type(module).__name__}")
        self._check(layer, config)
        weights = _weights(layer)
        (query, q_bias), (key, _), (value, _), (_, out_bias) = weights
        heads, kv_heads = (x.size(0) // layer.head_dim for x in (query, key))
        if heads // kv_heads != layer.num_key_value_groups:
            refuse("num_key_value_groups", layer.num_key_value_groups, f"{heads // kv_heads}")
        shared = kv_heads != heads
        made = (
            partial(GroupedQueryAttention, num_kv_heads=kv_heads) if shared else MultiHeadAttention
        )
        ours = made(
            query.size(1),
            heads,
            head_dim=layer.head_dim,
            qkv_bias=q_bias is not None,
            out_bias=out_bias is not None,
            dropout=float(layer.attention_dropout or 0.0),
            scale=None if layer.scaling == layer.head_dim**-0.5 else float(layer.scaling),
            window=self._window(layer, config),
            rotary=self._rotary(layer, config),
            **self.adds(layer),
        )
        mine = (ours.q_proj, ours.k_proj, ours.v_proj, ours.out_proj)
        for projection, (weight, bias) in zip(mine, weights, strict=True):
            copy_linear(projection, weight, bias)
        if value is key:  # one parameter, as theirs
            ours.v_proj.weight, ours.v_proj.bias = ours.k_proj.weight, ours.k_proj.bias
        return ours

    def _rotary(self, layer: Layer, config: object) -> RotaryEmbedding | None:
        if not self.rotated(layer):
            return None
        rotary = rotary_of(
            config,
            layer.head_dim,
            layer_type=_layer_type(layer, config),
            interleaved=self.interleaved,
            partial=self.partial,
        )
        if rotary is None:
            refuse("rope_parameters", None, f"given for {type(layer).__name__}")
        return rotary

    def _window(self, layer: Layer, config: object) -> int | None:
        if self.window is None:
            return None
        return getattr(layer if self.window == "layer" else config, "sliding_window", None)

    def _check(self, layer: Layer, config: object) -> None:
        only_parts(layer, (*_PROJECTIONS, *self.parts))
        for holder in (config, layer):
            require(holder, {**self.held, "is_causal": (True,)})
            only_options(holder, (*self.options, *self.held))
        window = getattr(layer, "sliding_window", None)
        if window is not None and window != getattr(config, "sliding_window", None):
            refuse("sliding_window", window, "the same in the layer and its config")
        layer_type = _layer_type(layer, config)
        if layer_type not in (None, "full_attention", "sliding_attention"):
            refuse("layer_types", layer_type, "full_attention or sliding_attention")
        if layer_type == "sliding_attention" and self._window(layer, config) is None:
            refuse("layer_types", layer_type, "full_attention in a layer without a window")


def _layer_type(layer: Layer, config: object) -> str | None:
    """Return the layer's type, where the config has one for each layer."""
    types = getattr(config, "layer_types", None)
    return None if types is None or layer.layer_idx is None else types[layer.layer_idx]


def _weights(layer: Layer) -> list[tuple[Tensor, Tensor | None]]:
    """Return weight and bias of the projections of queries, keys, values and outputs."""
    found: list[tuple[Tensor, Tensor | None]] = []
    for name in _PROJECTIONS:
        projection = getattr(layer, name)
        if projection is None and name == "v_proj":
            found.append(found[1])  # Gemma 4: values are keys before the norm and the rotation
            continue
        weight, bias = projection.weight, projection.bias
        if name == "q_proj" and weight.size(0) == 2 * layer.o_proj.in_features:
            weight = _halves(weight, layer.head_dim)[0]  # Qwen3-Next: the rest is its gate
            bias = None if bias is None else _halves(bias, layer.head_dim)[0]
        found.append((weight, bias))
    return found


def _halves(x: Tensor, head_dim: int) -> tuple[Tensor, Tensor]:
    """Part each head's rows into those of its query and those of its gate."""
    heads = x.view(-1, 2, head_dim, *x.shape[1:])  # h 2 d …
    return heads[:, 0].flatten(0, 1), heads[:, 1].flatten(0, 1)


def rms_norm(norm: Layer, *, plus_one: bool = False) -> nn.RMSNorm:
    """Return PyTorch's RMS norm with the weight of one of transformers'.

    Args:
        norm: With `weight`, and `eps` or `variance_epsilon`.
        plus_one: Whether it multiplies by 1 + weight, as most of Gemma's do.
    """
    eps = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    made = nn.RMSNorm(tuple(norm.weight.shape), eps=eps)
    made.weight = copied(norm.weight)
    if plus_one:
        with torch.no_grad():
            made.weight.add_(1.0)
    return made


def _each_head(layer: Layer) -> Additions:
    return {"q_norm": rms_norm(layer.q_norm), "k_norm": rms_norm(layer.k_norm)}


def _each_head_plus_one(layer: Layer) -> Additions:
    q_norm, k_norm = (rms_norm(norm, plus_one=True) for norm in (layer.q_norm, layer.k_norm))
    return {"q_norm": q_norm, "k_norm": k_norm}


def _across_heads(layer: Layer) -> Additions:
    q_norm, k_norm = (AcrossHeads(rms_norm(norm)) for norm in (layer.q_norm, layer.k_norm))
    return {"q_norm": q_norm, "k_norm": k_norm}


def _gemma_2(layer: Layer) -> Additions:
    cap = layer.attn_logit_softcapping
    return {} if cap is None else {"attend": partial(softcap_attention, softcap=float(cap))}


def _gemma_4(layer: Layer) -> Additions:
    v_norm = nn.RMSNorm(layer.head_dim, eps=layer.v_norm.eps, elementwise_affine=False)
    return {**_each_head(layer), "v_norm": v_norm}


def _gpt_oss(layer: Layer) -> Additions:
    attend = SinkAttention(layer.sinks.size(0))
    attend.sinks = copied(layer.sinks)
    return {"attend": attend}


def _cohere(layer: Layer) -> Additions:
    if not layer.use_qk_norm:
        return {}
    q_norm, k_norm = (
        HeadLayerNorm(copied(norm.weight), norm.variance_epsilon)
        for norm in (layer.q_norm, layer.k_norm)
    )
    return {"q_norm": q_norm, "k_norm": k_norm}


def _qwen3_next(layer: Layer) -> Additions:
    weight, bias = layer.q_proj.weight, layer.q_proj.bias
    weight = _halves(weight, layer.head_dim)[1]
    bias = None if bias is None else _halves(bias, layer.head_dim)[1]
    gate = nn.Linear(weight.size(1), weight.size(0), bias=bias is not None)
    copy_linear(gate, weight, bias)
    return {**_each_head_plus_one(layer), "gate": gate}


_NORMS = ("q_norm", "k_norm")
_TWO_WAYS = {"use_bidirectional_attention": ()}
_QWEN = ("layer_type", "use_sliding_window", "max_window_layers", "decoder_sparse_step")
_GEMMA_3 = ("attn_logit_softcapping", "query_pre_attn_scalar", "is_sliding")
_GEMMA_4 = (
    "is_sliding",
    "attention_k_eq_v",
    "use_alternative_attention",
    "num_kv_shared_layers",
    "kv_sharing_modes",
    "store_full_length_kv",
)
_QWEN3_NEXT = (
    "decoder_sparse_step",
    "linear_key_head_dim",
    "linear_value_head_dim",
    "linear_num_key_heads",
    "linear_num_value_heads",
)
_SMOLLM3 = ("use_rope", "no_rope_layers", "no_rope_layer_interval", "use_sliding_window")

SEPARATE: dict[str, Converter] = {
    "LlamaAttention": Family(),
    "MistralAttention": Family(window="config"),
    "MixtralAttention": Family(window="config"),
    "Qwen2Attention": Family(_QWEN, window="layer"),
    "Qwen3Attention": Family(_QWEN, _NORMS, window="layer", adds=_each_head),
    "Qwen3MoeAttention": Family(_QWEN, _NORMS, window="config", adds=_each_head),
    "Qwen3NextAttention": Family(_QWEN3_NEXT, _NORMS, partial=True, adds=_qwen3_next),
    "GemmaAttention": Family(held=_TWO_WAYS),
    "Gemma2Attention": Family(_GEMMA_3, held=_TWO_WAYS, window="layer", adds=_gemma_2),
    "Gemma3Attention": Family(
        _GEMMA_3,
        _NORMS,
        held={**_TWO_WAYS, "attn_logit_softcapping": ()},
        window="layer",
        adds=_each_head_plus_one,
    ),
    "Gemma4TextAttention": Family(
        _GEMMA_4,
        _NORMS,
        held={**_TWO_WAYS, "is_kv_shared_layer": ()},
        window="layer",
        adds=_gemma_4,
    ),
    "GptOssAttention": Family(parts=("sinks",), window="layer", adds=_gpt_oss),
    "OlmoAttention": Family(held={"clip_qkv": ()}),
    "Olmo2Attention": Family(parts=_NORMS, adds=_across_heads),
    "Olmo3Attention": Family(("attention_type",), _NORMS, window="layer", adds=_across_heads),
    "SmolLM3Attention": Family(_SMOLLM3, window="layer", rotated=lambda one: bool(one.use_rope)),
    "GraniteAttention": Family(("attention_multiplier",)),
    "CohereAttention": Family(("use_qk_norm",), _NORMS, interleaved=True, adds=_cohere),
    "Cohere2Attention": Family(
        interleaved=True, window="layer", rotated=lambda one: one.sliding_window is not None
    ),
}
