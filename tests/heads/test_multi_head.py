"""Multi-head attention against other people's forms of it, its symmetries and its exhibits."""

import copy
import itertools
import math
import pickle
import re
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    apply_rotary,
    attention_weights,
    causal_mask,
    grouped_query_attention_repeat,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
    split_heads,
)
from attn_docs.sentence import embeddings
from docs._kit.examples import example
from docs._tools.page import page_module
from tests.kit import causal_by_mask, load_exhibit

figures = page_module("heads/multi-head", "figures")
tables = page_module("heads/multi-head", "tables")

INF = math.inf
B, N, M, H = 2, 5, 7, 3
proof = settings(derandomize=True, deadline=None, max_examples=100)
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


def layer_and_inputs(
    *, embed_dim=12, kv_dim=10, head_dim=4, bias=True, dtype=torch.float64, **options
) -> tuple[MultiHeadAttention, Tensor, Tensor]:
    torch.manual_seed(0)
    layer = MultiHeadAttention(
        embed_dim, H, kv_dim=kv_dim, head_dim=head_dim, bias=bias, **options
    ).to(dtype)
    for parameter in layer.parameters():
        nn.init.normal_(parameter)  # no bias stays zero
    return layer, torch.randn(B, N, embed_dim).to(dtype), torch.randn(B, M, kv_dim).to(dtype)


def bias_of(layer: MultiHeadAttention) -> list[Tensor | float]:
    projections = (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj)
    return [0.0 if p.bias is None else p.bias for p in projections]


# Other forms, each given the same weights and an additive mask of all four axes


def a_loop_over_heads(layer, x, context, mask):
    """The paper's section 3.2.2: each head multiplies by matrices of its own."""
    size, result = layer.head_dim, torch.zeros_like(x)
    *biases, last = bias_of(layer)
    for i in range(layer.num_heads):
        part = slice(i * size, (i + 1) * size)
        query, key, value = (
            words @ p.weight[part].T + (b if isinstance(b, float) else b[part])
            for words, p, b in zip(
                (x, context, context),
                (layer.q_proj, layer.k_proj, layer.v_proj),
                biases,
                strict=True,
            )
        )
        scores = torch.einsum("bnd,bmd->bnm", query, key) / math.sqrt(size) + mask[:, i]
        head = torch.einsum("bnm,bmd->bnd", scores.softmax(-1), value)
        result = result + head @ layer.out_proj.weight[:, part].T  # the sum instead of Concat
    return result + last


def einsum_form(layer, x, context, mask):
    """Every weight as (heads, head_dim, in), and no transpose anywhere."""
    h, d = layer.num_heads, layer.head_dim
    biases = [b if isinstance(b, float) else b.reshape(-1, 1, d) for b in bias_of(layer)[:3]]
    query, key, value = (
        torch.einsum("bnc,hdc->bhnd", words, p.weight.reshape(h, d, -1)) + b
        for words, p, b in zip(
            (x, context, context), (layer.q_proj, layer.k_proj, layer.v_proj), biases, strict=True
        )
    )
    weights = (torch.einsum("bhid,bhjd->bhij", query, key) * d**-0.5 + mask).softmax(dim=-1)
    heads = torch.einsum("bhij,bhjd->bhid", weights, value)
    output = torch.einsum("bhid,ehd->bie", heads, layer.out_proj.weight.reshape(-1, h, d))
    return output + bias_of(layer)[3]


def torch_module(layer, x, context, mask):
    module = nn.MultiheadAttention(
        x.size(-1), layer.num_heads, bias=layer.q_proj.bias is not None,
        kdim=context.size(-1), vdim=context.size(-1), dtype=x.dtype,
    )  # fmt: skip
    names = ("q", "k", "v")
    given = dict(layer.named_parameters())
    weights = {f"{n}_proj_weight": given[f"{n}_proj.weight"] for n in names}
    if module.in_proj_weight is not None:
        weights = {"in_proj_weight": torch.cat(list(weights.values()))}
    weights["out_proj.weight"] = layer.out_proj.weight
    if layer.q_proj.bias is not None:
        weights["in_proj_bias"] = torch.cat([given[f"{n}_proj.bias"] for n in names])
        weights["out_proj.bias"] = layer.out_proj.bias
    inputs = (x.transpose(0, 1), context.transpose(0, 1), context.transpose(0, 1))
    options = {"attn_mask": mask.flatten(0, 1), "need_weights": False}
    return torch.func.functional_call(module, weights, inputs, options)[0].transpose(0, 1)


def gpt2_form(layer, x, context, mask):
    """One matrix (in, 3·out) for query, key and value, split in three; self-attention only."""
    assert x is context
    c_attn = torch.cat([p.weight for p in (layer.q_proj, layer.k_proj, layer.v_proj)]).T
    biases = bias_of(layer)
    bias = torch.cat(biases[:3]) if isinstance(biases[0], Tensor) else 0.0
    split = (x @ c_attn + bias).split(layer.num_heads * layer.head_dim, dim=2)
    shape = (*x.shape[:2], layer.num_heads, layer.head_dim)
    query, key, value = (part.view(shape).permute(0, 2, 1, 3) for part in split)
    scores = torch.matmul(query, key.transpose(-1, -2)) / layer.head_dim**0.5 + mask
    heads = torch.matmul(torch.softmax(scores, dim=-1), value).permute(0, 2, 1, 3).contiguous()
    return heads.view(*x.shape[:2], -1) @ layer.out_proj.weight.T + biases[3]


FORMS = {
    "loop": (a_loop_over_heads, {}),
    "loop, wide heads": (a_loop_over_heads, {"head_dim": 6}),
    "einsum": (einsum_form, {"head_dim": 8}),
    "torch, kdim": (torch_module, {}),
    "torch": (torch_module, {"kv_dim": 12}),
    "GPT-2": (gpt2_form, {"kv_dim": 12}),
}


