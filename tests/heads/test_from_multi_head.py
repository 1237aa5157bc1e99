"""Conversion between own and shared key heads against plain loops over heads and rows."""

import copy
import re
import runpy
import statistics
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    grouped_query_attention_repeat,
    grouped_query_to_multi_head,
    multi_head_to_grouped_query,
    scaled_dot_product_attention,
    split_heads,
)
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal

conversion = page_module("heads/from-multi-head", "conversion")
tables = page_module("heads/from-multi-head", "tables")

proof = settings(derandomize=True, deadline=None, max_examples=60)
POOLED = ("k_proj", "v_proj")


def multi_head(heads: int = 6, seed: int = 0, **options: object) -> MultiHeadAttention:
    torch.manual_seed(seed)
    return MultiHeadAttention(24, heads, **({"head_dim": 4} | options)).double()


# --- independent implementations -------------------------------------------------------------


def rows_of_head(rows: Tensor, head: int, size: int) -> Tensor:
    return torch.stack([rows[head * size + i] for i in range(size)])


def pooled_by_loop(rows: Tensor, heads: int, groups: int, size: int, method: str) -> Tensor:
    """Return a weight or a bias of fewer heads, one head after another."""
    found, r = [], heads // groups
    for j in range(groups):
        members = [rows_of_head(rows, j * r + k, size) for k in range(r)]
        total = members[0].clone()
        if method == "mean":
            for member in members[1:]:
                total += member
            total = total / r
        found += list(total)
    return torch.stack(found)


def attend_by_loop(
    weights: dict[str, Tensor], x: Tensor, heads: int, key_of: Callable[[int], int]
) -> Tensor:
    """Attention, one query head after another; `key_of` says which key head it reads."""
    size = weights["q_proj.weight"].size(0) // heads
    found = []
    for i in range(heads):
        q, k, v = (
            x @ rows_of_head(weights[f"{name}.weight"], head, size).T
            + rows_of_head(weights[f"{name}.bias"], head, size)
            for name, head in (("q_proj", i), ("k_proj", key_of(i)), ("v_proj", key_of(i)))
        )
        scores = q @ k.mT / size**0.5
        found.append(scores.exp() / scores.exp().sum(-1, keepdim=True) @ v)
    return torch.cat(found, -1) @ weights["out_proj.weight"].T + weights["out_proj.bias"]


# --- fewer heads -----------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("method", ["mean", "first"])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_each_group_is_pooled_row_by_row(groups: int, method: str, bias: bool) -> None:
    multi = multi_head(bias=bias, kv_dim=10)
    grouped = multi_head_to_grouped_query(multi, groups, method=method)
    old, new = multi.state_dict(), grouped.state_dict()
    assert list(new) == list(GroupedQueryAttention(24, 6, groups, bias=bias).state_dict())
    for name, rows in new.items():
        if name.startswith(POOLED):
            assert error(rows, pooled_by_loop(old[name], 6, groups, 4, method)) <= 1e-12
        else:
            assert rows.equal(old[name])


