"""Multi-query attention: equal to a loop, to PyTorch, to multi-head with equal heads; no copies."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from attn_docs import (
    MultiHeadAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    causal_mask,
    merge_heads,
    padding_mask,
    scaled_dot_product_attention,
    split_heads,
)
from docs._tools.page import page_module
from tests.kit import load_exhibit, normal

tables = page_module("heads/multi-query", "tables")

proof = settings(derandomize=True, deadline=None, max_examples=30)
BATCH, HEADS, N, M, EMBED, SIZE = 2, 3, 5, 7, 12, 4
LENGTHS = [7, 2]
CASES = {
    "plain": {},
    "padding": {"attn_mask": padding_mask(LENGTHS)[:, None, None]},
    "causal": {"attn_mask": causal_mask(N, M)},
    "both": {"attn_mask": causal_mask(N, M), "key_padding_mask": padding_mask(LENGTHS)},
    "additive": {
        "attn_mask": torch.randn(N, M, generator=torch.Generator().manual_seed(3)).double()
    },
}
every_case = pytest.mark.parametrize("case", sorted(CASES))


def layer(**options: object) -> MultiQueryAttention:
    torch.manual_seed(1)
    return MultiQueryAttention(EMBED, HEADS, **options).double()


def test_rotary_positions_are_passed_on() -> None:
    turned, plain = layer(rotary=RotaryEmbedding(SIZE)), layer()
    x = normal(BATCH, N, EMBED)
    assert not torch.allclose(turned(x), plain(x))
    torch.testing.assert_close(turned(x, positions=torch.zeros(N).long()), plain(x))


def inputs() -> tuple[Tensor, Tensor]:
    return (
        normal(BATCH, N, EMBED).requires_grad_(),
        normal(BATCH, M, EMBED, seed=1).requires_grad_(),
    )


def same_with_gradients(mine: Tensor, theirs: Tensor, leaves: list[Tensor], atol: float) -> None:
    torch.testing.assert_close(mine, theirs, rtol=0, atol=atol)
    for leaf in leaves:
        found, wanted = (
            torch.autograd.grad(out.sin().sum(), leaf, retain_graph=True)[0]
            for out in (mine, theirs)
        )
        torch.testing.assert_close(found, wanted, rtol=0, atol=atol)


def allowed(case: str, heads: int = HEADS) -> Tensor:
    """Return what a case forbids, as an additive mask with all four axes."""
    options = CASES[case]
    mask = torch.zeros(BATCH, heads, N, M, dtype=torch.float64)
    given = options.get("attn_mask")
    if given is not None:
        given = given if given.ndim != 3 else given[:, None]
        zeros = torch.zeros(given.shape, dtype=torch.float64)
        boolean = given.dtype == torch.bool
        mask = mask + (zeros.masked_fill(~given, -torch.inf) if boolean else given)
    if "key_padding_mask" in options:
        mask = mask.masked_fill(~options["key_padding_mask"][:, None, None], -torch.inf)
    return mask


def by_loop(attend: MultiQueryAttention, x: Tensor, context: Tensor, mask: Tensor) -> Tensor:
    """Loop over the query heads, with one key matrix and one value matrix."""
    key = context @ attend.k_proj.weight.T + attend.k_proj.bias  # b m d
    value = context @ attend.v_proj.weight.T + attend.v_proj.bias
    size, output = key.size(-1), attend.out_proj.bias
    for head in range(attend.num_heads):
        rows = slice(head * size, (head + 1) * size)
        query = x @ attend.q_proj.weight[rows].T + attend.q_proj.bias[rows]
        shares = torch.exp(torch.einsum("bnd,bmd->bnm", query, key) / size**0.5 + mask[:, head])
        mixed = torch.einsum("bnm,bmd->bnd", shares / shares.sum(-1, keepdim=True), value)
        output = output + mixed @ attend.out_proj.weight[:, rows].T
    return output


def with_equal_heads(attend: MultiQueryAttention) -> MultiHeadAttention:
    """Return multi-head attention each of whose key and value heads is the shared one."""
    heads, state = attend.num_heads, attend.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        if name in state:
            state[name] = torch.cat([state[name]] * heads)
    many = MultiHeadAttention(
        attend.q_proj.in_features,
        heads,
        kv_dim=attend.k_proj.in_features,
        head_dim=attend.head_dim,
        bias=attend.q_proj.bias is not None,
    ).to(attend.q_proj.weight)
    many.load_state_dict(state)
    return many


@every_case
@pytest.mark.parametrize(
    "attend", [F.scaled_dot_product_attention, scaled_dot_product_attention], ids=["torch", "ours"]
)
def test_equals_a_loop_over_query_heads(case: str, attend: Callable[..., Tensor]) -> None:
    module, (x, context) = layer(attend=attend), inputs()
    wanted = by_loop(module, x, context, allowed(case))
    leaves = [x, context, *module.parameters()]
    same_with_gradients(module(x, context, **CASES[case]), wanted, leaves, 1e-12)


@every_case
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-12), (torch.float32, 2e-6)])
def test_equals_pytorchs_function_with_enable_gqa(
    case: str, dtype: torch.dtype, atol: float
) -> None:
    module = layer().to(dtype)
    x = normal(BATCH, N, EMBED, dtype=dtype).requires_grad_()
    context = normal(BATCH, M, EMBED, seed=1, dtype=dtype).requires_grad_()
    query = split_heads(module.q_proj(x), HEADS)
    key, value = module.k_proj(context)[:, None], module.v_proj(context)[:, None]
    mask = allowed(case).to(dtype)
    wanted = F.scaled_dot_product_attention(query, key, value, mask, enable_gqa=True)
    options = dict(CASES[case])
    if case == "additive":
        options["attn_mask"] = options["attn_mask"].to(dtype)
    same_with_gradients(
        module(x, context, **options), module.out_proj(merge_heads(wanted)), [x, context], atol
    )


def test_equals_pytorchs_module_with_the_rows_of_one_head_copied() -> None:
    module, (x, context) = layer(), inputs()
    theirs = nn.MultiheadAttention(EMBED, HEADS, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        weights = [module.q_proj.weight, module.k_proj.weight.repeat(HEADS, 1)]
        weights.append(module.v_proj.weight.repeat(HEADS, 1))
        theirs.in_proj_weight.copy_(torch.cat(weights))
        biases = [module.q_proj.bias, module.k_proj.bias.repeat(HEADS)]
        theirs.in_proj_bias.copy_(torch.cat([*biases, module.v_proj.bias.repeat(HEADS)]))
        theirs.out_proj.load_state_dict(module.out_proj.state_dict())
    is_word = padding_mask(LENGTHS)
    wanted, weights = theirs(
        x, context, context, key_padding_mask=~is_word, average_attn_weights=False
    )
    output, mine = module(x, context, attn_mask=is_word[:, None, None], need_weights=True)
    same_with_gradients(output, wanted, [x, context], 1e-12)
    torch.testing.assert_close(mine, weights, rtol=0, atol=1e-12)


@every_case
def test_equals_multi_head_attention_whose_key_and_value_heads_are_all_the_same(case: str) -> None:
    module, (x, context) = layer(), inputs()
    many = with_equal_heads(module)
    same_with_gradients(
        module(x, context, **CASES[case]), many(x, context, **CASES[case]), [x, context], 1e-12
    )


@proof
@given(*[st.integers(1, 4)] * 6, st.booleans())
def test_any_sizes_equal_multi_head_attention_with_equal_heads(
    batch: int, heads: int, n: int, m: int, head_dim: int, kv_dim: int, bias: bool
) -> None:
    torch.manual_seed(1)
    module = MultiQueryAttention(5, heads, kv_dim=kv_dim, head_dim=head_dim, bias=bias).double()
    x, context = normal(batch, n, 5), normal(batch, m, kv_dim, seed=1)
    assert module.k_proj.weight.shape == module.v_proj.weight.shape == (head_dim, kv_dim)
    found, weights = module(x, context, need_weights=True)
    wanted, wanted_weights = with_equal_heads(module)(x, context, need_weights=True)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
    torch.testing.assert_close(weights, wanted_weights, rtol=0, atol=1e-12)


def test_it_is_multi_head_attention_with_one_key_head() -> None:
    made = []
    for make, options in ((MultiQueryAttention, {}), (MultiHeadAttention, {"num_kv_heads": 1})):
        torch.manual_seed(1)
        module = make(EMBED, HEADS, kv_dim=10, head_dim=5, **options).double()
        made.append((module, torch.randn(3)))
    (ours, drawn), (theirs, drawn_by_theirs) = made
    assert drawn.equal(drawn_by_theirs)  # not one random number more
    assert (ours.num_heads, ours.num_kv_heads, ours.head_dim) == (HEADS, 1, 5)
    x, context = normal(BATCH, N, EMBED), normal(BATCH, M, 10, seed=1)
    found = ours(x, context, need_weights=True)
    assert all(map(torch.equal, found, theirs(x, context, need_weights=True)))
    for module in (ours, theirs):
        module(x, context).sin().sum().backward()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for mine, its in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert mine.equal(its)
        assert mine.grad.equal(its.grad)


def test_the_number_of_key_heads_is_not_asked_for() -> None:
    with pytest.raises(TypeError, match="positional"):
        MultiQueryAttention(EMBED, HEADS, 1)
    with pytest.raises(TypeError, match="num_kv_heads"):
        MultiQueryAttention(EMBED, HEADS, num_kv_heads=1)


def test_heads_differ_by_their_queries_alone() -> None:
    module, (x, _) = layer(), inputs()
    _, weights = module(x, need_weights=True)
    assert (weights[:, 0] - weights[:, 1]).abs().max() > 0.01
    with torch.no_grad():
        module.q_proj.weight.copy_(module.q_proj.weight[:SIZE].repeat(HEADS, 1))
        module.q_proj.bias.copy_(module.q_proj.bias[:SIZE].repeat(HEADS))
    _, weights = module(x, need_weights=True)
    assert (weights - weights[:, :1]).abs().max() < 1e-12


def test_the_shared_keys_gradient_is_the_sum_over_the_heads() -> None:
    module, (x, _) = layer(), inputs()
    many = with_equal_heads(module)
    for each in (module, many):
        each(x).sin().sum().backward()
    for name in ("k_proj", "v_proj"):
        wanted = getattr(many, name).weight.grad.view(HEADS, SIZE, EMBED).sum(0)
        torch.testing.assert_close(getattr(module, name).weight.grad, wanted, rtol=0, atol=1e-12)


def test_one_word_at_a_time_with_one_cached_head_equals_all_at_once() -> None:
    module, (x, _) = layer(), inputs()
    key, value = torch.empty(2, BATCH, 1, 0, SIZE, dtype=torch.float64)
    words = []
    for t in range(N):
        key = torch.cat([key, module.k_proj(x[:, t : t + 1])[:, None]], dim=2)
        value = torch.cat([value, module.v_proj(x[:, t : t + 1])[:, None]], dim=2)
        query = split_heads(module.q_proj(x[:, t : t + 1]), HEADS)
        heads = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
        words.append(module.out_proj(merge_heads(heads)))
    assert key.shape == (BATCH, 1, N, SIZE)
    wanted = module(x, is_causal=True)
    torch.testing.assert_close(torch.cat(words, dim=1), wanted, rtol=0, atol=1e-12)


# --- nothing is repeated in memory -----------------------------------------------------------


class Sizes(TorchDispatchMode):
    """Remembers the number of bytes of every memory that an operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        self.seen |= {tensor.untyped_storage().nbytes() for tensor in tensors}
        return result


