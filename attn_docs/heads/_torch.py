"""The parameters of PyTorch's multi-head attention, in the order of ours."""

from torch import Tensor, nn


def check_torch_module(module: nn.MultiheadAttention) -> None:
    """Refuse a module with parts that `MultiHeadAttention` has not."""
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


def torch_parameters(module: nn.MultiheadAttention) -> list[Tensor]:
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
