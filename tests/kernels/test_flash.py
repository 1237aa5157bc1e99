"""Attention in tiles against the explicit form and PyTorch's, and what its tiles cost."""

import inspect
import itertools
import math
import random
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import gradcheck
from torch.nn.attention import SDPBackend, sdpa_kernel

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    flash_attention,
    scaled_dot_product_attention,
)
from attn_docs.kernels import flash
from attn_docs.model.induction import build_model
from attn_docs.testing import check_attention
from docs._tools.page import page_module
from tests.kit import Copies, Made, error, load_exhibit, normal

tables = page_module("kernels/flash", "tables")

INF = math.inf


def with_gradients(
    attend: Callable[..., Tensor], tensors: tuple[Tensor, ...], **options: object
) -> list[Tensor]:
    """Return the output and the gradients of the tensors; the last may be an additive mask."""
    leaves = [tensor.detach().requires_grad_() for tensor in tensors]
    output = attend(*leaves, **options)
    return [output, *torch.autograd.grad((output * output.detach().cos()).sum(), leaves)]


def worst(
    one: Callable[..., Tensor], other: Callable[..., Tensor], *tensors: Tensor, **options: object
) -> float:
    found, wanted = (with_gradients(attend, tensors, **options) for attend in (one, other))
    return max(itertools.starmap(error, zip(found, wanted, strict=True)))


def tiled(block_q: int, block_k: int) -> Callable[..., Tensor]:
    return lambda *args, **options: flash_attention(
        *args, **options, block_q=block_q, block_k=block_k
    )


def random_call(chance: random.Random, seed: int) -> tuple[tuple[Tensor, ...], dict]:
    b, h, r, n, m, d, e = (chance.choice(sizes) for sizes in ((1, 2), (1, 3), (1, 2), *LENGTHS))
    grouped = chance.random() < 0.5
    kv_heads = h if grouped else chance.choice((1, h * r))
    tensors = [
        normal(b, h * r, n, d, seed=seed),
        normal(b, kv_heads, m, d, seed=seed + 1),
        normal(b, kv_heads, m, e, seed=seed + 2),
    ]
    options = {
        "is_causal": chance.random() < 0.5,
        "scale": chance.choice((None, 0.3)),
        "enable_gqa": grouped,
    }
    shape = [chance.choice((1, size)) for size in (b, h * r, n, m)][chance.choice((0, 1, 2)) :]
    hidden = normal(*shape, seed=seed + 3) > 0.3
    mask = chance.choice(("none", "boolean", "added"))
    if mask == "boolean":
        options["attn_mask"] = ~hidden
    if mask == "added":
        tensors.append(normal(*shape, seed=seed + 4).masked_fill(hidden, -INF))
    return tuple(tensors), options


LENGTHS = ((1, 5, 11), (2, 7, 13), (3, 8), (4, 6))


def test_200_random_calls_agree_with_the_explicit_form() -> None:
    chance, found = random.Random(0), []  # noqa: S311 - of sizes
    for seed in range(0, 2000, 10):
        tensors, options = random_call(chance, seed)
        blocks = tiled(chance.randint(1, 15), chance.randint(1, 15))
        found.append(worst(blocks, scaled_dot_product_attention, *tensors, **options))
    assert len(found) == 200
    assert max(found) <= 1e-12


@pytest.mark.parametrize("causal", [False, True])
def test_it_agrees_with_the_kernel_of_pytorch_that_writes_the_matrix(causal: bool) -> None:
    tensors = normal(2, 6, 50, 8, seed=1), normal(2, 3, 70, 8, seed=2), normal(2, 3, 70, 5, seed=3)
    options = {"is_causal": causal, "enable_gqa": True}
    with sdpa_kernel(SDPBackend.MATH):
        assert worst(flash_attention, F.scaled_dot_product_attention, *tensors, **options) <= 1e-12


@pytest.mark.parametrize("axes", [2, 3, 4, 5])
def test_any_number_of_leading_axes(axes: int) -> None:
    leading = (2, 3, 2)[: axes - 2]
    tensors = normal(*leading, 5, 4), normal(*leading, 7, 4, seed=1), normal(*leading, 7, 3, seed=2)
    assert worst(tiled(2, 3), scaled_dot_product_attention, *tensors, is_causal=True) <= 1e-12


