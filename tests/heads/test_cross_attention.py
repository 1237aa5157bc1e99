"""Cross-attention: equal to loops and to PyTorch, blind to padding and to the context's order."""

import itertools
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attn_docs import CrossAttention, MultiHeadAttention, SelfAttention, padding_mask
from tests.kit import load_exhibit, normal

proof = settings(derandomize=True, deadline=None, max_examples=25)
BATCH, N, M, INPUT, CONTEXT, SIZE = 2, 3, 5, 6, 8, 4
LENGTHS = [5, 2]


def layer(
    input_dim: int = INPUT, context_dim: int = CONTEXT, output_dim: int = SIZE
) -> CrossAttention:
    torch.manual_seed(1)
    return CrossAttention(input_dim, context_dim, output_dim).double()


def inputs() -> tuple[Tensor, Tensor]:
    return normal(BATCH, N, INPUT).requires_grad_(), normal(
        BATCH, M, CONTEXT, seed=1
    ).requires_grad_()


def by_loops(attend: CrossAttention, x: Tensor, context: Tensor, lengths: list[int]) -> Tensor:
    """One query at a time, on the context with its padding cut off."""
    rows = []
    for b, length in enumerate(lengths):
        for i in range(x.size(1)):
            query = attend.q_proj.weight @ x[b, i] + attend.q_proj.bias
            scores, values = [], []
            for j in range(length):
                key = attend.k_proj.weight @ context[b, j] + attend.k_proj.bias
                scores.append((query * key).sum() / query.numel() ** 0.5)
                values.append(attend.v_proj.weight @ context[b, j] + attend.v_proj.bias)
            shares = torch.stack(scores).exp()
            terms = [s * v for s, v in zip(shares / shares.sum(), values, strict=True)]
            rows.append(sum(terms, torch.zeros(query.numel(), dtype=x.dtype)))
    return torch.stack(rows).view(*x.shape[:2], -1)


def same_with_gradients(mine: Tensor, theirs: Tensor, leaves: list[Tensor], atol: float) -> None:
    torch.testing.assert_close(mine, theirs, rtol=0, atol=atol)
    for leaf in leaves:
        found, wanted = (
            torch.autograd.grad(out.sin().sum(), leaf, retain_graph=True)[0]
            for out in (mine, theirs)
        )
        torch.testing.assert_close(found, wanted, rtol=0, atol=atol)


@pytest.mark.parametrize("lengths", [[M, M], LENGTHS])
def test_equals_loops_over_queries_and_keys(lengths: list[int]) -> None:
    attend, (x, context) = layer(), inputs()
    mask = None if lengths == [M, M] else padding_mask(lengths, M)[:, None]
    leaves = [x, context, *attend.parameters()]
    same_with_gradients(
        attend(x, context, mask), by_loops(attend, x, context, lengths), leaves, 1e-12
    )


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_equals_pytorchs_module_with_kdim_and_vdim(dtype: torch.dtype, atol: float) -> None:
    attend = layer(output_dim=INPUT).to(dtype)
    theirs = torch.nn.MultiheadAttention(
        INPUT, 1, kdim=CONTEXT, vdim=CONTEXT, batch_first=True, dtype=dtype
    )
    with torch.no_grad():
        theirs.q_proj_weight.copy_(attend.q_proj.weight)
        theirs.k_proj_weight.copy_(attend.k_proj.weight)
        theirs.v_proj_weight.copy_(attend.v_proj.weight)
        biases = [attend.q_proj.bias, attend.k_proj.bias, attend.v_proj.bias]
        theirs.in_proj_bias.copy_(torch.cat(biases))
        theirs.out_proj.weight.copy_(torch.eye(INPUT))
    x = normal(BATCH, N, INPUT, dtype=dtype).requires_grad_()
    context = normal(BATCH, M, CONTEXT, seed=1, dtype=dtype).requires_grad_()
    mask = padding_mask(LENGTHS)
    wanted, _ = theirs(x, context, context, key_padding_mask=~mask)
    same_with_gradients(attend(x, context, mask[:, None]), wanted, [x, context], atol)