def masks(n: int, m: int) -> dict[str, tuple[dict, Tensor]]:
    """Return arguments, and the additive mask of all axes that they mean."""
    torch.manual_seed(1)
    causal = torch.zeros(n, m).double()
    for i in range(n):
        for j in range(i + 1, m):
            causal[i, j] = -INF
    boolean = torch.rand(B, H, n, m) < 0.6
    boolean[..., 0] = True
    additive = torch.randn(B, n, m).double()
    full = torch.zeros(B, H, n, m).double()
    some = full.masked_fill(~boolean, -INF)
    return {
        "none": ({}, full),
        "causal": ({"is_causal": True}, full + causal),
        "heads": ({"attn_mask": boolean}, some),
        "(n, m)": ({"attn_mask": boolean[0, 0]}, full + some[0, 0]),
        "(1, m)": ({"attn_mask": boolean[0, 0, :1]}, full + some[0, 0, :1]),
        "(b, n, m)": ({"attn_mask": boolean[:, 0]}, full + some[:, :1]),
        "(b, 1, m)": ({"attn_mask": boolean[:, 0, :1]}, full + some[:, :1, :1]),
        "(b, 1, 1, m)": ({"attn_mask": boolean[:, :1, :1]}, full + some[:, :1, :1]),
        "(1, h, n, 1)": (
            {"attn_mask": additive[:1, None, :, :1].expand(1, H, n, 1)},
            full + additive[:1, None, :, :1],
        ),
        "additive": ({"attn_mask": additive}, full + additive[:, None]),
        "both": ({"attn_mask": boolean[:, 0], "is_causal": True}, full + some[:, :1] + causal),
        "both, additive": (
            {"attn_mask": additive, "is_causal": True},
            full + additive[:, None] + causal,
        ),
    }


@pytest.mark.parametrize("mask", masks(N, M))
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_values_and_gradients_agree_with_other_forms(form: str, bias: bool, mask: str) -> None:
    other, options = FORMS[form]
    layer, x, context = layer_and_inputs(bias=bias, **options)
    context = x if form == "GPT-2" else context
    arguments, full = masks(N, context.size(1))[mask]
    inputs = [*layer.parameters(), x.requires_grad_()]
    inputs += [] if context is x else [context.requires_grad_()]
    upstream = torch.randn(B, N, 12).double()
    expected = other(layer, x, context, full)
    if form == "GPT-2":
        output = layer(x, **arguments)
    else:
        output = layer(x, context, **causal_by_mask(arguments, N, M))
    torch.testing.assert_close(output, expected, atol=1e-12, rtol=1e-12)
    wanted = torch.autograd.grad(expected, inputs, upstream)
    got = torch.autograd.grad(output, inputs, upstream)
    torch.testing.assert_close(got, wanted, atol=1e-11, rtol=1e-11)


@pytest.mark.parametrize("form", FORMS)
def test_agrees_in_float32(form: str) -> None:
    other, options = FORMS[form]
    layer, x, context = layer_and_inputs(dtype=torch.float32, **options)
    for parameter in layer.parameters():
        parameter.data.div_(4)
    context = x if form == "GPT-2" else context
    expected = other(layer, x, context, torch.zeros(B, H, N, context.size(1)))
    torch.testing.assert_close(layer(x, context), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("mask", ["none", "causal", "(b, n, m)", "both, additive"])
def test_the_formula_and_pytorchs_function_agree(mask: str, device: str) -> None:
    layer, x, context = (part.to(device) for part in layer_and_inputs())
    arguments = {
        name: value.to(device) if isinstance(value, Tensor) else value
        for name, value in causal_by_mask(masks(N, M)[mask][0], N, M).items()
    }
    output, weights = layer(x, context, need_weights=True, **arguments)
    for attend in (scaled_dot_product_attention, grouped_query_attention_repeat):
        layer.attend = attend
        same, same_weights = layer(x, context, need_weights=True, **arguments)
        torch.testing.assert_close(same, output, atol=1e-11, rtol=0.0)
        torch.testing.assert_close(same_weights, weights, atol=1e-12, rtol=0.0)
    assert weights.shape == (B, H, N, M)
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_weights_are_those_that_mixed_the_values() -> None:
    layer, x, context = layer_and_inputs()
    output, weights = layer(x, context, need_weights=True)
    heads = weights @ split_heads(layer.v_proj(context), H)
    torch.testing.assert_close(layer.out_proj(merge_heads(heads)), output, atol=1e-11, rtol=0.0)


def test_the_scale_is_that_of_a_head() -> None:
    seen = {}

    def attend(query, key, value, mask, dropout_p, is_causal):
        seen.update(query=query, mask=mask, dropout_p=dropout_p, is_causal=is_causal)
        return F.scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal)

    layer, x, _ = layer_and_inputs(attend=attend, dropout=0.25, head_dim=6, kv_dim=12)
    layer(x, is_causal=True)
    assert seen["query"].shape == (B, H, N, 6)  # the function scales by its last size
    assert (seen["mask"], seen["is_causal"], seen["dropout_p"]) == (None, True, 0.25)
    layer.eval()(x, attn_mask=causal_mask(N), is_causal=True)
    assert (seen["is_causal"], seen["dropout_p"]) == (False, 0.0)


def test_heads_can_be_put_in_any_order() -> None:
    layer, x, context = layer_and_inputs()
    order = [2, 0, 1]
    rows = torch.arange(H * 4).view(H, 4)[order].flatten()
    moved = copy.deepcopy(layer)
    with torch.no_grad():
        for projection in (moved.q_proj, moved.k_proj, moved.v_proj):
            projection.weight.copy_(projection.weight[rows])
            projection.bias.copy_(projection.bias[rows])
        moved.out_proj.weight.copy_(moved.out_proj.weight[:, rows])
    output, weights = layer(x, context, need_weights=True)
    same, other = moved(x, context, need_weights=True)
    torch.testing.assert_close(same, output, atol=1e-11, rtol=0.0)
    torch.testing.assert_close(other, weights[:, order], atol=1e-12, rtol=0.0)


def test_words_in_another_order_give_outputs_in_that_order() -> None:
    layer, x, context = layer_and_inputs()
    queries, keys = torch.randperm(N), torch.randperm(M)
    expected = layer(x, context)[:, queries]
    moved = layer(x[:, queries], context[:, keys])
    torch.testing.assert_close(moved, expected, atol=1e-11, rtol=0.0)


def test_with_the_identity_as_output_projection_heads_stay_apart() -> None:
    layer, x, context = layer_and_inputs(bias=False)
    with torch.no_grad():
        layer.out_proj.weight.copy_(torch.eye(12))
    before = layer(x, context)
    with torch.no_grad():
        layer.v_proj.weight[4:8] += 1
    changed = (layer(x, context) != before).flatten(0, 1).any(0)
    assert changed.tolist() == [False] * 4 + [True] * 4 + [False] * 4


