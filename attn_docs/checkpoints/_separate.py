"""Converters of the attention layers that have q_proj, k_proj, v_proj and o_proj apart."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

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
from attn_docs.heads._options import Options
from attn_docs.heads.multi_head import MultiHeadAttention

_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


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
    """What sets one family's layers apart from Llama's.

    Attributes:
        options: The config's and the layer's names that `extra` reads or refuses.
        parts: Names of its parameters besides those of the four projections.
        held: For each option, the values that are held besides None.
        interleaved: Whether its rotary pairs are neighbours.
        partial: Whether its rotary class reads `partial_rotary_factor`.
        window: The layer's window; None if it has none.
        rotated: Whether the layer's queries and keys are rotated.
        extra: What else it gives to our module.
    """

    options: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    held: dict[str, tuple[Any, ...]] | None = None
    interleaved: bool = False
    partial: bool = False
    window: Callable[[Any, Any], int | None] = lambda module, config: None
    rotated: Callable[[Any, Any], bool] = lambda module, config: True
    extra: Callable[[Any, Any], Options] = lambda module, config: {}

    def __call__(self, module: nn.Module, config: object) -> nn.Module:
        """Return our module with the weights of theirs."""
        self._check(module, config)
        layer: Any = module
        head_dim, rotary = layer.head_dim, None
        if self.rotated(layer, config):
            rotary = rotary_of(
                config,
                head_dim,
                layer_type=_layer_type(layer, config),
                interleaved=self.interleaved,
                partial=self.partial,
            )
            if rotary is None:
                refuse("rope_parameters", None, f"given for {type(module).__name__}")
        weights = _weights(layer)
        (query, q_bias), (key, _), _, (_, out_bias) = weights
        options: Options = {
            "num_kv_heads": key.size(0) // head_dim,
            "head_dim": head_dim,
            "qkv_bias": q_bias is not None,
            "out_bias": out_bias is not None,
            "dropout": float(layer.attention_dropout or 0.0),
            "scale": float(layer.scaling),
            "window": self.window(layer, config),
            "rotary": rotary,
        } | self.extra(layer, config)  # type: ignore[assignment]
        heads = query.size(0) // head_dim
        if heads // options["num_kv_heads"] != layer.num_key_value_groups:
            refuse("num_key_value_groups", layer.num_key_value_groups, "the quotient of the heads")
        ours = MultiHeadAttention(query.size(1), heads, **options)
        mine = (ours.q_proj, ours.k_proj, ours.v_proj, ours.out_proj)
        for projection, (weight, bias) in zip(mine, weights, strict=True):
            copy_linear(projection, weight, bias)
        if key is weights[2][0]:  # keys are values too: one parameter, as theirs
            ours.v_proj.weight, ours.v_proj.bias = ours.k_proj.weight, ours.k_proj.bias
        return ours

    def _check(self, module: nn.Module, config: object) -> None:
        only_parts(module, (*_PROJECTIONS, *self.parts))
        for holder in (config, module):
            only_options(holder, self.options)
            require(holder, {"is_causal": (True,)} | (self.held or {}))
        window = getattr(module, "sliding_window", None)
        if window is not None and window != getattr(config, "sliding_window", None):
            refuse("sliding_window", window, "the same in the layer and its config")
        layer_type = _layer_type(module, config)
        if layer_type not in (None, "full_attention", "sliding_attention"):
            refuse("layer_types", layer_type, "full_attention or sliding_attention")
        if layer_type == "sliding_attention" and self.window(module, config) is None:
            refuse("layer_types", layer_type, "full_attention in a layer without a window")


def _layer_type(module: Any, config: Any) -> str | None:  # noqa: ANN401 - of transformers
    """Return the layer's type, where the config has one for each layer."""
    types = getattr(config, "layer_types", None)
    return None if types is None or module.layer_idx is None else types[module.layer_idx]


def _weights(layer: Any) -> list[tuple[Tensor, Tensor | None]]:  # noqa: ANN401
    """Return weight and bias of the projections of queries, keys, values and outputs."""
    found = []
    for name in _PROJECTIONS:
        projection = getattr(layer, name)
        if projection is None and name == "v_proj":
            found.append(found[1])  # Gemma 4: values are keys before the norm and the rotation
            continue
        weight, bias = projection.weight, projection.bias
        if name == "q_proj" and weight.size(0) == 2 * layer.o_proj.in_features:
            weight, bias = (_halves(x, layer.head_dim)[0] for x in (weight, bias))
        found.append((weight, bias))
    return found


def _halves(x: Tensor | None, head_dim: int) -> tuple[Tensor | None, Tensor | None]:
    """Part each head's rows into those of its query and those of its gate."""
    if x is None:
        return None, None
    heads = x.unflatten(0, (-1, 2, head_dim))  # h 2 d …
    return heads[:, 0].flatten(0, 1), heads[:, 1].flatten(0, 1)


def _own_window(module: Any, config: Any) -> int | None:  # noqa: ANN401
    window: int | None = module.sliding_window
    return window


def _config_window(module: Any, config: Any) -> int | None:  # noqa: ANN401
    window: int | None = config.sliding_window
    return window


def rms_norm(norm: Any, *, plus_one: bool = False) -> nn.RMSNorm:  # noqa: ANN401
    """Return PyTorch's RMS norm with the weight of one of transformers'.

    Args:
        norm: With `weight`, if it has one, and `eps` or `variance_epsilon`.
        plus_one: Whether it multiplies by 1 + weight, as Gemma's do.
    """
    eps = norm.eps if hasattr(norm, "eps") else norm.variance_epsilon
    weight = getattr(norm, "weight", None)
    if weight is None:
        raise ValueError("norm must have a weight; got None")
    made = nn.RMSNorm(tuple(weight.shape), eps=eps)
    with torch.no_grad():
        made.weight = copied(weight)
        if plus_one:
            made.weight += 1.0
    return made


