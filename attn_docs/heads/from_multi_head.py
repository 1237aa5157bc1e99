"""From multi-head attention to shared keys and values, and back."""

import copy
from collections.abc import Callable
from typing import TypeVar

from torch import Tensor, nn

from attn_docs._checks import check_divides, check_size
from attn_docs._renamed import renamed
from attn_docs.heads._options import Options
from attn_docs.heads.grouped_query import GroupedQueryAttention
from attn_docs.heads.multi_head import MultiHeadAttention

METHODS = ("mean", "first", "random")

Module = TypeVar("Module", bound=MultiHeadAttention)
Change = Callable[[Tensor], Tensor]


def multi_head_to_grouped_query(
    module: MultiHeadAttention, num_kv_heads: int, *, method: str = "mean"
) -> GroupedQueryAttention:
    r"""Return a module with fewer key and value heads, made from those of a trained one.

    $$W'^K_j = \frac{g}{h} \sum_{i=jh/g}^{(j+1)h/g-1} W^K_i \qquad
    W'^V_j = \frac{g}{h} \sum_{i=jh/g}^{(j+1)h/g-1} W^V_i$$

    Neighbouring heads form a group: the query heads of a group read the head that is made of it.
    Biases are pooled likewise; query and output projection are copied. The result is exact if the
    heads of each group are equal. Otherwise it is a start for further training.

    Args:
        module: A `MultiHeadAttention`, or one that shares KV heads already.
        num_kv_heads: Number of KV heads g of the result; divides that of `module`.
        method: "mean" of the heads of a group, their "first", or "random" for new weights, which
            PyTorch draws as for a new layer.

    Returns:
        A new module of the same dtype and device, in the same mode, with the same dropout,
        `attend` and `rotary`, and copies of its norms and gate. `module` is not changed.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `num_kv_heads` does not divide, `method` is not one of the three, or keys or
            values have a norm that differs between heads.

    Example:
        ```python
        from attn_docs import MultiHeadAttention, multi_head_to_grouped_query

        multi = MultiHeadAttention(embed_dim=24, num_heads=6)
        grouped = multi_head_to_grouped_query(multi, num_kv_heads=2)
        print(multi.k_proj.out_features, grouped.k_proj.out_features)
        #> 24 8
        ```

    Reference:
        Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
        Checkpoints", section 2.1, arXiv:2305.13245 (2023).
    """
    _check_module(module)
    check_size("num_kv_heads", num_kv_heads)
    check_divides("num_kv_heads", num_kv_heads, "the module's num_kv_heads", module.num_kv_heads)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}; got {method!r}")
    new = GroupedQueryAttention(
        module.q_proj.in_features, module.num_heads, num_kv_heads, **_options(module)
    )

    def pool(heads: Tensor) -> Tensor:
        groups = heads.view(num_kv_heads, -1, *heads.shape[1:])  # g h/g d …
        return groups.mean(1) if method == "mean" else groups[:, 0]  # g d …

    return _fill(new, module, None if method == "random" else pool)


def grouped_query_to_multi_head(module: MultiHeadAttention) -> MultiHeadAttention:
    r"""Return multi-head attention with the same output: each shared head is repeated.

    $$W'^K_i = W^K_{\lfloor ig/h \rfloor} \qquad W'^V_i = W^V_{\lfloor ig/h \rfloor}$$

    This is always exact. `multi_head_to_grouped_query` gives the old weights back, unless the
    copies have been trained in between: then they differ.

    Args:
        module: A `GroupedQueryAttention`, a `MultiQueryAttention` or a `MultiHeadAttention`.

    Returns:
        A new module of the same dtype and device, in the same mode, with the same dropout,
        `attend` and `rotary`, and copies of its norms and gate. `module` is not changed.

    Raises:
        TypeError: If `module` is not one of the three.
        ValueError: If keys or values have a norm that differs between heads.

    Example:
        ```python
        import torch

        from attn_docs import GroupedQueryAttention, grouped_query_to_multi_head

        grouped = GroupedQueryAttention(embed_dim=24, num_heads=6, num_kv_heads=2)
        multi, x = grouped_query_to_multi_head(grouped), torch.randn(2, 5, 24)
        print(torch.allclose(multi(x), grouped(x), atol=1e-6))
        #> True
        ```

    Reference:
        Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
        Checkpoints", section 2.2, arXiv:2305.13245 (2023).
    """
    _check_module(module)
    new = MultiHeadAttention(module.q_proj.in_features, module.num_heads, **_options(module))
    times = module.num_heads // module.num_kv_heads
    return _fill(new, module, lambda heads: heads.repeat_interleave(times, dim=0))  # h d …


__getattr__ = renamed(__name__)


def _check_module(module: MultiHeadAttention) -> None:
    if not isinstance(module, MultiHeadAttention):
        raise TypeError(f"module must be a MultiHeadAttention; got {type(module).__name__}")
    for name in ("k_norm", "v_norm"):
        norm: nn.Module | None = getattr(module, name)
        for size in () if norm is None else [tuple(p.shape) for p in norm.parameters()]:
            if size != (module.head_dim,):
                raise ValueError(
                    f"{name} must be the same for all heads, with weights of head_dim = "
                    f"{module.head_dim} elements; got weights of shape {size}"
                )


def _options(module: MultiHeadAttention) -> Options:
    return {
        "kv_dim": module.k_proj.in_features,
        "head_dim": module.head_dim,
        "qkv_bias": module.q_proj.bias is not None,
        "out_bias": module.out_proj.bias is not None,
        "dropout": module.dropout,
        "scale": module.scale,
        "window": module.window,
        "keep_first": module.keep_first,
        "attend": copy.deepcopy(module.attend),  # a module's parameters; a function is itself
        "rotary": module.rotary,
        "q_norm": copy.deepcopy(module.q_norm),
        "k_norm": copy.deepcopy(module.k_norm),
        "v_norm": copy.deepcopy(module.v_norm),
        "gate": copy.deepcopy(module.gate),
    }


def _fill(new: Module, old: MultiHeadAttention, change: Change | None) -> Module:
    """Give a new module the old one's weights, its key and value heads changed, or left new."""
    new.to(old.out_proj.weight).train(old.training)
    new.q_proj.load_state_dict(old.q_proj.state_dict())
    new.out_proj.load_state_dict(old.out_proj.state_dict())
    if change is None:
        return new
    for layer, old_layer in ((new.k_proj, old.k_proj), (new.v_proj, old.v_proj)):
        state = {
            name: change(rows.unflatten(0, (old.num_kv_heads, old.head_dim))).flatten(0, 1)
            for name, rows in old_layer.state_dict().items()  # weight, and bias if any
        }
        layer.load_state_dict(state)
    return new
