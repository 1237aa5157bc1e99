"""Packed documents against documents one by one: masks, gradients, PyTorch's own ways."""

import ast
import random
import warnings
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention import flex_attention as flex_module
from torch.nn.attention.flex_attention import (
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
)
from torch.nn.attention.varlen import varlen_attn

from attn_docs import (
    MultiHeadAttention,
    RotaryEmbedding,
    causal_mask,
    cu_seqlens,
    document_ids,
    document_mask,
    document_positions,
    packed_attention,
    scaled_dot_product_attention,
    sliding_window_mask,
)
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal

figures = page_module("kernels/packing", "figures")
tables = page_module("kernels/packing", "tables")
EXAMPLES = ROOT / "attn_docs" / "examples" / "kernels" / "packing"
LENGTHS = [3, 5, 2]
N = sum(LENGTHS)
needs_a_gpu = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="PyTorch runs this on a GPU only, and there is none"
)


def parts(x: Tensor, lengths: list[int]) -> tuple[Tensor, ...]:
    return x.split(lengths, dim=-2)


def one_by_one(rows: tuple[Tensor, ...], lengths: list[int], **options: Any) -> Tensor:
    """Give each document to PyTorch's own formula, in a call of its own."""
    with sdpa_kernel(SDPBackend.MATH):
        return torch.cat(
            [
                F.scaled_dot_product_attention(*document, **options)
                for document in zip(*(parts(x, lengths) for x in rows), strict=True)
                if document[0].size(-2)
            ],
            dim=-2,
        )


# --- the functions ---------------------------------------------------------------------------


def test_boundaries_ids_and_positions_of_random_lengths() -> None:
    chance = random.Random(0)  # noqa: S311 - no secret
    for _ in range(100):
        lengths = [chance.randrange(5) for _ in range(chance.randrange(1, 7))]
        ids = [k for k, length in enumerate(lengths) for _ in range(length)]
        assert document_ids(lengths).tolist() == ids
        assert document_positions(lengths).tolist() == [p for x in lengths for p in range(x)]
        assert cu_seqlens(lengths).tolist() == [sum(lengths[:k]) for k in range(len(lengths) + 1)]
        mask = document_mask(document_ids(torch.tensor(lengths)))
        assert torch.equal(mask, torch.block_diag(*(torch.ones(x, x) for x in lengths)) > 0)


def test_dtypes_and_devices() -> None:
    assert cu_seqlens(LENGTHS).dtype == torch.int32  # as the kernels want it
    assert document_ids(LENGTHS).dtype == document_positions(LENGTHS).dtype == torch.int64
    assert cu_seqlens(torch.tensor([3, 2], dtype=torch.uint8)).tolist() == [0, 3, 5]
    assert document_mask(document_ids(LENGTHS)).dtype == torch.bool


def test_rows_of_a_batch_may_be_packed_differently() -> None:
    ids = torch.stack([document_ids([4, 2]), document_ids([1, 5])])
    mask = document_mask(ids)
    assert mask.shape == (2, 6, 6)
    assert torch.equal(mask[0], document_mask(ids[0]))
    assert torch.equal(mask[1], document_mask(ids[1]))


def test_padding_with_an_id_of_its_own_is_seen_by_nobody_else_and_leaves_no_empty_row() -> None:
    ids = torch.cat((document_ids(LENGTHS), torch.full((4,), -1)))
    mask = document_mask(ids) & causal_mask(len(ids))
    assert not mask[:N, N:].any()
    assert not mask[N:, :N].any()
    assert mask.any(dim=-1).all()