@pytest.mark.parametrize(
    "heads", [(1, 4, 4), (4, 1, 1), (4, 1, 4), (4, 4, 1), (1, 1, 4), (1, 4, 1), (1, 1, 1)]
)
def test_a_head_axis_of_one_is_shared(heads: tuple[int, int, int]) -> None:
    q, k, v = heads
    tensors = normal(2, q, 5, 3), normal(2, k, 7, 3, seed=1), normal(2, v, 7, 6, seed=2)
    mask = {"attn_mask": normal(2, 1, 5, 7, seed=3) > 0}
    assert worst(tiled(2, 4), scaled_dot_product_attention, *tensors, **mask) <= 1e-12


@pytest.mark.parametrize(
    "shape", [(0, 3, 5, 7, 4, 6), (2, 0, 5, 7, 4, 6), (2, 3, 0, 7, 4, 6), (2, 3, 5, 0, 4, 6)]
)
def test_sizes_of_zero(shape: tuple[int, ...]) -> None:
    b, h, n, m, d, e = shape
    tensors = normal(b, h, n, d), normal(b, h, m, d, seed=1), normal(b, h, m, e, seed=2)
    found, wanted = (
        with_gradients(attend, tensors)
        for attend in (flash_attention, scaled_dot_product_attention)
    )
    assert all(x.equal(y) for x, y in zip(found, wanted, strict=True))


def test_block_sizes_do_not_matter() -> None:
    tensors = normal(1, 2, 13, 4), normal(1, 2, 11, 4, seed=1), normal(1, 2, 11, 3, seed=2)
    for sizes in itertools.product((1, 3, 11, 13, 100), repeat=2):
        assert worst(tiled(*sizes), tiled(64, 64), *tensors, is_causal=True) <= 1e-12


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", ["none", "boolean", "added", "empty rows"])
@pytest.mark.parametrize("grouped", [False, True])
def test_gradcheck(causal: bool, mask: str, grouped: bool) -> None:
    heads = 2 if grouped else 4
    tensors = [normal(1, 4, 5, 2), normal(1, heads, 4, 2, seed=1), normal(1, heads, 4, 3, seed=2)]
    hidden = normal(4, 5, 4, seed=3) > 0.5
    if mask == "empty rows":
        hidden[:, 2] = True
    attn_mask = {"none": None, "added": normal(4, 5, 4, seed=4)}.get(mask, ~hidden)
    inputs = [x.requires_grad_() for x in tensors]
    if mask == "added":
        assert attn_mask is not None
        inputs.append(attn_mask.requires_grad_())
        attn_mask = None

    def call(*tensors: Tensor) -> Tensor:
        given = tensors if len(tensors) == 4 else (*tensors, attn_mask)
        return tiled(2, 3)(*given, is_causal=causal, enable_gqa=grouped)

    assert gradcheck(call, inputs)


def test_a_second_derivative_is_refused() -> None:
    query, key, value = (normal(3, 2, seed=seed).requires_grad_() for seed in range(3))
    output = flash_attention(query, key, value)
    with pytest.raises(RuntimeError, match="must be differentiated once, without create_graph"):
        torch.autograd.grad(output.square().sum(), query, create_graph=True)


def test_a_query_that_sees_nothing_gives_zeros_and_finite_gradients() -> None:
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[1] = False
    tensors = normal(2, 5, 4), normal(2, 7, 4, seed=1), normal(2, 7, 3, seed=2)
    output, *gradients = with_gradients(tiled(2, 2), tensors, attn_mask=mask)
    assert output[:, 1].eq(0).all()
    assert output[:, 0].ne(0).all()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_large_scores_do_not_overflow() -> None:
    query = 400 * normal(1, 9, 4, dtype=torch.float32)
    key, value = normal(1, 9, 4, dtype=torch.float32, seed=1), normal(1, 9, 3, dtype=torch.float32)
    found = tiled(2, 2)(query, key, value)
    assert error(found, scaled_dot_product_attention(query, key, value)) <= 1e-5


