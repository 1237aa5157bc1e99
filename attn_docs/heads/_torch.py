"""Multi-head attention from PyTorch's module and to it, weights and all."""

from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from attn_docs.heads.multi_head import MultiHeadAttention

Module = TypeVar("Module", bound=nn.Module)


def from_torch(cls: type[Module], module: nn.MultiheadAttention) -> Module:
    """Return the class, which is `MultiHeadAttention`, built with the weights of PyTorch's."""
    _check(module)
    ours = cls(
        module.embed_dim,
        module.num_heads,
        kv_dim=module.kdim,
        bias=module.in_proj_bias is not None,
        dropout=module.dropout,
    )
    ours.to(module.out_proj.weight).train(module.training)
    with torch.no_grad():
        for mine, theirs in zip(ours.parameters(), _parameters(module), strict=True):
            mine.copy_(theirs)
    return ours


def to_torch(ours: "MultiHeadAttention") -> nn.MultiheadAttention:
    """Return PyTorch's module with our weights; refuse what it has no counterpart for."""
    if ours.rotary is not None:
        raise ValueError("rotary must be None in PyTorch's module; got a RotaryEmbedding")
    for name, value in (("scale", ours.scale), ("window", ours.window)):
        if value is not None:
            raise ValueError(f"{name} must be None in PyTorch's module; got {value}")
    for name in ("q_norm", "k_norm", "v_norm", "gate"):
        if (value := getattr(ours, name)) is not None:
            raise ValueError(f"{name} must be None in PyTorch's module; got {value}")
    if (ours.q_proj.bias is None) != (ours.out_proj.bias is None):
        raise ValueError(
            "qkv_bias must be out_bias in PyTorch's module; "
            f"got {ours.q_proj.bias is not None} and {ours.out_proj.bias is not None}"
        )
    embed_dim, kv_dim = ours.q_proj.in_features, ours.k_proj.in_features
    if ours.num_kv_heads != ours.num_heads:
        raise ValueError(
            f"num_kv_heads must be num_heads = {ours.num_heads} in PyTorch's module; "
            f"got {ours.num_kv_heads}"
        )
    if ours.num_heads * ours.head_dim != embed_dim:
        raise ValueError(
            f"head_dim must be embed_dim / num_heads = {embed_dim} / {ours.num_heads} "
            f"in PyTorch's module; got {ours.head_dim}"
        )
    module = nn.MultiheadAttention(
        embed_dim,
        ours.num_heads,
        dropout=ours.dropout,
        bias=ours.out_proj.bias is not None,
        kdim=kv_dim,
        vdim=kv_dim,
        batch_first=True,
    )
    module.to(ours.out_proj.weight).train(ours.training)
    with torch.no_grad():
        for mine, theirs in zip(ours.parameters(), _parameters(module), strict=True):
            theirs.copy_(mine)
    return module


def _check(module: nn.MultiheadAttention) -> None:
    """Refuse a module with parts that `MultiHeadAttention` does not have."""
    if not isinstance(module, nn.MultiheadAttention):
        raise TypeError(
            f"module must be a torch.nn.MultiheadAttention; got {type(module).__name__}"
        )
    if module.kdim != module.vdim:
        raise ValueError(
            f"module must have kdim equal to vdim; got kdim {module.kdim} and vdim {module.vdim}"
        )
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError(
            "module must have neither add_bias_kv nor add_zero_attn; "
            f"got {module.bias_k is not None} and {module.add_zero_attn}"
        )


def _parameters(module: nn.MultiheadAttention) -> list[Tensor]:
    """Return weight, then bias if any, of the projections of query, key, value and output."""
    if module.in_proj_weight is None:
        weights = [module.q_proj_weight, module.k_proj_weight, module.v_proj_weight]
    else:
        weights = list(module.in_proj_weight.chunk(3))
    weights.append(module.out_proj.weight)
    if module.in_proj_bias is None:
        return weights
    biases = [*module.in_proj_bias.chunk(3), module.out_proj.bias]
    return [parameter for pair in zip(weights, biases, strict=True) for parameter in pair]