@pytest.mark.parametrize("seed", range(200))
def test_it_is_the_loop_and_the_mask_values_and_gradients(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    groups, times, d, e, b = chance.sample(range(1, 6), 5)
    lengths = [chance.randrange(7) for _ in range(chance.randrange(1, 5))] + [1]
    n, causal = sum(lengths), chance.random() < 0.5
    scale = chance.choice([None, 0.3])
    shapes = ((b, groups * times, n, d), (b, groups, n, d), (b, groups, n, e))
    rows = tuple(normal(*s, seed=seed + i).requires_grad_() for i, s in enumerate(shapes))
    options: dict[str, Any] = {"scale": scale, "enable_gqa": True}
    found = packed_attention(*rows, lengths, is_causal=causal, **options)
    mask = document_mask(document_ids(lengths))
    mask = mask & causal_mask(n) if causal else mask
    with sdpa_kernel(SDPBackend.MATH):
        masked = F.scaled_dot_product_attention(*rows, attn_mask=mask, **options)
    weight = normal(*found.shape, seed=seed + 9)
    gradients = torch.autograd.grad(found, rows, weight, retain_graph=True)
    for wanted in (one_by_one(rows, lengths, is_causal=causal, **options), masked):
        assert error(found, wanted) <= 1e-12
        for x, y in zip(gradients, torch.autograd.grad(wanted, rows, weight), strict=True):
            assert error(x, y) <= 1e-12


def test_two_axes_and_inputs_that_are_not_contiguous() -> None:
    rows = tuple(normal(4, N, seed=i).mT for i in range(3))
    assert not rows[0].is_contiguous()
    found = packed_attention(*rows, torch.tensor(LENGTHS))
    assert error(found, one_by_one(rows, LENGTHS)) <= 1e-12


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_as_near_as_pytorchs(dtype: torch.dtype) -> None:
    rows = tuple(normal(2, 3, N, 8, seed=i, dtype=dtype) for i in range(3))
    exact = one_by_one(tuple(x.double() for x in rows), LENGTHS, is_causal=True)
    ours = packed_attention(*rows, LENGTHS, is_causal=True)
    theirs = one_by_one(rows, LENGTHS, is_causal=True)
    assert ours.dtype == dtype
    assert error(ours.double(), exact) <= 2 * error(theirs.double(), exact)


def test_no_score_between_documents_is_computed() -> None:
    scores = []

    class Scores(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            if getattr(func, "__name__", "") == "softmax":
                scores.append(result.numel())
            return result

    rows = tuple(normal(N, 4, seed=i) for i in range(3))
    with Scores():
        packed_attention(*rows, LENGTHS)
        scaled_dot_product_attention(*rows)
    assert sum(scores[:-1]) == sum(x * x for x in LENGTHS)
    assert scores[-1] == N * N


ROW = normal(N, 4)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: document_ids([2, -1]), ValueError, r"lengths\[1\] must be 0 or more; got -1"),
        (lambda: cu_seqlens(torch.tensor([1.0])), TypeError, "lengths must hold integers; got"),
        (lambda: document_positions(3), TypeError, "lengths must be an integer tensor"),
        (lambda: document_mask([0, 1]), TypeError, "ids must be a torch.Tensor; got list"),
        (lambda: document_mask(ROW), TypeError, "ids must hold integers; got torch.float64"),
        (
            lambda: document_mask(torch.zeros(1, 1, 1, dtype=torch.int64)),
            ValueError,
            r"ids must have shape \(n,\) or \(batch, n\); got \(1, 1, 1\)",
        ),
        (
            lambda: packed_attention(ROW, ROW, ROW, [3, 5]),
            ValueError,
            "lengths must sum to query's length 10; got 8",
        ),
        (
            lambda: packed_attention(ROW, ROW[1:], ROW[1:], LENGTHS),
            ValueError,
            "lengths must sum to key's length 9; got 10",
        ),
        (
            lambda: packed_attention(ROW, ROW, ROW[1:], LENGTHS),
            ValueError,
            "value must have one row for each of the 10 keys; got 9",
        ),
        (
            lambda: packed_attention(ROW[:0], ROW[:0], ROW[:0], []),
            ValueError,
            "lengths must have one document or more; got none",
        ),
        (
            lambda: packed_attention(ROW, ROW, ROW, LENGTHS, is_causal=1),
            TypeError,
            "is_causal must be True or False; got 1",
        ),
        (
            lambda: packed_attention(ROW, ROW, ROW, LENGTHS, scale=float("nan")),
            ValueError,
            "scale must be finite; got nan",
        ),
    ],
)
def test_it_refuses(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


# --- the formulas ----------------------------------------------------------------------------


@pytest.mark.formula(r"""
c_0 = 0 \qquad c_{k+1} = c_k + \ell_k \qquad
\delta_i = k \Leftrightarrow c_k \le i < c_{k+1} \qquad
p_i = i - c_{\delta_i}
""")
def test_the_formula_of_the_places() -> None:
    ell, c = LENGTHS, cu_seqlens(LENGTHS)
    delta, p = document_ids(LENGTHS), document_positions(LENGTHS)
    assert c[0] == 0
    assert all(c[k + 1] == c[k] + ell[k] for k in range(len(ell)))
    for i in range(N):
        assert [k for k in range(len(ell)) if c[k] <= i < c[k + 1]] == [delta[i]]
        assert p[i] == i - c[delta[i]]


@pytest.mark.formula(r"M_{ij} = \begin{cases} 0 & \delta_i = \delta_j \land j \le i \\"
                     r" -\infty & \delta_i \ne \delta_j \lor j > i \end{cases}")  # fmt: skip
def test_the_formula_of_the_mask() -> None:
    delta = document_ids(LENGTHS)
    M = torch.tensor(
        [[0.0 if delta[i] == delta[j] and j <= i else -torch.inf for j in range(N)]
         for i in range(N)]
    )  # fmt: skip
    query, key, value = (normal(N, 4, seed=i) for i in range(3))
    wanted = (query @ key.mT / 2 + M).softmax(dim=-1) @ value
    assert error(packed_attention(query, key, value, LENGTHS, is_causal=True), wanted) <= 1e-12


# --- the leak --------------------------------------------------------------------------------


@pytest.mark.parametrize("way", tables.WAYS)
def test_the_gradient_from_another_document_is_exactly_zero_with_the_mask_only(way: str) -> None:
    leak, rotary, learned = tables.leak_of(way)
    masked, reset = way in ("mask", "both"), way in ("positions", "both")
    assert (leak == 0) == masked
    assert (rotary <= 1e-12) == masked  # rotary attention needs no reset
    assert (learned <= 1e-12) == (masked and reset)  # a table of learned positions does


def test_every_gradient_between_documents_is_zero() -> None:
    torch.manual_seed(0)
    layer = MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4)).double()
    x = normal(1, N, 12).requires_grad_()
    mask = document_mask(document_ids(LENGTHS))
    output = layer(x, attn_mask=mask, positions=document_positions(LENGTHS))
    for i in range(N):
        (gradient,) = torch.autograd.grad(output[0, i].sum(), x, retain_graph=True)
        assert torch.equal(gradient[0].abs().sum(dim=-1) > 0, mask[i])