def test_inputs_of_any_strides_stay_as_they_are() -> None:
    base = normal(2, 11, 3, 12)
    tensors = tuple(base.transpose(1, 2)[..., i : i + 4] for i in (0, 4, 8))
    before = base.clone()
    assert worst(tiled(4, 3), scaled_dot_product_attention, *tensors) <= 1e-12
    assert base.equal(before)
    query = normal(1, 1, 11, 4).expand(2, 3, -1, -1)  # one place in memory for all heads
    assert worst(tiled(4, 3), scaled_dot_product_attention, query, *tensors[1:]) <= 1e-12


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("causal", [False, True])
def test_half_precision_errs_at_most_twice_as_much_as_pytorch(
    dtype: torch.dtype, causal: bool
) -> None:
    for seed in range(0, 40, 10):
        tensors = tuple(normal(2, 3, 150, 32, seed=seed + i, dtype=dtype) for i in range(3))
        exact = with_gradients(
            F.scaled_dot_product_attention, tuple(x.double() for x in tensors), is_causal=causal
        )
        # the same output gradient for all: that of the exact output
        slope = exact[0].detach().cos().to(dtype)
        errors = []
        for attend in (flash_attention, F.scaled_dot_product_attention):
            leaves = [x.detach().requires_grad_() for x in tensors]
            output = attend(*leaves, is_causal=causal)
            found = [output, *torch.autograd.grad(output, leaves, slope)]
            errors.append([error(x.double(), y) for x, y in zip(found, exact, strict=True)])
            assert all(x.dtype == dtype for x in found)
        assert all(ours <= 2 * torchs + 1e-9 for ours, torchs in zip(*errors, strict=True))


def test_under_autocast_it_adds_up_in_float32() -> None:
    tensors = tuple(normal(2, 50, 8, seed=seed, dtype=torch.float32) for seed in range(3))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = flash_attention(*tensors)
    assert found.equal(flash_attention(*tensors))


def test_dropout_drops_the_same_weights_in_the_backward() -> None:
    tensors = [normal(1, 2, 7, 3, seed=seed).requires_grad_() for seed in range(3)]

    def call(*tensors: Tensor) -> Tensor:
        torch.manual_seed(3)
        return tiled(3, 2)(*tensors, dropout_p=0.4, is_causal=True)

    assert gradcheck(call, tensors)
    assert not call(*tensors).equal(flash_attention(*tensors, is_causal=True))


def test_dropout_drops_as_often_as_it_should_and_the_rest_grows() -> None:
    torch.manual_seed(0)
    query, key = torch.zeros(1, 300, 4), torch.zeros(1, 200, 4)
    weights = flash_attention(query, key, torch.eye(200)[None], dropout_p=0.25) * 200
    assert weights.eq(0).float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert weights[weights > 0].tolist() == pytest.approx([4 / 3] * int((weights > 0).sum()))
    again = flash_attention(query, key, torch.eye(200)[None], dropout_p=0.25) * 200
    assert not again.equal(weights)
    assert flash_attention(query, key, torch.eye(200)[None], dropout_p=1.0).eq(0).all()


def test_without_dropout_the_random_state_stays() -> None:
    state = torch.get_rng_state()
    flash_attention(*(normal(3, 2, seed=seed) for seed in range(3)))
    assert torch.get_rng_state().equal(state)


