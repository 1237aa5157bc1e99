"""Attention in parts against attention over all keys: values, gradients, extremes, errors."""

import itertools
import math
import random
from functools import partial
from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention as torch_attention

from attn_docs import (
    attention_with_lse,
    merge_attention,
    scaled_dot_product_attention,
    split_kv_attention,
)
from attn_docs.testing import check_attention
from tests.kit import error, load_exhibit, normal

INF = math.inf
TOLERANCE = 1e-12


def calls(count: int) -> list[tuple[tuple[Tensor, ...], dict]]:
    """Return random calls, all sizes different: shapes, masks, causality, scales."""
    chance, found = random.Random(0), []  # noqa: S311 - for tests
    for seed in range(count):
        b, h, n, m, d, e = chance.sample(range(1, 12), 6)
        shape = chance.choice([(), (b,), (b, h)])
        tensors = (
            normal(*shape, n, d, seed=seed),
            normal(*shape, m, d, seed=seed + 1),
            normal(*shape, m, e, seed=seed + 2),
        )
        options: dict = {"is_causal": chance.random() < 0.4}
        kind = chance.choice(["none", "bool", "float", "keys"])
        if kind == "bool":  # some rows may be left with nothing
            options["attn_mask"] = normal(n, m, seed=seed + 3) > 0
        elif kind == "float":
            options["attn_mask"] = normal(*shape, n, m, seed=seed + 3)
        elif kind == "keys":
            options["attn_mask"] = normal(n, 1, seed=seed + 3) > -1
        if chance.random() < 0.3:
            options["scale"] = chance.uniform(0.1, 2)
        found.append((tensors, options))
    return found


def formula(query: Tensor, key: Tensor, value: Tensor, options: dict) -> tuple[Tensor, Tensor]:
    """Return PyTorch's output (MATH), zeros for an empty row, and the log of the summed exps."""
    n, m = query.size(-2), key.size(-2)
    bias = torch.zeros(n, m, dtype=query.dtype)
    mask = options.get("attn_mask")
    if mask is not None:
        bias = bias.masked_fill(~mask, -INF) if mask.dtype == torch.bool else bias + mask
    if options["is_causal"]:
        bias = bias.masked_fill(~torch.ones(n, m, dtype=torch.bool).tril(), -INF)
    with sdpa_kernel(SDPBackend.MATH):
        output = torch_attention(query, key, value, bias, scale=options.get("scale"))
    scores = query @ key.mT * options.get("scale", query.size(-1) ** -0.5) + bias
    return output.nan_to_num(0.0), scores.exp().sum(-1).log()


