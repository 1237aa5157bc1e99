"""Self-attention in four steps: against implementations of its own, and its properties."""

import math
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import (
    FusedSelfAttention,
    MaskedSelfAttention,
    ScaledDotProductSelfAttention,
    SelfAttention,
    causal_mask,
    padding_mask,
)
from attn_docs.sentence import embeddings, projections
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.kit import load_exhibit

tables = page_module("self-attention/four-steps", "tables")

proof = settings(derandomize=True, deadline=None, max_examples=30)
BATCH, LENGTH, IN, OUT = 2, 5, 7, 3


def make(kind: type, dropout: float | None = None, seed: int = 0) -> nn.Module:
    """Return one of the four classes in float64, its weights random."""
    torch.manual_seed(seed)
    sizes = (IN,) if kind is ScaledDotProductSelfAttention else (IN, OUT)
    options = {} if dropout is None else {"dropout": dropout}
    return kind(*sizes, **options).double()


def matrices(module: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """Return weight and bias of query, key and value, however the module keeps them."""
    if hasattr(module, "qkv_proj"):
        return list(
            zip(module.qkv_proj.weight.chunk(3), module.qkv_proj.bias.chunk(3), strict=True)
        )
    return [(layer.weight, layer.bias) for layer in (module.q_proj, module.k_proj, module.v_proj)]


def by_loops(module: nn.Module, x: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Compute it word by word, from the formula."""
    (w_q, b_q), (w_k, b_k), (w_v, b_v) = matrices(module)
    texts = []
    for b, text in enumerate(x):
        rows = []
        for i, word in enumerate(text):
            query = w_q @ word + b_q
            pairs = [
                (torch.exp(query @ (w_k @ other + b_k) / math.sqrt(len(query))), w_v @ other + b_v)
                for j, other in enumerate(text)
                if allowed is None or allowed[b, i, j]
            ]
            rows.append(sum(e * v for e, v in pairs) / sum(e for e, _ in pairs))
        texts.append(torch.stack(rows))
    mixed = torch.stack(texts)
    return module.out_proj(mixed) if hasattr(module, "out_proj") else mixed


def masks() -> list[Tensor]:
    padding = padding_mask([LENGTH, 3])[:, None]
    return [causal_mask(LENGTH), padding, padding & causal_mask(LENGTH)]


ALL = (SelfAttention, FusedSelfAttention, MaskedSelfAttention, ScaledDotProductSelfAttention)
WITH_MASK = ALL[2:]
every_class = pytest.mark.parametrize("kind", ALL)
with_mask = pytest.mark.parametrize("kind", WITH_MASK)


def same(ours: Tensor, theirs: Tensor, module: nn.Module, x: Tensor) -> None:
    """Compare values and the gradients at the input and every parameter."""
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    direction = torch.randn_like(ours)
    wanted = [x, *module.parameters()]
    for a, b in zip(
        torch.autograd.grad(ours, wanted, direction, retain_graph=True),
        torch.autograd.grad(theirs, wanted, direction, retain_graph=True),
        strict=True,
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


# Against others


@every_class
def test_equals_loops_over_words(kind: type) -> None:
    module = make(kind).eval()
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64, requires_grad=True)
    same(module(x), by_loops(module, x), module, x)


@with_mask
@pytest.mark.parametrize("which", [0, 1, 2])
def test_equals_loops_over_words_with_a_mask(kind: type, which: int) -> None:
    module, mask = make(kind).eval(), masks()[which]
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64, requires_grad=True)
    allowed = mask.expand(BATCH, LENGTH, LENGTH)
    same(module(x, mask), by_loops(module, x, allowed), module, x)
    additive = torch.zeros(mask.shape).double().masked_fill(~mask, float("-inf"))
    torch.testing.assert_close(module(x, additive), module(x, mask), rtol=0, atol=1e-12)


@pytest.mark.parametrize("mask", [None, *masks()])
def test_equals_torch_multihead_attention_with_one_head(mask: Tensor | None) -> None:
    module = make(ScaledDotProductSelfAttention).eval()
    theirs = nn.MultiheadAttention(IN, 1, batch_first=True, dtype=torch.float64)
    theirs.in_proj_weight, theirs.in_proj_bias = module.qkv_proj.weight, module.qkv_proj.bias
    theirs.out_proj.weight, theirs.out_proj.bias = module.out_proj.weight, module.out_proj.bias
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64, requires_grad=True)
    forbidden = None if mask is None else ~mask.expand(BATCH, LENGTH, LENGTH)
    same(module(x, mask), theirs(x, x, x, attn_mask=forbidden)[0], module, x)


def gpt2(module: nn.Module, x: Tensor) -> Tensor:
    """GPT-2's layer with one head: a fused matrix (in, 3 · in), scores, a causal mask."""
    c_attn = module.qkv_proj.weight.T
    query, key, value = (x @ c_attn + module.qkv_proj.bias).split(x.size(-1), dim=2)
    scores = query @ key.transpose(-1, -2) / x.size(-1) ** 0.5
    causal = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
    scores = torch.where(causal, scores, torch.finfo(scores.dtype).min)
    return module.out_proj(torch.softmax(scores, dim=-1) @ value)


def llama(module: nn.Module, x: Tensor, mask: Tensor) -> Tensor:
    """Llama's layer without rotary positions: separate matrices, an additive mask."""
    query, key, value = (F.linear(x, w, b) for w, b in matrices(module))
    scores = torch.matmul(query, key.transpose(1, 2)) * query.size(-1) ** -0.5
    scores = scores + torch.zeros(mask.shape).double().masked_fill(~mask, -1e300)
    return module.out_proj(torch.matmul(F.softmax(scores, dim=-1), value))


def test_equals_gpt2_and_llama() -> None:
    module = make(ScaledDotProductSelfAttention).eval()
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64, requires_grad=True)
    same(module(x, causal_mask(LENGTH)), gpt2(module, x), module, x)
    for mask in masks():
        same(module(x, mask), llama(module, x, mask), module, x)


def test_float32_is_close_to_float64() -> None:
    for kind in ALL:
        module = make(kind).eval()
        x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64)
        wanted = module(x)
        torch.testing.assert_close(module.float()(x.float()), wanted.float(), rtol=0, atol=1e-6)