@pytest.mark.parametrize("attend", [F.scaled_dot_product_attention, scaled_dot_product_attention])
def test_a_text_without_words_gives_the_bias_and_finite_gradients(attend) -> None:
    layer, x, context = layer_and_inputs(attend=attend)
    mask = padding_mask([M, 0])[:, None, None]
    output, weights = layer(x.requires_grad_(), context, attn_mask=mask, need_weights=True)
    torch.testing.assert_close(output[1], layer.out_proj.bias.expand(N, 12))
    assert not weights[1].any()
    gradients = torch.autograd.grad(output.sum(), [x, *layer.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_lengths_of_zero() -> None:
    layer, x, context = layer_and_inputs()
    assert layer(x[:, :0], context).shape == (B, 0, 12)
    assert layer(x[:0], context[:0]).shape == (0, N, 12)


def test_dropout_is_for_training_and_for_the_output_alone() -> None:
    layer, x, context = layer_and_inputs(dropout=0.5)
    plain, weights = layer.eval()(x, context, need_weights=True)
    torch.testing.assert_close(layer(x, context), plain)
    torch.manual_seed(2)
    dropped, same = layer.train()(x, context, need_weights=True)
    assert not torch.allclose(dropped, plain)
    torch.testing.assert_close(same, weights)
    torch.manual_seed(3)
    many = layer(x[:1].expand(4000, -1, -1), context[:1].expand(4000, -1, -1))
    assert (many.mean(0) - plain[0]).abs().max() < 0.1 * plain[0].abs().max()


# Splitting and merging


@given(st.data())
@proof
def test_split_puts_each_number_where_its_formula_says(data: st.DataObject) -> None:
    batch, length, heads, size = data.draw(st.permutations(range(1, 6)))[:4]
    x = torch.randn(batch, length, heads * size)
    split = split_heads(x, heads)
    assert split.shape == (batch, heads, length, size)
    place = [data.draw(st.integers(0, most - 1)) for most in (batch, heads, length, size)]
    b, h, n, d = place
    assert split[b, h, n, d] == x[b, n, h * size + d]
    assert split.data_ptr() == x.data_ptr()  # a view
    assert torch.equal(merge_heads(split), x)
    assert torch.equal(split_heads(merge_heads(split.contiguous()), heads), split)


def test_splitting_a_transposed_tensor_needs_no_copy_and_merging_gives_right_numbers() -> None:
    x = torch.randn(2, 12, 5).transpose(1, 2)  # not contiguous
    assert torch.equal(split_heads(x, 3)[:, 1], x[..., 4:8])
    assert split_heads(x, 3).data_ptr() == x.data_ptr()
    heads = torch.randn(2, 3, 5, 4)
    for i in range(3):
        assert torch.equal(merge_heads(heads)[..., 4 * i : 4 * i + 4], heads[:, i])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: split_heads([1.0], 2), TypeError, "x must be a torch.Tensor; got list"),
        (
            lambda: split_heads(torch.ones(2, 3, 4).long(), 2),
            TypeError,
            "x must be float16, bfloat16, float32 or float64; got torch.int64",
        ),
        (
            lambda: split_heads(torch.ones(2, 3, 4, 6), 2),
            ValueError,
            "x must have 3 axes (batch, length, embed_dim); got shape (2, 3, 4, 6)",
        ),
        (
            lambda: split_heads(torch.ones(2, 3, 4), 3),
            ValueError,
            "num_heads must divide x's last size = 4; got 3",
        ),
        (
            lambda: split_heads(torch.ones(2, 3, 4), 0),
            ValueError,
            "num_heads must be 1 or more; got 0",
        ),
        (
            lambda: split_heads(torch.ones(2, 3, 4), 2.0),
            TypeError,
            "num_heads must be an int; got 2.0",
        ),
        (
            lambda: merge_heads(torch.ones(2, 3, 4)),
            ValueError,
            "x must have 4 axes (batch, heads, length, head_dim); got shape (2, 3, 4)",
        ),
        (
            lambda: merge_heads(torch.ones(1, 2, 3, 4, 5)),
            ValueError,
            "x must have 4 axes (batch, heads, length, head_dim); got shape (1, 2, 3, 4, 5)",
        ),
    ],
)
def test_bad_arguments_of_split_and_merge(call, error, message) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


# Construction and calls that are wrong


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_heads": 5}, ValueError, "num_heads must divide embed_dim = 12; got 5"),
        ({"num_heads": 0}, ValueError, "num_heads must be 1 or more; got 0"),
        ({"embed_dim": 12.0}, TypeError, "embed_dim must be an int; got 12.0"),
        ({"embed_dim": True}, TypeError, "embed_dim must be an int; got True"),
        ({"num_kv_heads": 2}, ValueError, "num_kv_heads must divide num_heads = 3; got 2"),
        ({"num_kv_heads": 6}, ValueError, "num_kv_heads must divide num_heads = 3; got 6"),
        ({"num_kv_heads": 0}, ValueError, "num_kv_heads must be 1 or more; got 0"),
        ({"num_kv_heads": -1}, ValueError, "num_kv_heads must be 1 or more; got -1"),
        ({"num_kv_heads": 1.0}, TypeError, "num_kv_heads must be an int; got 1.0"),
        ({"num_kv_heads": True}, TypeError, "num_kv_heads must be an int; got True"),
        ({"kv_dim": -1}, ValueError, "kv_dim must be 1 or more; got -1"),
        ({"head_dim": 0}, ValueError, "head_dim must be 1 or more; got 0"),
        ({"bias": 1}, TypeError, "bias must be True or False; got 1"),
        ({"dropout": 1.0}, ValueError, "dropout must be 0 or more and below 1; got 1.0"),
        ({"dropout": -0.1}, ValueError, "dropout must be 0 or more and below 1; got -0.1"),
        ({"dropout": "0"}, TypeError, "dropout must be an int or a float; got '0'"),
        ({"attend": None}, TypeError, "attend must be callable; got None"),
        ({"rotary": 1e4}, TypeError, "rotary must be a RotaryEmbedding or None; got float"),
        ({"rotary": RotaryEmbedding(6)}, ValueError, "rotary must have head_dim 4; got 6"),
    ],
)
def test_bad_construction(arguments, error, message) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        MultiHeadAttention(**{"embed_dim": 12, "num_heads": 3, **arguments})


