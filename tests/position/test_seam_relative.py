"""Biases by distance through the one seam, `attn_mask`: every module, cache, dtype and compiler."""

import itertools
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    MultiQueryAttention,
    RelativeBias,
    RotaryEmbedding,
    alibi_bias,
    alibi_slopes,
    flash_attention,
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
    scaled_dot_product_attention,
)
from tests.kit import error, normal

HEADS, SIZE, LENGTH, PADDING = 6, 24, 13, 3
CHUNKS = (4, 1, 5, 1, 2)


class Latent(MultiHeadLatentAttention):
    """Latent attention that always computes in one form."""

    def __init__(self, *, absorbed: bool, **options: object) -> None:
        sizes = {"kv_rank": 8, "head_dim": 5, "rope_dim": 4, "value_dim": 7}
        super().__init__(SIZE, HEADS, **sizes, **options)
        self.absorbed = absorbed

    def forward(self, x: Tensor, **options: object) -> Tensor:
        return super().forward(x, absorb=self.absorbed, **options)


MODULES: dict[str, Callable[..., nn.Module]] = {
    "multi-head": lambda **o: MultiHeadAttention(SIZE, HEADS, **o),
    "grouped-query": lambda **o: GroupedQueryAttention(SIZE, HEADS, 3, **o),
    "multi-query": lambda **o: MultiQueryAttention(SIZE, HEADS, **o),
    "rotary as well": lambda **o: MultiHeadAttention(SIZE, HEADS, rotary=RotaryEmbedding(4), **o),
    "window": lambda **o: GroupedQueryAttention(SIZE, HEADS, 2, window=5, **o),
    "latent, absorbed": lambda **o: Latent(absorbed=True, **o),
    "latent, naive": lambda **o: Latent(absorbed=False, **o),
}
ATTENDS = {
    "torch": F.scaled_dot_product_attention,
    "explicit": scaled_dot_product_attention,
    "tiles": flash_attention,
}
every_module = pytest.mark.parametrize("kind", MODULES)
# every module with PyTorch's function; every function with heads that share keys
PAIRS = [(kind, "torch") for kind in MODULES]
PAIRS += [("grouped-query", "explicit"), ("grouped-query", "tiles"), ("window", "tiles")]
Bias = Callable[[int, int], Tensor]


def made(kind: str, attend: str = "torch", dtype: torch.dtype = torch.float64) -> nn.Module:
    torch.manual_seed(0)
    return MODULES[kind](attend=ATTENDS[attend]).to(dtype)


def table(dtype: torch.dtype = torch.float64) -> RelativeBias:
    bias = RelativeBias(HEADS, num_buckets=10, max_distance=9, bidirectional=False)
    bias.relative_attention_bias.weight.data = normal(10, HEADS, seed=5, dtype=dtype)
    return bias


def biases(dtype: torch.dtype = torch.float64) -> dict[str, Bias]:
    """Return a function of the new positions and of those before, for each kind of bias."""
    learned = table(dtype)
    slopes = alibi_slopes(HEADS).to(dtype).view(1, HEADS, 1, 1)
    return {
        "alibi": lambda n, seen: alibi_bias(HEADS, n, seen + n, offset=seen, dtype=dtype),
        "t5": lambda n, seen: learned(n, offset=seen),
        "alibi, one row": lambda n, seen: slopes * torch.arange(seen + n),
    }


def padded() -> Tensor:
    real = torch.ones(2, LENGTH, dtype=torch.bool)
    real[1, :PADDING] = False
    return real


def in_chunks(module: nn.Module, x: Tensor, bias: Bias, chunks: tuple[int, ...]) -> Tensor:
    """Return what a cache gives for uneven chunks, the second row padded on the left."""
    cache, found = module.new_cache(2, LENGTH, dtype=x.dtype), []
    for n in chunks:
        seen = cache.length
        options = {"attn_mask": bias(n, seen), "key_padding_mask": padded()[:, : seen + n]}
        found.append(module(x[:, seen : seen + n], cache=cache, **options))
    return torch.cat(found, dim=1)


