"""Grouped-query attention against independent implementations, and its memory and errors."""

import itertools
import math
import pickle
import random
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    causal_mask,
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
    scaled_dot_product_attention,
)
from docs._kit.measure import paired_ratio
from docs._tools.page import page_module
from tests.kit import Copies, Made, error, load_exhibit, normal

tables = page_module("heads/grouped-query", "tables")

INF = math.inf
FORMS = [grouped_query_attention_repeat, grouped_query_attention_broadcast]
forms = pytest.mark.parametrize("attend", FORMS)
proof = settings(derandomize=True, deadline=None, max_examples=100)


def inputs(h: int = 6, g: int = 3, *, b: int = 2, n: int = 5, m: int = 7) -> tuple[Tensor, ...]:
    return normal(b, h, n, 4, seed=1), normal(b, g, m, 4, seed=2), normal(b, g, m, 8, seed=3)


def with_gradients(function: Callable[..., Tensor], tensors: tuple[Tensor, ...]) -> list[Tensor]:
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    output = function(*leaves)
    return [output, *torch.autograd.grad((output * output.detach().cos()).sum(), leaves)]


def assert_same(
    one: Callable[..., Tensor],
    other: Callable[..., Tensor],
    tensors: tuple[Tensor, ...],
    tolerance: float = 1e-12,
) -> None:
    pairs = zip(with_gradients(one, tensors), with_gradients(other, tensors), strict=True)
    assert max(error(*pair) for pair in pairs) <= tolerance


# --- independent implementations -------------------------------------------------------------


