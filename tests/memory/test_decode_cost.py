"""FLOP and bytes of a step against counting one by one, PyTorch's counter and real caches."""

import re
from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from attn_docs import (
    DecodeCost,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    decode_cost,
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
    latent_decode_cost,
    projection_cost,
)
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import Made, load_exhibit

bench = page_module("memory/decode-cost", "benchmark")
STORED = load(bench.__file__)
tables = page_module("memory/decode-cost", "tables")

proof = settings(derandomize=True, deadline=None, max_examples=15)
sizes = st.integers(1, 4)


# --- counting --------------------------------------------------------------------------------


def counted(
    length: int, heads: int, kv_heads: int, head_dim: int, batch: int, new: int
) -> tuple[int, int]:
    """Count multiply-adds and the numbers read, one by one."""
    multiply_adds, read = 0, set()
    for b in range(batch):
        for _ in range(new):
            for head in range(heads):
                shared = head // (heads // kv_heads)
                for word in range(length):
                    for i in range(head_dim):
                        multiply_adds += 2
                        read |= {(kind, b, shared, word, i) for kind in ("key", "value")}
    return multiply_adds, len(read)


@proof
@given(data=st.data(), g=sizes, r=sizes, d=sizes, b=st.integers(1, 2), each=st.sampled_from([1, 2]))
def test_a_step_is_what_counting_one_by_one_finds(
    data: st.DataObject, g: int, r: int, d: int, b: int, each: int
) -> None:
    length = data.draw(st.integers(1, 5))
    new = data.draw(st.integers(1, length))
    multiply_adds, numbers = counted(length, g * r, g, d, b, new)
    cost = decode_cost(
        length, num_heads=g * r, num_kv_heads=g, head_dim=d, batch=b, new=new, bytes_per_number=each
    )
    assert cost == (2 * multiply_adds, each * numbers)
    assert cost.intensity == pytest.approx(2 * new * r / each)


@proof
@given(g=sizes, r=sizes, d=st.integers(2, 4), b=sizes, seen=st.integers(1, 5), new=sizes)
def test_a_step_is_what_pytorch_counts_and_the_cache_holds(
    g: int, r: int, d: int, b: int, seen: int, new: int
) -> None:
    attend = grouped_query_attention_broadcast
    module = GroupedQueryAttention(8, g * r, g, head_dim=d, attend=attend)
    cache = KVCache(b, g, d, seen + new)
    options = {"num_heads": g * r, "num_kv_heads": g, "head_dim": d}
    options |= {"batch": b, "new": new, "bytes_per_number": 4}
    with torch.no_grad():
        module(torch.randn(b, seen, 8), cache=cache)
        with FlopCounterMode(display=False) as counter:
            module(torch.randn(b, new, 8), cache=cache)
    attention = decode_cost(seen + new, **options)
    projections = projection_cost(8, **options)
    assert attention.plus(projections).flops == counter.get_total_flops()
    assert attention.bytes == cache.nbytes
    assert projections.bytes == sum(layer.weight.nbytes for layer in module.children())


@proof
@given(
    h=sizes,
    c=st.integers(2, 4),
    r=st.sampled_from([2, 4]),
    b=sizes,
    seen=st.integers(1, 5),
    new=sizes,
)
def test_a_latent_step_is_what_pytorch_counts_and_the_cache_holds(
    h: int, c: int, r: int, b: int, seen: int, new: int
) -> None:
    scored = 0

    def attend(query: Tensor, key: Tensor, value: Tensor, *args: object, **options: object):
        nonlocal scored  # the values as they are used: the latent part of an entry
        with FlopCounterMode(display=False) as counter:
            found = grouped_query_attention_broadcast(query, key, value[..., :c], *args, **options)
        scored = counter.get_total_flops()
        return found

    module = MultiHeadLatentAttention(
        8, h, kv_rank=c, head_dim=3, rope_dim=r, value_dim=5, attend=attend
    )
    cache = LatentCache(b, c, r, seen + new)
    with torch.no_grad():
        module(torch.randn(b, seen, 8), cache=cache, absorb=True)
        module(torch.randn(b, new, 8), cache=cache)
    cost = latent_decode_cost(
        seen + new, num_heads=h, kv_rank=c, rope_dim=r, batch=b, new=new, bytes_per_number=4
    )
    assert cost == (scored, cache.nbytes)