def test_additive_mask_equals_pytorchs_function() -> None:
    attend, (x, context) = layer(), inputs()
    mask = normal(BATCH, N, M, seed=2)
    wanted = F.scaled_dot_product_attention(
        attend.q_proj(x), attend.k_proj(context), attend.v_proj(context), mask
    )
    same_with_gradients(attend(x, context, mask), wanted, [x, context], 1e-12)


def test_multi_head_attention_with_a_context_is_the_same_with_one_head() -> None:
    attend, (x, context) = layer(), inputs()
    heads = MultiHeadAttention(INPUT, 1, kv_dim=CONTEXT, head_dim=SIZE).double()
    left = heads.load_state_dict(attend.state_dict(), strict=False)
    assert left.missing_keys == ["out_proj.weight", "out_proj.bias"]
    mask = padding_mask(LENGTHS)[:, None]
    wanted = heads.out_proj(attend(x, context, mask))
    same_with_gradients(heads(x, context, attn_mask=mask), wanted, [x, context], 1e-12)


def test_each_head_of_multi_head_attention_is_a_cross_attention() -> None:
    x, context = inputs()
    heads = MultiHeadAttention(INPUT, 3, kv_dim=CONTEXT).double()
    mask = padding_mask(LENGTHS)[:, None]
    single = []
    for head in range(3):
        rows = slice(2 * head, 2 * head + 2)
        one = CrossAttention(INPUT, CONTEXT, 2).double()
        with torch.no_grad():
            for name in ("q_proj", "k_proj", "v_proj"):
                getattr(one, name).weight.copy_(getattr(heads, name).weight[rows])
                getattr(one, name).bias.copy_(getattr(heads, name).bias[rows])
        single.append(one(x, context, mask))
    wanted = heads.out_proj(torch.cat(single, dim=-1))
    same_with_gradients(heads(x, context, attn_mask=mask), wanted, [x, context], 1e-12)


def test_is_self_attention_where_the_context_is_x() -> None:
    torch.manual_seed(1)
    itself = SelfAttention(INPUT, SIZE).double()
    attend = layer(context_dim=INPUT)
    attend.load_state_dict(itself.state_dict())
    x = normal(BATCH, M, INPUT).requires_grad_()
    same_with_gradients(attend(x, x), itself(x), [x], 1e-12)


@pytest.mark.parametrize("filling", [1e4, -1e4])
def test_what_stands_in_the_contexts_padding_changes_nothing(filling: float) -> None:
    attend, (x, context) = layer(), inputs()
    is_word = padding_mask(LENGTHS)
    other = context.masked_fill(~is_word[:, :, None], filling)
    mask = is_word[:, None]
    torch.testing.assert_close(attend(x, other, mask), attend(x, context, mask), rtol=0, atol=1e-12)


def test_no_gradient_reaches_the_contexts_padding() -> None:
    attend, (x, context) = layer(), inputs()
    is_word = padding_mask(LENGTHS)
    attend(x, context, is_word[:, None]).sin().sum().backward()
    assert context.grad[~is_word].abs().max() == 0
    assert (context.grad[is_word].abs().amax(-1) > 0).all()


@proof
@given(st.permutations(range(M)), st.permutations(range(N)))
def test_order_of_the_context_is_ignored_and_that_of_x_is_kept(
    context_order: list[int], x_order: list[int]
) -> None:
    attend, (x, context) = layer(), inputs()
    is_word = padding_mask(LENGTHS)
    output = attend(x, context, is_word[:, None])
    moved = attend(x[:, x_order], context[:, context_order], is_word[:, context_order][:, None])
    torch.testing.assert_close(moved, output[:, x_order], rtol=0, atol=1e-12)