# --- PyTorch's own ways ----------------------------------------------------------------------


def nested(rows: tuple[Tensor, ...]) -> list[Tensor]:
    """Cut (n, h, d) into documents; give them the axes b h n d."""
    offsets = cu_seqlens(LENGTHS).long()
    return [torch.nested.nested_tensor_from_jagged(x, offsets).transpose(1, 2) for x in rows]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_nested_tensors_equal_the_loop_and_the_padded_batch() -> None:
    rows = tuple(normal(N, 3, 8, seed=i).requires_grad_() for i in range(3))
    found = F.scaled_dot_product_attention(*nested(rows)).transpose(1, 2).values()
    loop = one_by_one(tuple(x.transpose(0, 1) for x in rows), LENGTHS).transpose(0, 1)
    padded = [torch.nn.utils.rnn.pad_sequence(x.split(LENGTHS), batch_first=True) for x in rows]
    real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]  # b m
    whole = F.scaled_dot_product_attention(
        *(x.transpose(1, 2) for x in padded), attn_mask=real[:, None, None]
    )
    for wanted in (loop, whole.transpose(1, 2)[real]):
        assert error(found, wanted) <= 1e-12
        gradients = (torch.autograd.grad((x**2).sum(), rows, retain_graph=True)
                     for x in (found, wanted))  # fmt: skip
        assert all(error(x, y) <= 1e-12 for x, y in zip(*gradients, strict=True))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_causal_nested_tensors_have_no_kernel_on_a_cpu() -> None:
    with pytest.raises(RuntimeError, match="No viable backend"):
        F.scaled_dot_product_attention(
            *nested(tuple(normal(N, 3, 8, seed=i) for i in range(3))), is_causal=True
        )


def test_varlen_has_no_kernel_on_a_cpu() -> None:
    c, x = cu_seqlens(LENGTHS), normal(N, 3, 8, dtype=torch.bfloat16)
    with pytest.raises(NotImplementedError, match="_flash_attention_forward"):
        varlen_attn(x, x, x, c, c, 5, 5)


@needs_a_gpu
def test_varlen_equals_the_loop() -> None:
    rows = [normal(N, 3, 64, seed=i, dtype=torch.bfloat16).cuda() for i in range(3)]
    c = cu_seqlens(LENGTHS).cuda()
    found = varlen_attn(*rows, c, c, 5, 5, window_size=(-1, 0)).transpose(0, 1)
    wanted = packed_attention(*(x.transpose(0, 1).float() for x in rows), LENGTHS, is_causal=True)
    assert error(found.float(), wanted) < 0.02


# --- FlexAttention ---------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let FlexAttention run operation by operation, as PyTorch offers for looking into it."""
    monkeypatch.setattr(flex_module, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)


def example(name: str) -> dict[str, Any]:
    """Run an example and return its names."""
    names: dict[str, Any] = {"__name__": name}
    with warnings.catch_warnings():
        exec((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), names)  # noqa: S102
    return names