def run(call, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Return a call's output and its gradients under a random loss."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    output = call(*leaves)
    grads = torch.autograd.grad((output * normal(*output.shape, seed=9)).sum(), leaves)
    return output.detach(), *grads


def parts_of(query: Tensor, key: Tensor, value: Tensor, options: dict, sizes: list[int]):
    """Attend to each part alone, with its columns of one whole mask."""
    n, m = query.size(-2), key.size(-2)
    allowed = torch.ones(n, m, dtype=torch.bool)
    if options["is_causal"]:
        allowed = allowed.tril()
    bias = torch.zeros(n, m, dtype=query.dtype).masked_fill(~allowed, -INF)
    mask = options.get("attn_mask")
    if mask is not None:
        bias = bias.masked_fill(~mask, -INF) if mask.dtype == torch.bool else bias + mask
    scale = options.get("scale")
    pieces = zip(
        key.split(sizes, -2),
        value.split(sizes, -2),
        bias.expand(*query.shape[:-2], n, m).split(sizes, -1),
        strict=True,
    )
    return [attention_with_lse(query, k, v, its, scale=scale) for k, v, its in pieces]


# --- agreement -------------------------------------------------------------------------------


@pytest.mark.formula(
    r"O_p = \operatorname{softmax}(S_p)\, V_p \qquad \operatorname{lse}_{p,i} = \log \sum_j"
    r" \exp(s_{ij}) \qquad S_p = \frac{Q K_p^\top}{\sqrt{d}} + M_p"
)
def test_output_and_log_sum_exp_agree_with_the_formula() -> None:
    for tensors, options in calls(100):
        wanted, wanted_lse = formula(*tensors, options)
        output, lse = attention_with_lse(*tensors, **options)
        assert error(output, wanted) <= TOLERANCE
        assert torch.allclose(lse, wanted_lse, rtol=0, atol=TOLERANCE)
        grads = run(lambda *t, o=options: attention_with_lse(*t, **o)[0], tensors)[1:]
        others = run(lambda *t, o=options: scaled_dot_product_attention(*t, **o), tensors)[1:]
        assert all(error(g, o) <= TOLERANCE for g, o in zip(grads, others, strict=True))


def test_any_number_of_splits_gives_the_whole_values_and_gradients() -> None:
    for index, (tensors, options) in enumerate(calls(200)):
        splits = 1 + index % 7  # often more than there are keys
        found = run(lambda *t, o=options, s=splits: split_kv_attention(*t, s, **o), tensors)
        wanted = run(lambda *t, o=options: scaled_dot_product_attention(*t, **o), tensors)
        assert all(error(f, w) <= TOLERANCE for f, w in zip(found, wanted, strict=True))


@pytest.mark.formula(
    r"O = \sum_p w_p\, O_p \qquad w = \operatorname{softmax}_p(\operatorname{lse}_p) \qquad"
    r" \operatorname{lse} = \log \sum_p \exp(\operatorname{lse}_p)"
)
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 5), min_size=1, max_size=5).filter(sum),
    st.randoms(use_true_random=False),
)
def test_parts_of_any_sizes_merge_in_any_order_and_grouping(seed, sizes, chance) -> None:
    m = sum(sizes)
    query, key, value = (normal(2, r, 3, seed=seed + r) for r in (4, m, m))
    options = {"is_causal": chance.random() < 0.5}
    if chance.random() < 0.5:
        options["attn_mask"] = normal(4, m, seed=seed) > 0
    wanted = attention_with_lse(query, key, value, **options)
    parts = parts_of(query, key, value, options, sizes)
    chance.shuffle(parts)  # commutative
    together = merge_attention(*zip(*parts, strict=True))
    while len(parts) > 1:  # associative: any two neighbours, until one is left
        i = chance.randrange(len(parts) - 1)
        parts[i : i + 2] = [merge_attention(*zip(*parts[i : i + 2], strict=True))]
    for output, lse in (together, parts[0]):
        assert error(output, wanted[0]) <= TOLERANCE
        assert torch.allclose(lse, wanted[1], rtol=0, atol=TOLERANCE)


def test_gradients_flow_through_outputs_and_log_sum_exps() -> None:
    tensors = [normal(2, 3, 4, seed=s) for s in range(3)] + [
        normal(2, 3, seed=s) for s in (5, 6, 7)
    ]
    leaves = [x.requires_grad_() for x in tensors]
    assert torch.autograd.gradcheck(lambda *x: merge_attention(x[:3], x[3:]), leaves)
    inputs = [normal(2, r, 3, seed=r).requires_grad_() for r in (3, 5, 5)]
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1] = False  # a row with nothing: its log-sum-exp is −∞ and has gradient zero
    assert torch.autograd.gradcheck(
        lambda *x: [y[:, ::2] for y in attention_with_lse(*x, mask)], inputs
    )


def test_pytorchs_own_kernel_gives_parts_that_merge() -> None:
    query, key, value = (normal(2, 3, r, 8, seed=r) for r in (4, 9, 9))
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    parts = [kernel(query, k, v) for k, v in zip(key.split(4, 2), value.split(4, 2), strict=True)]
    output, _ = merge_attention([p[0] for p in parts], [p[1] for p in parts])
    assert error(output, torch_attention(query, key, value)) <= TOLERANCE