@contextmanager
def sizes() -> Iterator[set[int]]:
    mode = Sizes()
    with mode:
        yield mode.seen


# no other tensor has as many numbers as a key repeated for every head: b·h·m·d
LONG, REPEATED = 11, BATCH * HEADS * 11 * SIZE * 4


def run_backward(attend: nn.Module, options: dict[str, object]) -> set[int]:
    x = normal(BATCH, N, EMBED, dtype=torch.float32).requires_grad_()
    context = normal(BATCH, LONG, 13, dtype=torch.float32).requires_grad_()
    with sizes() as seen:
        attend(x, context, **options).sum().backward()
    return seen


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"attn_mask": causal_mask(N, LONG)},
        {"key_padding_mask": padding_mask([LONG, 2])},
        {"attn_mask": causal_mask(N, LONG), "key_padding_mask": padding_mask([LONG, 2])},
        {"attn_mask": torch.zeros(N, LONG)},
    ],
    ids=["plain", "causal", "padding", "both", "additive"],
)
def test_nothing_is_repeated_in_memory_forward_or_backward(options: dict[str, object]) -> None:
    module = MultiQueryAttention(EMBED, HEADS, kv_dim=13)
    seen = run_backward(module, options)
    assert BATCH * LONG * SIZE * 4 in seen  # the one head
    assert REPEATED not in seen
    # the same look at multi-head attention, and at our function, which repeats, does see it
    assert REPEATED in run_backward(MultiHeadAttention(EMBED, HEADS, kv_dim=13), options)
    explicit = MultiQueryAttention(EMBED, HEADS, kv_dim=13, attend=scaled_dot_product_attention)
    assert REPEATED in run_backward(explicit, options)


