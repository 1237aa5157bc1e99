"""Ask PyTorch which of its attention kernels a call runs, instead of guessing it from the time."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from attn_docs._checks import check_callable

_FORWARD = "aten::_scaled_dot_product_"
# operator: the backend that it belongs to, named as in torch.nn.attention.SDPBackend
BACKENDS = {
    "aten::_scaled_dot_product_attention_math": "MATH",
    "aten::_scaled_dot_product_attention_math_for_mps": "MATH",
    "aten::_scaled_dot_product_flash_attention": "FLASH_ATTENTION",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "FLASH_ATTENTION",
    "aten::_scaled_dot_product_efficient_attention": "EFFICIENT_ATTENTION",
    "aten::_scaled_dot_product_cudnn_attention": "CUDNN_ATTENTION",
    "aten::_scaled_dot_product_fused_attention_overrideable": "OVERRIDEABLE",
}


def attention_kernels(call: Callable[[], object]) -> list[str]:
    """Run a call once and return the backend of each attention that PyTorch computed in it.

    The profiler tells, which hears of every operator that PyTorch starts, also from inside of
    modules and of compiled code. An attention that is written out as products and a softmax is
    not among them. Neither are kernels that are not those of PyTorch's function (FlexAttention,
    the package flash-attn), and an attention over nothing, for which no kernel is started. The
    backward pass is not counted.

    Args:
        call: A function without arguments, such as `lambda: model(tokens)`.

    Returns:
        Names of `torch.nn.attention.SDPBackend` in the order of the calls, as
        `["FLASH_ATTENTION", "MATH"]`. The list is empty if no such operator ran.

    Raises:
        TypeError: If `call` cannot be called.
        ValueError: If an operator of a backend that is not known here ran.

    Example:
        ```python
        import torch
        from torch import nn

        from attn_docs import attention_kernels

        layer = nn.MultiheadAttention(16, 4, batch_first=True)
        x = torch.randn(2, 5, 16)
        print(attention_kernels(lambda: layer(x, x, x, need_weights=False)))
        #> ['FLASH_ATTENTION']
        print(attention_kernels(lambda: layer(x, x, x, need_weights=True)))
        #> []
        ```
    """
    check_callable("call", call)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        call()
    names = [str(event.name) for event in profiler.events() or ()]
    started = [name for name in names if name.startswith(_FORWARD)]
    return [_backend(name) for name in started if not name.endswith("_backward")]


def _backend(operator: str) -> str:
    if operator not in BACKENDS:
        raise ValueError(f"the operator must be one of {sorted(BACKENDS)}; got {operator!r}")
    return BACKENDS[operator]


def which_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> str:
    """Return the backend that PyTorch's attention runs for these arguments, here and now.

    The call is made once, with the arguments as they are: device, layout in memory, whether they
    need a gradient, and a surrounding `sdpa_kernel` all count.

    Args:
        query: As in `torch.nn.functional.scaled_dot_product_attention`, which is called.
        key: The same.
        value: The same.
        attn_mask: The same.
        dropout_p: The same.
        is_causal: The same.
        scale: The same.
        enable_gqa: The same.

    Returns:
        A name of `torch.nn.attention.SDPBackend`: "FLASH_ATTENTION", "EFFICIENT_ATTENTION",
        "CUDNN_ATTENTION" or "OVERRIDEABLE", which are fused, or "MATH", which is not.

    Raises:
        ValueError: If PyTorch starts no kernel, since there are no queries or no keys, or one
            that is not known here.

    Example:
        ```python
        import torch

        from attn_docs import which_kernel

        query, key, value = torch.randn(3, 2, 4, 5, 16).unbind()  # b h n d
        print(which_kernel(query, key, value))
        #> FLASH_ATTENTION
        print(which_kernel(query, key, value, dropout_p=0.1))
        #> MATH
        ```
    """
    found = attention_kernels(
        lambda: F.scaled_dot_product_attention(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    )
    if not found:
        shapes = tuple(query.shape), tuple(key.shape)
        raise ValueError(f"query and key must have elements, or no kernel runs; got {shapes}")
    return found[0]