def test_the_intensities_of_known_models() -> None:
    for heads, kv_heads, wanted in ((32, 32, 1), (32, 8, 4), (64, 8, 8), (71, 1, 71)):
        cost = decode_cost(1000, num_heads=heads, num_kv_heads=kv_heads, head_dim=64)
        assert cost.intensity == wanted
    latent = latent_decode_cost(1000, num_heads=128, kv_rank=512, rope_dim=64)
    assert latent.intensity == pytest.approx(128 * (2 * 512 + 64) / (512 + 64))
    assert latent.bytes == 1000 * 1152


def test_defaults_are_one_new_word_of_one_text_in_sixteen_bits() -> None:
    options = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 5}
    default = {"batch": 1, "new": 1, "bytes_per_number": 2}
    latent = {"num_heads": 6, "kv_rank": 7, "rope_dim": 4}
    assert decode_cost(9, **options) == decode_cost(9, **options, **default) == (1080, 360)
    assert projection_cost(11, **options) == projection_cost(11, **options, **default)
    assert projection_cost(11, **options) == (2 * 880, 2 * 880)
    assert latent_decode_cost(9, **latent) == latent_decode_cost(9, **latent, **default)
    assert latent_decode_cost(9, **latent) == (2 * 6 * 9 * 18, 9 * 11 * 2)


def test_a_batch_shares_weights_and_no_cache() -> None:
    options = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 5}
    for batch in (1, 3, 8):
        assert decode_cost(9, **options, batch=batch).intensity == 3
        assert projection_cost(11, **options, batch=batch).intensity == batch
        latent = latent_decode_cost(9, num_heads=6, kv_rank=7, rope_dim=4, batch=batch)
        assert latent.intensity == pytest.approx(6 * 18 / 11)


def test_a_shorter_number_is_read_faster() -> None:
    options = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 5}
    assert decode_cost(9, **options, bytes_per_number=0.5) == (1080, 90)
    assert projection_cost(11, **options, bytes_per_number=0.5) == (1760, 440)


def test_the_crossover_is_twice_embed_dim() -> None:
    options = {"num_heads": 6, "num_kv_heads": 6, "head_dim": 4}
    weights, cache = projection_cost(24, **options), decode_cost(48, **options)
    assert cache == weights


def test_the_slower_of_computing_and_reading_decides() -> None:
    cost = DecodeCost(flops=96, bytes=24)
    assert cost.intensity == 4
    assert cost.seconds(flops_per_second=8, bytes_per_second=1) == 24
    assert cost.seconds(flops_per_second=2, bytes_per_second=1) == 48
    assert cost.seconds(flops_per_second=8, bytes_per_second=2) == 12
    assert cost.plus(DecodeCost(4, 1)) == DecodeCost(100, 25)