def bad_calls(x, context) -> list[tuple[dict, type[Exception], str]]:
    mask = "attn_mask must "
    axes = mask + "have 2 to 4 axes, each 1 or that of the scores (2, 3, 5, 7) counted from the"
    return [
        (
            {"x": x[0]},
            ValueError,
            "x must have 3 axes (batch, length, embed_dim); got shape (5, 12)",
        ),
        ({"x": x[None]}, ValueError, "x must have 3 axes (batch, length, embed_dim)"),
        ({"x": x[..., :11]}, ValueError, "x must have embed_dim 12 as its last size; got 11"),
        ({"x": x.float()}, TypeError, "x must have the weight's dtype torch.float64; got"),
        ({"x": x.long()}, TypeError, "x must be float16, bfloat16, float32 or float64; got"),
        ({"x": x.tolist()}, TypeError, "x must be a torch.Tensor; got list"),
        ({"context": context[:1]}, ValueError, "context must have x's batch 2; got 1"),
        ({"context": context[0]}, ValueError, "context must have 3 axes (batch, length, kv_dim)"),
        ({"context": x}, ValueError, "context must have kv_dim 10 as its last size; got 12"),
        ({"context": None}, ValueError, "context must have kv_dim 10 as its last size; got 12"),
        ({"context": context.half()}, TypeError, "context must have the weight's dtype"),
        ({"attn_mask": torch.ones(M).bool()}, ValueError, axes),
        ({"attn_mask": torch.ones(M, N).bool()}, ValueError, axes),
        ({"attn_mask": torch.ones(H, B, N, M).bool()}, ValueError, axes),
        ({"attn_mask": torch.ones(1, B, H, N, M).bool()}, ValueError, axes),
        ({"attn_mask": torch.ones(H, N, M).bool()}, ValueError, mask + "have 2 to 3 axes"),
        ({"attn_mask": torch.ones(N, M).long()}, TypeError, mask + "be torch.bool (True attends)"),
        ({"attn_mask": torch.ones(N, M).half()}, TypeError, mask + "be torch.bool"),
        ({"attn_mask": [[True]]}, TypeError, mask + "be a torch.Tensor or None; got list"),
        ({"is_causal": 1}, TypeError, "is_causal must be True or False; got 1"),
        ({"need_weights": None}, TypeError, "need_weights must be True or False; got None"),
    ]


@pytest.mark.parametrize("index", range(21))
def test_bad_calls(index: int) -> None:
    layer, x, context = layer_and_inputs()
    calls = bad_calls(x, context)
    assert len(calls) == 21
    arguments, error, message = calls[index]
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        layer(**{"x": x, "context": context, **arguments})


def test_what_is_called_wrongly_is_never_broadcast() -> None:
    layer, x, context = layer_and_inputs()
    shapes = torch.Generator().manual_seed(0)
    refused = 0
    for _ in range(600):
        axes = int(torch.randint(1, 5, (), generator=shapes))
        near = [1, 2, 3, 5, 7, 10, 12]
        pick = torch.randint(len(near), (axes,), generator=shapes).tolist()
        shape = tuple(near[i] for i in pick)
        full = (B, N, M) if axes == 3 else (B, H, N, M)[4 - axes :]
        fits = axes > 1 and all(size in (1, most) for size, most in zip(shape, full, strict=True))
        mask = torch.ones(shape, dtype=torch.bool)
        for name, value, right in (
            ("attn_mask", mask, fits),
            ("x", mask.double(), len(shape) == 3 and shape[::2] == (B, 12)),
            ("context", mask.double(), len(shape) == 3 and shape[::2] == (B, 10)),
        ):
            arguments = {"x": x, "context": context, name: value}
            if right:
                assert layer(**arguments).shape[::2] == (B, 12)
            else:
                refused += 1
                with pytest.raises((TypeError, ValueError), match=r"^(attn_mask|x|context) must "):
                    layer(**arguments)
    assert refused > 1000


# To PyTorch's module and back


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("kv_dim", [12, 10])
@pytest.mark.parametrize("bias", [True, False])
def test_there_and_back_again(bias, kv_dim, dtype, training) -> None:
    theirs = nn.MultiheadAttention(
        12, 3, dropout=0.25, bias=bias, kdim=kv_dim, vdim=kv_dim, dtype=dtype
    ).train(training)
    for parameter in theirs.parameters():
        nn.init.normal_(parameter)
    ours = MultiHeadAttention.from_torch(theirs)
    assert (ours.training, ours.dropout, ours.num_heads) == (training, 0.25, 3)
    assert {p.dtype for p in ours.parameters()} == {dtype}
    back = ours.to_torch()
    assert (back.training, back.dropout, back.batch_first) == (training, 0.25, True)
    assert back.state_dict().keys() == theirs.state_dict().keys()
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(back.state_dict()[name], tensor)
        assert back.state_dict()[name].data_ptr() != tensor.data_ptr()
    assert all(p.requires_grad for p in ours.parameters())


@pytest.mark.parametrize("batch_first", [True, False])
def test_from_torch_gives_the_same_numbers(batch_first: bool) -> None:
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(12, 3, batch_first=batch_first, dtype=torch.float64)
    ours = MultiHeadAttention.from_torch(theirs)
    x, context = torch.randn(B, N, 12).double(), torch.randn(B, M, 12).double()
    may_attend = torch.rand(N, M) < 0.6
    may_attend[:, 0] = True
    inputs = (x, context, context)
    if not batch_first:
        inputs = tuple(words.transpose(0, 1) for words in inputs)
    expected, weights = theirs(*inputs, attn_mask=~may_attend, average_attn_weights=False)
    expected = expected if batch_first else expected.transpose(0, 1)
    output, ours_weights = ours(x, context, attn_mask=may_attend, need_weights=True)
    torch.testing.assert_close(output, expected, atol=1e-12, rtol=0.0)
    torch.testing.assert_close(ours_weights, weights, atol=1e-12, rtol=0.0)
    same = ours.to_torch()(x, context, context, attn_mask=~may_attend)
    torch.testing.assert_close(same[0], output, atol=1e-12, rtol=0.0)
    torch.testing.assert_close(same[1], ours_weights.mean(1), atol=1e-12, rtol=0.0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: MultiHeadAttention.from_torch(nn.Linear(2, 2)),
            TypeError,
            "module must be a torch.nn.MultiheadAttention; got Linear",
        ),
        (
            lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, kdim=3, vdim=5)),
            ValueError,
            "module must have kdim equal to vdim; got kdim 3 and vdim 5",
        ),
        (
            lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, add_bias_kv=True)),
            ValueError,
            "module must have neither add_bias_kv nor add_zero_attn; got True and False",
        ),
        (
            lambda: MultiHeadAttention.from_torch(nn.MultiheadAttention(4, 2, add_zero_attn=True)),
            ValueError,
            "module must have neither add_bias_kv nor add_zero_attn; got False and True",
        ),
        (
            lambda: MultiQueryAttention.from_torch(nn.MultiheadAttention(4, 2)),
            TypeError,
            "from_torch makes a MultiHeadAttention; got MultiQueryAttention",
        ),
        (
            lambda: MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4)).to_torch(),
            ValueError,
            "rotary must be None in PyTorch's module; got a RotaryEmbedding",
        ),
        (
            lambda: MultiHeadAttention(12, 3, head_dim=5).to_torch(),
            ValueError,
            "head_dim must be embed_dim / num_heads = 12 / 3 in PyTorch's module; got 5",
        ),
        (
            lambda: MultiQueryAttention(12, 3).to_torch(),
            ValueError,
            "num_kv_heads must be num_heads = 3 in PyTorch's module; got 1",
        ),
        (
            lambda: MultiHeadAttention(12, 6, num_kv_heads=2).to_torch(),
            ValueError,
            "num_kv_heads must be num_heads = 6 in PyTorch's module; got 2",
        ),
    ],
)
def test_what_has_no_counterpart_is_refused(call, error, message) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