# --- numbers and errors ----------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "copied"), [(1, False), (BATCH, True)])
def test_matmul_copies_the_key_for_each_head_if_there_are_several_texts(
    batch: int, copied: bool
) -> None:
    query, key = normal(batch, HEADS, N, SIZE), normal(batch, 1, LONG, SIZE)
    with sizes() as seen:
        query @ key.mT
    assert (HEADS * key.nbytes in seen) == copied


@pytest.mark.parametrize(("make", "kv_heads"), [(MultiHeadAttention, 3), (MultiQueryAttention, 1)])
def test_parameters_are_those_of_the_module(make: type[nn.Module], kv_heads: int) -> None:
    module = make(EMBED, HEADS, bias=False)
    wanted = tables.parameters(EMBED, HEADS, kv_heads, SIZE)
    assert sum(p.numel() for p in module.parameters()) == wanted


def test_the_numbers_are_those_of_real_tensors_and_of_published_sizes() -> None:
    found = tables.numbers()
    assert found["parameters_left"] == f"{(2 * 32 + 2) / (4 * 32):.0%}"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MultiQueryAttention(0, 3), ValueError, "embed_dim must be 1 or more; got 0"),
        (lambda: MultiQueryAttention(12, 0), ValueError, "num_heads must be 1 or more; got 0"),
        (
            lambda: MultiQueryAttention(12, 5),
            ValueError,
            "num_heads must divide embed_dim = 12; got 5",
        ),
        (
            lambda: MultiQueryAttention(12, 3, dropout=1.0),
            ValueError,
            "dropout must be 0 or more and below 1; got 1.0",
        ),
        (
            lambda: layer().to_torch(),
            ValueError,
            "num_kv_heads must be num_heads = 3 in PyTorch's module; got 1",
        ),
        (
            lambda: MultiQueryAttention.from_torch(nn.MultiheadAttention(12, 3)),
            TypeError,
            "from_torch makes a MultiHeadAttention; got MultiQueryAttention",
        ),
        (
            lambda: layer()(normal(2, 5, 12), normal(3, 7, 12)),
            ValueError,
            "context must have x's batch 2; got 3",
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
    "averaged_heads": ("kv_dim = embed_dim", "kv_dim = self.head_dim"),
    "expanded_before_caching": ("new.repeat_interleave(group, dim=2)", "new"),
    "heads_folded_causal": (
        "causal_mask(n * heads, n)",
        "causal_mask(n).repeat_interleave(heads, dim=0)",
    ),
    "key_without_head_axis": ("key.to(query), value.to(query)", "key[:, None], value[:, None]"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"heads/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", ["heads_folded_causal", "key_without_head_axis"])
def test_exhibits_are_wrong_and_mending_one_line_mends_them(name: str) -> None:
    query, key, value = normal(3, 3, 5, 4), normal(3, 5, 4, seed=1), normal(3, 5, 4, seed=2)
    wanted = F.scaled_dot_product_attention(
        query, key[:, None], value[:, None], is_causal=True, enable_gqa=True
    )
    wrong = load(name, mended=False).attention(query, key, value)
    assert wrong.shape == wanted.shape
    assert (wrong - wanted).abs().max() > 0.1
    right = load(name, mended=True).attention(query, key, value)
    torch.testing.assert_close(right, wanted, rtol=0, atol=1e-12)


def test_key_without_head_axis_is_right_for_one_text_and_refused_by_ours() -> None:
    attention = load("key_without_head_axis", mended=False).attention
    query, key = normal(1, 3, 5, 4), normal(1, 5, 4, seed=1)
    wanted = scaled_dot_product_attention(query, key[:, None], key[:, None], is_causal=True)
    torch.testing.assert_close(attention(query, key, key), wanted, rtol=0, atol=1e-12)
    with pytest.raises(RuntimeError):  # two texts and three heads
        attention(normal(2, 3, 5, 4), normal(2, 5, 4), normal(2, 5, 4))
    with pytest.raises(ValueError, match="as many axes"):
        scaled_dot_product_attention(query, key, key)


def test_expanded_before_caching_gives_the_same_numbers_and_keeps_h_times_as_much() -> None:
    results = []
    for mended in (False, True):
        step, cache = load("expanded_before_caching", mended=mended).step, None
        for t in range(3):
            query, key = normal(2, 8, 1, 4, seed=t), normal(2, 1, 1, 4, seed=t + 9)
            output, cache = step(query, key, -key, cache)
        results.append((output, cache.untyped_storage().nbytes()))
    (wrong, too_much), (right, enough) = results
    torch.testing.assert_close(wrong, right, rtol=0, atol=1e-12)
    assert too_much == 8 * enough
    assert enough == 2 * 2 * 3 * 4 * 8


def test_averaged_heads_are_the_mean_and_cost_what_all_heads_cost() -> None:
    torch.manual_seed(1)
    wrong = load("averaged_heads", mended=False).MultiQueryAttention(EMBED, HEADS)
    right = load("averaged_heads", mended=True).MultiQueryAttention(EMBED, HEADS)
    ours = MultiQueryAttention(EMBED, HEADS)
    ours.load_state_dict(right.state_dict())
    x = normal(BATCH, N, EMBED, dtype=torch.float32)
    torch.testing.assert_close(right(x), ours(x))
    counts = [sum(p.numel() for p in m.parameters()) for m in (wrong, right, ours)]
    assert counts[0] > counts[1] == counts[2]
    state = wrong.state_dict()
    for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
        state[name] = state[name].unflatten(0, (HEADS, SIZE)).mean(0)
    ours.load_state_dict(state)
    torch.testing.assert_close(wrong(x), ours(x))


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
\operatorname{head}_i = \operatorname{Attention}(X W^Q_i,\; C W^K,\; C W^V)
\qquad
Y = \operatorname{Concat}(\operatorname{head}_0, \dots, \operatorname{head}_{h-1})\, W^O
""")
def test_the_formula() -> None:
    D, h, d = 11, HEADS, SIZE
    torch.manual_seed(1)
    attend = MultiQueryAttention(D, h, head_dim=d, bias=False).double()
    X, C = normal(BATCH, N, D), normal(BATCH, M, D, seed=1)
    W_Q = [attend.q_proj.weight[i * d : (i + 1) * d].T for i in range(h)]
    W_K, W_V, W_O = attend.k_proj.weight.T, attend.v_proj.weight.T, attend.out_proj.weight.T
    assert W_K.shape == W_V.shape == (D, d)
    assert attend.k_proj is not attend.v_proj
    K, V = C @ W_K, C @ W_V
    head = [torch.softmax(X @ W_Q[i] @ K.mT / d**0.5, dim=-1) @ V for i in range(h)]
    Y = torch.cat(head, dim=-1) @ W_O
    torch.testing.assert_close(attend(X, C), Y, rtol=0, atol=1e-12)