def test_the_mean_is_the_default() -> None:
    multi = multi_head()
    by_default, mean = (
        multi_head_to_grouped_query(multi, 2),
        multi_head_to_grouped_query(multi, 2, method="mean"),
    )
    assert by_default.k_proj.weight.equal(mean.k_proj.weight)
    assert not mean.k_proj.weight.equal(
        multi_head_to_grouped_query(multi, 2, method="first").k_proj.weight
    )


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_the_output_is_that_of_a_loop_over_pooled_heads(groups: int) -> None:
    multi, x = multi_head(), normal(2, 5, 24)
    weights = {
        name: pooled_by_loop(rows, 6, groups, 4, "mean") if name.startswith(POOLED) else rows
        for name, rows in multi.state_dict().items()
    }
    found = multi_head_to_grouped_query(multi, groups)(x)
    wanted = attend_by_loop(weights, x, 6, lambda i: i // (6 // groups))
    assert error(found, wanted) <= 1e-12
    assert (error(found, multi(x)) > 1e-3) == (groups < 6)


@pytest.mark.parametrize("method", ["mean", "first"])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("rotary", [None, RotaryEmbedding(4)])
def test_equal_heads_in_each_group_are_converted_exactly(
    groups: int, method: str, rotary: RotaryEmbedding | None
) -> None:
    multi, r = multi_head(rotary=rotary), 6 // groups
    with torch.no_grad():
        for layer in (multi.k_proj, multi.v_proj):
            for rows in layer.parameters():
                for i in range(6):
                    first = i // r * r
                    rows[i * 4 : i * 4 + 4] = rows[first * 4 : first * 4 + 4]
    grouped, x = multi_head_to_grouped_query(multi, groups, method=method), normal(2, 5, 24)
    mine, its = (x.clone().requires_grad_() for _ in range(2))
    outputs = grouped(mine, is_causal=True), multi(its, is_causal=True)
    assert error(*outputs) <= 1e-12
    for output in outputs:
        (output * outputs[1].detach().cos()).sum().backward()
    assert error(mine.grad, its.grad) <= 1e-12
    for name, parameter in grouped.named_parameters():
        wanted = multi.get_parameter(name).grad
        if name.startswith(POOLED):  # the shared head gets what its copies got, together
            wanted = wanted.view(groups, r, 4, *wanted.shape[1:]).sum(1).flatten(0, 1)
        assert error(parameter.grad, wanted) <= 1e-12


@proof
@given(r=st.integers(1, 4), g=st.integers(1, 4), size=st.sampled_from([2, 4]), data=st.data())
def test_pooled_keys_are_the_mean_of_the_keys(
    r: int, g: int, size: int, data: st.DataObject
) -> None:
    rotary = data.draw(st.sampled_from([None, RotaryEmbedding(size, interleaved=True)]))
    multi = multi_head(r * g, head_dim=size, rotary=rotary)
    grouped, x, positions = multi_head_to_grouped_query(multi, g), normal(2, 5, 24), torch.arange(5)
    for name in POOLED:
        own = split_heads(getattr(multi, name)(x), r * g)
        shared = split_heads(getattr(grouped, name)(x), g)
        if rotary is not None and name == "k_proj":
            own, shared = rotary(own, positions), rotary(shared, positions)
        assert error(shared, own.view(2, g, r, 5, size).mean(2)) <= 1e-12


@pytest.mark.parametrize("method", ["mean", "first"])
def test_two_steps_are_as_good_as_one(method: str) -> None:
    multi = multi_head()
    halfway = multi_head_to_grouped_query(multi, 3, method=method)
    at_once, in_steps = (
        multi_head_to_grouped_query(module, 1, method=method).state_dict()
        for module in (multi, halfway)
    )
    assert all(error(rows, at_once[name]) <= 1e-12 for name, rows in in_steps.items())


def test_a_multi_query_module_has_nothing_left_to_pool() -> None:
    torch.manual_seed(0)
    module, x = MultiQueryAttention(24, 6).double(), normal(2, 5, 24)
    grouped = multi_head_to_grouped_query(module, 1)
    assert type(grouped) is GroupedQueryAttention
    assert grouped(x).equal(module(x))


def test_random_keys_and_values_are_those_of_a_new_layer() -> None:
    multi = multi_head(kv_dim=10)
    torch.manual_seed(5)
    grouped = multi_head_to_grouped_query(multi, 3, method="random")
    torch.manual_seed(5)
    new = GroupedQueryAttention(24, 6, 3, head_dim=4, kv_dim=10)
    for name, rows in grouped.state_dict().items():
        is_new = name.startswith(POOLED)
        assert rows.equal(new.state_dict()[name].double() if is_new else multi.state_dict()[name])
    torch.manual_seed(6)
    other = multi_head_to_grouped_query(multi, 3, method="random")
    assert not other.k_proj.weight.equal(grouped.k_proj.weight)


def test_heads_in_another_order_are_the_same_attention_and_another_conversion() -> None:
    multi, x = multi_head(), normal(2, 5, 24)
    order = [4, 0, 2, 5, 1, 3]
    other = copy.deepcopy(multi)
    rows = torch.arange(24).view(6, 4)[order].flatten()
    with torch.no_grad():
        for layer in (other.q_proj, other.k_proj, other.v_proj):
            for parameter in layer.parameters():
                parameter.copy_(parameter[rows])
        other.out_proj.weight.copy_(other.out_proj.weight[:, rows])
    assert error(other(x), multi(x)) <= 1e-12
    assert (
        error(multi_head_to_grouped_query(other, 3)(x), multi_head_to_grouped_query(multi, 3)(x))
        > 1e-3
    )
    # within a group, the order does not matter to the mean, and it does to the first
    order = [1, 0, 2, 3, 4, 5]
    rows = torch.arange(24).view(6, 4)[order].flatten()
    old, swapped = (rows_ for rows_ in (multi.k_proj.weight, multi.k_proj.weight[rows]))
    for method, same in (("mean", True), ("first", False)):
        pair = (pooled_by_loop(w, 6, 3, 4, method) for w in (old, swapped))
        assert (error(*pair) <= 1e-12) == same


# --- more heads ------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_expansion_is_exact(groups: int, bias: bool) -> None:
    torch.manual_seed(0)
    options = {"head_dim": 4, "bias": bias, "kv_dim": 10}
    grouped = GroupedQueryAttention(24, 6, groups, **options).double()
    multi, x, context = (
        grouped_query_to_multi_head(grouped),
        normal(2, 5, 24),
        normal(2, 7, 10, seed=1),
    )
    assert type(multi) is MultiHeadAttention
    assert (multi.num_heads, multi.num_kv_heads) == (6, 6)
    output, weights = multi(x, context, need_weights=True)
    wanted, wanted_weights = grouped(x, context, need_weights=True)
    assert error(output, wanted) <= 1e-12
    assert error(weights, wanted_weights) <= 1e-12
    for name, rows in multi.state_dict().items():
        old = grouped.state_dict()[name]
        for i in range(6) if name.startswith(POOLED) else ():
            j = i // (6 // groups)
            assert rows_of_head(rows, i, 4).equal(rows_of_head(old, j, 4))
    (output * wanted.detach().cos()).sum().backward()
    (wanted * wanted.detach().cos()).sum().backward()
    for name, parameter in grouped.named_parameters():
        found = multi.get_parameter(name).grad
        if name.startswith(POOLED):
            found = found.view(groups, 6 // groups, 4, *found.shape[1:]).sum(1).flatten(0, 1)
        assert error(found, parameter.grad) <= 1e-12


def test_expansion_of_a_multi_query_module_is_pytorchs_module_with_equal_heads() -> None:
    torch.manual_seed(0)
    module, x = MultiQueryAttention(24, 6).double(), normal(2, 5, 24)
    theirs = grouped_query_to_multi_head(module).to_torch()
    assert error(theirs(x, x, x, need_weights=False)[0], module(x)) <= 1e-12


@pytest.mark.parametrize("g", [1, 2, 3])
def test_multi_head_attention_that_shares_heads_is_converted_as_grouped_query(g: int) -> None:
    torch.manual_seed(0)
    grouped, x = GroupedQueryAttention(24, 6, g).double(), normal(2, 5, 24)
    module = MultiHeadAttention(24, 6, num_kv_heads=g).double()
    module.load_state_dict(grouped.state_dict())
    more, fewer = grouped_query_to_multi_head(module), multi_head_to_grouped_query(module, 1)
    assert (more.num_kv_heads, fewer.num_kv_heads) == (6, 1)
    assert more(x).equal(grouped_query_to_multi_head(grouped)(x))
    assert fewer(x).equal(multi_head_to_grouped_query(grouped, 1)(x))
    assert error(more(x), module(x)) <= 1e-12


def test_expansion_of_multi_head_attention_is_a_copy() -> None:
    multi, x = multi_head(), normal(2, 5, 24)
    copied = grouped_query_to_multi_head(multi)
    assert copied(x).equal(multi(x))
    assert copied is not multi
    assert copied.k_proj.weight.data_ptr() != multi.k_proj.weight.data_ptr()


@pytest.mark.parametrize("method", ["mean", "first"])
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_there_and_back_again(groups: int, method: str) -> None:
    torch.manual_seed(0)
    grouped = GroupedQueryAttention(24, 6, groups).double()
    again = multi_head_to_grouped_query(grouped_query_to_multi_head(grouped), groups, method=method)
    for name, rows in grouped.state_dict().items():
        assert error(again.state_dict()[name], rows) <= 1e-15


def test_one_step_of_training_makes_the_copies_differ() -> None:
    torch.manual_seed(0)
    grouped, x = GroupedQueryAttention(24, 6, 2).double(), normal(2, 5, 24)
    multi = grouped_query_to_multi_head(grouped)
    optimizer = torch.optim.SGD(multi.parameters(), lr=0.1)
    multi(x).square().sum().backward()
    optimizer.step()
    assert error(multi_head_to_grouped_query(multi, 2)(x), multi(x)) > 1e-6


# --- all else is carried over ----------------------------------------------------------------

CONVERSIONS = {
    "fewer": lambda module: multi_head_to_grouped_query(module, 3),
    "random": lambda module: multi_head_to_grouped_query(module, 3, method="random"),
    "more": grouped_query_to_multi_head,
}
conversions = pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)


@conversions
def test_all_that_is_no_key_head_is_carried_over(convert: Callable) -> None:
    rotary = RotaryEmbedding(10, rotary_dim=4)
    old = MultiHeadAttention(
        24, 6, head_dim=10, kv_dim=9, bias=False, dropout=0.25,
        attend=grouped_query_attention_repeat, rotary=rotary,
    )  # fmt: skip
    new = convert(old)
    assert (new.num_heads, new.head_dim, new.dropout) == (6, 10, 0.25)
    assert new.attend is grouped_query_attention_repeat
    assert new.rotary is rotary
    assert (new.q_proj.in_features, new.k_proj.in_features, new.v_proj.in_features) == (24, 9, 9)
    assert new.out_proj.bias is None
    default = convert(MultiHeadAttention(24, 6))
    assert default.attend is F.scaled_dot_product_attention
    assert default.rotary is None
    assert default.q_proj.bias is not None


@conversions
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("training", [False, True])
def test_dtype_and_mode_are_carried_over(
    convert: Callable, dtype: torch.dtype, training: bool
) -> None:
    new = convert(MultiHeadAttention(24, 6).to(dtype).train(training))
    assert {parameter.dtype for parameter in new.parameters()} == {dtype}
    assert new.training == new.q_proj.training == training


@conversions
def test_the_device_is_carried_over(convert: Callable) -> None:
    new = convert(MultiHeadAttention(24, 6).to("meta"))
    assert {parameter.device.type for parameter in new.parameters()} == {"meta"}


@conversions
def test_the_old_module_is_as_before_and_nothing_is_shared(convert: Callable) -> None:
    old = multi_head()
    before = copy.deepcopy(old.state_dict())
    new = convert(old)
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in new.parameters())
    with torch.no_grad():
        for parameter in new.parameters():
            parameter.zero_()
    assert all(rows.equal(before[name]) for name, rows in old.state_dict().items())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_mean_in_half_precision_is_rounded_once(dtype: torch.dtype) -> None:
    multi = MultiHeadAttention(24, 6, head_dim=4).to(dtype)
    found = multi_head_to_grouped_query(multi, 2).k_proj.weight
    wanted = pooled_by_loop(multi.k_proj.weight.double(), 6, 2, 4, "mean")
    assert error(found.double(), wanted) <= torch.finfo(dtype).eps * wanted.abs().max().item()