# As a module


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))],  # noqa: S301
)
def test_can_be_copied_and_pickled(copied) -> None:
    layer, x, context = layer_and_inputs()
    assert torch.equal(copied(layer)(x, context), layer(x, context))


def test_state_dict_holds_four_linear_layers() -> None:
    layer, x, context = layer_and_inputs()
    names = [f"{p}_proj.{kind}" for p in ("q", "k", "v", "out") for kind in ("weight", "bias")]
    assert list(layer.state_dict()) == names
    other = layer_and_inputs()[0]
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x, context), layer(x, context))


def test_there_are_biases_unless_one_says_no() -> None:
    assert all(isinstance(bias, Tensor) for bias in bias_of(MultiHeadAttention(4, 2)))
    assert bias_of(MultiHeadAttention(4, 2, bias=False)) == [0.0] * 4


def test_the_weights_are_as_causal_as_the_output_and_shared_heads_are_announced() -> None:
    announced = []

    def attend(*arguments: object, **options: bool) -> Tensor:
        announced.append(options)
        return F.scaled_dot_product_attention(*arguments, **options)

    for layer in (
        MultiHeadAttention(12, 6, attend=attend),
        GroupedQueryAttention(12, 6, 2, attend=attend),
    ):
        _, weights = layer(torch.randn(2, 5, 12), is_causal=True, need_weights=True)
        assert weights.shape == (2, 6, 5, 5)
        assert not weights.triu(1).any()
    assert announced == [{}, {}, {"enable_gqa": True}, {"enable_gqa": True}]


def test_what_is_made_on_the_way_is_made_where_the_inputs_are() -> None:
    layer, x, context = layer_and_inputs()
    mask = padding_mask([M, 3])
    with torch.device("meta"):  # not where new tensors go by default
        output, weights = layer(x, context, key_padding_mask=mask, need_weights=True)
    assert output.device == weights.device == x.device


def test_compiles_without_a_graph_break() -> None:
    layer, x, context = layer_and_inputs()
    compiled = torch.compile(layer, backend="eager", fullgraph=True)
    arguments = {"key_padding_mask": padding_mask([M, 3])}
    torch.testing.assert_close(compiled(x, context, **arguments), layer(x, context, **arguments))