def _each_head(module: Any, config: Any) -> Options:  # noqa: ANN401
    return {"q_norm": rms_norm(module.q_norm), "k_norm": rms_norm(module.k_norm)}


def _each_head_plus_one(module: Any, config: Any) -> Options:  # noqa: ANN401
    return {
        "q_norm": rms_norm(module.q_norm, plus_one=True),
        "k_norm": rms_norm(module.k_norm, plus_one=True),
    }


def _across_heads(module: Any, config: Any) -> Options:  # noqa: ANN401
    return {
        "q_norm": AcrossHeads(rms_norm(module.q_norm)),
        "k_norm": AcrossHeads(rms_norm(module.k_norm)),
    }


def _gemma_2(module: Any, config: Any) -> Options:  # noqa: ANN401
    cap = module.attn_logit_softcapping
    if cap is None:
        return {}
    return {"attend": partial(softcap_attention, softcap=float(cap))}


def _gemma_4(module: Any, config: Any) -> Options:  # noqa: ANN401
    if module.is_kv_shared_layer:
        refuse("is_kv_shared_layer", True, "False: another layer's keys and values are not held")
    v_norm = nn.RMSNorm(module.head_dim, eps=module.v_norm.eps, elementwise_affine=False)
    return _each_head(module, config) | {"v_norm": v_norm}


def _gpt_oss(module: Any, config: Any) -> Options:  # noqa: ANN401
    attend = SinkAttention(module.sinks.size(0))
    attend.sinks = copied(module.sinks)
    return {"attend": attend}


def _cohere(module: Any, config: Any) -> Options:  # noqa: ANN401
    if not module.use_qk_norm:
        return {}
    norms = [
        HeadLayerNorm(copied(norm.weight), norm.variance_epsilon)
        for norm in (module.q_norm, module.k_norm)
    ]
    return {"q_norm": norms[0], "k_norm": norms[1]}


def _qwen3_next(module: Any, config: Any) -> Options:  # noqa: ANN401
    weight = _halves(module.q_proj.weight, module.head_dim)[1]
    bias = _halves(module.q_proj.bias, module.head_dim)[1]
    if weight is None:  # for the type checker: a projection has a weight
        raise ValueError("q_proj must have a weight; got None")
    gate = nn.Linear(weight.size(1), weight.size(0), bias=bias is not None)
    copy_linear(gate, weight, bias)
    return _each_head_plus_one(module, config) | {"gate": gate}


_NORMS = ("q_norm", "k_norm")
_QWEN_WINDOW = ("layer_type", "sliding_window", "use_sliding_window", "max_window_layers")
_TWO_WAYS = "use_bidirectional_attention"
_LLAMA = Family()
_QWEN3 = Family(_QWEN_WINDOW, _NORMS, window=_own_window, extra=_each_head)
_QWEN3_MOE = Family(
    (*_QWEN_WINDOW, "decoder_sparse_step"), _NORMS, window=_config_window, extra=_each_head
)

SEPARATE: dict[str, Converter] = {
    "LlamaAttention": _LLAMA,
    "MistralAttention": Family(window=_config_window),
    "MixtralAttention": Family(window=_config_window),
    "Qwen2Attention": Family(_QWEN_WINDOW, window=_own_window),
    "Qwen3Attention": _QWEN3,
    "Qwen3MoeAttention": _QWEN3_MOE,
    "Qwen3NextAttention": Family(
        ("linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads")
        + ("linear_num_value_heads", "decoder_sparse_step"),
        _NORMS,
        partial=True,
        extra=_qwen3_next,
    ),
    "GemmaAttention": Family((_TWO_WAYS,), held={_TWO_WAYS: ()}),
    "Gemma2Attention": Family(
        (_TWO_WAYS, "attn_logit_softcapping", "query_pre_attn_scalar"),
        held={_TWO_WAYS: ()},
        window=_own_window,
        extra=_gemma_2,
    ),
    "Gemma3Attention": Family(
        (_TWO_WAYS, "attn_logit_softcapping", "query_pre_attn_scalar", "is_sliding"),
        _NORMS,
        held={_TWO_WAYS: (), "attn_logit_softcapping": ()},
        window=_own_window,
        extra=_each_head_plus_one,
    ),
    "Gemma4TextAttention": Family(
        (_TWO_WAYS, "is_sliding", "attention_k_eq_v", "num_kv_shared_layers")
        + ("use_alternative_attention", "is_kv_shared_layer", "store_full_length_kv")
        + ("kv_sharing_modes",),
        _NORMS,
        held={_TWO_WAYS: ()},
        window=_own_window,
        extra=_gemma_4,
    ),
    "GptOssAttention": Family(("sinks",), ("sinks",), window=_own_window, extra=_gpt_oss),
    "OlmoAttention": Family(("clip_qkv",), held={"clip_qkv": ()}),
    "Olmo2Attention": Family((), _NORMS, extra=_across_heads),
    "Olmo3Attention": Family(("attention_type",), _NORMS, window=_own_window, extra=_across_heads),
    "SmolLM3Attention": Family(
        ("use_rope", "no_rope_layers", "no_rope_layer_interval", "use_sliding_window"),
        window=_own_window,
        rotated=lambda module, config: bool(module.use_rope),
    ),
    "GraniteAttention": Family(("attention_multiplier",)),
    "CohereAttention": Family(("use_qk_norm",), _NORMS, interleaved=True, extra=_cohere),
    "Cohere2Attention": Family(
        interleaved=True,
        window=_own_window,
        rotated=lambda module, config: module.sliding_window is not None,
    ),
}