def test_the_log_sum_exp_of_pytorchs_kernel_carries_no_gradient() -> None:
    query, key, value = (normal(2, 3, r, 8, seed=r).requires_grad_() for r in (4, 9, 9))
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    pairs = list(zip(key.split(4, 2), value.split(4, 2), strict=True))
    wanted = torch.autograd.grad(torch_attention(query, key, value).square().sum(), (query, key))
    for attend, right in ((kernel, False), (attention_with_lse, True)):
        parts = [attend(query, k, v) for k, v in pairs]
        assert parts[0][1].requires_grad == right
        output, _ = merge_attention([p[0] for p in parts], [p[1] for p in parts])
        found = torch.autograd.grad(output.square().sum(), (query, key))
        errors = [error(f, w) for f, w in zip(found, wanted, strict=True)]
        assert all((e <= 1e-10) == right for e in errors)


def test_plus_infinity_is_nan_and_harmless_once_it_is_minus_infinity() -> None:
    """FlashAttention-2 returns it for a query without keys; the page says what to write."""
    outputs, lse = [torch.ones(1, 2), torch.zeros(1, 2)], torch.tensor([torch.inf])
    assert merge_attention(outputs, [torch.zeros(1), lse])[0].isnan().all()
    lse = lse.masked_fill(lse == torch.inf, -torch.inf)
    output, merged = merge_attention(outputs, [torch.zeros(1), lse])
    assert output.equal(outputs[0])
    assert merged.equal(torch.zeros(1))


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_what_pytorch_returns_for_a_query_without_keys() -> None:
    """FlexAttention's log-sum-exp is natural and may be merged; that of the CPU's kernel is 0."""
    query, key, value = (normal(1, 1, 128, 8, seed=s).float() for s in range(3))
    block_mask = create_block_mask(lambda _b, _h, i, j: j < i, 1, 1, 128, 128, device="cpu")
    asked = AuxRequest(lse=True)
    output, aux = flex_attention(query, key, value, block_mask=block_mask, return_aux=asked)
    below = torch.ones(128, 128, dtype=torch.bool).tril(-1)  # query 0 has no key
    wanted, wanted_lse = attention_with_lse(query, key, value, below)
    assert torch.allclose(output, wanted, atol=1e-6)
    assert torch.allclose(aux.lse, wanted_lse, atol=1e-5)
    assert aux.lse[0, 0, 0] == -INF
    kernel = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    added = torch.zeros(128, 128).masked_fill(~below, -INF)
    assert kernel(query, key, value, attn_mask=added)[1][0, 0, 0] == 0


# --- extremes --------------------------------------------------------------------------------


def test_empty_parts_have_no_influence_whatever_they_hold() -> None:
    output, lse = normal(2, 3, 4), normal(2, 3)
    nothing = torch.full_like(lse, -INF)
    for held in (0.0, INF, math.nan):
        leaf = torch.full_like(output, held).requires_grad_()
        mine = output.clone().requires_grad_()
        found, total = merge_attention([leaf, mine], [nothing, lse])
        assert error(found, output) == 0
        assert error(total, lse) == 0
        found.sum().backward()
        assert leaf.grad.abs().max() == 0
        assert error(mine.grad, torch.ones_like(output)) == 0


def test_all_parts_empty_gives_zeros_and_minus_infinity_with_finite_gradients() -> None:
    outputs = [normal(2, 3, seed=s).requires_grad_() for s in (0, 1)]
    lses = [torch.full((2,), -INF, dtype=torch.float64).requires_grad_() for _ in range(2)]
    output, lse = merge_attention(outputs, lses)
    assert output.abs().max() == 0
    assert (lse == -INF).all()
    (output.sum() + lse.masked_fill(lse == -INF, 0).sum()).backward()
    assert all(x.grad.isfinite().all() for x in (*outputs, *lses))