def test_a_converted_module_decodes_with_a_smaller_cache() -> None:
    multi, x = multi_head(rotary=RotaryEmbedding(4)), normal(2, 5, 24)
    grouped = multi_head_to_grouped_query(multi, 2)
    caches = [KVCache(2, heads, 4, 5, dtype=torch.float64) for heads in (6, 2)]
    assert caches[0].nbytes == 3 * caches[1].nbytes
    steps = [grouped(x[:, [t]], is_causal=True, cache=caches[1]) for t in range(5)]
    assert error(torch.cat(steps, 1), grouped(x, is_causal=True)) <= 1e-12
    multi(x, is_causal=True, cache=caches[0])
    for name in ("key", "value"):  # pooling the weights is pooling the cache
        own, shared = (getattr(cache, name) for cache in caches)
        assert error(shared, own.view(2, 2, 3, 5, 4).mean(2)) <= 1e-12


def test_the_explicit_formula_gives_the_same() -> None:
    multi, x = multi_head(attend=scaled_dot_product_attention), normal(2, 5, 24)
    other = multi_head()
    assert (
        error(multi_head_to_grouped_query(multi, 2)(x), multi_head_to_grouped_query(other, 2)(x))
        <= 1e-12
    )


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: multi_head_to_grouped_query(nn.MultiheadAttention(24, 6), 2),
            TypeError,
            "module must be a MultiHeadAttention; got MultiheadAttention",
        ),
        (
            lambda: grouped_query_to_multi_head(None),
            TypeError,
            "module must be a MultiHeadAttention; got NoneType",
        ),
        (
            lambda: multi_head_to_grouped_query(multi_head(), 4),
            ValueError,
            "num_kv_heads must divide the module's num_kv_heads = 6; got 4",
        ),
        (
            lambda: multi_head_to_grouped_query(GroupedQueryAttention(24, 6, 2), 3),
            ValueError,
            "num_kv_heads must divide the module's num_kv_heads = 2; got 3",
        ),
        (
            lambda: multi_head_to_grouped_query(multi_head(), 0),
            ValueError,
            "num_kv_heads must be 1 or more; got 0",
        ),
        (
            lambda: multi_head_to_grouped_query(multi_head(), 2.0),
            TypeError,
            "num_kv_heads must be an int; got 2.0",
        ),
        (
            lambda: multi_head_to_grouped_query(multi_head(), 2, method="sum"),
            ValueError,
            "method must be one of mean, first, random; got 'sum'",
        ),
        (
            lambda: multi_head_to_grouped_query(multi_head(), 2, method=None),
            ValueError,
            "method must be one of mean, first, random; got None",
        ),
    ],
)
def test_bad_arguments_are_refused(call: Callable, kind: type, message: str) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "pooled_strided": (
        "heads.view(-1, groups, *heads.shape[1:])",
        "heads.view(groups, -1, *heads.shape[1:]).transpose(0, 1)",
    ),
    "pooled_rows": (
        "weight.view(groups * head_dim, -1, weight.size(-1))",
        "weight.view(groups, -1, head_dim, weight.size(-1)).transpose(1, 2).flatten(0, 1)",
    ),
    "pooled_by_sum": ("heads.sum(1)", "heads.mean(1)"),
    "values_left_new": ('("k_proj",)', '("k_proj", "v_proj")'),
    "queries_pooled": ("(new.q_proj, new.k_proj, new.v_proj)", "(new.k_proj, new.v_proj)"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"heads/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", [name for name in MENDED if name.startswith("pooled")])