def test_works_under_autocast() -> None:
    layer, x, context = layer_and_inputs(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(x, context)
    assert output.dtype == torch.bfloat16
    assert output.isfinite().all()


def test_under_autocast_an_additive_mask_may_have_either_dtype() -> None:
    layer, x, context = layer_and_inputs(dtype=torch.float32)
    mask = torch.zeros(N, M).masked_fill(~causal_mask(N, M), -INF)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = [layer(x, context, attn_mask=mask.to(t)) for t in (torch.float32, torch.bfloat16)]
    assert torch.equal(*outputs)


# Fewer key and value heads


def sharing_layer(kv_heads: int, **options) -> tuple[MultiHeadAttention, MultiHeadAttention]:
    """Return a layer whose heads share keys, and one whose heads have copies of their own."""
    shared = MultiHeadAttention(24, 6, num_kv_heads=kv_heads, head_dim=4, **options).double()
    apart = MultiHeadAttention(24, 6, head_dim=4, **options).double()
    with torch.no_grad():
        for name, rows in shared.named_parameters():
            for i in range(6):  # head i reads the rows of key head i // r
                j = i // (6 // kv_heads) if name[0] in "kv" else i
                one, other = slice(4 * i, 4 * i + 4), slice(4 * j, 4 * j + 4)
                apart.get_parameter(name)[one].copy_(rows[other])
    return shared, apart


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kv_heads", [1, 2, 3, 6])
def test_heads_that_share_keys_are_heads_with_equal_keys(kv_heads: int, bias: bool) -> None:
    shared, apart = sharing_layer(kv_heads, kv_dim=10, bias=bias)
    assert (shared.num_heads, shared.num_kv_heads, shared.head_dim) == (6, kv_heads, 4)
    shapes = [tuple(layer.weight.shape) for layer in shared.children()]
    assert shapes == [(24, 24), (4 * kv_heads, 10), (4 * kv_heads, 10), (24, 24)]
    x, context = torch.randn(B, N, 24).double(), torch.randn(B, M, 10).double()
    for options in (
        {},
        {"attn_mask": causal_mask(N, M)},
        {"key_padding_mask": padding_mask([M, 2])},
    ):
        found = shared(x, context, need_weights=True, **options)
        wanted = apart(x, context, need_weights=True, **options)
        torch.testing.assert_close(found, wanted, atol=1e-12, rtol=0.0)
    for layer in (shared, apart):
        layer(x, context).sin().sum().backward()
    for name, rows in shared.named_parameters():
        gradient = apart.get_parameter(name).grad
        if name[0] in "kv":  # what is shared gets what its copies got, together
            gradient = gradient.unflatten(0, (kv_heads, -1, 4)).sum(1).flatten(0, 1)
        torch.testing.assert_close(rows.grad, gradient, atol=1e-11, rtol=0.0)


def test_without_a_number_of_key_heads_each_head_has_its_own() -> None:
    layers = []
    for options in ({}, {"num_kv_heads": None}, {"num_kv_heads": 6}):
        torch.manual_seed(0)
        layers.append(MultiHeadAttention(24, 6, **options))
        assert layers[-1].num_kv_heads == layers[-1].num_heads == 6
        assert layers[-1].to_torch().num_heads == 6
    for layer in layers[1:]:
        assert all(map(torch.equal, layer.parameters(), layers[0].parameters()))
    with pytest.raises(TypeError, match="positional"):  # PyTorch's third is the dropout
        MultiHeadAttention(24, 6, 2)


@pytest.mark.parametrize("kv_heads", [1, 3])
def test_a_cache_keeps_the_shared_heads_alone(kv_heads: int) -> None:
    shared, apart = sharing_layer(kv_heads, rotary=RotaryEmbedding(4))
    x, cache = torch.randn(B, N, 24).double(), KVCache(B, kv_heads, 4, N, dtype=torch.float64)
    parts = [shared(part, is_causal=True, cache=cache) for part in x.split(2, dim=1)]
    torch.testing.assert_close(torch.cat(parts, 1), apart(x, is_causal=True), atol=1e-12, rtol=0.0)
    message = f"cache must have num_kv_heads {kv_heads}, as the module; got 6"
    with pytest.raises(ValueError, match=f"^{message}$"):
        shared(x, cache=KVCache(B, 6, 4, N, dtype=torch.float64))


# Rotary positions and a cache


def turning_layer(**options) -> tuple[MultiHeadAttention, Tensor]:
    layer, x, _ = layer_and_inputs(kv_dim=12, rotary=RotaryEmbedding(4, theta=100.0), **options)
    return layer, x


def with_positions(layer, x, positions, mask) -> tuple[Tensor, Tensor]:
    """Return output and weights; queries and keys, not values, are turned by their positions."""
    query, key, value = (
        split_heads(p(x), layer.num_heads) for p in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    query, key = (apply_rotary(t, positions, theta=100.0) for t in (query, key))
    scores = (query @ key.mT / math.sqrt(layer.head_dim)).masked_fill(~mask, -INF)
    weights = scores.softmax(-1)
    return layer.out_proj(merge_heads(weights @ value)), weights


def test_queries_and_keys_are_turned_by_their_positions() -> None:
    layer, x = turning_layer()
    for positions in (None, torch.tensor([0, 2, 3, 9, 4]), torch.tensor([[0, 1, 2, 3, 4]] * 2) * 3):
        places = torch.arange(N) if positions is None else positions
        found = layer(x, is_causal=True, need_weights=True, positions=positions)
        wanted = with_positions(layer, x, places, causal_mask(N))
        for mine, its in zip(found, wanted, strict=True):
            torch.testing.assert_close(mine, its, rtol=0, atol=1e-12)
    assert not torch.allclose(layer(x), layer(x, positions=torch.arange(N) * 2))


@pytest.mark.parametrize("window", [None, 2, 9])
@pytest.mark.parametrize("sizes", [(5,), (1,) * 5, (3, 1, 1), (2, 3)])
@pytest.mark.parametrize("masked", ["no", "boolean", "additive", "column"])
@pytest.mark.parametrize("is_causal", [True, False])
def test_a_cache_gives_output_and_weights_of_the_whole(is_causal, masked, sizes, window) -> None:
    layer, x = turning_layer()
    full = causal_mask(N) if window is None else sliding_window_mask(N, window=window)
    if not is_causal:  # a chunk sees all of itself
        ends = [0, *itertools.accumulate(sizes)]
        for start, end in itertools.pairwise(ends):
            full[start:end, start:end] = True
            if window is not None:
                keys, queries = torch.arange(end), torch.arange(start, end)[:, None]
                full[start:end, :end] = keys > queries - window
    mask = {"no": None, "boolean": torch.ones(B, 1, N, N).bool(), "additive": torch.zeros(N, N),
            "column": torch.ones(B, 1, 1, 1).bool()}[masked]  # fmt: skip
    if masked == "boolean":
        mask[1, ..., 1] = False
        mask[1, ..., 1, 1] = True
        full = full & mask
    elif masked == "additive":
        mask[2:, 0] = -INF
        full = full & (mask == 0)
    output, weights = with_positions(layer, x, torch.arange(N), full)
    cache, start = KVCache(B, H, 4, N, dtype=torch.float64, window=window), 0
    for size in sizes:
        end = start + size
        given = mask if mask is None or masked == "column" else mask[..., start:end, :end]
        found = layer(
            x[:, start:end], attn_mask=given, is_causal=is_causal, need_weights=True, cache=cache
        )
        torch.testing.assert_close(found[0], output[:, start:end], rtol=0, atol=1e-12)
        wanted = weights[:, :, start:end, :end]
        torch.testing.assert_close(found[1], wanted, rtol=0, atol=1e-12)
        start = end
    assert cache.length == N


def test_a_cache_may_lie_before_the_positions_that_are_given() -> None:
    layer, x = turning_layer()
    places = torch.tensor([[1, 4, 5, 7, 8], [0, 1, 2, 3, 4]])
    wanted = layer(x, is_causal=True, positions=places)
    cache = KVCache(B, H, 4, 6, dtype=torch.float64)
    parts = [
        layer(x[:, part], is_causal=True, cache=cache, positions=places[:, part])
        for part in (slice(0, 2), slice(2, 3), slice(3, 5))
    ]
    torch.testing.assert_close(torch.cat(parts, 1), wanted, rtol=0, atol=1e-12)


def test_prefill_without_a_mask_leaves_causality_to_the_attention_function() -> None:
    seen = []

    def attend(query, key, value, mask, dropout_p, is_causal) -> Tensor:
        seen.append((mask is None, is_causal))
        return F.scaled_dot_product_attention(query, key, value, mask, dropout_p, is_causal)

    layer, x = turning_layer(attend=attend)
    for window in (None, 9):
        cache = KVCache(B, H, 4, 9, dtype=torch.float64, window=window)
        for size in (2, 1, 2):
            layer(x[:, :size], is_causal=True, cache=cache)
    # a mask costs memory; one query needs none
    assert seen == [
        *[(True, True), (True, False), (False, False)],
        *[(False, False), (True, False), (False, False)],
    ]


AXES = "attn_mask must have 2 to 4 axes, each 1 or that of the scores "


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"context": torch.zeros(B, N, 12).double()}, ValueError,
         "context must be None with a cache; got a context"),
        ({"context": torch.zeros(B, N, 12).double(), "cache": None}, ValueError,
         "context must be None with rotary positions; got a context"),
        ({"cache": "x"}, TypeError, "cache must be a KVCache or None; got str"),
        ({"cache": KVCache(3, H, 4, 9)}, ValueError, "x must have the cache's batch 3; got 2"),
        ({"cache": KVCache(B, 2, 4, 9)}, ValueError,
         "cache must have num_kv_heads 3, as the module; got 2"),
        ({"cache": KVCache(B, H, 5, 9)}, ValueError,
         "cache must have head_dim 4, as the module; got 5"),
        ({"cache": KVCache(B, H, 4, 9)}, TypeError,
         "cache must have x's dtype torch.float64; got torch.float32"),
        ({"positions": torch.arange(4)}, ValueError,
         "positions must have shape (length,) = (5,) or (batch, length) = (2, 5); got (4,)"),
        ({"positions": torch.arange(N) - 1}, ValueError, "positions must be 0 or more; got -1"),
        ({"positions": torch.zeros(N)}, TypeError,
         "positions must hold integers; got torch.float32"),
        ({"x": torch.zeros(B, 8, 12).double()}, ValueError,
         "the cache must have room for 10 positions, 2 seen and 8 new; got capacity 9"),
        ({"attn_mask": causal_mask(N)}, ValueError,
         AXES + "(2, 3, 5, 7) counted from the right; got shape (5, 5)"),
    ],
)  # fmt: skip
def test_a_refused_call_leaves_the_cache_as_it_was(arguments, error, message) -> None:
    layer, x = turning_layer()
    cache = KVCache(B, H, 4, 9, dtype=torch.float64)
    layer(x[:, :2], is_causal=True, cache=cache)
    before = cache.key.clone(), cache.value.clone()
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        layer(**{"x": x, "is_causal": True, "cache": cache, **arguments})
    assert cache.length == 2
    assert cache.key.equal(before[0])
    assert cache.value.equal(before[1])