@pytest.mark.parametrize(
    ("call", "change", "kind", "message"),
    [
        ("decode", {"length": 0, "new": 1}, ValueError, "length must be 1 or more; got 0"),
        ("decode", {"length": 2.0}, TypeError, "length must be an int; got 2.0"),
        ("decode", {"num_heads": 0}, ValueError, "num_heads must be 1 or more; got 0"),
        ("decode", {"num_kv_heads": 0}, ValueError, "num_kv_heads must be 1 or more; got 0"),
        (
            "decode",
            {"num_kv_heads": 4},
            ValueError,
            "num_kv_heads must divide num_heads = 6; got 4",
        ),
        ("decode", {"head_dim": 0}, ValueError, "head_dim must be 1 or more; got 0"),
        ("decode", {"batch": 0}, ValueError, "batch must be 1 or more; got 0"),
        ("decode", {"new": 0}, ValueError, "new must be 1 or more; got 0"),
        ("decode", {"new": 10}, ValueError, "new must be at most length = 9; got 10"),
        ("decode", {"bytes_per_number": 0}, ValueError, "bytes_per_number must be above 0; got 0"),
        (
            "decode",
            {"bytes_per_number": "2"},
            TypeError,
            "bytes_per_number must be an int or a float; got '2'",
        ),
        ("latent", {"num_heads": 0}, ValueError, "num_heads must be 1 or more; got 0"),
        ("latent", {"kv_rank": 0}, ValueError, "kv_rank must be 1 or more; got 0"),
        ("latent", {"rope_dim": 0}, ValueError, "rope_dim must be 1 or more; got 0"),
        ("latent", {"length": True}, TypeError, "length must be an int; got True"),
        ("latent", {"batch": 0}, ValueError, "batch must be 1 or more; got 0"),
        ("latent", {"new": 10}, ValueError, "new must be at most length = 9; got 10"),
        (
            "latent",
            {"bytes_per_number": -1},
            ValueError,
            "bytes_per_number must be above 0; got -1",
        ),
        ("projection", {"embed_dim": 0}, ValueError, "embed_dim must be 1 or more; got 0"),
        ("projection", {"num_heads": 0}, ValueError, "num_heads must be 1 or more; got 0"),
        ("projection", {"num_kv_heads": 0}, ValueError, "num_kv_heads must be 1 or more; got 0"),
        (
            "projection",
            {"num_kv_heads": 4},
            ValueError,
            "num_kv_heads must divide num_heads = 6; got 4",
        ),
        ("projection", {"head_dim": 0}, ValueError, "head_dim must be 1 or more; got 0"),
        ("projection", {"batch": 0}, ValueError, "batch must be 1 or more; got 0"),
        ("projection", {"new": 0}, ValueError, "new must be 1 or more; got 0"),
        (
            "projection",
            {"bytes_per_number": 0},
            ValueError,
            "bytes_per_number must be above 0; got 0",
        ),
        ("seconds", {"flops_per_second": 0}, ValueError, "flops_per_second must be above 0; got 0"),
        (
            "seconds",
            {"bytes_per_second": None},
            TypeError,
            "bytes_per_second must be an int or a float; got None",
        ),
    ],
)
def test_bad_arguments_are_refused(call: str, change: dict, kind: type, message: str) -> None:
    heads = {"num_heads": 6, "num_kv_heads": 2, "head_dim": 5}
    rates = {"flops_per_second": 1, "bytes_per_second": 1}
    function, good = {
        "decode": (decode_cost, {"length": 9} | heads),
        "latent": (latent_decode_cost, {"length": 9, "num_heads": 6, "kv_rank": 7, "rope_dim": 4}),
        "projection": (projection_cost, {"embed_dim": 11} | heads),
        "seconds": (DecodeCost(1, 1).seconds, rates),
    }[call]
    with pytest.raises(kind) as caught:
        function(**(good | change))
    assert str(caught.value) == message


# --- several devices -------------------------------------------------------------------------


def test_a_device_has_its_share_of_heads_and_at_least_one_key_head() -> None:
    sizes = {"num_heads": 12, "num_kv_heads": 2, "head_dim": 5}
    whole = decode_cost(9, **sizes)
    halves = decode_cost(9, **sizes, tp=2)
    assert whole == decode_cost(9, **sizes, tp=1) == halves.plus(halves)
    for tp in (4, 6, 12):  # more devices than key heads: one copy each
        one = decode_cost(9, num_heads=12 // tp, num_kv_heads=1, head_dim=5)
        assert decode_cost(9, **sizes, tp=tp) == one
        projections = {"num_heads": 12 // tp, "num_kv_heads": 1, "head_dim": 5}
        assert projection_cost(11, **sizes, tp=tp) == projection_cost(11, **projections)


def test_every_device_keeps_the_whole_latent_cache() -> None:
    sizes = {"num_heads": 128, "kv_rank": 512, "rope_dim": 64}
    whole, part = latent_decode_cost(9, **sizes), latent_decode_cost(9, **sizes, tp=8)
    assert part == (whole.flops / 8, whole.bytes)
    assert (round(whole.intensity), round(part.intensity)) == (242, 30)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"tp": 0}, ValueError, "tp must be 1 or more; got 0"),
        ({"tp": 1.0}, TypeError, "tp must be an int; got 1.0"),
        ({"tp": 5}, ValueError, "tp must divide num_heads = 12; got 5"),
        ({"tp": 3}, ValueError, "tp must divide num_kv_heads = 4 or be a multiple of it; got 3"),
    ],
)
def test_heads_that_cannot_be_shared_are_refused(change: dict, kind: type, message: str) -> None:
    sizes = {"num_heads": 12, "num_kv_heads": 4, "head_dim": 5}
    for call in (lambda: decode_cost(9, **sizes, **change),
                 lambda: projection_cost(11, **sizes, **change)):  # fmt: skip
        with pytest.raises(kind, match=f"^{re.escape(message)}$"):
            call()


# --- exhibits --------------------------------------------------------------------------------