def test_a_wrong_pool_has_the_right_shape(name: str) -> None:
    weight = normal(24, 10)
    wanted = pooled_by_loop(weight, 6, 3, 4, "mean")
    assert error(load(name, mended=False).pool(weight, 3, 4), wanted) > 0.1
    assert error(load(name, mended=True).pool(weight, 3, 4), wanted) <= 1e-12


@pytest.mark.parametrize("name", ["pooled_strided", "pooled_rows"])
def test_a_wrong_order_is_not_seen_where_there_is_nothing_to_order(name: str) -> None:
    weight = normal(24, 10)
    pool = load(name, mended=False).pool
    assert error(pool(weight, 6, 4), weight) <= 1e-12  # as many groups as heads
    strided = pool(weight, 1, 4)
    assert (error(strided, pooled_by_loop(weight, 6, 1, 4, "mean")) <= 1e-12) == (
        name == "pooled_strided"
    )


@pytest.mark.parametrize("name", ["values_left_new", "queries_pooled"])
def test_a_wrong_conversion_has_the_right_shape(name: str) -> None:
    multi, x = multi_head(bias=False), normal(2, 5, 24)
    wanted = multi_head_to_grouped_query(multi, 3)(x)
    found = load(name, mended=False).convert(multi, 3)(x)
    assert found.shape == wanted.shape
    assert error(found, wanted) > 1e-2
    assert error(load(name, mended=True).convert(multi, 3)(x), wanted) <= 1e-12