def loop_over_heads(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """One head at a time: query head i reads key head i // (h / g)."""
    heads = []
    for i in range(query.size(1)):
        j = i // (query.size(1) // key.size(1))
        scores = query[:, i] @ key[:, j].transpose(1, 2) / math.sqrt(query.size(-1))
        if mask is not None:
            scores = scores + mask[:, i]
        heads.append(scores.exp() / scores.exp().sum(-1, keepdim=True) @ value[:, j])
    return torch.stack(heads, 1)


def repeat_kv(hidden: Tensor, times: int) -> Tensor:
    batch, kv_heads, length, size = hidden.shape
    if times == 1:
        return hidden
    hidden = hidden[:, :, None, :, :].expand(batch, kv_heads, times, length, size)
    return hidden.reshape(batch, kv_heads * times, length, size)


def llama(module: GroupedQueryAttention, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention as in Hugging Face's Llama, without rotary positions."""
    shape = (*x.shape[:-1], -1, module.head_dim)
    query = F.linear(x, module.q_proj.weight).view(shape).transpose(1, 2)
    key = F.linear(x, module.k_proj.weight).view(shape).transpose(1, 2)
    value = F.linear(x, module.v_proj.weight).view(shape).transpose(1, 2)
    times = module.num_heads // module.num_kv_heads
    key, value = repeat_kv(key, times), repeat_kv(value, times)
    scores = torch.matmul(query, key.transpose(2, 3)) * module.head_dim**-0.5
    if mask is not None:
        scores = scores + mask
    weights = F.softmax(scores, dim=-1, dtype=torch.promote_types(x.dtype, torch.float32))
    output = torch.matmul(weights.to(x.dtype), value).transpose(1, 2).contiguous()
    return F.linear(output.reshape(*x.shape[:-1], -1), module.out_proj.weight)


# --- the two forms ---------------------------------------------------------------------------


@forms
@pytest.mark.parametrize(("h", "g"), [(6, 1), (6, 2), (6, 3), (6, 6), (8, 4)])
@pytest.mark.parametrize("mask_shape", [None, (5, 7), (2, 1, 1, 7), (2, 0, 5, 7), (1, 0, 5, 1)])
def test_a_form_is_the_loop_over_heads(
    attend: Callable, h: int, g: int, mask_shape: tuple[int, ...] | None
) -> None:
    mask = None
    if mask_shape is not None:
        mask = normal(*(size or h for size in mask_shape), seed=4)
    full = None if mask is None else mask.expand(2, h, 5, 7)
    tensors = inputs(h, g)
    assert_same(lambda *qkv: attend(*qkv, mask), lambda *qkv: loop_over_heads(*qkv, full), tensors)


@forms
@proof
@given(data=st.data())
def test_a_form_is_pytorchs_function(attend: Callable, data: st.DataObject) -> None:
    b, g, r, n, m = (data.draw(st.integers(1, 4)) for _ in range(5))
    h = g * r
    shape = data.draw(st.sampled_from([(n, m), (b, 1, n, m), (b, h, n, m), (1, h, 1, m)]))
    kind = data.draw(st.sampled_from(["none", "boolean", "additive", "causal"]))
    mask = {
        "boolean": normal(*shape, seed=5) > -0.5,
        "additive": normal(*shape, seed=5),
    }.get(kind)
    if kind == "boolean":
        mask = mask | (torch.arange(m) == 0)  # PyTorch 2.5 gives NaN for an empty row
    options = {
        "is_causal": kind == "causal",
        "scale": data.draw(st.sampled_from([None, 0.3])),
        "enable_gqa": True,
    }
    assert_same(
        lambda *qkv: attend(*qkv, mask, **options),
        lambda *qkv: F.scaled_dot_product_attention(*qkv, mask, **options),
        inputs(h, g, b=b, n=n, m=m),
    )


@forms
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_form_keeps_the_dtype_and_rounds_once(attend: Callable, dtype: torch.dtype) -> None:
    tensors = [tensor.to(dtype) for tensor in inputs()]
    found, truth = attend(*tensors), attend(*(tensor.double() for tensor in tensors))
    assert found.dtype == dtype
    assert found.equal(attend(*(tensor.float() for tensor in tensors)).to(dtype))
    assert error(found.double(), truth) <= max(2 * torch.finfo(dtype).eps, 1e-6)


@forms
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_an_additive_mask_may_have_the_dtype_of_the_query(
    attend: Callable, dtype: torch.dtype
) -> None:
    tensors, mask = [x.to(dtype) for x in inputs()], normal(2, 6, 5, 7, seed=4).to(dtype)
    wanted = attend(*(tensor.float() for tensor in tensors), mask.float()).to(dtype)
    assert attend(*tensors, mask).equal(wanted)


@forms
def test_heads_of_one_component_are_divided_by_one(attend: Callable) -> None:
    tensors = [tensor[..., :1] for tensor in inputs()]
    assert_same(attend, loop_over_heads, tensors)


@forms
def test_the_causal_mask_is_made_where_the_inputs_are(attend: Callable) -> None:
    tensors = inputs()
    with torch.device("meta"):  # not where new tensors go by default
        assert attend(*tensors, is_causal=True).device.type == "cpu"


def test_both_forms_take_mask_and_causal_together() -> None:
    tensors, mask = inputs(), normal(2, 6, 5, 7, seed=4) > -1
    wanted = scaled_dot_product_attention(*tensors, mask & causal_mask(5, 7), enable_gqa=True)
    for attend in FORMS:
        assert error(attend(*tensors, mask, is_causal=True), wanted) <= 1e-12


@forms
def test_nothing_to_attend_to_gives_zeros_and_no_nan(attend: Callable) -> None:
    mask = torch.ones(2, 6, 5, 7, dtype=torch.bool)
    mask[1, 4, 2] = False
    output, *gradients = with_gradients(lambda *qkv: attend(*qkv, mask), inputs())
    assert not output[1, 4, 2].any()
    assert output[1, 5].all()
    assert all(gradient.isfinite().all() for gradient in gradients)


@forms
def test_dropout_drops_weights_and_keeps_their_mean(attend: Callable) -> None:
    query, key, _ = inputs()
    unit = torch.eye(7, dtype=torch.float64).expand(2, 3, 7, 7)
    weights = attend(query, key, unit)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        draws = torch.stack([attend(query, key, unit, dropout_p=0.25) for _ in range(400)])
    kept = draws != 0
    assert abs(kept.double().mean().item() - 0.75) < 0.01
    assert error(draws[kept], (weights / 0.75).expand_as(draws)[kept]) <= 1e-12
    assert not attend(query, key, unit, dropout_p=1.0).any()


@forms
def test_the_order_of_groups_does_not_matter_and_that_of_heads_does(attend: Callable) -> None:
    query, key, value = inputs()
    order = torch.tensor([2, 0, 1])
    heads = torch.arange(6).view(3, 2)[order].flatten()
    right = attend(query, key, value)
    assert error(attend(query[:, heads], key[:, order], value[:, order]), right[:, heads]) <= 1e-12
    assert error(attend(query, key[:, order], value[:, order]), right) > 0.1


@forms
def test_inputs_are_not_changed_and_need_not_be_contiguous(attend: Callable) -> None:
    query, key, value = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in inputs())
    assert not query.is_contiguous()
    assert error(attend(query, key, value), attend(*inputs())) == 0
    assert all(map(torch.equal, (query, key, value), inputs()))


# --- the module ------------------------------------------------------------------------------


@pytest.mark.parametrize("g", [1, 2, 3, 6])
@pytest.mark.parametrize(
    "way", [F.scaled_dot_product_attention, scaled_dot_product_attention, *FORMS]
)
@pytest.mark.parametrize("masked", [False, True])
def test_the_module_is_the_llama_form(g: int, way: Callable, masked: bool) -> None:
    torch.manual_seed(0)
    module = GroupedQueryAttention(24, 6, g, head_dim=10, bias=False, attend=way).double()
    x = normal(2, 5, 24)
    mask = normal(2, 1, 5, 5, seed=7).masked_fill(~causal_mask(5), -INF) if masked else None
    assert_same(lambda x: module(x, attn_mask=mask), lambda x: llama(module, x, mask), (x,))
    found = torch.autograd.grad(module(x, attn_mask=mask).square().sum(), module.parameters())
    wanted = torch.autograd.grad(llama(module, x, mask).square().sum(), module.parameters())
    assert max(map(error, found, wanted)) <= 1e-10


@pytest.mark.parametrize("g", [1, 2, 3, 6])
def test_the_module_is_multiheadattention_given_repeated_weights(g: int) -> None:
    torch.manual_seed(0)
    ours = GroupedQueryAttention(24, 6, g).double()
    theirs = nn.MultiheadAttention(24, 6, batch_first=True).double()
    parts = [ours.q_proj.weight, ours.q_proj.bias]
    for layer in (ours.k_proj, ours.v_proj):
        for parameter in (layer.weight, layer.bias):
            blocks = parameter.split(4)  # the rows of one key head
            parts.append(torch.cat([blocks[i // (6 // g)] for i in range(6)]))
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat(parts[::2]))
        theirs.in_proj_bias.copy_(torch.cat(parts[1::2]))
        theirs.out_proj.load_state_dict(ours.out_proj.state_dict())
    x, mask = normal(2, 5, 24), causal_mask(5)
    output, weights = ours(x, attn_mask=mask, need_weights=True)
    wanted = theirs(x, x, x, attn_mask=~mask, average_attn_weights=False)
    assert error(output, wanted[0]) <= 1e-12
    assert error(weights, wanted[1]) <= 1e-12


@pytest.mark.parametrize(("g", "other"), [(6, MultiHeadAttention), (1, MultiQueryAttention)])
def test_the_ends_are_multi_head_and_multi_query(g: int, other: type[nn.Module]) -> None:
    torch.manual_seed(0)
    theirs = other(24, 6, kv_dim=10).double()
    ours = GroupedQueryAttention(24, 6, g, kv_dim=10).double()
    ours.load_state_dict(theirs.state_dict())
    x, context, mask = normal(2, 5, 24), normal(2, 7, 10, seed=1), normal(2, 5, 7, seed=2) > -1
    for options in ({}, {"attn_mask": mask}, {"attn_mask": causal_mask(5, 7)}):
        assert ours(x, context, **options).equal(theirs(x, context, **options))
    ours(x, context).sum().backward()
    theirs(x, context).sum().backward()
    for mine, its in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert mine.grad.equal(its.grad)


@pytest.mark.parametrize("g", [1, 2, 3, 6])
def test_it_is_multi_head_attention_told_the_number_of_key_heads(g: int) -> None:
    made = []
    for make in (GroupedQueryAttention, MultiHeadAttention):
        torch.manual_seed(0)
        made.append((make(24, 6, num_kv_heads=g, kv_dim=10).double(), torch.randn(3)))
    (ours, drawn), (theirs, drawn_by_theirs) = made
    assert drawn.equal(drawn_by_theirs)  # not one random number more
    x, context = normal(2, 5, 24), normal(2, 7, 10, seed=1)
    for options in ({}, {"attn_mask": causal_mask(5, 7)}):
        found = ours(x, context, need_weights=True, **options)
        assert all(map(torch.equal, found, theirs(x, context, need_weights=True, **options)))
    for module in (ours, theirs):
        module(x, context).square().sum().backward()
    for (name, mine), (its_name, its) in zip(
        ours.named_parameters(), theirs.named_parameters(), strict=True
    ):
        assert name == its_name
        assert mine.equal(its)
        assert mine.grad.equal(its.grad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: MultiHeadAttention(24, 6),
        lambda: MultiHeadAttention(24, 6, num_kv_heads=2),
        lambda: GroupedQueryAttention(24, 6, 2),
        lambda: MultiQueryAttention(24, 6),
    ],
)
def test_no_projection_is_made_twice(
    make: Callable[[], MultiHeadAttention], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, fill = [], nn.Linear.reset_parameters
    monkeypatch.setattr(
        nn.Linear, "reset_parameters", lambda layer: (made.append(layer), fill(layer))
    )
    assert made == list(make().children())


def test_it_shows_and_keeps_its_name() -> None:
    module = GroupedQueryAttention(24, 6, 2)
    assert isinstance(module, MultiHeadAttention)
    assert repr(module).splitlines() == [
        "GroupedQueryAttention(",
        "  num_heads=6, num_kv_heads=2, head_dim=4",
        "  (q_proj): Linear(in_features=24, out_features=24, bias=True)",
        "  (k_proj): Linear(in_features=24, out_features=8, bias=True)",
        "  (v_proj): Linear(in_features=24, out_features=8, bias=True)",
        "  (out_proj): Linear(in_features=24, out_features=24, bias=True)",
        ")",
    ]
    again = pickle.loads(pickle.dumps(module))  # noqa: S301
    assert type(again) is GroupedQueryAttention
    x = normal(2, 5, 24).float()
    assert again(x).equal(module(x))


def test_the_projections_have_the_sizes_of_the_heads() -> None:
    module = GroupedQueryAttention(24, 6, 2, kv_dim=10, head_dim=5, bias=False)
    sizes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    assert sizes == {
        "q_proj.weight": (30, 24),
        "k_proj.weight": (10, 10),
        "v_proj.weight": (10, 10),
        "out_proj.weight": (24, 30),
    }
    assert (module.num_heads, module.num_kv_heads, module.head_dim) == (6, 2, 5)


def test_rotary_positions_are_passed_on() -> None:
    torch.manual_seed(0)
    turned = GroupedQueryAttention(24, 6, 3, rotary=RotaryEmbedding(4)).double()
    plain = GroupedQueryAttention(24, 6, 3).double()
    plain.load_state_dict(turned.state_dict())
    x = normal(2, 5, 24)
    assert error(turned(x), plain(x)) > 1e-3
    assert error(turned(x, positions=torch.zeros(5).long()), plain(x)) <= 1e-12


def test_weights_sum_to_one_and_a_mask_forbids() -> None:
    module = GroupedQueryAttention(24, 6, 3).double()
    mask = torch.tensor([True, True, True, False, False])[None, None, :].expand(2, 1, 5)
    output, weights = module(normal(2, 5, 24), attn_mask=mask, need_weights=True)
    assert output.shape == (2, 5, 24)
    assert weights.shape == (2, 6, 5, 5)
    assert error(weights.sum(-1), torch.ones(2, 6, 5).double()) <= 1e-12
    assert not weights[..., 3:].any()


def test_dropout_is_off_in_eval() -> None:
    module = GroupedQueryAttention(24, 6, 3, dropout=0.5)
    x = normal(2, 5, 24).float()
    assert not module(x).equal(module(x))
    module.eval()
    assert module(x).equal(module(x))


def test_mean_pooling_is_exact_where_the_heads_of_a_group_are_equal() -> None:
    torch.manual_seed(0)
    grouped, multi = (GroupedQueryAttention(24, 6, g).double() for g in (3, 6))
    state = grouped.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        state[name] = state[name].unflatten(0, (3, 4)).repeat_interleave(2, 0).flatten(0, 1)
    multi.load_state_dict(state)
    x = normal(2, 5, 24)
    assert error(multi(x), grouped(x)) <= 1e-12


# --- the repeated keys are never made --------------------------------------------------------


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_the_fallback_kernel_repeats_keys_and_values_and_folded_heads_do_not(kv_heads: int) -> None:
    query, (key, value) = normal(2, 8, 1, 5), normal(2, 2, kv_heads, 11, 5, seed=1).unbind()
    mask, group = normal(2, 1, 1, 11, seed=2) > 0, 8 // kv_heads
    wanted = grouped_query_attention_repeat(query, key, value, mask)
    with sdpa_kernel(SDPBackend.MATH):
        with Copies() as copies:
            shared = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
        assert copies.shapes == 2 * [(2, kv_heads, group, 11, 5)]
        with Copies() as copies:
            folded = F.scaled_dot_product_attention(
                query.view(2, kv_heads, group, 5), key, value, mask
            )
        assert not copies.shapes
    assert error(shared, wanted) <= 1e-12
    assert error(folded.view(2, 8, 1, 5), wanted) <= 1e-12


MASKS = {
    "none": {},
    "boolean": {"attn_mask": normal(5, 7) > -1},
    "additive": {"attn_mask": normal(2, 6, 5, 7).float()},
    "causal": {"attn_mask": causal_mask(5, 7)},
    "both": {"attn_mask": causal_mask(5, 7), "key_padding_mask": normal(2, 7) > -1},
}


def made(module: nn.Module, options: dict) -> tuple[set[int], set[int]]:
    """Return the sizes of the tensors that forward and backward make."""
    x, context = (normal(*shape).float().requires_grad_() for shape in ((2, 5, 11), (2, 7, 13)))
    with Made() as forward:
        output = module(x, context, **options)
    with Made() as backward:
        output.sum().backward()
    return forward.sizes, backward.sizes


REPEATED = 2 * 6 * 7 * 17  # batch, query heads, keys, head_dim: no other tensor has as many


def build(**options: object) -> GroupedQueryAttention:
    return GroupedQueryAttention(11, 6, 3, kv_dim=13, head_dim=17, **options)


@pytest.mark.parametrize("mask", MASKS)
def test_the_module_never_makes_the_repeated_keys(mask: str) -> None:
    for module in (
        build(),
        build(attend=grouped_query_attention_broadcast),
        build(attend=grouped_query_attention_broadcast, dropout=0.5),
        build(dropout=0.5).eval(),
    ):
        for sizes in made(module, MASKS[mask]):
            assert REPEATED // 2 in sizes  # the keys as they are
            assert REPEATED not in sizes


@pytest.mark.parametrize("mask", MASKS)
def test_the_watch_sees_the_repeated_keys_where_they_are_made(mask: str) -> None:
    for sizes in made(build(attend=grouped_query_attention_repeat), MASKS[mask]):
        assert REPEATED in sizes
    forward, _ = made(build(dropout=0.5), MASKS[mask])  # PyTorch's function that drops
    assert REPEATED in forward


def test_pytorchs_function_repeats_the_keys_for_a_mask_that_learns() -> None:
    for attend in (F.scaled_dot_product_attention, grouped_query_attention_broadcast):
        bias = normal(2, 6, 5, 7).float().requires_grad_()
        forward, _ = made(build(attend=attend), {"attn_mask": bias})
        assert (REPEATED in forward) == (attend is F.scaled_dot_product_attention)
        assert bias.grad.any()


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ((24, 6, 4), ValueError, "num_kv_heads must divide num_heads = 6; got 4"),
        ((24, 6, 12), ValueError, "num_kv_heads must divide num_heads = 6; got 12"),
        ((24, 6, 0), ValueError, "num_kv_heads must be 1 or more; got 0"),
        ((24, 6, 2.0), TypeError, "num_kv_heads must be an int; got 2.0"),
        ((24, 6, True), TypeError, "num_kv_heads must be an int; got True"),
        ((24, 6, None), TypeError, "num_kv_heads must be an int; got None"),
        ((24, 5, 5), ValueError, "num_heads must divide embed_dim = 24; got 5"),
    ],
)
def test_bad_construction_is_refused(options: tuple, kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        GroupedQueryAttention(*options)
    assert str(caught.value) == message


def test_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    module = GroupedQueryAttention(24, 6, 3)
    module(torch.randn(2, 5, 24))
    module(torch.randn(2, 5, 24), attn_mask=causal_mask(5), need_weights=True)
    assert capsys.readouterr().out == ""


@forms
@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            [(2, 6, 5, 4), (2, 4, 7, 4), (2, 4, 7, 4)],
            "key must have query's leading axes (2, 6), its heads a divisor of 6; got (2, 4)",
        ),
        (
            [(2, 6, 5, 4), (2, 3, 7, 4), (2, 2, 7, 4)],
            "value must have key's leading axes (2, 3) with enable_gqa; got (2, 2)",
        ),
        (
            [(6, 5, 4), (3, 7, 4), (3, 7, 4)],
            "query must have 4 axes (batch, heads, length, head_dim); got shape (6, 5, 4)",
        ),
    ],
)
def test_bad_shapes_are_refused(attend: Callable, shapes: list, message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        attend(*map(torch.zeros, shapes))
    assert str(caught.value) == message


@forms
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"dropout_p": 1.5}, ValueError, "dropout_p must be from 0 to 1; got 1.5"),
        ({"dropout_p": "x"}, TypeError, "dropout_p must be an int or a float; got 'x'"),
        ({"is_causal": 1}, TypeError, "is_causal must be True or False; got 1"),
        ({"scale": INF}, ValueError, "scale must be finite; got inf"),
        ({"enable_gqa": None}, TypeError, "enable_gqa must be True or False; got None"),
    ],
)
def test_bad_options_are_refused(attend: Callable, options: dict, kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        attend(*inputs(), **options)
    assert str(caught.value) == message


@forms
def test_without_enable_gqa_the_heads_must_be_as_many(attend: Callable) -> None:
    with pytest.raises(ValueError, match="enable_gqa=True lets each key head serve several"):
        attend(*inputs(), enable_gqa=False)
    query, key, value = inputs(6, 6)
    wanted = F.scaled_dot_product_attention(query, key, value)
    assert error(attend(query, key, value, enable_gqa=False), wanted) <= 1e-12


def bad_call(choose: random.Random) -> Callable[[], object]:
    """Return a call that is wrong in one argument."""
    module, x = GroupedQueryAttention(24, 6, 3), torch.zeros(2, 5, 24)
    bad = ["x", 3, [1.0], torch.zeros(()), torch.zeros(2, 5), torch.zeros(2, 5, 24).long()]
    bad += [torch.zeros(2, 5, 23), torch.zeros(1, 2, 5, 24), torch.zeros(2, 5, 24).double()]
    masks = ["x", [True], torch.ones(5), torch.ones(3, 5, 5), torch.ones(5, 5).long()]
    masks += [torch.ones(2, 3, 5, 5), torch.ones(2, 6, 4, 5), torch.ones(2, 2, 6, 5, 5)]
    flag = {choose.choice(["is_causal", "need_weights"]): choose.choice([0, 1, "x"])}
    key = torch.zeros(2, choose.choice([0, 4, 5, 7, 8]), 7, 4)
    sizes = choose.choice([24, 0, -1, 2.5, None]), choose.choice([6, 0, "6"]), 4
    wrong, mask, attend = choose.choice(bad), choose.choice(masks), choose.choice(FORMS)
    return choose.choice(
        [
            lambda: module(choose.choice([None, wrong])),
            lambda: module(x, wrong),
            lambda: module(x, attn_mask=mask),
            lambda: module(x, **flag),
            lambda: attend(torch.zeros(2, 6, 5, 4), key, key),
            lambda: attend(*inputs(), normal(*choose.choice([(5,), (7, 5), (2, 3, 5, 7)]))),
            lambda: GroupedQueryAttention(*sizes),
        ]
    )


def test_hundreds_of_random_bad_calls_raise_clear_errors() -> None:
    choose = random.Random(0)  # noqa: S311 - no secret
    for _ in range(300):
        call = bad_call(choose)
        with pytest.raises((TypeError, ValueError)) as caught:
            call()
        assert " must " in str(caught.value)
        assert "; got " in str(caught.value)


def test_arguments_that_fit_are_taken() -> None:
    for g, masked in itertools.product((1, 2, 3, 6), (False, True)):
        mask = causal_mask(5) if masked else None
        module = GroupedQueryAttention(24, 6, g)
        assert module(torch.zeros(2, 5, 24), attn_mask=mask).shape == (2, 5, 24)
    with pytest.raises(ValueError, match="num_kv_heads must be num_heads = 6"):
        GroupedQueryAttention(24, 6, 3).to_torch()
    with pytest.raises(TypeError, match="from_torch makes a MultiHeadAttention"):
        GroupedQueryAttention.from_torch(nn.MultiheadAttention(24, 6))


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "tiled_key_heads": ("x.repeat(1, group, 1, 1)", "x.repeat_interleave(group, dim=1)"),
    "mask_meets_groups": ("(~mask,", "(~mask.unsqueeze(2),"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"heads/{name}", MENDED[name], mended=mended)


def exhibit_call(name: str) -> tuple[tuple, Tensor]:
    """Return the arguments of an exhibit and what it ought to return."""
    query, key, value = inputs(g=2, b=2)
    mask = torch.ones(2, 1, 5, 7, dtype=torch.bool)
    mask[0, ..., 4:] = False
    if name == "mask_meets_groups":
        bias = torch.zeros(mask.shape).masked_fill(~mask, -INF).expand(2, 6, 5, 7)
        return (query, key, value, mask), loop_over_heads(query, key, value, bias)
    return (query, key, value), loop_over_heads(query, key, value)


@pytest.mark.parametrize("name", sorted(MENDED))
def test_the_shape_is_right_the_numbers_are_not_and_mending_the_line_mends_them(name: str) -> None:
    arguments, wanted = exhibit_call(name)
    wrong = load(name, mended=False).attention(*arguments)
    assert wrong.shape == wanted.shape
    assert error(wrong, wanted) > 0.1
    right = load(name, mended=True).attention(*arguments)
    assert error(right, wanted) <= 1e-12


@pytest.mark.parametrize(("name", "group"), [("tiled_key_heads", 1), ("tiled_key_heads", 6)])
def test_tiling_is_right_at_both_ends(name: str, group: int) -> None:
    tensors = inputs(6, 6 // group)
    found = load(name, mended=False).attention(*tensors)
    assert error(found, loop_over_heads(*tensors)) <= 1e-12


def test_a_mask_with_four_axes_fits_five_only_where_batch_equals_groups() -> None:
    attend = load("mask_meets_groups", mended=False).attention
    for batch in (3, 4):
        mask = torch.ones(batch, 1, 5, 7, dtype=torch.bool)
        with pytest.raises(RuntimeError, match="size"):
            attend(*inputs(g=2, b=batch), mask)
    mask = torch.ones(2, 1, 5, 7, dtype=torch.bool)
    mask[0, ..., 4:] = False  # the first text is short; here it hides keys of the first group
    found = attend(*inputs(g=2), mask)
    by_group = mask.transpose(0, 1).repeat_interleave(3, 1)
    assert error(found, grouped_query_attention_broadcast(*inputs(g=2), by_group)) <= 1e-12


# --- tables and measurement ------------------------------------------------------------------


def test_the_table_counts_what_the_module_has() -> None:
    assert tables.parameters(8) == 41_943_040
    assert tables.cache_bytes(8, 1) == 131_072
    assert tables.users(8) == 4 * tables.users(32) == 64
    for kv_heads in tables.ALL_KV_HEADS:
        assert counted(kv_heads) == (tables.parameters(kv_heads), tables.cache_bytes(kv_heads))


def counted(kv_heads: int) -> tuple[int, int]:
    """Count weights and cached bytes on a module and its tensors, without giving them memory."""
    with torch.device("meta"):
        module = GroupedQueryAttention(tables.EMBED_DIM, tables.HEADS, kv_heads, bias=False)
        module.to(tables.DTYPE)
        x = torch.empty(1, tables.LENGTH, tables.EMBED_DIM, dtype=tables.DTYPE)
        made = [module.k_proj(x), module.v_proj(x)]
    weights = sum(parameter.numel() for parameter in module.parameters())
    return weights, tables.LAYERS * sum(tensor.nbytes for tensor in made)


def test_the_table_of_kernels_says_what_ran_here() -> None:
    found = tables.kernels()
    fused = {name for name, (is_fused, _) in found.items() if is_fused}
    assert fused == {"plain", "causal", "float32", "large", "mask"}
    assert {times for _, times in found.values()} == {0.0, 8.0}  # of bytes: in float32
    for name, ((query, key, value), options) in tables.kernel_calls().items():
        is_fused, times = found[name]
        assert (times == 0) == is_fused
        with Copies() as copies:
            F.scaled_dot_product_attention(query, key, value, enable_gqa=True, **options)
        assert bool(copies.shapes) == bool(times)


@pytest.mark.parametrize(("gpus", "wanted"), [(1, (8, 8)), (4, (2, 8)), (8, (1, 8)), (16, (1, 16))])
def test_kv_heads_are_replicated_where_gpus_are_more(gpus: int, wanted: tuple[int, int]) -> None:
    here, on_one, on_all = tables.split(gpus)
    one_head = tables.split(1)[1] // 8
    assert (here, on_all // one_head) == wanted
    assert on_one == here * one_head


def test_models_stand_in_the_order_of_their_groups() -> None:
    rows = tables.models("en").splitlines()[2 : 2 + len(tables.MODELS)]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    sizes = [int(cell[3]) for cell in cells]
    assert sizes == sorted(sizes)
    assert all(int(h) == int(g) * int(size) for _, h, g, size, _ in cells)


def test_a_ratio_is_the_first_calls_time_over_the_seconds() -> None:
    assert paired_ratio(lambda: sum(range(20_000)), lambda: sum(range(1_000)), 3) > 5


# --- the formulas of the page -----------------------------------------------------------------


def layer_in_letters() -> tuple[GroupedQueryAttention, Tensor, Tensor, list[Tensor]]:
    """Return a layer with h = 6 and g = 2, what goes in, and what each head finds."""
    h, g, d, D, D_kv = 6, 2, 4, 11, 10
    torch.manual_seed(1)
    layer = GroupedQueryAttention(D, h, g, kv_dim=D_kv, head_dim=d, bias=False).double()
    X, C = normal(1, 5, D, seed=1), normal(1, 7, D_kv, seed=2)
    W_Q = [layer.q_proj.weight[i * d : (i + 1) * d].T for i in range(h)]
    W_K = [layer.k_proj.weight[j * d : (j + 1) * d].T for j in range(g)]
    W_V = [layer.v_proj.weight[j * d : (j + 1) * d].T for j in range(g)]
    head = []
    for i in range(h):
        j = math.floor(i * g / h)
        Q, K, V = X @ W_Q[i], C @ W_K[j], C @ W_V[j]
        head.append(torch.softmax(Q @ K.mT / math.sqrt(d), dim=-1) @ V)
    return layer, X, C, head


@pytest.mark.formula(r"""
\operatorname{head}_i = \operatorname{Attention}\bigl(X W^Q_i,\; C W^K_j,\; C W^V_j\bigr)
\qquad j = \lfloor i g / h \rfloor
\qquad i = 0, \dots, h - 1
""")
def test_the_formula_of_a_head() -> None:
    layer, X, C, head = layer_in_letters()
    for attend in (F.scaled_dot_product_attention, *FORMS):
        layer.attend, found = attend, []
        with layer.out_proj.register_forward_pre_hook(
            lambda _, inputs, found=found: found.extend(inputs[0].split(4, dim=-1))
        ):
            layer(X, C)
        assert max(error(*pair) for pair in zip(found, head, strict=True)) <= 1e-12


@pytest.mark.formula(
    r"Y = \operatorname{Concat}(\operatorname{head}_0, \dots, \operatorname{head}_{h-1})\, W^O"
)
def test_the_formula_of_the_output() -> None:
    layer, X, C, head = layer_in_letters()
    W_O = layer.out_proj.weight.T
    for attend in (F.scaled_dot_product_attention, *FORMS):
        layer.attend = attend
        assert error(layer(X, C), torch.cat(head, dim=-1) @ W_O) <= 1e-12