@pytest.mark.parametrize(("kind", "attend"), PAIRS)
@pytest.mark.parametrize("name", biases())
def test_cached_in_uneven_chunks_is_the_whole_and_padding_changes_nothing(
    kind: str, attend: str, name: str
) -> None:
    module, bias, x = made(kind, attend), biases()[name], normal(2, LENGTH, SIZE)
    whole = module(x, attn_mask=bias(LENGTH, 0), key_padding_mask=padded(), is_causal=True)
    for chunks in (CHUNKS, (1,) * LENGTH):
        assert error(in_chunks(module, x, bias, chunks), whole) <= 1e-12
    real = LENGTH - PADDING
    alone = module(x[1:, PADDING:], attn_mask=bias(real, 0), is_causal=True)
    assert error(whole[1:, PADDING:], alone) <= 1e-12


@every_module
def test_the_bias_is_what_is_added_to_the_scores(kind: str) -> None:
    """Weights with a bias are those without, times e to the bias, made to sum to one."""
    module, x = made(kind), normal(2, LENGTH, SIZE)
    for bias in biases().values():
        added = bias(LENGTH, 0)
        _, plain = module(x, is_causal=True, need_weights=True)
        _, found = module(x, is_causal=True, need_weights=True, attn_mask=added)
        wanted = plain * added.exp()
        assert error(found, wanted / wanted.sum(-1, keepdim=True)) <= 1e-10


@pytest.mark.parametrize(("kind", "attend"), PAIRS)
def test_gradients_reach_the_table_and_are_the_same_with_a_cache(kind: str, attend: str) -> None:
    module, learned, x = made(kind, attend), table(), normal(2, LENGTH, SIZE).requires_grad_()
    weight, real = learned.relative_attention_bias.weight, padded()
    found = []
    for cached in (False, True):
        if cached:
            output = in_chunks(module, x, lambda n, seen: learned(n, offset=seen), CHUNKS)
        else:
            mask = learned(LENGTH)
            output = module(x, attn_mask=mask, key_padding_mask=real, is_causal=True)
        found.append(torch.autograd.grad(output.square().sum(), [weight, x]))
    for whole, chunks in zip(*found, strict=True):
        assert whole.isfinite().all()
        assert error(whole, chunks) <= 1e-10
    assert found[0][0][:5].abs().min() > 0  # near distances, which every row has


@every_module
def test_the_tables_gradient_is_that_of_difference_quotients(kind: str) -> None:
    module, learned, x = made(kind), table(), normal(2, LENGTH, SIZE)
    weight = learned.relative_attention_bias.weight

    def loss() -> Tensor:
        return module(x, attn_mask=learned(LENGTH), is_causal=True).square().sum()

    (gradient,) = torch.autograd.grad(loss(), weight)
    for bucket, head in itertools.product((0, 1, 6), (0, 5)):
        ends = []
        for step in (1e-5, -1e-5):
            weight.data[bucket, head] += step
            ends.append(loss().item())
            weight.data[bucket, head] -= step
        assert gradient[bucket, head].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


@every_module
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("wide", [True, False], ids=["float32 bias", "half bias"])
def test_half_precision(kind: str, dtype: torch.dtype, wide: bool) -> None:
    module, reference = made(kind, dtype=dtype), made(kind)
    of = biases(torch.float32 if wide else dtype)
    x = normal(2, LENGTH, SIZE, dtype=dtype)
    for name, bias in biases().items():
        wanted = reference(x.double(), attn_mask=bias(LENGTH, 0), is_causal=True)
        found = module(x, attn_mask=of[name](LENGTH, 0), is_causal=True)
        cached = in_chunks(module, x, of[name], CHUNKS)
        assert found.dtype == cached.dtype == dtype
        assert error(found.double(), wanted) <= 0.05
        assert error(cached[:1].double(), wanted[:1]) <= 0.05