# --- the trained model -----------------------------------------------------------------------


def test_the_example_and_the_table_measure_the_same() -> None:
    example = ROOT / "attn_docs/examples/heads/from_multi_head/trained.py"
    printed = re.findall(r"#> .*", example.read_text(encoding="utf-8"))
    shown = [[float(number) for number in re.findall(r"\d\.\d\d", line)] for line in printed]
    wanted = [[conversion.losses("none", 4)[0]]]
    wanted += [
        [conversion.losses(method, 2)[step] for step in (0, conversion.MORE)]
        for method in conversion.METHODS
    ]
    for line, values in zip(shown, wanted, strict=True):
        assert line == pytest.approx(values, abs=0.0051)


def test_the_stored_losses_are_those_of_the_models() -> None:
    for method, kv_heads, seed in (("none", 4, 0), ("mean", 2, 0), ("first", 2, 1)):
        losses = conversion.losses(method, kv_heads, seed)
        for step in conversion.AT:
            stored = tables.spread(method, kv_heads, step)
            assert len(stored) == conversion.SEEDS
            assert stored[seed] == pytest.approx(losses[step], abs=1e-4)


def test_the_measurement_says_what_the_page_says() -> None:
    def mean(method: str, kv_heads: int, step: int) -> float:
        return statistics.mean(tables.spread(method, kv_heads, step))

    for step in conversion.AT:
        before = mean("none", 4, step)
        found = [mean(method, 2, step) for method in conversion.METHODS]
        assert before < found[0] < found[1] < found[2]
    before, at_once = mean("none", 4, 0), mean("mean", 2, 0)
    later = mean("mean", 2, conversion.MORE)
    assert later - before < (at_once - before) / 4  # most of the damage is repaired
    mean_6, first_6 = (tables.spread(method, 2, conversion.MORE) for method in ("mean", "first"))
    gaps = [first - mean for first, mean in zip(first_6, mean_6, strict=True)]
    assert abs(statistics.mean(gaps)) < statistics.stdev(gaps)  # five do not say which is better
    gap = f"{statistics.mean(gaps):.2f} ± {statistics.stdev(gaps):.2f}"
    assert tables.numbers()["gap"] == gap
    at_once = [statistics.stdev(tables.spread(method, 2, 0)) for method in ("mean", "first")]
    assert at_once[0] < at_once[1] / 2  # the mean is the more reliable
    wins = sum(gap < 0 for gap in gaps)
    assert tables.numbers()["first_wins"] == str(wins)
    assert 0 < wins < conversion.SEEDS / 2
    rotated = tables.spread("rotated", 2, conversion.MORE)
    assert all(one < other for one, other in zip(rotated, mean_6, strict=True))
    assert mean("none", 4, conversion.MORE) > before  # Adam begins anew
    found = conversion.choices()
    assert [len(found[name]) for name in ("mean", "turned", "first")] == [3, 3, 12]
    assert min(found["first"]) < min(found["mean"])
    assert max(found["first"]) > max(found["mean"])
    assert max(found["turned"]) < min(found["first"])
    kept, without = conversion.by_strong()
    assert (len(kept), len(without)) == (6, 6)
    assert max(kept) < min(found["mean"]) < max(found["mean"]) < min(without)


