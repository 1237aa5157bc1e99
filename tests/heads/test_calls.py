"""What every module with heads does alike: scales, masks, caches, compilers, names."""

import functools
import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import attn_docs
from attn_docs import (
    AdditiveAttention,
    BilinearAttention,
    CrossAttention,
    DotProductAttention,
    FusedSelfAttention,
    GaussianAttention,
    GroupedQueryAttention,
    LatentCache,
    MaskedSelfAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    MultiQueryAttention,
    RotaryEmbedding,
    ScaledDotProductSelfAttention,
    SelfAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
    sliding_window_mask,
)
from docs._kit.measure import operations_of
from tests.kit import error, normal

EMBED = 24


def latent(**options: object) -> MultiHeadLatentAttention:
    sizes = {"kv_rank": 8, "q_rank": 10, "head_dim": 6, "rope_dim": 4, "value_dim": 5}
    return MultiHeadLatentAttention(EMBED, 6, **sizes, **options)


MODULES: dict[str, Callable[..., nn.Module]] = {
    "multi-head": functools.partial(MultiHeadAttention, EMBED, 6),
    "grouped-query": functools.partial(GroupedQueryAttention, EMBED, 6, 3),
    "multi-query": functools.partial(MultiQueryAttention, EMBED, 6),
    "rotary": lambda **options: GroupedQueryAttention(
        EMBED, 6, 2, rotary=RotaryEmbedding(4), **options
    ),
    "latent": latent,
    "latent, absorbed": lambda **options: Absorbed(latent(**options)),
}
every_module = pytest.mark.parametrize("make", MODULES.values(), ids=MODULES)


class Absorbed(nn.Module):
    """Latent attention that always takes its absorbed form."""

    def __init__(self, module: MultiHeadLatentAttention) -> None:
        super().__init__()
        self.module, self.new_cache = module, module.new_cache

    def forward(self, x: Tensor, **options: object) -> Tensor:
        return self.module(x, absorb=True, **options)


def built(make: Callable[..., nn.Module], **options: object) -> nn.Module:
    torch.manual_seed(0)
    return make(**options).double()


# --- scale and biases ------------------------------------------------------------------------


@every_module
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_a_scale_is_that_of_the_scores_however_it_is_given(make: Callable, scale: float) -> None:
    x = normal(2, 5, EMBED)
    module = built(make, scale=scale)
    found, weights = module(x, need_weights=True)
    partial = functools.partial(F.scaled_dot_product_attention, scale=scale)
    assert error(found, built(make, attend=partial)(x)) <= 1e-12
    assert error(found, built(make, scale=scale, attend=scaled_dot_product_attention)(x)) <= 1e-12
    _, usual = built(make)(x, need_weights=True)
    size = 10 if isinstance(module, Absorbed | MultiHeadLatentAttention) else 4
    expected = (usual.log() * scale * size**0.5).softmax(-1)
    assert error(weights, expected) <= 1e-10
    assert error(weights, usual) > 1e-3


@pytest.mark.parametrize("scale", [None, 0.1, 1.7])
def test_both_latent_forms_agree_for_any_scale(scale: float | None) -> None:
    for module in (
        built(latent, scale=scale),
        built(latent, attend=functools.partial(F.scaled_dot_product_attention, scale=scale)),
    ):
        x = normal(2, 5, EMBED)
        assert error(module(x, absorb=True), module(x, absorb=False)) <= 1e-12