@proof
@given(st.permutations(range(1, 9)), st.integers(0, 99))
def test_fused_equals_separate_with_the_same_weights(sizes: list[int], seed: int) -> None:
    batch, length, input_dim, output_dim = sizes[:4]
    torch.manual_seed(seed)
    separate = SelfAttention(input_dim, output_dim).double()
    fused = FusedSelfAttention(input_dim, output_dim).double()
    layers = (separate.q_proj, separate.k_proj, separate.v_proj)
    with torch.no_grad():
        fused.qkv_proj.weight.copy_(torch.cat([layer.weight for layer in layers]))
        fused.qkv_proj.bias.copy_(torch.cat([layer.bias for layer in layers]))
    x = torch.randn(batch, length, input_dim, dtype=torch.float64)
    assert fused(x).shape == (batch, length, output_dim)
    torch.testing.assert_close(fused(x), separate(x), rtol=0, atol=1e-12)
    fused(x).square().sum().backward()
    separate(x).square().sum().backward()
    for name in ("weight", "bias"):
        gradient = torch.cat([getattr(layer, name).grad for layer in layers])
        found = getattr(fused.qkv_proj, name).grad
        torch.testing.assert_close(found, gradient, rtol=0, atol=1e-10)


def test_the_worked_example() -> None:
    """The kinds of word that fit a query share its weight; the others count as e to the power 0."""
    e = math.exp(6 / 3**0.5)
    one, two = (count * e + 5 - count for count in (1, 2))  # how many of the five words fit
    noun = [1 / one, e / one, 1 / one, 1 / one]  # definite, animal, asleep, dreaming
    wanted = torch.tensor(
        [
            noun,
            [1 / two, 1 / two, e / two, e / two],
            [1 / (3 * e + 2), *[e / (3 * e + 2)] * 3],
            noun,
            [1 / (3 * e + 2), *[e / (3 * e + 2)] * 3],
        ],
        dtype=torch.float64,
    )
    module = SelfAttention(8, 4, scale=3**-0.5).double().requires_grad_(False)
    for name, matrix in zip("qkv", projections(6.0), strict=True):
        layer = module.get_submodule(f"{name}_proj")
        layer.weight.copy_(F.pad(matrix, (0, 4 - matrix.size(1))).T)
        layer.bias.zero_()
    torch.testing.assert_close(module(embeddings().double()[None])[0], wanted, rtol=0, atol=1e-12)
    said = tables.numbers()
    found = [said[name] for name in ("it_cat", "cat_asleep", "sleeps_animal")]
    assert found == [f"{number:.2f}" for number in (e / one, e / two, e / (3 * e + 2))]