def test_a_quarter_turn_keeps_the_scores_and_halves_that_of_the_mean() -> None:
    query, key = torch.tensor([[1.0, 0.0], [0.0, 1.0]]), torch.tensor([[2.0, 0.0], [0.0, 2.0]])
    assert (query * key).sum(-1).tolist() == [2.0, 2.0]
    assert key.mean(0).tolist() == [1.0, 1.0]
    assert (query @ key.mean(0)).tolist() == [1.0, 1.0]
    turn = conversion.nearest_rotation(key[1:].T, key[:1].T)
    assert torch.allclose(turn @ key[1], key[0], atol=1e-6)
    assert abs((turn @ query[1]) @ key[0] - 2) < 1e-6


def test_turned_and_reordered_heads_are_the_same_attention() -> None:
    module = conversion.attention()
    x = normal(2, 5, conversion.EMBED_DIM)
    for other in (conversion.aligned(module, 2), conversion.reordered(module, (2, 0, 3, 1))):
        assert error(other(x), module(x)) <= 1e-12
        assert (
            error(
                multi_head_to_grouped_query(other, 2)(x), multi_head_to_grouped_query(module, 2)(x)
            )
            > 1e-3
        )


def test_the_numbers_are_those_of_the_model() -> None:
    numbers = tables.numbers()
    before = tables.spread("none", 4, 0)
    assert numbers["before"] == f"{statistics.mean(before):.2f}"
    assert conversion.tested(conversion.attention()) == pytest.approx(before[0], abs=1e-4)
    assert (numbers["cache_32"], numbers["cache_8"]) == ("512 KiB", "128 KiB")
    for language in ("en", "zh"):
        assert tables.repaired(language).count("\n| ") == 6


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
W'^K_j = \frac{g}{h} \sum_{i = jh/g}^{(j + 1)h/g - 1} W^K_i
\qquad
W'^V_j = \frac{g}{h} \sum_{i = jh/g}^{(j + 1)h/g - 1} W^V_i
""")
def test_the_formula_of_the_mean() -> None:
    h, g, d = 6, 2, 4
    multi = multi_head(h, kv_dim=10)
    grouped = multi_head_to_grouped_query(multi, g)
    for old, new in ((multi.k_proj, grouped.k_proj), (multi.v_proj, grouped.v_proj)):
        W, found = old.weight.view(h, d, 10), new.weight.view(g, d, 10)
        for j in range(g):
            wanted = g / h * sum(W[i] for i in range(j * h // g, (j + 1) * h // g - 1 + 1))
            assert error(found[j], wanted) <= 1e-12


@pytest.mark.formula(r"""
q_i \cdot \bar k = \frac{g}{h} \bigl( q_i \cdot k_i + \sum_{i' \ne i} q_i \cdot k_{i'} \bigr)
""")
def test_the_formula_of_a_pooled_score() -> None:
    h, g, seen = 6, 2, []

    def attend(query: Tensor, key: Tensor, *_: object, **__: object) -> Tensor:
        seen.append((query, key))
        return torch.zeros_like(query)

    multi = multi_head(h, attend=attend, rotary=RotaryEmbedding(4))
    x = normal(1, 5, 24, seed=1)
    multi(x)
    multi_head_to_grouped_query(multi, g)(x)
    (q, k), (query, k_bar) = seen
    r = h // g
    for i in range(h):
        others = [other for other in range(i // r * r, i // r * r + r) if other != i]
        score = g / h * (q[0, i] @ k[0, i].T + sum(q[0, i] @ k[0, other].T for other in others))
        assert error(query[0, i] @ k_bar[0, i // r].T, score) <= 1e-12


# --- the page's conversion of a Hugging Face model ----------------------------------------------


def test_a_model_whose_configuration_has_no_head_size_is_converted() -> None:
    """Qwen2's configuration has no head_dim and its projections have biases."""
    path = ROOT / "attn_docs/examples/heads/from_multi_head/llama.py"
    fewer_kv_heads = runpy.run_path(str(path))["fewer_kv_heads"]
    sizes = {"hidden_size": 32, "intermediate_size": 64, "vocab_size": 100, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 8}
    model = Qwen2ForCausalLM(Qwen2Config(**sizes, **heads)).eval()
    assert not hasattr(model.config, "head_dim")
    model.generation_config.update(do_sample=True, temperature=0.6, eos_token_id=[7, 9])
    with torch.no_grad():
        for layer in model.model.layers:  # equal heads in each group: the output stays
            for proj in (layer.self_attn.k_proj, layer.self_attn.v_proj):
                for rows in (proj.weight, proj.bias.normal_()):
                    groups = rows.unflatten(0, (2, 4, 4))
                    groups[:] = groups[:, :1].clone()
        smaller, tokens = fewer_kv_heads(model, 2), torch.tensor([[5, 3, 9, 3]])
        assert error(smaller(tokens).logits, model(tokens).logits) < 1e-5
    assert smaller.config.num_key_value_heads == 2
    assert not smaller.training
    assert smaller.generation_config.to_dict() == model.generation_config.to_dict()