def test_no_keys_at_all() -> None:
    query, key, value = normal(3, 4), normal(0, 4), normal(0, 5)
    output, lse = attention_with_lse(query, key, value)
    assert output.shape == (3, 5)
    assert output.abs().max() == 0
    assert (lse == -INF).all()
    assert split_kv_attention(query, key, value, 2).abs().max() == 0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_log_sum_exps_far_apart_do_not_overflow(dtype: torch.dtype) -> None:
    outputs = [torch.full((1, 1), x, dtype=dtype) for x in (2.0, 6.0)]
    for far in (100.0, 1e4, -1e4):
        lses = [torch.tensor([0.0]), torch.tensor([far])]
        output, lse = merge_attention(outputs, lses)
        assert output.item() == (6 if far > 0 else 2)
        assert lse.item() == max(far, 0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_errs_at_most_twice_as_much_as_pytorch(dtype: torch.dtype) -> None:
    query, key, value = (normal(2, 3, r, 16, seed=r) for r in (40, 70, 70))
    low = [x.to(dtype) for x in (query, key, value)]
    wanted = torch_attention(*(x.double() for x in low))
    theirs = error(torch_attention(*low).double(), wanted)
    found = split_kv_attention(*low, 5)
    assert found.dtype == dtype
    assert error(found.double(), wanted) <= 2 * theirs
    assert attention_with_lse(*low)[1].dtype == torch.float32


def test_non_contiguous_inputs_and_a_shared_head() -> None:
    query = normal(2, 5, 3, 4).transpose(1, 2)
    key, value = normal(2, 7, 1, 4).transpose(1, 2), normal(2, 7, 1, 6).transpose(1, 2)
    wanted = scaled_dot_product_attention(query, key, value)
    assert error(split_kv_attention(query, key, value, 3), wanted) <= TOLERANCE
    assert attention_with_lse(query, key, value)[1].shape == (2, 3, 5)


@pytest.mark.parametrize("mask", [None, (5, 7), (6, 5, 7), (2, 1, 5, 7), (2, 6, 1, 7)], ids=str)
@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_grouped_heads_values_and_gradients(groups: int, mask: tuple[int, ...] | None) -> None:
    tensors = normal(2, 6, 5, 3), normal(2, groups, 7, 3, seed=1), normal(2, groups, 7, 4, seed=2)
    options: dict = {"is_causal": True, "enable_gqa": True}
    if mask is not None:
        options["attn_mask"] = normal(*mask, seed=3) > -1
    wanted = run(lambda *t: scaled_dot_product_attention(*t, **options), tensors)
    for found in (
        run(lambda *t: split_kv_attention(*t, 3, **options), tensors),
        run(lambda *t: attention_with_lse(*t, **options)[0], tensors),
    ):
        assert all(error(f, w) <= TOLERANCE for f, w in zip(found, wanted, strict=True))
    key, value = (x.repeat_interleave(6 // groups, 1) for x in tensors[1:])
    del options["enable_gqa"]
    lse = attention_with_lse(tensors[0], key, value, **options)[1]
    assert lse.equal(attention_with_lse(*tensors, **options, enable_gqa=True)[1])


def test_the_checker_passes_it_with_any_number_of_splits() -> None:
    def attend(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
        options = {"scale": scale, "enable_gqa": enable_gqa}
        return split_kv_attention(query, key, value, 3, attn_mask, is_causal, **options)

    assert check_attention(attend).verdict == "passed"


# --- errors ----------------------------------------------------------------------------------

X, L = torch.zeros(2, 3, 4), torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (partial(merge_attention, [], []), ValueError,
         "the number of outputs must be 1 or more; got 0"),
        (partial(merge_attention, [X, X], [L]), ValueError,
         "lses must be as many as outputs, 2; got 1"),
        (partial(merge_attention, [X, X[:1]], [L, L]), ValueError,
         "each output must have the first one's shape (2, 3, 4); got (1, 3, 4)"),
        (partial(merge_attention, [X], [L[:1]]), ValueError,
         "each lse must have an output's shape without its last axis, (2, 3); got (1, 3)"),
        (partial(merge_attention, [X.int()], [L]), TypeError, None),
        (partial(merge_attention, [X], [L.int()]), TypeError, None),
        (partial(split_kv_attention, X, X, X, 0), ValueError, "splits must be 1 or more; got 0"),
        (partial(split_kv_attention, X, X, X, 2.0), TypeError, "splits must be an int; got 2.0"),
        (partial(split_kv_attention, X, X, X, 2, scale=INF), ValueError,
         "scale must be finite; got inf"),
        (partial(split_kv_attention, X, X, X[:, :2], 2), ValueError,
         "value must have one row for each of the 3 keys; got 2"),
        (partial(attention_with_lse, X, X[..., :3], X), ValueError,
         "key must have query's last size 4; got 3"),
        (partial(attention_with_lse, X, X, X[:, :2]), ValueError,
         "value must have one row for each of the 3 keys; got 2"),
        (partial(attention_with_lse, X, X, X, X[0, :2]), ValueError, None),
        (partial(attention_with_lse, X, X, X, None, 1), TypeError,
         "is_causal must be True or False; got 1"),
    ],
)  # fmt: skip
def test_errors_name_argument_rule_and_value(call, kind, message) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert message is None or str(caught.value) == message


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "merge_averages": ("torch.full_like(lses, 1 / len(lses))", "lses.softmax(0)"),
    "merge_adds_lse": ("lse + its_lse", "lse.logaddexp(its_lse)"),
    "merge_overflows": (
        "torch.log(1 + torch.exp(its_lse - lse))",
        "-torch.nn.functional.logsigmoid(lse - its_lse)",
    ),
    "merge_base_two": ("= lses", "= natural"),
    "ring_local_causal": ("column <= row", "column + owner * n <= row + rank * n"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"kernels/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", ["merge_averages", "merge_adds_lse", "merge_overflows"])
def test_a_merge_that_is_wrong_in_one_line(name: str) -> None:
    wrong, right = (load(name, mended=mended).merge for mended in (False, True))
    query, key, value = (normal(2, r, 3, seed=r).float() for r in (4, 9, 9))
    key[:, 6:] *= 300 if name == "merge_overflows" else 1
    wanted = attention_with_lse(query, key, value)
    pieces = zip(key.split(3, -2), value.split(3, -2), strict=True)
    parts = [attention_with_lse(query, k, v) for k, v in pieces]
    for found, good in ((wrong(*zip(*parts, strict=True)), False),
                        (right(*zip(*parts, strict=True)), True)):  # fmt: skip
        assert found[0].shape == wanted[0].shape
        close = [torch.allclose(f, w, atol=1e-5) for f, w in zip(found, wanted, strict=True)]
        assert all(close) == good
    assert wrong(*zip(*parts[:1], strict=True))[0].equal(parts[0][0])  # one part: nothing to see


def test_merge_base_two() -> None:
    query, key, value = (normal(2, r, 3, seed=r) for r in (4, 9, 9))
    (first, its), (second, other) = (
        attention_with_lse(query, k, v)
        for k, v in zip(key.split(5, 1), value.split(5, 1), strict=True)
    )
    wanted = scaled_dot_product_attention(query, key, value)
    for mended in (False, True):
        merge = load("merge_base_two", mended=mended).merge
        found, lse = merge([first, second], [its / math.log(2), other], [2, math.e])
        assert (error(found, wanted) <= TOLERANCE) == mended
        assert error(lse, attention_with_lse(query, key, value)[1]) <= TOLERANCE


def test_ring_local_causal_sees_the_future_and_misses_the_past() -> None:
    whole = [normal(2, 12, r, seed=r) for r in (3, 4, 5)]
    whole[1] = normal(2, 12, 3, seed=4)
    wanted = scaled_dot_product_attention(*whole, is_causal=True)
    parts = [x.split(3, -2) for x in whole]
    for mended in (False, True):
        found = torch.cat(load("ring_local_causal", mended=mended).ring(*parts), -2)
        assert (error(found, wanted) <= TOLERANCE) == mended
    later = [[*x[:-1], x[-1] + 1] for x in parts]  # the last part alone changes
    ring = load("ring_local_causal", mended=False).ring
    assert error(ring(*parts)[0], ring(parts[0], *later[1:])[0]) > 1e-3


def test_every_exhibit_of_the_chapter_is_mended_here() -> None:
    assert all(
        load(name, mended=mended) for name, mended in itertools.product(MENDED, (False, True))
    )