@pytest.mark.parametrize("out_bias", [None, True, False])
@pytest.mark.parametrize("qkv_bias", [None, True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_biases_are_set_apart(bias: bool, qkv_bias: bool | None, out_bias: bool | None) -> None:
    module = GroupedQueryAttention(EMBED, 6, 2, bias=bias, qkv_bias=qkv_bias, out_bias=out_bias)
    has = {name for name, _ in module.named_parameters() if name.endswith("bias")}
    inner, outer = (bias if given is None else given for given in (qkv_bias, out_bias))
    wanted = {f"{p}_proj.bias" for p in "qkv" if inner} | ({"out_proj.bias"} if outer else set())
    assert has == wanted


# --- masks -----------------------------------------------------------------------------------


@every_module
@pytest.mark.parametrize("is_causal", [None, True])
def test_a_key_padding_mask_is_the_mask_on_the_keys_axis(make: Callable, is_causal: bool) -> None:
    module, x = built(make), normal(2, 5, EMBED)
    seen = padding_mask([5, 3])
    given = {"is_causal": is_causal, "need_weights": True}
    found, weights = module(x, key_padding_mask=seen, **given)
    wanted, same = module(x, attn_mask=seen[:, None, None], **given)
    assert (error(found, wanted), error(weights, same)) == (0, 0)
    assert not weights[1, ..., 3:].any()
    other = normal(5, 5) > -0.5
    both, _ = module(x, attn_mask=other, key_padding_mask=seen, **given)
    assert error(both, module(x, attn_mask=other & seen[:, None], **given)[0]) <= 1e-12


def test_a_square_batch_tells_padding_from_a_mask_of_queries_and_keys() -> None:
    module, x = built(MODULES["multi-head"]), normal(5, 5, EMBED)
    lengths = padding_mask([5, 3, 1, 4, 2])
    wanted = module(x, attn_mask=lengths[:, None, None])
    assert error(module(x, key_padding_mask=lengths), wanted) == 0
    assert error(module(x, attn_mask=lengths), wanted) > 1e-2  # silently: (n, m), not (batch, m)


@every_module
@pytest.mark.parametrize(
    ("mask", "kind", "message"),
    [
        (torch.ones(2, 4).bool(), ValueError, r"shape \(batch, m\) = \(2, 5\); got \(2, 4\)"),
        (torch.ones(2, 1, 5).bool(), ValueError, r"shape \(batch, m\)"),
        (torch.ones(2, 5), TypeError, "key_padding_mask must be torch.bool; got torch.float32"),
        ([[True] * 5] * 2, TypeError, "key_padding_mask must be a torch.Tensor; got list"),
    ],
)
def test_a_bad_key_padding_mask(make: Callable, mask: object, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        built(make)(normal(2, 5, EMBED), key_padding_mask=mask)


@every_module
def test_it_is_causal_with_a_cache_unless_one_says_no(make: Callable) -> None:
    module, x = built(make), normal(2, 5, EMBED)
    found = module(x, cache=module.new_cache(2, 5))
    assert error(found, module(x, is_causal=True)) <= 1e-12
    assert error(module(x), module(x, is_causal=False)) == 0
    sees_all = module(x, is_causal=False, cache=module.new_cache(2, 5))
    assert error(sees_all, module(x)) <= 1e-12
    assert error(sees_all, found) > 1e-2


def test_a_causal_order_with_a_context_is_refused() -> None:
    module, x = built(MODULES["multi-head"]), normal(2, 5, EMBED)
    message = "is_causal must be False or None with a context; got True"
    for context in (normal(2, 7, EMBED), module.cache_context(normal(2, 7, EMBED))):
        with pytest.raises(ValueError, match=message):
            module(x, context, is_causal=True)


@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("window", [1, 3, 5, 9])
def test_a_window_is_the_layers_in_training_and_in_decoding(window: int, is_causal: bool) -> None:
    module, x = built(MODULES["rotary"], window=window), normal(2, 7, EMBED)
    plain = built(MODULES["rotary"])
    mask = sliding_window_mask(7, window=window)
    mask = mask if is_causal else mask | ~causal_mask(7)
    wanted, weights = plain(x, attn_mask=mask, need_weights=True)
    found, same = module(x, is_causal=is_causal, need_weights=True)
    assert error(found, wanted) <= 1e-12
    assert error(same, weights) <= 1e-12
    if is_causal:
        cache = module.new_cache(2, 7)
        assert cache.key.size(2) == min(window, 7)
        steps = [module(part, cache=cache) for part in x.split([2, 1, 3, 1], dim=1)]
        assert error(torch.cat(steps, 1), wanted) <= 1e-12
        with pytest.raises(ValueError, match=f"cache must have window {window}, as the module"):
            module(x, cache=plain.new_cache(2, 7))


# --- caches ----------------------------------------------------------------------------------


@every_module
@pytest.mark.parametrize("sizes", [[5], [2, 1, 2], [1] * 5])
def test_gradients_with_a_cache_are_those_without(make: Callable, sizes: list[int]) -> None:
    module, x = built(make), normal(2, 5, EMBED).requires_grad_()
    cache, leaves = module.new_cache(2, 5), (x, *module.parameters())
    found = torch.cat([module(part, cache=cache) for part in x.split(sizes, dim=1)], dim=1)
    wanted = module(x, is_causal=True)
    gradients = [torch.autograd.grad(y.sin().sum(), leaves) for y in (found, wanted)]
    for mine, its in zip(*gradients, strict=True):
        assert error(mine, its) <= 1e-11


@every_module
def test_a_cache_can_go_back_and_choose_rows(make: Callable) -> None:
    module, x = built(make), normal(3, 7, EMBED)
    wanted, cache = module(x, is_causal=True), module.new_cache(3, 9)
    with torch.no_grad():
        module(x[:, :4], cache=cache)
        module(normal(3, 3, EMBED, seed=5), cache=cache)  # rejected
        cache.crop(4)
        assert cache.length == 4
        cache.select(torch.tensor([2, 0, 0]))
        found = module(x[[2, 0, 0], 4:], cache=cache)
    assert error(found, wanted[[2, 0, 0], 4:]) <= 1e-12


@every_module
def test_what_a_cache_cannot_do_is_refused(make: Callable) -> None:
    module, x = built(make), normal(2, 4, EMBED)
    cache = module.new_cache(2, 9)
    module(x, cache=cache)
    for length, kind in ((5, ValueError), (-1, ValueError), (1.0, TypeError)):
        with pytest.raises(kind, match="length must be"):
            cache.crop(length)
    for rows in ([0], torch.tensor([True, False]), torch.zeros(1, 1).long(), torch.zeros(0).long()):
        with pytest.raises((TypeError, ValueError), match="rows must "):
            cache.select(rows)
    with pytest.raises(IndexError):
        cache.select(torch.tensor([2]))
    assert cache.length == 4
    assert (
        error(module(x, cache=cache), module(torch.cat((x, x), 1), is_causal=True)[:, 4:]) < 1e-12
    )


def test_a_ring_that_has_come_round_cannot_go_back() -> None:
    module, x = built(MODULES["multi-head"], window=3), normal(2, 5, EMBED)
    cache = module.new_cache(2, 9)
    module(x[:, :3], cache=cache)
    cache.crop(2)
    module(x[:, 2:], cache=cache)
    with pytest.raises(ValueError, match=r"or reset\(\) used: its 3 slots have been written over"):
        cache.crop(4)
    cache.crop(5)


# said by PyTorch's RMS normalisation, whose weight stays in float32
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
@every_module
@pytest.mark.parametrize("inside", [True, False])
def test_a_cache_works_under_autocast(make: Callable, inside: bool) -> None:
    module, x = built(make).float(), normal(2, 5, EMBED).float()
    wanted, cache = module(x, is_causal=True), module.new_cache(2, 5)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        if inside:
            cache = module.new_cache(2, 5)
            kept = cache.entries if isinstance(cache, LatentCache) else cache.key
            assert kept.dtype == torch.bfloat16
        found = torch.cat([module(part, cache=cache) for part in x.split([3, 1, 1], 1)], 1)
    assert found.dtype == torch.bfloat16
    assert error(found.float(), wanted) <= 0.05


def test_an_attention_function_gets_one_dtype_under_autocast() -> None:
    module = built(MODULES["grouped-query"], attend=scaled_dot_product_attention).float()
    x, cache = normal(2, 5, EMBED).float(), module.new_cache(2, 5)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert module(x, cache=cache).dtype == torch.bfloat16


@every_module
def test_a_new_cache_is_made_for_the_layer(make: Callable) -> None:
    module = built(make)
    cache = module.new_cache(batch=3, capacity=9)
    kept = cache.entries if isinstance(cache, LatentCache) else cache.key
    assert (kept.dtype, kept.size(0), cache.capacity, cache.length) == (torch.float64, 3, 9, 0)
    assert "float16" in repr(module.new_cache(3, 9, dtype=torch.float16))
    meta = module.to("meta").new_cache(3, 9)
    assert ", meta)" in repr(meta)
    module(torch.zeros(3, 1, EMBED, device="meta", dtype=torch.float64), cache=meta)
    assert "capacity=9" in repr(meta)
    assert "length=1" in repr(meta)


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_a_context_is_projected_once_and_gradients_flow_to_it(kv_heads: int) -> None:
    torch.manual_seed(0)
    module = GroupedQueryAttention(EMBED, 6, kv_heads, kv_dim=10).double()
    x, context = normal(2, 5, EMBED), normal(2, 7, 10, seed=1).requires_grad_()
    asked, leaves = [], (context, *module.parameters())
    module.k_proj.register_forward_hook(lambda *_: asked.append(1))
    kept = module.cache_context(context)
    seen = padding_mask([7, 4])
    found = torch.cat([module(x[:, [t]], kept, key_padding_mask=seen) for t in range(5)], dim=1)
    assert len(asked) == 1
    wanted = module(x, context, key_padding_mask=seen)
    assert error(found, wanted) <= 1e-12
    gradients = [torch.autograd.grad(y.sin().sum(), leaves) for y in (found, wanted)]
    for mine, its in zip(*gradients, strict=True):
        assert error(mine, its) <= 1e-11
    rows = torch.tensor([1, 1, 0])
    assert error(module(x[rows], kept.select(rows)), module(x[rows], context[rows])) <= 1e-12
    assert kept.nbytes == 2 * 2 * kv_heads * 7 * 4 * 8
    assert "length=7" in repr(kept)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rotary": RotaryEmbedding(4)}, "context must be None with rotary positions"),
        ({"window": 3}, "context must be None with a window"),
    ],
)
def test_a_context_without_an_order_of_its_own_is_refused(options: dict, message: str) -> None:
    module = MultiHeadAttention(EMBED, 6, **options)
    for call in (module.cache_context, lambda context: module(torch.zeros(2, 5, EMBED), context)):
        with pytest.raises(ValueError, match=message):
            call(torch.zeros(2, 7, EMBED))


def test_a_kept_context_must_be_the_layers() -> None:
    kept = MultiHeadAttention(EMBED, 4).cache_context(torch.zeros(2, 7, EMBED))
    with pytest.raises(ValueError, match="must have num_kv_heads 6, as the module; got 4"):
        MultiHeadAttention(EMBED, 6)(torch.zeros(2, 5, EMBED), kept)
    with pytest.raises(ValueError, match="x must have the cache's batch 2; got 3"):
        MultiHeadAttention(EMBED, 4)(torch.zeros(3, 5, EMBED), kept)


# --- what a compiler and a device see --------------------------------------------------------


@every_module
def test_a_step_reads_nothing_back_from_the_device(make: Callable) -> None:
    module, x = built(make), normal(2, 1, EMBED)
    cache = module.new_cache(2, 9)
    found = set()
    with torch.no_grad():
        for options in ({}, {"key_padding_mask": torch.ones(2, 2).bool()}, {"need_weights": True}):
            found |= {*operations_of(functools.partial(module, x, cache=cache, **options))}
    reads = {"aten._local_scalar_dense.default", "aten.aminmax.default", "aten.nonzero.default"}
    assert not reads & found


def test_rotary_costs_a_step_few_operations() -> None:
    counts = []
    for rotary in (None, RotaryEmbedding(4)):
        module = MultiHeadAttention(EMBED, 6, rotary=rotary)
        cache = module.new_cache(2, 9)
        step = functools.partial(module, torch.zeros(2, 1, EMBED), cache=cache)
        with torch.no_grad():
            counts.append(operations_of(step).total())
    assert counts[1] - counts[0] <= 35
    assert counts[0] <= 36


@every_module
def test_compiles_to_one_graph_with_a_cache(make: Callable) -> None:
    torch._dynamo.reset()
    module, x = built(make), normal(2, 6, EMBED)
    wanted = module(x, is_causal=True)
    cache = module.new_cache(2, 6)

    compiled = torch.compile(
        lambda part: module(part, cache=cache), backend="eager", fullgraph=True
    )
    with torch.no_grad():
        found = [compiled(part) for part in x.split([3, 1, 1, 1], dim=1)]
    assert error(torch.cat(found, 1), wanted) <= 1e-12


@every_module
def test_can_be_exported_and_has_shapes_without_numbers(make: Callable) -> None:
    module, x = built(make), normal(2, 5, EMBED)
    exported = torch.export.export(Causal(module), (x,)).module()
    assert error(exported(x), module(x, is_causal=True)) <= 1e-12
    meta = module.to("meta")
    assert meta(x.to("meta"), is_causal=True, need_weights=True)[1].shape == (2, 6, 5, 5)


def test_given_positions_break_no_graph_and_need_no_numbers() -> None:
    torch._dynamo.reset()
    module, x, places = built(MODULES["rotary"]), normal(2, 5, EMBED), torch.arange(5) + 3
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    assert error(compiled(x, positions=places), module(x, positions=places)) <= 1e-12
    with pytest.raises(ValueError, match="positions must be 0 or more; got -1"):
        module(x, positions=torch.arange(5) - 1)
    meta = module.to("meta")
    assert meta(x.to("meta"), positions=places.to("meta")).shape == x.shape


class Causal(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return self.module(x, is_causal=True)


# --- one head --------------------------------------------------------------------------------


def twice(module: nn.Module) -> Callable[..., Tensor]:
    return lambda x, *masks, **options: module(x, x, *masks, **options)


def thrice(module: nn.Module) -> Callable[..., Tensor]:
    return lambda x, *masks, **options: module(x, x, x, *masks, **options)


ONE_HEAD: dict[str, Callable[..., Callable[..., Tensor]]] = {
    "step 1": lambda **options: SelfAttention(EMBED, EMBED, **options).double(),
    "step 2": lambda **options: FusedSelfAttention(EMBED, EMBED, **options).double(),
    "step 3": lambda **options: MaskedSelfAttention(EMBED, EMBED, 0.0, **options).double(),
    "step 4": lambda **options: ScaledDotProductSelfAttention(EMBED, 0.0, **options).double(),
    "cross": lambda **options: twice(CrossAttention(EMBED, EMBED, EMBED, **options).double()),
    "dot product": lambda **options: thrice(DotProductAttention(**options)),
}
MASKED = {
    **{name: make for name, make in ONE_HEAD.items() if name not in ("step 1", "step 2")},
    "additive": lambda: thrice(AdditiveAttention(EMBED, EMBED, 8).double()),
    "bilinear": lambda: thrice(BilinearAttention(EMBED, EMBED).double()),
    "Gaussian": lambda: thrice(GaussianAttention()),
}


@pytest.mark.parametrize("make", ONE_HEAD.values(), ids=ONE_HEAD)
def test_a_scale_is_heard_with_one_head(make: Callable) -> None:
    outputs = []
    for scale in (None, EMBED**-0.5, 1.0):
        torch.manual_seed(0)
        outputs.append(make(scale=scale)(normal(2, 5, EMBED)))
    assert error(*outputs[:2]) <= 1e-12
    assert error(*outputs[1:]) > 1e-2
    with pytest.raises(ValueError, match="scale must be finite; got inf"):
        make(scale=float("inf"))


@pytest.mark.parametrize("make", MASKED.values(), ids=MASKED)
def test_a_key_padding_mask_with_one_head(make: Callable) -> None:
    attend, x, seen = make(), normal(2, 5, EMBED), padding_mask([5, 3])
    found = attend(x, key_padding_mask=seen)
    assert error(found, attend(x, seen[:, None])) == 0
    assert error(found, attend(x)) > 1e-6
    both = attend(x, causal_mask(5), key_padding_mask=seen)
    assert error(both, attend(x, causal_mask(5) & seen[:, None])) == 0
    with pytest.raises(
        ValueError, match=r"key_padding_mask must have shape \(batch, m\) = \(2, 5\)"
    ):
        attend(x, key_padding_mask=seen[:1])


# --- names -----------------------------------------------------------------------------------


def test_a_module_says_what_was_set() -> None:
    rotary = RotaryEmbedding(4, theta=500000.0)
    module = GroupedQueryAttention(EMBED, 6, 2, rotary=rotary, window=9, scale=0.5, dropout=0.1)
    assert "num_heads=6, num_kv_heads=2, head_dim=4, dropout=0.1, scale=0.5, window=9" in repr(
        module
    )
    assert "RotaryEmbedding(4, theta=500000.0, rotary_dim=4, interleaved=False)" in repr(module)
    for said in (
        "num_heads=6",
        "head_dim=6",
        "rope_dim=4",
        "value_dim=5",
        "kv_rank=8",
        "q_rank=10",
    ):
        assert said in repr(latent())
    assert repr(module.new_cache(2, 20)) == (
        "KVCache(batch=2, num_kv_heads=2, head_dim=4, length=0, capacity=20, window=9, "
        "torch.float32, cpu)"
    )


RENAMED = {
    "to_additive": "mask_to_additive",
    "to_boolean": "mask_to_boolean",
    "to_grouped_query": "multi_head_to_grouped_query",
    "to_half_split": "rotary_to_half_split",
    "to_interleaved": "rotary_to_interleaved",
    "to_multi_head": "grouped_query_to_multi_head",
}


@pytest.mark.parametrize("old", RENAMED)
def test_a_name_of_before_leads_on_and_warns(old: str) -> None:
    new = getattr(attn_docs, RENAMED[old])
    with pytest.warns(DeprecationWarning, match=f"attn_docs.{old} is now named {RENAMED[old]}"):
        assert getattr(attn_docs, old) is new
    module = __import__("sys").modules[new.__module__]
    with pytest.warns(DeprecationWarning, match=f"{old} is now named {RENAMED[old]}"):
        assert getattr(module, old) is new
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(attn_docs, "to_nothing")