@proof
@given(*[st.integers(1, 5)] * 6)
def test_any_sizes_give_one_row_for_each_row_of_x(
    batch: int, n: int, m: int, input_dim: int, context_dim: int, output_dim: int
) -> None:
    attend = layer(input_dim, context_dim, output_dim)
    x, context = normal(batch, n, input_dim), normal(batch, m, context_dim, seed=1)
    output = attend(x, context)
    assert output.shape == (batch, n, output_dim)
    wanted = by_loops(attend, x, context, [m] * batch)
    torch.testing.assert_close(output, wanted, rtol=0, atol=1e-12)


def test_word_by_word_with_stored_keys_and_values_equals_all_at_once() -> None:
    attend, (x, context) = layer(), inputs()
    mask = padding_mask(LENGTHS)[:, None]
    key, value = attend.k_proj(context), attend.v_proj(context)
    words = [
        F.scaled_dot_product_attention(attend.q_proj(x[:, t : t + 1]), key, value, mask)
        for t in range(N)
    ]
    same_with_gradients(torch.cat(words, dim=1), attend(x, context, mask), [x, context], 1e-12)


def test_empty_context_gives_zeros_and_finite_gradients() -> None:
    attend, (x, context) = layer(), inputs()
    output = attend(x, context, padding_mask([M, 0])[:, None])
    assert output[1].abs().max() == 0
    output.sum().backward()
    assert x.grad.isfinite().all()
    assert context.grad.isfinite().all()


def test_dropout_is_on_the_weights_and_silent_in_eval() -> None:
    torch.manual_seed(1)
    attend = CrossAttention(INPUT, CONTEXT, SIZE, dropout=0.5).double()
    x, context = (leaf.detach() for leaf in inputs())
    query, key = attend.q_proj(x), attend.k_proj(context)
    weights = torch.softmax(query @ key.mT / SIZE**0.5, dim=-1)
    torch.manual_seed(2)
    output = attend(x, context)
    torch.manual_seed(2)
    wanted = torch.dropout(weights, 0.5, train=True) @ attend.v_proj(context)
    torch.testing.assert_close(output, wanted, rtol=0, atol=1e-12)
    attend.eval()
    torch.testing.assert_close(
        attend(x, context), weights @ attend.v_proj(context), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: CrossAttention(0, 8, 4), ValueError, "input_dim must be 1 or more; got 0"),
        (lambda: CrossAttention(6, -1, 4), ValueError, "context_dim must be 1 or more; got -1"),
        (lambda: CrossAttention(6, 8, 2.0), TypeError, "output_dim must be an int; got 2.0"),
        (
            lambda: CrossAttention(6, 8, 4, dropout=1),
            ValueError,
            "dropout must be 0 or more and below 1; got 1",
        ),
        (
            lambda: layer()(normal(2, 3, 7), normal(2, 5, 8)),
            ValueError,
            "x must have input_dim 6 as its last size; got 7",
        ),
        (
            lambda: layer()(normal(2, 3, 6), normal(2, 5, 6)),
            ValueError,
            "context must have context_dim 8 as its last size; got 6",
        ),
        (
            lambda: layer()(normal(2, 3, 6), normal(3, 5, 8)),
            ValueError,
            "context must have x's batch 2; got 3",
        ),
        (
            lambda: layer()(normal(2, 3, 6), normal(5, 8)),
            ValueError,
            "context must have 3 axes (batch, length, context_dim); got shape (5, 8)",
        ),
        (
            lambda: layer()(normal(2, 3, 6), None),
            TypeError,
            "context must be a torch.Tensor; got NoneType",
        ),
        (
            lambda: layer()(normal(2, 3, 6), normal(2, 5, 8), padding_mask([3, 2])[:, None]),
            ValueError,
            (
                "attn_mask must have 2 to 3 axes, each 1 or that of the scores (2, 3, 5) counted "
                "from the right; got shape (2, 1, 3)"
            ),
        ),
        (
            lambda: layer()(normal(2, 3, 6), normal(2, 5, 8), padding_mask([5, 2])[:, None, None]),
            ValueError,
            (
                "attn_mask must have 2 to 3 axes, each 1 or that of the scores (2, 3, 5) counted "
                "from the right; got shape (2, 1, 1, 5)"
            ),
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    call: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "targets_mask": ("x_is_word[:, None]", "context_is_word[:, None]"),
    "causal_on_memory": ("mask & causal_mask(x.size(1), context.size(1))", "mask"),
    "queries_from_context": ("x, context = context, x", "x, context = x, context"),
    "values_from_target": ("layer.v_proj(x)", "layer.v_proj(context)"),
}
every_exhibit = pytest.mark.parametrize("name", sorted(MENDED))