def tiles_made(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> list[tuple]:
    """Return rows and columns of the tiles of scores that a call makes."""
    made, scores = [], flash._scores

    def spied(q: Tensor, key: Tensor, mask: object, rows: slice, columns: slice, *rest: object):
        made.append((rows.start, columns.start))
        return scores(q, key, mask, rows, columns, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(flash, "_scores", spied)
        call()
    return made


@pytest.mark.parametrize(("n", "m"), [(64, 64), (64, 24), (40, 64), (61, 59)])
def test_tiles_above_the_diagonal_are_never_made(
    monkeypatch: pytest.MonkeyPatch, n: int, m: int
) -> None:
    tensors = [normal(s, 4, seed=i).requires_grad_() for i, s in enumerate((n, m, m))]
    made = tiles_made(
        monkeypatch,
        lambda: tiled(16, 8)(*tensors, is_causal=True).sum().backward(),
    )
    wanted = [
        (i, j)
        for i in range(0, n, 16)
        for j in range(0, m, 8)
        if torch.ones(n, m).tril()[i : i + 16, j : j + 8].any()
    ]
    assert made == 2 * wanted  # once in the forward, once in the backward
    every = tiles_made(monkeypatch, lambda: tiled(16, 8)(*tensors))
    assert len(every) == math.ceil(n / 16) * math.ceil(m / 8)


def test_shared_keys_are_not_repeated_in_memory() -> None:
    tensors = [normal(1, h, 64, 8, seed=h).requires_grad_() for h in (12, 2, 2)]
    with Copies() as copies:
        tiled(4, 16)(*tensors, enable_gqa=True).sum().backward()
    longest = max(math.prod(shape) for shape in copies.shapes)
    assert longest <= 12 * 4 * 16  # a tile of all heads


def test_nothing_as_large_as_the_matrix_is_made() -> None:
    tensors = [normal(1, 1, 128, 8, seed=seed).requires_grad_() for seed in range(3)]
    with Made() as made:
        tiled(16, 16)(*tensors, attn_mask=torch.ones(1, 128, dtype=torch.bool)).sum().backward()
    assert max(made.sizes) == 128 * 8


def test_the_gradient_of_a_shared_mask_is_as_small_as_the_mask() -> None:
    tensors = [normal(2, 3, 64, 8, seed=seed).requires_grad_() for seed in range(3)]
    mask = normal(1, 64, seed=3).requires_grad_()
    with Made() as made:
        tiled(8, 8)(*tensors, mask).sum().backward()
    assert max(made.sizes) == 2 * 3 * 64 * 8
    assert mask.grad is not None
    assert mask.grad.shape == mask.shape


def test_forward_and_backward_can_be_read_at_a_sitting() -> None:
    for function in (flash._forward, flash._backward):
        assert len(inspect.getsource(function).splitlines()) <= 40


def test_the_checker_passes_it() -> None:
    assert check_attention(flash_attention).verdict == "passed"
    assert check_attention(tiled(16, 24)).verdict == "passed"


ROTARY = RotaryEmbedding(4)
MODULES: dict[str, Callable[..., nn.Module]] = {
    "multi-head": lambda **how: MultiHeadAttention(24, 6, rotary=ROTARY, **how),
    "grouped-query": lambda **how: GroupedQueryAttention(24, 6, 3, rotary=ROTARY, **how),
    "multi-query": lambda **how: MultiQueryAttention(24, 6, **how),
    "latent": lambda **how: MultiHeadLatentAttention(
        24, 4, kv_rank=8, head_dim=6, rope_dim=4, value_dim=5, **how
    ),
}
modules = pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)


def same_weights(make: Callable[..., nn.Module], **how: object) -> list[nn.Module]:
    """Return the module with the explicit form and with tiles."""
    pair = [
        make(attend=attend, **how).double()
        for attend in (scaled_dot_product_attention, tiled(3, 2))
    ]
    pair[1].load_state_dict(pair[0].state_dict())
    return pair


@modules
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_it_serves_every_module(make: Callable[..., nn.Module], causal: bool, padded: bool) -> None:
    x = normal(2, 7, 24)
    options = {"is_causal": causal}
    if padded:
        mask = torch.ones(2, 7, dtype=torch.bool)
        mask[1, 4:] = False
        options["key_padding_mask"] = mask
    found = []
    for module in same_weights(make):
        output = module(x, **options)
        output.cos().sum().backward()
        found.append([output, *(p.grad for p in module.parameters())])
    assert max(itertools.starmap(error, zip(*found, strict=True))) <= 1e-12


@modules
def test_it_returns_their_weights_too(make: Callable[..., nn.Module]) -> None:
    pairs = zip(*(m(normal(2, 5, 24), need_weights=True) for m in same_weights(make)), strict=True)
    assert max(itertools.starmap(error, pairs)) <= 1e-12


@modules
def test_it_trains_with_dropout(make: Callable[..., nn.Module]) -> None:
    x = normal(2, 7, 24)
    explicit, module = same_weights(make, dropout=0.5)
    dropped = module(x)
    dropped.sum().backward()
    assert not dropped.equal(module(x))
    assert error(module.eval()(x), explicit.eval()(x)) <= 1e-12


def test_it_serves_a_cache_and_a_context() -> None:
    x, context = normal(2, 5, 24), normal(2, 8, 24, seed=1)
    explicit, module = same_weights(MODULES["grouped-query"])
    cache = KVCache(2, 3, 4, 5, dtype=torch.float64)
    steps = [module(x[:, [t]], is_causal=True, cache=cache) for t in range(5)]
    assert error(torch.cat(steps, 1), explicit(x, is_causal=True)) <= 1e-12
    pair = same_weights(lambda **how: MultiHeadAttention(24, 6, **how))
    assert error(*(m(x, context) for m in pair)) <= 1e-12


def test_it_serves_a_whole_model() -> None:
    torch.manual_seed(0)
    models = [build_model(attend=attend) for attend in (scaled_dot_product_attention, tiled(5, 3))]
    models[1].load_state_dict(models[0].state_dict())
    tokens = torch.arange(12)[None] % 7
    assert error(*(model(tokens) for model in models)) <= 1e-4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block_q": 0}, "block_q must be 1 or more; got 0"),
        ({"block_k": -1}, "block_k must be 1 or more; got -1"),
        ({"dropout_p": 1.5}, "dropout_p must be from 0 to 1; got 1.5"),
        ({"scale": INF}, "scale must be finite; got inf"),
    ],
)
def test_errors_name_argument_rule_and_value(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        flash_attention(*(normal(3, 2, seed=seed) for seed in range(3)), **options)


def test_errors_of_shapes_and_types() -> None:
    query, key, value = (normal(2, 3, 4, seed=seed) for seed in range(3))
    with pytest.raises(ValueError, match="value must have one row for each of the 3 keys; got 2"):
        flash_attention(query, key, value[:, :2])
    with pytest.raises(TypeError, match=r"block_q must be an int; got 8\.0"):
        flash_attention(query, key, value, block_q=8.0)
    with pytest.raises(TypeError, match="is_causal must be True or False; got 1"):
        flash_attention(query, key, value, is_causal=1)
    with pytest.raises(TypeError, match=r"attn_mask must be torch.bool"):
        flash_attention(query, key, value, torch.ones(3, 3, dtype=torch.int64))


MENDED = {
    "flash_inverse_rescale": ("mixed / shrink", "mixed * shrink"),
    "flash_skips_diagonal": ("i or block", "i + block"),
    "flash_without_delta": ("0.0", "(d_out * output).sum(-1, keepdim=True)"),
    "flash_delta_of_elements": ("sum(-2", "sum(-1"),
    "flash_key_untransposed": ("d_scores @ query", "d_scores.mT @ query"),
    "flash_scaled_twice": (" * scale", ""),
}


@pytest.mark.parametrize("name", MENDED)
def test_an_exhibit_is_wrong_in_its_line_alone(name: str) -> None:
    tensors = tuple(normal(2, 6, 6, seed=seed) for seed in range(3))  # the shapes that hide it
    causal = {"is_causal": True} if name == "flash_skips_diagonal" else {}
    output, *gradients = with_gradients(scaled_dot_product_attention, tensors, **causal)
    for mended in (False, True):
        module = load_exhibit(f"kernels/{name}", MENDED[name], mended=mended)
        if hasattr(module, "attention"):
            worst = error(module.attention(*tensors, **causal), output)
        else:
            found = module.gradients(*tensors, output.detach(), output.detach().cos())
            worst = max(itertools.starmap(error, zip(found, gradients, strict=True)))
        assert (worst <= 1e-5) == mended


@pytest.fixture(scope="module")
def letters() -> dict[str, Tensor]:
    """Return the letters of the backward for one head, all sizes different."""
    n, m, d, e = 5, 7, 4, 3
    q, k, v = (
        normal(*shape, seed=i).requires_grad_() for i, shape in enumerate(((n, d), (m, d), (m, e)))
    )
    s = q @ k.T / math.sqrt(d)
    p = s.softmax(-1)
    o, d_o = p @ v, normal(n, e, seed=3)
    wanted = torch.autograd.grad(o, (q, k, v, p, s), d_o)
    names = ("dQ", "dK", "dV", "dP", "dS")
    found = {"Q": q, "K": k, "V": v, "S": s, "P": p, "O": o, "dO": d_o, "L": s.logsumexp(-1, True)}
    return {x: y.detach() for x, y in {**found, **dict(zip(names, wanted, strict=True))}.items()}


def test_the_formula_of_a_score_s_gradient(letters: dict[str, Tensor]) -> None:
    weights, slopes = letters["P"], letters["dP"]
    for i, j in itertools.product(range(5), range(7)):
        mean = sum(weights[i, k] * slopes[i, k] for k in range(7))
        assert weights[i, j] * (slopes[i, j] - mean) == pytest.approx(letters["dS"][i, j].item())


def test_the_formula_of_d(letters: dict[str, Tensor]) -> None:
    for i in range(5):
        three = (
            sum(letters["P"][i, k] * letters["dP"][i, k] for k in range(7)),
            sum(letters["P"][i, k] * (letters["dO"][i] @ letters["V"][k]) for k in range(7)),
            letters["dO"][i] @ letters["O"][i],
        )
        assert three[0].item() == pytest.approx(three[1].item(), abs=1e-12)
        assert three[1].item() == pytest.approx(three[2].item(), abs=1e-12)


@pytest.mark.formula(r"""
P = \exp(S - L)
\qquad
dP = dO\, V^\top
\qquad
dS = P \circ (dP - D)
""")
def test_the_formulas_of_a_tile(letters: dict[str, Tensor]) -> None:
    of = letters
    assert error((of["S"] - of["L"]).exp(), of["P"]) <= 1e-12
    assert error(of["dO"] @ of["V"].T, of["dP"]) <= 1e-12
    delta = (of["dO"] * of["O"]).sum(-1, keepdim=True)
    assert error(of["P"] * (of["dP"] - delta), of["dS"]) <= 1e-12


@pytest.mark.formula(r"""
dV = P^\top dO
\qquad
dQ = \frac{dS\, K}{\sqrt{d}}
\qquad
dK = \frac{dS^\top Q}{\sqrt{d}}
""")
def test_the_formulas_of_the_gradients(letters: dict[str, Tensor]) -> None:
    of, root = letters, math.sqrt(4)
    assert error(of["P"].T @ of["dO"], of["dV"]) <= 1e-12
    assert error(of["dS"] @ of["K"] / root, of["dQ"]) <= 1e-12
    assert error(of["dS"].T @ of["Q"] / root, of["dK"]) <= 1e-12


@pytest.mark.parametrize("rows", [1, 5, 48, 64])
def test_the_formulas_of_what_is_moved(rows: int) -> None:
    n, m, d, e = 48, 35, 6, 4
    over_n, over_m = math.ceil(n / rows), math.ceil(m / rows)
    explicit = 2 * n * m + n * e  # the softmax, and the output
    for height in map(len, torch.arange(n).split(rows)):
        for width in map(len, torch.arange(m).split(rows)):
            explicit += (height + width) * d + height * width  # one tile of scores
            explicit += height * width + width * e  # its weights and values
    assert explicit == 4 * n * m + over_n * m * (d + e) + over_m * n * d + n * e
    moved = 0
    for block in torch.arange(n).split(rows):
        moved += len(block) * d + m * d + m * e + len(block) * (e + 1)
    assert moved == n * (d + e + 1) + over_n * m * (d + e)
    assert tables.explicit_moved(n, d, rows) == 4 * n * n + over_n * n * 3 * d + n * d
    assert tables.tiles_moved(n, d, rows) == n * (2 * d + 1) + math.ceil(n / rows) * n * 2 * d
