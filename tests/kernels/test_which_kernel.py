"""which_kernel: every operator of PyTorch is known, and what a page says of the choice holds."""

import functools
import itertools
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from attn_docs import (
    MaskedSelfAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    ScaledDotProductSelfAttention,
    attention_kernels,
    scaled_dot_product_attention,
    which_kernel,
)
from attn_docs.kernels.which_kernel import BACKENDS
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal

tables = page_module("kernels/which-kernel", "tables")
benchmark = page_module("kernels/which-kernel", "benchmark")

FLASH, MATH = SDPBackend.FLASH_ATTENTION, SDPBackend.MATH


def qkv(*lead: int, n: int = 5, m: int = 7, d: int = 16, e: int = 16):
    return normal(*lead, n, d, seed=1), normal(*lead, m, d, seed=2), normal(*lead, m, e, seed=3)


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def test_every_operator_of_the_installed_pytorch_is_known() -> None:
    names = {name for name in torch._C._dispatch_get_all_op_names() if "._" not in name}
    ours = {n.partition(".")[0] for n in names if n.startswith("aten::_scaled_dot_product_")}
    forward = {name for name in ours if not name.endswith("_backward")}
    assert forward == set(BACKENDS)
    assert set(BACKENDS.values()) == set(SDPBackend.__members__) - {"ERROR"}


def test_an_unknown_operator_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(BACKENDS, "aten::_scaled_dot_product_attention_math")
    with pytest.raises(ValueError, match=r"^the operator must be one of \['aten::.*; got 'aten::_"):
        which_kernel(*qkv(2, 4), dropout_p=0.5)


@pytest.mark.parametrize("backend", [FLASH, MATH])
def test_it_names_the_backend_that_was_forced(backend: SDPBackend) -> None:
    with sdpa_kernel(backend):
        assert which_kernel(*qkv(2, 4)) == backend.name


def test_every_argument_reaches_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    real = F.scaled_dot_product_attention
    monkeypatch.setattr(
        F, "scaled_dot_product_attention", lambda *a, **k: (seen.append((a, k)), real(*a, **k))[1]
    )
    query, key, value = normal(2, 4, 5, 16), normal(2, 2, 7, 16), normal(2, 2, 7, 16)
    mask = torch.ones(5, 7, dtype=torch.bool)
    assert which_kernel(query, key, value, mask, 0.5, False, scale=2.0, enable_gqa=True) == "MATH"
    ((args, options),) = seen
    assert all(a is b for a, b in zip(args[:4], (query, key, value, mask), strict=True))
    assert args[4:] == (0.5, False)
    assert options == {"scale": 2.0, "enable_gqa": True}
    assert which_kernel(*qkv(2, 4, m=5), None, 0.0, True) == "FLASH_ATTENTION"
    assert seen[1][0][5] is True


def test_calls_are_listed_in_order_and_gradients_are_not_counted() -> None:
    query, key, value = (x.requires_grad_() for x in qkv(2, 4))

    def call() -> None:
        first = F.scaled_dot_product_attention(query, key, value)
        second = F.scaled_dot_product_attention(query[0], key[0], value[0])
        (first.sum() + second.sum()).backward()

    assert attention_kernels(call) == ["FLASH_ATTENTION", "MATH"]
    assert attention_kernels(lambda: (query @ key.mT).softmax(-1) @ value) == []
    assert query.grad is not None


@pytest.mark.parametrize(("n", "m"), [(0, 7), (5, 0)])
def test_nothing_runs_for_nothing(n: int, m: int) -> None:
    tensors = qkv(2, 4, n=n, m=m)
    with pytest.raises(ValueError, match=r"^query and key must have elements, .*; got \(\(2, 4"):
        which_kernel(*tensors)
    assert not F.scaled_dot_product_attention(*tensors).any()
    assert torch._fused_sdp_choice(*tensors) == int(MATH)  # what would be chosen, not what ran


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^call must be callable; got 3"):
        attention_kernels(3)


# --- the table of this CPU


def test_one_change_or_two_at_a_time_obey_the_rules_of_the_page() -> None:
    cases = tables.close()
    assert len(cases) > 100
    for case in cases:
        assert tables.ran(case.call()) == ("FLASH_ATTENTION" if case.fused else "MATH"), case