def attention_of(name: str, *, mended: bool) -> Callable[..., Tensor]:
    """Import an exhibit's function, or that of its copy with the wrong line mended."""
    module = load_exhibit(f"heads/{name}", MENDED[name], mended=mended)
    return module.attention


@every_exhibit
def test_exhibits_are_wrong_and_mending_one_line_mends_them(name: str) -> None:
    attend = layer(8, 8, 8)
    x, context = normal(2, 4, 8), normal(2, 4, 8, seed=1)
    masks = padding_mask([4, 2]), padding_mask([3, 4])
    wanted = attend(x, context, masks[1][:, None])
    wrong = attention_of(name, mended=False)(attend, x, context, *masks)
    assert wrong.shape == wanted.shape
    assert wrong.isfinite().all()
    assert (wrong - wanted).abs().max() > 0.05
    right = attention_of(name, mended=True)(attend, x, context, *masks)
    torch.testing.assert_close(right, wanted, rtol=0, atol=1e-12)


def test_with_equal_lengths_the_targets_mask_is_right_and_with_n_not_m_it_fails() -> None:
    attend, attention = layer(8, 8, 8), attention_of("targets_mask", mended=False)
    x, context, mask = normal(2, 4, 8), normal(2, 4, 8, seed=1), padding_mask([4, 2])
    torch.testing.assert_close(
        attention(attend, x, context, mask, mask), attend(x, context, mask[:, None])
    )
    with pytest.raises(RuntimeError):
        attention(attend, x, normal(2, 5, 8), mask, padding_mask([5, 2]))


def test_causal_memory_lets_the_first_target_word_see_the_first_source_word_alone() -> None:
    attend = layer(8, 8, 8)
    x, context, mask = normal(2, 4, 8), normal(2, 4, 8, seed=1), padding_mask([4, 4])
    found = attention_of("causal_on_memory", mended=False)(attend, x, context, mask, mask)
    torch.testing.assert_close(found[:, 0], attend.v_proj(context)[:, 0])


def test_three_of_the_exhibits_fail_when_the_lengths_differ_and_the_causal_one_runs() -> None:
    failed = set()
    for name, m in itertools.product(MENDED, (3, 5)):
        attention = attention_of(name, mended=False)
        masks = padding_mask([4, 2]), padding_mask([m, 2])
        try:
            attention(layer(8, 8, 8), normal(2, 4, 8), normal(2, m, 8), *masks)
        except RuntimeError:
            failed.add((name, m))
    names = ("targets_mask", "queries_from_context", "values_from_target")
    assert failed == set(itertools.product(names, (3, 5)))


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
Q = X W_Q \qquad K = C W_K \qquad V = C W_V
\qquad
O = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d}} + M\right) V
""")
def test_the_formula() -> None:
    attend, (X, C), d = layer(), inputs(), SIZE
    for projection in (attend.q_proj, attend.k_proj, attend.v_proj):
        torch.nn.init.zeros_(projection.bias)  # the formula has none
    W_Q, W_K, W_V = attend.q_proj.weight.T, attend.k_proj.weight.T, attend.v_proj.weight.T
    mask = normal(N, M, seed=2)
    mask[:, -1] = float("-inf")
    Q, K, V = X @ W_Q, C @ W_K, C @ W_V
    O = torch.softmax(Q @ K.mT / d**0.5 + mask, dim=-1) @ V
    torch.testing.assert_close(attend(X, C, mask), O, rtol=0, atol=1e-12)