@every_module
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")  # of RMSNorm
def test_autocast(kind: str) -> None:
    module, learned = made(kind, dtype=torch.float32), table(torch.float32)
    x = normal(2, LENGTH, SIZE, dtype=torch.float32)
    wanted = module(x, attn_mask=learned(LENGTH), is_causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        found = module(x, attn_mask=learned(LENGTH), is_causal=True)
    assert found.dtype == torch.bfloat16
    assert error(found.float(), wanted) <= 0.05
    found.float().sum().backward()
    gradient = learned.relative_attention_bias.weight.grad
    assert gradient.isfinite().all()
    assert gradient.abs().sum() > 0


@pytest.mark.parametrize("kind", ["multi-head", "window", "latent, absorbed", "latent, naive"])
def test_compiled(kind: str) -> None:
    torch.compiler.reset()
    module, learned, real = made(kind), table(), padded()
    weight, found = learned.relative_attention_bias.weight, []

    def step(x: Tensor) -> Tensor:
        mask = learned(x.size(1)) + alibi_bias(HEADS, x.size(1), dtype=x.dtype)
        return module(x, attn_mask=mask, key_padding_mask=real, is_causal=True)

    for call in (step, torch.compile(step, fullgraph=True, backend="aot_eager")):
        output = call(normal(2, LENGTH, SIZE))
        found.append((output, *torch.autograd.grad(output.square().sum(), weight)))
    for plain, compiled in zip(*found, strict=True):
        assert error(plain, compiled) <= 1e-10


def test_a_bias_compiles_for_each_step_of_decoding() -> None:
    learned = table()
    for make in (lambda n, seen: learned(n, offset=seen), biases()["alibi"]):
        torch.compiler.reset()
        compiled = torch.compile(make, fullgraph=True, dynamic=True, backend="aot_eager")
        for n, seen in ((5, 0), (1, 5), (1, 6), (3, 7)):
            assert error(compiled(n, seen), make(n, seen)) <= 1e-12


@pytest.mark.parametrize(
    "attend",
    [
        scaled_dot_product_attention,
        flash_attention,
        grouped_query_attention_repeat,
        grouped_query_attention_broadcast,
    ],
)
def test_any_attention_function_takes_it_beside_is_causal(attend: Callable[..., Tensor]) -> None:
    query, key, value = (normal(2, HEADS, 7, 5, seed=seed) for seed in range(3))
    for bias in biases().values():
        added = bias(7, 0)
        hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
        both = added.expand(1, HEADS, 7, 7).masked_fill(hidden, -torch.inf)
        wanted = F.scaled_dot_product_attention(query, key, value, both)
        assert error(attend(query, key, value, added, is_causal=True), wanted) <= 1e-12
        assert error(attend(query, key, value, both), wanted) <= 1e-12


def test_keys_of_a_bias_are_all_up_to_the_last_query() -> None:
    """A bias as wide as the new query alone would be one number, added to every key: nothing."""
    for n, seen in ((1, 6), (3, 4)):
        for bias in (alibi_bias(HEADS, n, offset=seen), table()(n, offset=seen)):
            assert bias.shape == (1, HEADS, n, seen + n)
            short = bias[..., : seen + n - 1]
            module, cache = made("multi-head"), None
            cache = module.new_cache(2, LENGTH)
            module(normal(2, seen, SIZE), cache=cache)
            with pytest.raises(ValueError, match="attn_mask must have"):
                module(normal(2, n, SIZE), attn_mask=short.double(), cache=cache)
            assert cache.length == seen


@pytest.mark.parametrize("cached", [False, True])
@every_module
def test_a_function_is_handed_a_mask_of_the_queries_dtype(kind: str, cached: bool) -> None:
    """Kernels of CUDA refuse, or misread, a bias in float32 beside half precision."""
    seen = []

    def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, *others, **options):
        seen.append((query.dtype, mask.dtype))
        return F.scaled_dot_product_attention(query, key, value, mask, *others, **options)

    torch.manual_seed(0)
    layer = MODULES[kind](attend=attend).bfloat16()
    options = {"cache": layer.new_cache(1, LENGTH)} if cached else {}
    x = normal(1, LENGTH, SIZE, seed=1, dtype=torch.bfloat16)
    with torch.no_grad():
        layer(x, attn_mask=alibi_bias(HEADS, LENGTH), is_causal=True, **options)
    assert seen == [(torch.bfloat16, torch.bfloat16)]
