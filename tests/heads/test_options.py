"""What multi-query and grouped-query attention take by name is what multi-head attention takes."""

import inspect
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    scaled_dot_product_attention,
)
from attn_docs.heads._options import Options

FORMS = {
    "multi-head": MultiHeadAttention,
    "multi-head, shared": lambda *sizes, **options: MultiHeadAttention(
        *sizes, num_kv_heads=3, **options
    ),
    "grouped-query": lambda *sizes, **options: GroupedQueryAttention(*sizes, 3, **options),
    "multi-query": MultiQueryAttention,
}
forms = pytest.mark.parametrize("make", FORMS.values(), ids=FORMS)
ROTARY = RotaryEmbedding(4)
NORM, GATE = nn.RMSNorm(4), nn.Linear(24, 6)
# each option, another value than its default, and how the module shows that it is heard
CASES: dict[str, tuple[object, Callable[[MultiHeadAttention], object]]] = {
    "kv_dim": (10, lambda module: module.v_proj.in_features),
    "head_dim": (6, lambda module: module.out_proj.in_features // 6),
    "bias": (False, lambda module: module.k_proj.bias is not None),
    "qkv_bias": (False, lambda module: module.v_proj.bias is not None),
    "out_bias": (False, lambda module: module.out_proj.bias is not None),
    "dropout": (0.5, lambda module: module.dropout),
    "scale": (0.3, lambda module: module.scale),
    "window": (3, lambda module: module.new_cache(1, 9).window),
    "keep_first": (2, lambda module: module.new_cache(1, 9).keep_first),
    "attend": (scaled_dot_product_attention, lambda module: module.attend),
    "rotary": (ROTARY, lambda module: module.rotary),
    "q_norm": (NORM, lambda module: module.q_norm),
    "k_norm": (NORM, lambda module: module.k_norm),
    "v_norm": (NORM, lambda module: module.v_norm),
    "gate": (GATE, lambda module: module.gate),
}


def test_options_are_the_arguments_that_multi_head_attention_takes_by_name() -> None:
    parameters = inspect.signature(MultiHeadAttention).parameters.values()
    by_name = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert by_name.pop("num_kv_heads") == int | None
    assert by_name == Options.__annotations__
    assert by_name.keys() == CASES.keys()


@forms
@pytest.mark.parametrize("name", CASES)
def test_an_option_is_heard_by_every_form(make: Callable[..., nn.Module], name: str) -> None:
    value, shown = CASES[name]
    needed = {"window": 3} if name == "keep_first" else {}
    assert shown(make(24, 6, **{name: value}, **needed)) == value
    assert shown(make(24, 6)) != value


@forms
def test_dropout_and_the_attention_function_change_what_is_computed(
    make: Callable[..., nn.Module],
) -> None:
    asked = []

    def attend(*arguments: object, **options: bool) -> torch.Tensor:
        asked.append(arguments[4])  # the probability that a weight is dropped
        return F.scaled_dot_product_attention(*arguments, **options)

    module, x = make(24, 6, dropout=0.5, attend=attend), torch.randn(2, 5, 24)
    assert not module(x).equal(module(x))
    assert module.eval()(x).equal(module(x))
    assert asked == [0.5, 0.5, 0.0, 0.0]


@forms
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"kv_dim": 0}, ValueError, "kv_dim must be 1 or more; got 0"),
        ({"head_dim": 2.5}, TypeError, "head_dim must be an int; got 2.5"),
        ({"bias": None}, TypeError, "bias must be True or False; got None"),
        ({"qkv_bias": 1}, TypeError, "qkv_bias must be True or False; got 1"),
        ({"scale": float("nan")}, ValueError, "scale must be finite; got nan"),
        ({"scale": "1"}, TypeError, "scale must be an int or a float; got '1'"),
        ({"window": 0}, ValueError, "window must be 1 or more; got 0"),
        ({"keep_first": 1}, ValueError, "keep_first must be 0 without a window; got 1"),
        ({"dropout": 1}, ValueError, "dropout must be 0 or more and below 1; got 1"),
        ({"attend": "fast"}, TypeError, "attend must be callable; got 'fast'"),
        ({"rotary": RotaryEmbedding(6)}, ValueError, "rotary must have head_dim 4; got 6"),
    ],
)
def test_a_bad_option_is_refused_by_every_form(
    make: Callable[..., nn.Module], options: dict, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        make(24, 6, **options)


@forms
def test_an_option_that_is_unknown_is_refused_by_name(make: Callable[..., nn.Module]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'num_groups'"):
        make(24, 6, num_groups=3)