# Properties


@every_class
def test_without_positions_it_does_not_know_the_order(kind: type) -> None:
    module, order = make(kind).eval(), torch.tensor([3, 0, 4, 1, 2])
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64)
    torch.testing.assert_close(module(x[:, order]), module(x)[:, order], rtol=0, atol=1e-12)


@with_mask
@pytest.mark.parametrize("training", [False, True])
def test_causal_no_gradient_comes_from_later_words(kind: type, training: bool) -> None:
    module = make(kind, dropout=0.3).train(training)
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64, requires_grad=True)
    for i in range(LENGTH):
        output = module(x, causal_mask(LENGTH))
        (gradient,) = torch.autograd.grad(output[:, i].square().sum(), x)
        assert (gradient[:, i + 1 :] == 0).all()
        if not training:
            assert (gradient[:, : i + 1].norm(dim=-1) > 0).all()


@with_mask
def test_what_stands_in_the_padding_changes_nothing(kind: type) -> None:
    module = make(kind).eval()
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64)
    mask = padding_mask([LENGTH, 3])[:, None]
    other = x.clone()
    other[1, 3:] = 100.0
    before, after = module(x, mask), module(other, mask)
    assert torch.equal(before[0], after[0])
    assert torch.equal(before[1, :3], after[1, :3])
    alone = module(x[1:, :3])  # the same text without filling
    torch.testing.assert_close(before[1:, :3], alone, rtol=0, atol=1e-12)


def values_of_one(kind: type, dropout: float) -> nn.Module:
    """Return a module whose values are all one, so that its output is each row's sum."""
    module = make(kind, dropout)
    with torch.no_grad():
        weight, bias = matrices(module)[2]
        weight.zero_()
        bias.fill_(1.0)
        if hasattr(module, "out_proj"):
            module.out_proj.weight.copy_(torch.eye(IN))
            module.out_proj.bias.zero_()
    return module


@with_mask
def test_rows_of_weights_sum_to_one_in_eval_and_in_the_mean(kind: type) -> None:
    module = values_of_one(kind, dropout=0.25)
    x = torch.randn(1, LENGTH, IN, dtype=torch.float64)
    for mask in (None, causal_mask(LENGTH)):
        sums = module.eval()(x, mask)
        torch.testing.assert_close(sums, torch.ones_like(sums), rtol=0, atol=1e-12)
    many = module.train()(x.expand(4000, -1, -1))
    assert not torch.allclose(many[0], torch.ones_like(many[0]))
    torch.testing.assert_close(many.mean(0), torch.ones_like(many[0]), rtol=0, atol=0.04)


@with_mask
def test_dropout_keeps_the_mean_and_is_off_in_eval(kind: type) -> None:
    module = make(kind, dropout=0.25)
    x = torch.randn(1, LENGTH, IN, dtype=torch.float64)
    quiet = module.eval()(x)
    assert torch.equal(quiet, module(x))
    many = module.train()(x.expand(8000, -1, -1))
    assert not torch.equal(many[0], many[1])
    torch.testing.assert_close(many.mean(0), quiet[0], rtol=0, atol=0.05)
    assert torch.equal(make(kind, dropout=0.0).train()(x), make(kind, dropout=0.0).eval()(x))


def test_a_query_that_may_attend_to_nothing() -> None:
    mask = torch.ones(BATCH, LENGTH, LENGTH, dtype=torch.bool)
    mask[0, 2] = False
    x = torch.randn(BATCH, LENGTH, IN, dtype=torch.float64)
    assert (make(MaskedSelfAttention).eval()(x, mask)[0, 2] == 0).all()
    module = make(ScaledDotProductSelfAttention).eval()
    assert torch.equal(module(x, mask)[0, 2], module.out_proj.bias)