def test_pytorchs_own_choice_for_all_combinations_obeys_the_rules_of_the_page() -> None:
    names = {int(backend): name for name, backend in SDPBackend.__members__.items()}
    cases = list(tables.combinations())
    assert len(cases) == 4800
    for case in cases:
        (query, key, value), options = case.call()
        chosen = names[torch._fused_sdp_choice(query, key, value, **options)]
        assert chosen == ("FLASH_ATTENTION" if case.fused else "MATH"), case


def test_queries_may_share_heads_only_if_keys_and_values_have_as_many() -> None:
    query, one, four = normal(2, 4, 5, 16), normal(2, 1, 5, 16), normal(2, 4, 5, 16)
    assert which_kernel(query, one, one, enable_gqa=True) == "FLASH_ATTENTION"
    assert which_kernel(query, one, four, enable_gqa=True) == "MATH"


def test_all_fused_backends_may_be_asked_at_once_why_they_refuse() -> None:
    fused = [FLASH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION]
    with warnings.catch_warnings(record=True) as caught, sdpa_kernel(fused):
        warnings.simplefilter("always")
        F.scaled_dot_product_attention(*qkv(2, 4))
        with pytest.raises(RuntimeError, match="No available kernel"):
            F.scaled_dot_product_attention(*qkv(2, 4), dropout_p=0.5)
    assert any("non-zero dropout" in str(each.message) for each in caught)


def test_each_refusal_names_its_own_reason() -> None:
    words = {
        "dropout": "non-zero dropout",
        "axes": "4 dimensional",
        "batch_of_one": "same batch_size",
        "mask_axes": "mask shapes",
        "learned": "",
        "values": "same last dimension",
        "strided": "stride 1",
    }
    calls = tables.all_calls()
    for name, word in words.items():
        for call in calls[name]:
            said = tables.reason(call)
            assert word in said, name
            assert bool(said) == bool(word), name
    assert not any(tables.reason(call) for call in calls["plain"])


def test_the_check_for_cuda_is_false_where_there_is_no_cuda() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    query, key, value = qkv(2, 4)
    params = torch.backends.cuda.SDPAParams(query, key, value, None, 0.0, False, False)
    assert not torch.backends.cuda.can_use_flash_attention(params, debug=True)
    assert which_kernel(query, key, value) == "FLASH_ATTENTION"


# --- both kernels compute the same


@pytest.mark.parametrize("causal", [False, True])
def test_both_kernels_agree_in_values_and_gradients(*, causal: bool) -> None:
    sizes = itertools.product((1, 3), (2, 5), (4, 7), (3, 6), (8, 11))
    for b, h, n, m, d in sizes:
        leaves = [x.requires_grad_() for x in qkv(b, h, n=n, m=m, d=d, e=d)]
        found = []
        for backend in (FLASH, MATH):
            with sdpa_kernel(backend):
                output = F.scaled_dot_product_attention(*leaves, is_causal=causal)
            found.append([output, *torch.autograd.grad(output.cos().sum(), leaves)])
        assert max(error(*pair) for pair in zip(*found, strict=True)) <= 1e-12