def test_a_model_in_bfloat16_keeps_its_rotary_frequencies(tmp_path: Path) -> None:
    """Rounded to bfloat16, they would change the logits far from the start of the text."""
    path = ROOT / "attn_docs/examples/heads/from_multi_head/llama.py"
    fewer_kv_heads = runpy.run_path(str(path))["fewer_kv_heads"]
    sizes = {"hidden_size": 64, "intermediate_size": 64, "vocab_size": 100, "num_hidden_layers": 2}
    model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4))
    with torch.no_grad():
        for layer in model.model.layers:  # equal heads in each group, and scores that matter
            for proj in (layer.self_attn.q_proj, layer.self_attn.k_proj, layer.self_attn.v_proj):
                groups = proj.weight.mul_(20).unflatten(0, (2, 2, 16))
                groups[:] = groups[:, :1].clone()
    model.save_pretrained(tmp_path)
    model = LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.bfloat16).eval()
    smaller, tokens = fewer_kv_heads(model, 2), torch.randint(100, (1, 1000))
    assert (model.dtype, smaller.dtype) == (torch.bfloat16, torch.bfloat16)
    frequencies = smaller.model.rotary_emb.inv_freq
    assert frequencies.dtype == torch.float32
    assert frequencies.equal(model.model.rotary_emb.inv_freq)
    with torch.no_grad():
        wanted = model(tokens).logits
        assert wanted.float().std() > 0.1
        assert error(smaller(tokens).logits.float(), wanted.float()) < 0.02
        rounded = copy.deepcopy(smaller).to(torch.bfloat16)  # what the test must tell apart
        assert error(rounded(tokens).logits.float(), wanted.float()) > 0.1