@every_class
def test_every_parameter_gets_a_gradient_and_the_key_bias_a_zero_one(kind: type) -> None:
    module = make(kind).eval()
    module(torch.randn(BATCH, LENGTH, IN).double()).square().sum().backward()
    for name, parameter in module.named_parameters():
        if name == "k_proj.bias":  # it adds the same to all scores of a query
            assert parameter.grad.abs().max() < 1e-12
        else:
            assert parameter.grad.abs().max() > 1e-6, name


# Errors


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: SelfAttention(0, 3), "input_dim must be 1 or more; got 0"),
        (lambda: FusedSelfAttention(3, 0), "output_dim must be 1 or more; got 0"),
        (lambda: SelfAttention(3, 2.0), "output_dim must be an int; got 2.0"),
        (lambda: FusedSelfAttention(0, 3), "input_dim must be 1 or more; got 0"),
        (lambda: MaskedSelfAttention(0, 3), "input_dim must be 1 or more; got 0"),
        (lambda: MaskedSelfAttention(3, 0), "output_dim must be 1 or more; got 0"),
        (
            lambda: MaskedSelfAttention(3, 2, 1.0),
            "dropout must be 0 or more and below 1; got 1.0",
        ),
        (lambda: ScaledDotProductSelfAttention(-1), "embed_dim must be 1 or more; got -1"),
        (lambda: ScaledDotProductSelfAttention(4, "a"), "dropout must be an int or a float; got"),
    ],
)
def test_wrong_arguments_are_named(build, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        build()


@every_class
def test_wrong_inputs_are_named(kind: type) -> None:
    module = make(kind)
    what = "embed_dim" if kind is ScaledDotProductSelfAttention else "input_dim"
    with pytest.raises(ValueError, match=f"^x must have {what} 7 as its last size; got 6$"):
        module(torch.zeros(2, 5, 6).double())
    axes = rf"^x must have 3 axes \(batch, length, {what}\)"
    with pytest.raises(ValueError, match=rf"{axes}; got shape \(5, 7\)$"):
        module(torch.zeros(5, 7).double())
    with pytest.raises(ValueError, match=rf"{axes}; got shape \(1, 2, 5, 7\)$"):
        module(torch.zeros(1, 2, 5, 7).double())
    with pytest.raises(TypeError, match=r"^x must have the weight's dtype torch.float64; got "):
        module(torch.zeros(2, 5, 7))


@with_mask
def test_wrong_masks_are_named(kind: type) -> None:
    module, x = make(kind), torch.zeros(BATCH, LENGTH, IN).double()
    for mask in (torch.ones(BATCH, 1, 1, LENGTH).bool(), torch.ones(LENGTH).bool()):
        with pytest.raises(ValueError, match=r"^attn_mask must have 2 to 3 axes, each 1 or that"):
            module(x, mask)
    with pytest.raises(TypeError, match=r"^attn_mask must be torch.bool \(True attends\) or add"):
        module(x, torch.ones(LENGTH, LENGTH, dtype=torch.int64))


# What the chapter counts


@every_class
def test_the_table_counts_what_is_there(kind: type) -> None:
    module, output = make(kind).float().eval(), kind is ScaledDotProductSelfAttention
    d = IN if output else OUT
    assert tables.parameters(module) == (4 * d * d + 4 * d if output else 3 * IN * d + 3 * d)
    # the counter knows no number for the processor's fast kernel
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(torch.randn(1, LENGTH, IN))
    wanted = tables.operations(LENGTH, IN, d, output=output)
    if output:
        assert wanted == 8 * LENGTH * d * d + 4 * LENGTH**2 * d
    assert counter.get_total_flops() == wanted


# The exhibits

EXHIBITS = ROOT / "attn_docs" / "exhibits" / "self_attention"
MENDED = {
    "chunks_in_wrong_order": ("query, value, key = projected", "query, key, value = projected"),
    "dropout_in_eval": (
        "dropout_p = self.dropout",
        "dropout_p = self.dropout if self.training else 0.0",
    ),
    "dropout_on_scores": (
        "F.softmax(F.dropout(scores, dropout_p), dim=-1)",
        "F.dropout(F.softmax(scores, dim=-1), dropout_p)",
    ),
    "scaled_by_input_dim": ("math.sqrt(x.size(-1))", "math.sqrt(query.size(-1))"),
    "value_from_k_proj": ("value = self.k_proj(x)", "value = self.v_proj(x)"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"self_attention/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", sorted(set(MENDED) - {"dropout_on_scores"}))
def test_the_shape_is_right_the_numbers_are_not_and_mending_the_line_mends_them(
    name: str,
) -> None:
    right = make(SelfAttention if name == "value_from_k_proj" else FusedSelfAttention)
    x = 3 * torch.randn(BATCH, LENGTH, IN, dtype=torch.float64)
    expected = right(x)
    options = {"dropout": 0.5} if name == "dropout_in_eval" else {}
    for mended in (False, True):
        module = load(name, mended=mended).SelfAttention(IN, OUT, **options)
        module.double().eval().load_state_dict(right.state_dict())
        output = module(x)
        assert output.shape == expected.shape
        if mended:
            torch.testing.assert_close(output, expected, rtol=0, atol=1e-12)
        else:
            assert not torch.allclose(output, expected, atol=0.01)


def test_dropout_on_scores() -> None:
    torch.manual_seed(0)
    query, key = (2 * torch.randn(1, LENGTH, OUT).double() for _ in range(2))
    value = torch.eye(LENGTH).double()[None]  # so that the output is the weights
    expected = F.scaled_dot_product_attention(query, key, value)
    wrong, right = (load("dropout_on_scores", mended=mended).attention for mended in (False, True))
    many = [torch.cat([f(query, key, value, 0.5) for _ in range(3000)]) for f in (wrong, right)]
    assert many[0].shape == many[1].shape == (3000, LENGTH, LENGTH)
    assert (many[0] > 0).all()  # nothing was dropped, and every row still sums to one
    torch.testing.assert_close(many[0].sum(-1), torch.ones(3000, LENGTH).double())
    assert (many[0].mean(0) - expected[0]).abs().max() > 0.05
    dropped = many[1] == 0
    assert 0.45 < dropped.double().mean() < 0.55
    kept = (2 * expected).expand_as(dropped)[~dropped]
    torch.testing.assert_close(many[1][~dropped], kept, rtol=0, atol=1e-12)
    mask = causal_mask(LENGTH)
    assert wrong(query, key, value, 0.5, mask).isnan().any()
    assert right(query, key, value, 0.5, mask).isfinite().all()


def test_value_from_k_proj_leaves_a_layer_without_gradient() -> None:
    exhibit = load("value_from_k_proj", mended=False)
    module = exhibit.SelfAttention(IN, OUT)
    module(torch.randn(1, LENGTH, IN)).sum().backward()
    left = [name for name, parameter in module.named_parameters() if parameter.grad is None]
    assert left == ["v_proj.weight", "v_proj.bias"]


@pytest.mark.formula(
    r"""Y = \operatorname{dropout}\!\left(
    \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}} + M\right)\right) V \, W_O + b_O
    \qquad
    \bigl[\, Q \;\; K \;\; V \,\bigr] = X W_{QKV} + b_{QKV}"""
)
@pytest.mark.parametrize("p", [0.0, 0.4])
def test_the_formula_is_the_complete_layer(p: float) -> None:
    n, d = LENGTH, IN
    module = make(ScaledDotProductSelfAttention, dropout=p).train()
    weights = [parameter.detach().numpy().T for parameter in module.parameters()]
    W_QKV, b_QKV, W_O, b_O = weights
    x = torch.randn(1, n, d, dtype=torch.float64)
    torch.manual_seed(3)
    found = module(x, causal_mask(n))[0].detach().numpy()
    torch.manual_seed(3)  # the same weights are dropped
    kept = torch.dropout(torch.ones(1, 1, n, n, dtype=torch.float64), p, train=True).numpy()

    def softmax(s: np.ndarray) -> np.ndarray:
        return np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)

    def dropout(w: np.ndarray) -> np.ndarray:
        return w * kept[0, 0]

    X = x[0].numpy()
    M = np.where(np.tri(n) == 1, 0, -np.inf)
    Q, K, V = np.split(X @ W_QKV + b_QKV, 3, axis=1)
    Y = dropout(softmax(Q @ K.T / np.sqrt(d) + M)) @ V @ W_O + b_O
    assert (kept == 0).any() == (p > 0)
    np.testing.assert_allclose(found, Y, rtol=0, atol=1e-12)