def test_positions_are_refused_where_nothing_is_turned() -> None:
    layer, x, _ = layer_and_inputs(kv_dim=12)
    with pytest.raises(ValueError, match=r"^positions must be None without rotary; got positions$"):
        layer(x, positions=torch.arange(N))
    assert layer.rotary is None
    turning, _ = turning_layer()
    assert isinstance(turning.rotary, RotaryEmbedding)


def test_positions_and_masks_of_a_cache_are_made_where_the_inputs_are() -> None:
    layer, x = turning_layer()
    caches = [KVCache(B, H, 4, 9, dtype=torch.float64, window=window) for window in (None, 2)]
    with torch.device("meta"):  # not where new tensors go by default
        assert layer(x, is_causal=True).device == x.device
        for cache in caches:
            for size in (2, 1, 3):
                found = layer(x[:, :size], is_causal=True, cache=cache, need_weights=True)
                assert all(tensor.device == x.device for tensor in found)


# Exhibits

MENDED = {
    "scrambled_heads": (
        "x.view(batch, num_heads, length, -1)",
        "x.view(batch, length, num_heads, -1).transpose(1, 2)",
    ),
    "merged_without_transpose": ("heads.reshape", "heads.transpose(1, 2).reshape"),
    "scale_by_embed_dim": ("query.size(-1) ** -0.5", "(query.size(-1) // num_heads) ** -0.5"),
    "softmax_over_heads": ("dim=1", "dim=-1"),
    "mask_as_heads": ("(~mask,", "(~mask[:, None],"),
    "value_through_key": ("layer.k_proj(x)", "layer.v_proj(x)"),
}
SAME_CALL = sorted(set(MENDED) - {"mask_as_heads", "value_through_key"})


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"heads/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", SAME_CALL)
def test_exhibit_has_the_right_shape_wrong_numbers_and_is_mended_by_its_line(name: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 5, 12).double()
    key, value = torch.randn(2, 5, 12).double(), torch.randn(2, 5, 12).double()
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.eye(12).repeat(3, 1))
        theirs.out_proj.weight.copy_(torch.eye(12))
        expected = theirs(x, key, value)[0]
    for mended in (False, True):
        attention = load(name, mended=mended).attention
        output = attention(x, key, value, 3)
        assert output.shape == expected.shape
        assert torch.allclose(output, expected, atol=1e-12) == mended


def test_exhibit_mask_as_heads() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(3, size, 12).double() for size in (5, 7, 7))
    mask = padding_mask([7, 2, 4])[:, None].expand(3, 5, 7)
    split = [split_heads(x, 3) for x in (query, key, value)]
    expected = merge_heads(F.scaled_dot_product_attention(*split, attn_mask=mask[:, None]))
    wrong = load("mask_as_heads", mended=False).attention
    right = load("mask_as_heads", mended=True).attention
    assert wrong(query, key, value, 3, mask).shape == expected.shape
    assert not torch.allclose(wrong(query, key, value, 3, mask), expected)
    assert torch.allclose(right(query, key, value, 3, mask), expected, atol=1e-12)
    with pytest.raises(RuntimeError, match="must match"):
        wrong(query, key, value, 4, mask)


def test_exhibit_value_through_key() -> None:
    layer, x, _ = layer_and_inputs(kv_dim=12)
    wrong = load("value_through_key", mended=False).attention(layer, x)
    right = load("value_through_key", mended=True).attention(layer, x)
    assert wrong.shape == right.shape
    assert not torch.allclose(wrong, layer(x))
    assert torch.allclose(right, layer(x), atol=1e-12)
    assert torch.autograd.grad(wrong.sum(), layer.v_proj.weight, allow_unused=True) == (None,)


# Tables and numbers


@pytest.mark.parametrize("heads", [1, 4, 12])
def test_parameters_and_operations_do_not_depend_on_the_number_of_heads(heads: int) -> None:
    n, size = 10, 24
    layer = MultiHeadAttention(size, heads, bias=False, attend=scaled_dot_product_attention)
    assert sum(parameter.numel() for parameter in layer.parameters()) == 4 * size**2
    weights = layer(torch.randn(1, n, size), need_weights=True)[1]
    assert weights.numel() == heads * n * n
    with FlopCounterMode(display=False) as counter:
        layer(torch.randn(1, n, size))
    assert counter.get_total_flops() == 8 * n * size**2 + 4 * n * n * size