@pytest.mark.parametrize("form", ["boolean", "-inf"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_both_kernels_give_zeros_for_a_masked_row(form: str, dtype: torch.dtype) -> None:
    mask = torch.ones(5, 7, dtype=torch.bool)
    mask[2] = False
    if form == "-inf":
        mask = torch.zeros(5, 7, dtype=dtype).masked_fill(~mask, -torch.inf)
    for backend in (FLASH, MATH):
        leaves = [x.to(dtype).requires_grad_() for x in qkv(2, 4)]
        with sdpa_kernel(backend):
            output = F.scaled_dot_product_attention(*leaves, mask)
        assert not output[..., 2, :].any()
        assert all(g.isfinite().all() for g in torch.autograd.grad(output.sum(), leaves))


# --- a mask in another dtype than the query


# how many numbers of float64, and of float32, a register of the CPU holds
REGISTER = {"AVX2": (4, 8), "AVX512": (8, 16)}


@pytest.mark.parametrize("m", [1, 4, 5, 7, 8, 12, 15, 16, 17, 40, 64, 600])
def test_a_float32_mask_skips_half_of_the_float64_scores(m: int) -> None:
    """What the page says is skipped gives exactly the wrong numbers that the kernel gives."""
    capability = torch.backends.cpu.get_cpu_capability()
    if capability not in REGISTER:
        pytest.skip(f"the page says what AVX2 and AVX512 do; this is {capability}")
    half, group = REGISTER[capability]
    query, key, value = qkv(2, 3, n=6, m=m, d=8, e=8)
    for mask in (normal(6, m, seed=4).float(), torch.zeros(6, m)):
        with sdpa_kernel(FLASH):
            found = F.scaled_dot_product_attention(query, key, value, mask)
        products, j = query @ key.mT, torch.arange(m)
        right = products / 8**0.5 + mask.double()
        # blocks of keys start at multiples of 512, so groups start anew only there
        skipped = (j % group >= half) & (j < m - (m % 512) % group)
        scores = torch.where(skipped, products, right)
        assert error(found, scores.softmax(dim=-1) @ value) <= 1e-12
        with sdpa_kernel(MATH):
            math_found = F.scaled_dot_product_attention(query, key, value, mask)
        assert error(math_found, right.softmax(dim=-1) @ value) <= 1e-12
        assert (error(found, math_found) > 1e-3) == bool(skipped.any())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_float32_mask_is_right_for_half_precision(dtype: torch.dtype) -> None:
    tensors = [x.to(dtype) for x in qkv(2, 3, n=40, m=40)]
    mask = nn.Transformer.generate_square_subsequent_mask(40)
    found = F.scaled_dot_product_attention(*tensors, mask)
    wanted = F.scaled_dot_product_attention(*tensors, is_causal=True)
    assert error(found.double(), wanted.double()) <= 0.02


N = 40
FLOAT32_CAUSAL = nn.Transformer.generate_square_subsequent_mask(N)


@pytest.mark.parametrize(
    "layer",
    [
        MultiHeadAttention(12, 3),
        MultiHeadLatentAttention(24, 3, kv_rank=8, head_dim=6, rope_dim=4, value_dim=6),
        MultiHeadLatentAttention(24, 3, kv_rank=8, head_dim=6, rope_dim=4, value_dim=5),
        MaskedSelfAttention(12, 8),
        ScaledDotProductSelfAttention(12),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_our_modules_are_right_with_a_float32_mask_in_float64(layer: nn.Module) -> None:
    layer.double().eval()
    size = 24 if isinstance(layer, MultiHeadLatentAttention) else 12
    x = normal(2, N, size)
    padding = torch.arange(N).expand(2, N) < torch.tensor([[N], [N - 3]])
    for options in ({}, {"key_padding_mask": padding}):
        found = layer(x, attn_mask=FLOAT32_CAUSAL, **options)
        wanted = layer(x, attn_mask=FLOAT32_CAUSAL == 0, **options)
        assert error(found, wanted) <= 1e-12


def test_our_functions_are_right_with_a_float32_mask_in_float64() -> None:
    tensors = qkv(2, 3, n=N, m=N)
    found = scaled_dot_product_attention(*tensors, FLOAT32_CAUSAL)
    assert error(found, scaled_dot_product_attention(*tensors, FLOAT32_CAUSAL == 0)) <= 1e-12


def test_pytorchs_layers_are_wrong_with_a_float32_mask_in_float64() -> None:
    """As the page says of them; the day they are right, the page must say that instead."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 4, batch_first=True).double()
    encoder = nn.TransformerEncoderLayer(16, 4, batch_first=True, dropout=0.0).double()
    x, mask = normal(2, N, 16), FLOAT32_CAUSAL
    calls = (
        lambda mask: attention(x, x, x, attn_mask=mask, need_weights=False)[0],
        lambda mask: encoder(x, src_mask=mask),
    )
    for call in calls:
        assert error(call(mask), call(mask.double())) > 0.1


def test_math_computes_bfloat16_in_float32() -> None:
    made: set[tuple[torch.dtype, int]] = set()

    class Watch(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            made.update((x.dtype, x.numel()) for x in [result] if isinstance(x, torch.Tensor))
            return result

    tensors = [x.to(torch.bfloat16) for x in qkv(2, 4)]
    with sdpa_kernel(MATH), Watch():
        F.scaled_dot_product_attention(*tensors)
    assert (torch.float32, 2 * 4 * 5 * 7) in made


# --- what is measured


def test_the_measured_memory_grows_as_the_page_says() -> None:
    found = tables.load(str(tables.__file__))["lengths"]
    for way, times in (("fused", 2), ("math", 4)):
        sizes = [
            found("memory", way=way, length=length, **{"pass": "forward"})
            for length in benchmark.LENGTHS
        ]
        for shorter, longer in itertools.pairwise(sizes):
            assert longer / shorter == pytest.approx(times, rel=0.25)


def test_the_memory_of_one_length_is_what_is_stored() -> None:
    stored = tables.load(str(tables.__file__))["lengths"]
    with benchmark.one_thread():
        now = benchmark.sizes_of(512)
    for way, size in now.items():
        kept = stored("memory", way=way, length=512, **{"pass": "forward"})
        assert size == pytest.approx(kept, rel=0.1)


def test_a_boolean_mask_is_copied_into_a_float_one_and_a_float_one_is_not() -> None:
    length = 256
    with benchmark.one_thread():
        plain = benchmark.sizes_of(length)
        for told in benchmark.boolean(length):
            heads = math.prod(benchmark.SHAPES[told["mask"]])
            copy = heads * length * length * 4 / 2**20  # float32
            assert told["value"] == pytest.approx(plain[told["way"]] + copy, rel=0.02)
        tensors = normal(3, 1, 8, length, 64).float().unbind()
        call = functools.partial(F.scaled_dot_product_attention, *tensors)
        mask = torch.zeros(length, length)
        sizes = [benchmark.allocated_mebibytes(c) for c in (call, lambda: call(mask))]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)


def test_without_the_axis_of_the_batch_a_call_takes_the_memory_of_math() -> None:
    tensors = torch.randn(3, 1, benchmark.HEADS, 512, benchmark.HEAD_DIM).unbind()
    with benchmark.one_thread(), torch.no_grad():
        lost = benchmark.allocated_mebibytes(
            lambda: F.scaled_dot_product_attention(*(x[0] for x in tensors))
        )
        assert lost == pytest.approx(benchmark.sizes_of(512)["math"], rel=0.02)


def test_the_stored_memory_with_a_boolean_mask_is_that_without_and_the_copy() -> None:
    stored, length = tables.load(str(tables.__file__)), benchmark.LONGEST
    for way, (shape, lead) in itertools.product(benchmark.WAYS, benchmark.SHAPES.items()):
        plain = stored["lengths"]("memory", way=way, length=length, **{"pass": "forward"})
        copy = math.prod(lead) * length**2 * 4 / 2**20
        found = stored["boolean"]("memory", way=way, mask=shape)
        assert found == pytest.approx(plain + copy, rel=0.01)


def test_an_inner_choice_undoes_the_outer_one_unseen() -> None:
    def library() -> None:
        with sdpa_kernel([FLASH, MATH]):
            F.scaled_dot_product_attention(*qkv(2, 4), dropout_p=0.5)

    with warnings.catch_warnings(), sdpa_kernel(FLASH):
        warnings.simplefilter("error")
        assert attention_kernels(library) == ["MATH"]


# --- layers


def test_layers_run_what_the_page_says() -> None:
    with quiet():
        found = tables.layer_kernels()
    assert found == {
        "default": ([], True),
        "no_weights": (["FLASH_ATTENTION"], False),
        "fast_path": ([], False),
        "slow_path": (["FLASH_ATTENTION"], False),
        "encoder": (["MATH"], False),
        "llama": (["FLASH_ATTENTION"] * 2, False),
        "llama_asked": (["FLASH_ATTENTION"] * 2, False),
        "llama_eager": ([], True),
    }
    assert torch.backends.mha.get_fastpath_enabled()


# --- exhibits


def test_enabled_not_forced() -> None:
    tensors = qkv(2, 4)
    change = ("[SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]", "[SDPBackend.FLASH_ATTENTION]")
    wrong = load_exhibit("kernels/enabled_not_forced", change, mended=False)
    assert attention_kernels(lambda: wrong.attention(*tensors, dropout_p=0.5)) == ["MATH"]
    right = load_exhibit("kernels/enabled_not_forced", change, mended=True)
    with quiet(), pytest.raises(RuntimeError, match="No available kernel"):
        right.attention(*tensors, dropout_p=0.5)
    assert attention_kernels(lambda: right.attention(*tensors)) == ["FLASH_ATTENTION"]


def test_mask_without_heads() -> None:
    tensors = qkv(2, 4, m=5)
    for mended, kernel in ((False, "MATH"), (True, "FLASH_ATTENTION")):
        exhibit = load_exhibit(
            "kernels/mask_without_heads", ("mask[None]", "mask[None, None]"), mended=mended
        )
        wanted = F.scaled_dot_product_attention(*tensors, is_causal=True)
        assert error(exhibit.attention(*tensors), wanted) <= 1e-12  # the numbers are right
        call = lambda exhibit=exhibit: exhibit.attention(*tensors)  # noqa: E731
        assert attention_kernels(call) == [kernel]


def test_weights_thrown_away() -> None:
    change = ("self.attention(x, x, x)", "self.attention(x, x, x, need_weights=False)")
    outputs = []
    for mended, kernels in ((False, []), (True, ["FLASH_ATTENTION"])):
        exhibit = load_exhibit("kernels/weights_thrown_away", change, mended=mended)
        torch.manual_seed(0)
        block, x = exhibit.Block(), torch.randn(2, 5, 16)
        assert attention_kernels(lambda block=block, x=x: block(x)) == kernels
        outputs.append(block(x))
    assert error(*outputs) <= 1e-6


def test_asked_the_cuda_check() -> None:
    change = ("can_use_flash_attention(params)", 'which_kernel(query, key, value) != "MATH"')
    for mended in (False, True):
        exhibit = load_exhibit("kernels/asked_the_cuda_check", change, mended=mended)
        exhibit.which_kernel = which_kernel
        assert exhibit.is_fused(*qkv(2, 4)) == mended


def test_a_module_without_attention_runs_none() -> None:
    layer = nn.Linear(4, 4)
    assert attention_kernels(lambda: layer(torch.randn(2, 4))) == []


def test_one_line_makes_it_fused() -> None:
    """The table at the head of the page: each call falls back, and its line repairs it."""
    attend, (query, key, value) = F.scaled_dot_product_attention, qkv(2, 4, n=7)
    mask = torch.ones(2, 7, 7, dtype=torch.bool)
    gaps = key.mT.contiguous().mT
    calls = {
        "axes": lambda: attend(query[0], key[0], value[0]),
        "gaps": lambda: attend(query, gaps, value),
        "mask": lambda: attend(query, key, value, mask.repeat(2, 1, 1)),
        "values": lambda: attend(query, key, value[..., :8]),
        "dropout": lambda: attend(query, key, value, dropout_p=0.1),
    }
    repaired = {
        "axes": lambda: attend(query[0][None], key[0][None], value[0][None]),
        "gaps": lambda: attend(query, gaps.contiguous(), value),
        "mask": lambda: attend(query, key, value, mask[:, None]),
        "values": lambda: attend(query, key, F.pad(value[..., :8], (0, 8))),
        "dropout": lambda: attend(query, key, value, dropout_p=0.0),
    }
    for name, call in calls.items():
        assert attention_kernels(call) == ["MATH"], name
        assert attention_kernels(repaired[name]) == ["FLASH_ATTENTION"], name


def test_a_learned_mask_falls_back_even_without_gradients() -> None:
    query, key, value = qkv(2, 4, n=7)
    mask = torch.zeros(7, 7, requires_grad=True)
    with torch.no_grad():
        assert which_kernel(query, key, value, mask) == "MATH"
    assert which_kernel(query, key, value, mask.detach()) == "FLASH_ATTENTION"