def lines_of_functions(name: str) -> dict[str, int]:
    """Return how many lines each function of an example has."""
    tree = ast.parse((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}


def test_the_masks_of_the_page_are_ours_and_have_five_lines_at_most() -> None:
    found = example("flex_masks")
    n = found["n"]
    assert n == N
    assert len(found["ours"]) == 5
    for mod, mask in found["ours"].items():
        assert torch.equal(create_mask(mod, None, None, n, n, device="cpu")[0, 0], mask)
    assert torch.equal(found["ours"][found["sliding"]], sliding_window_mask(n, window=4))
    assert set(lines_of_functions("flex_masks")) == {"causal", "sliding", "prefix", "document"}
    assert set(lines_of_functions("flex_scores")) == {"alibi", "soft_cap"}
    for name in ("flex_masks", "flex_scores"):
        assert max(lines_of_functions(name).values()) <= 5


@pytest.mark.parametrize("seed", range(20))
def test_flex_attention_equals_the_loop(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    h, d, b = chance.sample(range(1, 6), 3)
    lengths = [chance.randrange(1, 9) for _ in range(chance.randrange(1, 5))]
    ids, n = document_ids(lengths), sum(lengths)
    rows = [normal(b, h, n, d, seed=seed + i) for i in range(3)]
    mod = and_masks(lambda _b, _h, q, kv: q >= kv, lambda _b, _h, q, kv: ids[q] == ids[kv])
    block = create_block_mask(mod, None, None, n, n, device="cpu")
    wanted = packed_attention(*rows, lengths, is_causal=True)
    assert error(flex_attention(*rows, block_mask=block), wanted) <= 1e-12


def test_alibi_slopes_are_those_of_the_paper_for_eight_heads() -> None:
    slopes = [2.0 ** (-8 / 8 * head) for head in range(1, 9)]
    assert slopes == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 128, 1 / 256]
    assert example("flex_scores")["slopes"].tolist() == [1 / 4, 1 / 16, 1 / 64, 1 / 256]


def test_the_backward_pass_of_flex_attention_is_refused_on_a_cpu() -> None:
    rows = [normal(1, 2, N, 8, seed=i).requires_grad_() for i in range(3)]
    with pytest.raises(NotImplementedError, match="does not support backward on CPU"):
        flex_attention(*rows)


@needs_a_gpu
def test_flex_attention_has_the_gradients_of_the_loop() -> None:
    ids = document_ids(LENGTHS).cuda()
    rows = [normal(1, 2, N, 16, seed=i).float().cuda().requires_grad_() for i in range(3)]
    block = create_block_mask(
        lambda _b, _h, q, kv: (ids[q] == ids[kv]) & (q >= kv), None, None, N, N, device="cuda"
    )
    found = torch.compile(flex_attention)(*rows, block_mask=block)
    wanted = packed_attention(*rows, LENGTHS, is_causal=True)
    for output in (found, wanted):
        assert output.isfinite().all()
    gradients = (torch.autograd.grad((x**2).sum(), rows) for x in (found, wanted))
    assert all(error(x, y) < 1e-2 for x, y in zip(*gradients, strict=True))


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "positions_reset_only": ("causal_mask(len(own))", "causal_mask(len(own)) & own"),
    "drawn_twice": ("drawn.repeat_interleave", "document_ids([1] * len(drawn)).repeat_interleave"),
    "score_times_mask": ("0.0", "-torch.inf"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    module = load_exhibit(f"kernels/{name}", MENDED[name], mended=mended)
    module.__dict__["document_ids"] = document_ids
    return module


def test_positions_reset_only() -> None:
    rows = [normal(1, 2, N, 4, seed=i) for i in range(3)]
    changed = [torch.cat((normal(1, 2, 3, 4, seed=9), x[:, :, 3:]), dim=2) for x in rows]
    wrong, right = (load("positions_reset_only", mended=m).attend for m in (False, True))
    assert error(wrong(*rows, LENGTHS)[:, :, 3:], wrong(*changed, LENGTHS)[:, :, 3:]) > 1e-2
    assert error(right(*rows, LENGTHS)[:, :, 3:], right(*changed, LENGTHS)[:, :, 3:]) == 0


def test_drawn_twice() -> None:
    wanted = document_mask(document_ids(LENGTHS)) & causal_mask(N)
    wrong, right = (load("drawn_twice", mended=m).mask for m in (False, True))
    lengths = torch.tensor(LENGTHS)
    again = torch.tensor([7, 4, 7])  # the third document is the first once more
    assert torch.equal(right(again, lengths), wanted)
    assert torch.equal(wrong(torch.tensor([7, 4, 6]), lengths), wanted)  # nobody would notice
    assert (wrong(again, lengths) & ~wanted)[8:, :3].all()


def test_score_times_mask() -> None:
    ids = document_ids(LENGTHS)
    rows = [normal(1, 2, N, 4, seed=i) for i in range(3)]
    wanted = packed_attention(*rows, LENGTHS, is_causal=True)
    wrong, right = (load("score_times_mask", mended=m).document(ids) for m in (False, True))
    assert error(flex_attention(*rows, score_mod=wrong), wanted) > 1e-2
    assert error(flex_attention(*rows, score_mod=right), wanted) <= 1e-12