def test_worked_numbers() -> None:
    """One head of size 2 shares its weight, each of two heads of size 1 finds its own token."""
    numbers = {name: float(text.replace(",", "")) for name, text in tables.numbers().items()}
    query, key = torch.tensor([[4.0, 4.0]]), torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    value = torch.tensor([[1.0, 4.0], [5.0, 2.0], [3.0, 0.0]])
    one, weights = scaled_dot_product_attention(query, key, value), attention_weights(query, key)
    assert weights[0, :2].tolist() == pytest.approx([numbers["weight_shared"]] * 2, abs=5e-5)
    assert one[0].tolist() == pytest.approx([3, numbers["one_head"]], abs=5e-5)
    for head, name in enumerate(("first_head", "second_head")):
        part = slice(head, head + 1)
        found = scaled_dot_product_attention(query[:, part], key[:, part], value[:, part])
        assert found.item() == pytest.approx(numbers[name], abs=5e-5)
    assert numbers["exp_alone"] == pytest.approx(math.exp(4), abs=0.005)
    assert numbers["sum_alone"] == pytest.approx(math.exp(4) + 2, abs=0.005)


def test_the_numbers_of_it_are_those_of_the_example() -> None:
    """One head divides its weight among three tokens; two heads answer both questions."""
    w_q, w_k, w_v = figures.two_questions()
    query, key, value = (embeddings() @ w for w in (w_q, w_k, w_v))
    one = scaled_dot_product_attention(query, key, value)[3]
    two = torch.cat(
        [
            scaled_dot_product_attention(query[:, part], key[:, part], value[:, part])[3]
            for part in (slice(0, 2), slice(2, 4))
        ]
    )
    numbers = {name: float(text.replace(",", "")) for name, text in tables.numbers().items()}
    assert one[1].item() == pytest.approx(numbers["it_one"], abs=0.005)
    assert one[1:].sum() <= 1
    assert two[1].item() == pytest.approx(numbers["it_who"], abs=0.005)
    assert two[1:].sum() > 1


def test_no_weights_give_both_answers() -> None:
    """The page's claim: (5, 4) lies outside what one mean of the three values can be."""
    value = torch.tensor([[1.0, 4.0], [5.0, 2.0], [3.0, 0.0]])
    steps = torch.arange(101) / 100
    weights = torch.cartesian_prod(steps, steps)
    weights = weights[weights.sum(-1) <= 1]
    means = torch.cat([weights, 1 - weights.sum(-1, keepdim=True)], dim=-1) @ value
    assert (means - torch.tensor([5.0, 4.0])).norm(dim=-1).min() > 1.5


# --- the formulas of the page -----------------------------------------------------------------


def letters(layer: MultiHeadAttention) -> tuple[list[Tensor], ...]:
    """Return W^Q_i, W^K_i, W^V_i and W^O_i of each head; a linear layer keeps them transposed."""
    d = layer.head_dim
    heads = [slice(i * d, (i + 1) * d) for i in range(layer.num_heads)]
    rows = [[p.weight[i].T for i in heads] for p in (layer.q_proj, layer.k_proj, layer.v_proj)]
    return *rows, [layer.out_proj.weight.T[i] for i in heads]


def concat_of(layer: MultiHeadAttention, *inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return what the heads found, as the output projection gets it, and the output."""
    found = []
    with layer.out_proj.register_forward_pre_hook(lambda _, inputs: found.append(inputs[0])):
        output = layer(*inputs)
    return found[0], output


@pytest.mark.formula(
    r"\operatorname{head}_i = \operatorname{Attention}(X W^Q_i,\; C\, W^K_i,\; C\, W^V_i)"
)
def test_the_formula_of_a_head() -> None:
    layer, X, C = layer_and_inputs(embed_dim=11, bias=False)
    W_Q, W_K, W_V, _ = letters(layer)
    concat, _ = concat_of(layer, X, C)
    for i, found in enumerate(concat.split(layer.head_dim, dim=-1)):
        Q, K, V = X @ W_Q[i], C @ W_K[i], C @ W_V[i]
        head = torch.softmax(Q @ K.mT / math.sqrt(layer.head_dim), dim=-1) @ V
        torch.testing.assert_close(found, head, rtol=0, atol=1e-12)


@pytest.mark.formula(
    r"Y = \operatorname{Concat}(\operatorname{head}_1, \dots, \operatorname{head}_h)\, W^O"
)
def test_the_formula_of_the_output() -> None:
    layer, X, C = layer_and_inputs(embed_dim=11, bias=False)
    W_Q, W_K, W_V, W_O = letters(layer)
    heads = [
        torch.softmax((X @ q) @ (C @ k).mT / math.sqrt(layer.head_dim), dim=-1) @ (C @ v)
        for q, k, v in zip(W_Q, W_K, W_V, strict=True)
    ]
    Y = torch.cat(heads, dim=-1) @ torch.cat(W_O)
    torch.testing.assert_close(layer(X, C), Y, rtol=0, atol=1e-12)


@pytest.mark.formula(r"""
\operatorname{Concat}(\operatorname{head}_1, \dots, \operatorname{head}_h)\, W^O
= \sum_{i=1}^{h} \operatorname{head}_i W^O_i
""")
def test_the_formula_of_the_output_as_a_sum() -> None:
    layer, X, C = layer_and_inputs(embed_dim=11, bias=False)
    *_, W_O = letters(layer)
    concat, Y = concat_of(layer, X, C)
    heads = concat.split(layer.head_dim, dim=-1)
    the_sum = sum(head @ block for head, block in zip(heads, W_O, strict=True))
    torch.testing.assert_close(concat @ torch.cat(W_O), the_sum, rtol=0, atol=1e-12)
    torch.testing.assert_close(Y, the_sum, rtol=0, atol=1e-12)


def test_one_head_learns_both_answers_slowly() -> None:
    """After 80 steps the program's one head is right at a third of the places."""
    names = example("heads/multi_head/two_heads_learn")
    torch.manual_seed(0)
    layer = MultiHeadAttention(16, 1, bias=False).double()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    for _ in range(tables.SLOW_STEPS):
        x, previous, marked = names["make_batch"](16)
        output = layer(x)
        loss = F.cross_entropy(output[..., :8].flatten(0, 1), previous.flatten())
        loss = loss + F.cross_entropy(output[..., 8:].flatten(0, 1), marked.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, previous, marked = names["make_batch"](500)
    output = layer(x)
    right = (output[..., :8].argmax(-1) == previous) & (output[..., 8:].argmax(-1) == marked)
    assert 0.9 < right[:, 1:].double().mean() < 0.99