MENDED = {
    "decode_repeats_keys": ("x.repeat_interleave(group, dim=1)", "x"),
    "decode_recomputes": (
        "attend(given, is_causal=True)",
        "attend(tokens[:, [t]], is_causal=True, cache=cache)",
    ),
    "decode_one_flop": ("2 * num_heads", "4 * num_heads"),
    "decode_shared_cache": ("2 * num_kv_heads", "2 * batch * num_kv_heads"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"memory/{name}", MENDED[name], mended=mended)


def test_decode_repeats_keys_has_the_numbers_and_moves_more() -> None:
    torch.manual_seed(0)
    query = torch.randn(2, 6, 1, 11, dtype=torch.float64)
    key, value = torch.randn(2, 2, 3, 7, 11, dtype=torch.float64).unbind()
    wanted = grouped_query_attention_repeat(query, key, value)
    for mended in (False, True):
        with Made() as made:
            found = load("decode_repeats_keys", mended=mended).step(query, key, value)
        assert (found - wanted).abs().max() <= 1e-12
        assert (2 * 6 * 7 * 11 in made.sizes) != mended  # the repeated keys


def test_decode_recomputes_has_the_numbers_and_computes_more() -> None:
    torch.manual_seed(0)
    module, words = MultiHeadAttention(24, 6).double(), torch.randn(2, 5, 24).double()
    wanted = module(words, is_causal=True)
    flops = []
    for mended in (False, True):
        cache = KVCache(2, 6, 4, 5, dtype=torch.float64)
        decode = load("decode_recomputes", mended=mended).decode
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            found = decode(module, words, cache)
        assert (found - wanted).abs().max() <= 1e-12
        flops.append(counter.get_total_flops())
    projections = projection_cost(24, num_heads=6, num_kv_heads=6, head_dim=4, batch=2)
    assert flops[0] - flops[1] >= (1 + 2 + 3 + 4) * projections.flops


def test_decode_one_flop_is_half() -> None:
    right = decode_cost(9, num_heads=6, num_kv_heads=2, head_dim=5).intensity
    wrong, mended = (load("decode_one_flop", mended=m).intensity(6, 2, 2) for m in (False, True))
    assert (wrong, mended) == (right / 2, right)


def test_decode_shared_cache_grows_with_the_batch() -> None:
    right = decode_cost(9, num_heads=6, num_kv_heads=2, head_dim=5, batch=7).intensity
    wrong, mended = (
        load("decode_shared_cache", mended=m).intensity(7, 9, 6, 2, 5, 2) for m in (False, True)
    )
    assert (wrong, mended) == (7 * right, right)


# --- tables and measurement ------------------------------------------------------------------


def test_the_table_shows_the_models() -> None:
    for language in ("en", "zh"):
        rows = [line for line in tables.variants(language).splitlines() if line.startswith("| ")]
        assert len(rows) == 2 + len(tables.MODELS)
    assert [round(tables.cost(name).intensity) for name in tables.MODELS] == [1, 4, 8, 71, 242]
    assert round(tables.ridge()) == 295
    assert round(tables.cost("DeepSeek-V3", tp=8).intensity) == 30


def test_caches_outweigh_the_weights_that_a_step_reads() -> None:
    numbers, weights = tables.numbers(), 2 * (8_030_261_248 - 128_256 * 4096)
    assert numbers["crossover_read"] == f"{round(weights / 131_072, -2):,.0f}" == "114,500"
    assert numbers["read_ms"] == f"{weights / 3.35e9:.1f}"
    assert numbers["compute_ms"] == f"{weights / 989.4e9:.3f}"  # two FLOP and two bytes a weight
    assert numbers["prompt_cache"] == f"{512 * 32 // 8:,}"


def test_the_formula_of_tokens_per_second_is_run_with_the_weights_that_a_step_reads() -> None:
    weights = 2 * (8_030_261_248 - 128_256 * 4096)
    assert tables.read_weights() == weights
    for batch, length in ((1, 4096), (64, 4096), (8, 1024)):
        rate = 3.35e12 / (weights / batch + length * 131_072)
        assert tables.rate(batch, length) == pytest.approx(rate, rel=1e-9)
        step = tables.step(batch, length)
        assert batch / (step.bytes / 3.35e12) == pytest.approx(rate, rel=1e-9)
        attention = 4 * 32 * 128 * length * 32
        assert step.flops == batch * (weights + attention)
    assert tables.bound(8) == pytest.approx(8 * 2.039e12 / (2 * (6_738_415_616 - 32_000 * 4096)))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_published_rates_stand_beside_the_bound_and_below_it(language: str) -> None:
    rows = [line for line in tables.published(language).splitlines() if line.startswith("|")][2:]
    for row, (devices, rate) in zip(rows, tables.PUBLISHED.items(), strict=True):
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        bound = tables.bound(devices)
        assert cells == [str(devices), f"{bound:,.0f}", f"{rate:,.0f}", f"{rate / bound:.0%}"]
        assert rate < bound


def test_fewer_key_heads_make_fewer_keys_so_the_rows_do_not_compute_the_same() -> None:
    flops = []
    for name in ("multi-head", "grouped-query", "multi-query"):
        module, cache = bench.build(name), KVCache(1, bench.KV_HEADS[name], bench.HEAD_DIM, 9)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            module(torch.randn(1, 9, bench.EMBED_DIM), cache=cache)
        flops.append(counter.get_total_flops())
    assert flops == sorted(flops, reverse=True)
    assert len(set(flops)) == 3


@pytest.mark.parametrize("name", bench.NAMES)
def test_what_is_measured_is_a_step_that_reads_the_counted_bytes(name: str) -> None:
    with torch.no_grad():
        call = bench.step(name, 9)
        cache = call.__closure__[0].cell_contents
        assert call().shape == call().shape == (1, 1, bench.EMBED_DIM)
    assert cache.length == 9
    assert cache.nbytes == bench.cost(name, 9).bytes


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_tables_hold_the_stored_numbers(language: str) -> None:
    machine, steps = STORED["machine"], STORED["steps"]
    computes, reads = machine("computes"), machine("reads")
    shown = re.findall(r"\d+\.\d(?= G| \|)", tables.machine(language))
    assert shown == [f"{rate:.1f}" for rate in (computes, reads, computes / reads)]
    rows = [line for line in tables.steps(language).splitlines() if line.startswith("|")][2:]
    for name, row in zip(bench.NAMES, rows, strict=True):
        times = [steps("time", attention=name, words=length) for length in bench.LENGTHS]
        assert re.findall(r"[\d.]+(?=×)", row)[1:] == [f"{time:.3f}" for time in times]
        weights = sum(parameter.numel() for parameter in bench.build(name).parameters())
        read = bench.cost(name, bench.LENGTHS[-1]).bytes + 4 * weights
        # reading decides in all of them
        milliseconds = [f"{read / reads / 1e6:.1f}", f"{steps('step', attention=name):.1f}"]
        assert re.findall(r"[\d.]+(?= ms)", row) == milliseconds


def test_the_measurement_says_what_the_page_says() -> None:
    steps, length = STORED["steps"], bench.LENGTHS[-1]
    longest = {name: steps("time", attention=name, words=length) for name in bench.NAMES}
    assert max(longest["grouped-query"], longest["multi-query"], longest["latent"]) < 0.8
    assert longest["multi-query"] < longest["grouped-query"]
    assert longest["repeat"] > 1.5
    assert longest["torch"] > longest["grouped-query"]


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
\text{FLOP} = 4\, b\, n\, h\, m\, d
\qquad
\text{bytes} = 2\, b\, g\, m\, d\, s
\qquad
\text{intensity} = \frac{2\,n}{s} \cdot \frac{h}{g}
""")
def test_the_formula_of_shared_heads() -> None:
    b, n, h, g, m, d, s = 2, 5, 12, 3, 17, 8, 4
    cost = decode_cost(
        m, num_heads=h, num_kv_heads=g, head_dim=d, batch=b, new=n, bytes_per_number=s
    )
    assert cost == (4 * b * n * h * m * d, 2 * b * g * m * d * s)
    assert cost.intensity == pytest.approx(2 * n / s * h / g, rel=1e-12)


@pytest.mark.formula(r"""
\text{FLOP} = 2\, b\, n\, h\, m\, (2 d_c + d_r)
\qquad
\text{bytes} = b\, m\, (d_c + d_r)\, s
\qquad
\text{intensity} = \frac{2\, n\, h}{s} \cdot \frac{2 d_c + d_r}{d_c + d_r}
""")
def test_the_formula_of_latent_attention() -> None:
    b, n, h, m, d_c, d_r, s = 2, 5, 12, 17, 11, 6, 4
    cost = latent_decode_cost(
        m, num_heads=h, kv_rank=d_c, rope_dim=d_r, batch=b, new=n, bytes_per_number=s
    )
    assert cost == (2 * b * n * h * m * (2 * d_c + d_r), b * m * (d_c + d_r) * s)
    assert cost.intensity == pytest.approx(2 * n * h / s * (2 * d_c + d_r) / (d_c + d_r), rel=1e-12)
