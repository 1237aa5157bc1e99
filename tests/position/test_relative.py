"""Biases by distance against transformers, exact arithmetic and loops; properties and exhibits."""

import itertools
import math
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import BloomConfig, T5Config
from transformers.models.bloom.modeling_bloom import BloomAttention, build_alibi_tensor
from transformers.models.falcon import modeling_falcon as falcon
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from attn_docs import (
    KVCache,
    MultiHeadAttention,
    RelativeBias,
    alibi_bias,
    alibi_slopes,
    attention_weights,
    scaled_dot_product_attention,
    t5_bucket,
)
from docs._kit import measured
from docs._kit.examples import example
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal, parse

figures = page_module("position/relative", "figures")
tables = page_module("position/relative", "tables")
benchmark = page_module("position/relative", "benchmark")

bucket_sizes = pytest.mark.parametrize(
    ("num_buckets", "max_distance"), [(32, 128), (20, 50), (8, 1000), (64, 128), (4, 16), (6, 9)]
)
sides = pytest.mark.parametrize("bidirectional", [True, False])
POWERS = (1, 2, 4, 8, 16, 32, 64, 128)


def learned(num_heads: int, *, bidirectional: bool, **options: int) -> RelativeBias:
    """Return a bias in float64 whose numbers are not the zeros of its beginning."""
    bias = RelativeBias(num_heads, bidirectional=bidirectional, **options).double()
    weight = bias.relative_attention_bias.weight
    torch.nn.init.zeros_(weight).data.add_(normal(*weight.shape, seed=7))
    return bias


# --- ALiBi -----------------------------------------------------------------------------------


def slopes_by_recursion(num_heads: int) -> list[float]:
    """Return the slopes as the authors' code defines them, through itself."""

    def of_power(n: int) -> list[float]:
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(num_heads).is_integer():
        return of_power(num_heads)
    closest = 2 ** math.floor(math.log2(num_heads))
    return of_power(closest) + slopes_by_recursion(2 * closest)[0::2][: num_heads - closest]


@pytest.mark.parametrize("num_heads", [*range(1, 41), 64, 71, 96, 112, 127, 128])
def test_slopes_are_those_of_the_authors_of_bloom_and_of_mpt(num_heads: int) -> None:
    found = alibi_slopes(num_heads)
    assert found.shape == (num_heads,)
    assert found.dtype == torch.float32
    wanted = torch.tensor(slopes_by_recursion(num_heads), dtype=torch.float64)
    assert error(found.double(), wanted) <= 1e-7
    mask = torch.ones(1, 2, dtype=torch.long)
    bloom = build_alibi_tensor(mask, num_heads, torch.float32)  # slope times key position
    assert error(found, bloom[:, 0, 1]) <= 2e-7
    if num_heads > 1:  # with one head its tensor loses an axis
        mpt = build_mpt_alibi_tensor(num_heads, 2)  # slope times position less the last
        assert error(found, -mpt[:, 0, 0]) <= 2e-7


def test_falcon_rounds_the_slopes_to_bfloat16() -> None:
    mask = torch.ones(1, 2, dtype=torch.long)
    theirs = falcon.build_alibi_tensor(mask, 71, torch.float32)[:, 0, 1]
    assert theirs.equal(alibi_slopes(71).bfloat16().float())


def test_slopes_of_a_power_of_two_are_one_series_and_of_twelve_jump() -> None:
    for power in POWERS:
        ratios = alibi_slopes(power)[1:] / alibi_slopes(power)[:-1]
        assert error(ratios, torch.full_like(ratios, 2 ** (-8 / power))) <= 1e-6
        assert alibi_slopes(power)[-1].item() == pytest.approx(2**-8)
    twelve = alibi_slopes(12)
    assert twelve[:8].equal(alibi_slopes(8))
    assert twelve[8:].equal(alibi_slopes(16)[:8:2])
    assert twelve[7] < 0.004
    assert twelve[8] > 0.7
    assert len(set(twelve.tolist())) == 12


@pytest.mark.parametrize(("n", "m", "offset"), [(5, None, 0), (3, 9, 4), (1, None, 6), (4, 2, 0)])
def test_alibi_is_a_loop(n: int, m: int | None, offset: int) -> None:
    found = alibi_bias(6, n, m, offset=offset, dtype=torch.float64)
    keys = n + offset if m is None else m
    assert found.shape == (1, 6, n, keys)
    for h, slope in enumerate(slopes_by_recursion(6)):
        for i, j in itertools.product(range(n), range(keys)):
            wanted = -slope * abs(i + offset - j)
            assert found[0, h, i, j].item() == pytest.approx(wanted, abs=1e-12)


def test_a_bias_is_made_in_the_dtype_and_on_the_device_that_are_asked_for() -> None:
    assert alibi_bias(4, 3).dtype == torch.float32
    assert alibi_bias(4, 3, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert alibi_bias(4, 3, device="meta").is_meta
    assert alibi_bias(4, 0).shape == (1, 4, 0, 0)
    assert RelativeBias(4, bidirectional=True).bfloat16()(3).dtype == torch.bfloat16
    assert RelativeBias(4, bidirectional=True).to("meta")(3).is_meta


def test_bfloat16_does_not_tell_far_keys_apart() -> None:
    far = alibi_bias(8, 1, 302, offset=301, dtype=torch.bfloat16)[0, 0, 0, :4]
    assert len(set(far.tolist())) < 4
    assert len(set(alibi_bias(8, 1, 302, offset=301)[0, 0, 0, :4].tolist())) == 4


def test_a_whole_layer_of_bloom() -> None:
    heads, size, n = 6, 24, 7
    config = BloomConfig(hidden_size=size, n_head=heads, attention_dropout=0.0, hidden_dropout=0.0)
    torch.manual_seed(0)
    theirs = BloomAttention(config, layer_idx=0).double().eval()
    ours = MultiHeadAttention(size, heads).double()
    fused = theirs.query_key_value.weight.view(heads, 3, size // heads, size)
    bias = theirs.query_key_value.bias.view(heads, 3, size // heads)
    torch.nn.init.normal_(bias.detach())
    with torch.no_grad():
        for at, layer in enumerate((ours.q_proj, ours.k_proj, ours.v_proj)):
            layer.weight.copy_(fused[:, at].flatten(0, 1))
            layer.bias.copy_(bias[:, at].flatten())
    ours.out_proj.load_state_dict(theirs.dense.state_dict())
    x = normal(2, n, size)
    alibi = build_alibi_tensor(torch.ones(2, n, dtype=torch.long), heads, torch.float64)
    causal = torch.full((n, n), -math.inf, dtype=torch.float64).triu(1).expand(2, 1, n, n)
    wanted = theirs(x, torch.zeros_like(x), alibi=alibi, attention_mask=causal)[0]
    found = ours(x, attn_mask=alibi_bias(heads, n, dtype=torch.float64), is_causal=True)
    assert error(found, wanted) <= 1e-7  # their slopes are float32


def test_falcon_with_alibi_counts_the_bias_twice_in_its_eager_path() -> None:
    """The page says so of transformers 5.23; when this fails, change the page."""
    text = torch.randint(0, 50, (1, 12), generator=torch.Generator().manual_seed(0))

    def run(path: str, factor: float) -> Tensor:
        torch.manual_seed(0)
        config = falcon.FalconConfig(
            vocab_size=50,
            hidden_size=32,
            num_hidden_layers=1,
            num_attention_heads=4,
            alibi=True,
            attn_implementation=path,
        )
        model, build = falcon.FalconModel(config).eval(), falcon.build_alibi_tensor
        with pytest.MonkeyPatch.context() as patch, torch.no_grad():
            patch.setattr(falcon, "build_alibi_tensor", lambda *a, **o: factor * build(*a, **o))
            return model(text).last_hidden_state

    assert error(run("eager", 1), run("sdpa", 1)) > 0.01
    assert error(run("eager", 1), run("sdpa", 2)) <= 1e-5


# --- T5 --------------------------------------------------------------------------------------


def bucket_by_integers(distance: int, num_buckets: int, max_distance: int, *, both: bool) -> int:
    """Return the bucket without a logarithm: r ≥ E·(D/E)^(k/(N−E)) in whole numbers."""
    side = num_buckets // 2 if both else num_buckets
    first = side if both and distance > 0 else 0
    r = abs(distance) if both else max(-distance, 0)
    exact = side // 2
    if r < exact:
        return first + r
    k, rest = 0, side - exact
    while exact + k < side - 1 and max_distance ** (k + 1) * exact**rest <= r**rest * exact ** (
        k + 1
    ):
        k += 1
    return first + exact + k


@bucket_sizes
@sides
def test_buckets_are_those_of_transformers_and_of_exact_arithmetic(
    num_buckets: int, max_distance: int, bidirectional: bool
) -> None:
    options = {"num_buckets": num_buckets, "max_distance": max_distance}
    far = torch.arange(-70_000, 70_001)
    theirs = T5Attention._relative_position_bucket(far, bidirectional, **options)
    found = t5_bucket(far, bidirectional=bidirectional, **options)
    assert found.equal(theirs)
    assert found.dtype == torch.int64
    near = torch.arange(-1100, 1101)
    sizes = (num_buckets, max_distance)
    wanted = [bucket_by_integers(r, *sizes, both=bidirectional) for r in near.tolist()]
    assert t5_bucket(near, bidirectional=bidirectional, **options).tolist() == wanted
    square = near[:25].view(5, 5).int()
    assert t5_bucket(square, bidirectional=bidirectional, **options).shape == (5, 5)


@sides
@pytest.mark.parametrize(("n", "m", "offset"), [(5, None, 0), (3, 9, 4), (1, None, 6), (4, 200, 0)])
def test_a_learned_bias_is_that_of_t5_and_its_weight_loads(
    bidirectional: bool, n: int, m: int | None, offset: int
) -> None:
    sizes = {"relative_attention_num_buckets": 20, "relative_attention_max_distance": 50}
    config = T5Config(d_model=12, num_heads=3, d_kv=5, is_decoder=not bidirectional, **sizes)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double()
    ours = RelativeBias(3, num_buckets=20, max_distance=50, bidirectional=bidirectional).double()
    state = theirs.state_dict()
    name = "relative_attention_bias.weight"
    ours.load_state_dict({name: state[name]})
    keys = n + offset if m is None else m
    wanted, found = theirs.compute_bias(n, keys, past_seen_tokens=offset), ours(n, m, offset=offset)
    assert found.equal(wanted)
    grad = normal(*wanted.shape, seed=3)
    wanted.backward(grad)
    found.backward(grad)
    theirs_grad = theirs.relative_attention_bias.weight.grad
    assert error(ours.relative_attention_bias.weight.grad, theirs_grad) <= 1e-12


@sides
def test_a_whole_layer_of_t5(bidirectional: bool) -> None:
    heads, size, head_dim, n = 3, 12, 5, 9
    config = T5Config(d_model=size, num_heads=heads, d_kv=head_dim, is_decoder=not bidirectional)
    torch.manual_seed(0)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0).double().eval()
    torch.nn.init.normal_(theirs.relative_attention_bias.weight)
    bias = RelativeBias(heads, bidirectional=bidirectional).double()
    ours = MultiHeadAttention(size, heads, head_dim=head_dim, bias=False, scale=1.0).double()
    state, names = theirs.state_dict(), {"q": "q", "k": "k", "v": "v", "o": "out"}
    bias.load_state_dict({k: v for k, v in state.items() if "relative" in k})
    loaded = {f"{mine}_proj.weight": state[f"{their}.weight"] for their, mine in names.items()}
    ours.load_state_dict(loaded)
    mine, other = normal(2, n, size).requires_grad_(), normal(2, n, size).requires_grad_()
    causal = torch.full((n, n), -math.inf, dtype=torch.float64).triu(1).expand(2, 1, n, n)
    wanted = theirs(other, mask=None if bidirectional else causal)[0]
    found = ours(mine, attn_mask=bias(n), is_causal=not bidirectional)
    assert error(found, wanted) <= 1e-12
    for output in (wanted, found):
        output.square().sum().backward()
    assert error(mine.grad, other.grad) <= 1e-10
    weights = (m.relative_attention_bias.weight.grad for m in (bias, theirs))
    assert error(*weights) <= 1e-10


def test_a_new_bias_prefers_no_position() -> None:
    assert RelativeBias(4, bidirectional=True)(5).eq(0).all()


# --- why a row may be shifted ------------------------------------------------------------------


def test_a_row_may_be_shifted() -> None:
    query, key, value = (normal(2, 3, 5, 4, seed=seed) for seed in range(3))
    mask, shift = normal(5, 5, seed=4), 50 * normal(5, 1, seed=5)
    for causal in (False, True):
        found = scaled_dot_product_attention(query, key, value, mask + shift, is_causal=causal)
        wanted = scaled_dot_product_attention(query, key, value, mask, is_causal=causal)
        assert error(found, wanted) <= 1e-12


def test_one_row_of_alibi_is_right_under_a_causal_mask_only() -> None:
    query, key, value = (normal(1, 4, 6, 8, seed=seed) for seed in range(3))
    row = alibi_slopes(4).double().view(1, 4, 1, 1) * torch.arange(6)
    bias = alibi_bias(4, 6, dtype=torch.float64)
    for causal, equal in ((True, True), (False, False)):
        found, wanted = (
            scaled_dot_product_attention(query, key, value, each, is_causal=causal)
            for each in (row, bias)
        )
        assert (error(found, wanted) <= 1e-6) == equal


# --- Shaw, and a bias that depends on the token ------------------------------------------------


def shaw_explicitly(query: Tensor, key: Tensor, value: Tensor, table: Tensor, far: int) -> Tensor:
    """Return the output of the paper's formula, with a vector for each pair."""
    n, d = query.shape[-2:]
    at = torch.arange(n)
    vectors = table[(at - at.unsqueeze(-1)).clamp(-far, far) + far]  # n m d
    scores = torch.einsum("bhnd,bhnmd->bhnm", query, key.unsqueeze(-3) + vectors) / math.sqrt(d)
    return scores.softmax(-1) @ value


def test_shaws_vectors_are_a_bias_that_depends_on_the_query() -> None:
    shaw = example("position/relative/shaw")["shaw"]
    leaves = [normal(2, 3, 7, 4, seed=seed).requires_grad_() for seed in range(3)]
    table = normal(2 * 2 + 1, 4, seed=9).requires_grad_()
    pairs = []
    for compute in (shaw_explicitly, None):
        if compute is None:
            bias = shaw(leaves[0], table)
            output = F.scaled_dot_product_attention(*leaves, attn_mask=bias)
        else:
            output = compute(*leaves, table, 2)
        pairs.append((output, *torch.autograd.grad(output.square().sum(), [*leaves, table])))
    for found, wanted in zip(*pairs, strict=True):
        assert error(found, wanted) <= 1e-11


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: alibi_slopes(0), ValueError, "num_heads must be 1 or more; got 0"),
        (lambda: alibi_slopes(2.0), TypeError, r"num_heads must be an int; got 2\.0"),
        (lambda: alibi_bias(2, -1), ValueError, "query_len must be 0 or more; got -1"),
        (lambda: alibi_bias(2, 1, -1), ValueError, "key_len must be 0 or more; got -1"),
        (lambda: alibi_bias(2, 1, offset=-1), ValueError, "offset must be 0 or more; got -1"),
        (lambda: alibi_bias(2, 1, dtype=torch.int64), TypeError, "dtype must be float16"),
        (lambda: t5_bucket(3, bidirectional=True), TypeError, "distance must be a torch.Tensor"),
        (
            lambda: t5_bucket(torch.zeros(2), bidirectional=True),
            TypeError,
            r"distance must hold integers; got torch\.float32",
        ),
        (lambda: buckets(bidirectional=1), TypeError, "bidirectional must be True or False; got 1"),
        (
            lambda: buckets(num_buckets=7, bidirectional=True),
            ValueError,
            "num_buckets must be even if bidirectional; got 7",
        ),
        (
            lambda: buckets(num_buckets=2, bidirectional=True),
            ValueError,
            "num_buckets must be 4 or more; got 2",
        ),
        (
            lambda: buckets(num_buckets=1, bidirectional=False),
            ValueError,
            "num_buckets must be 2 or more; got 1",
        ),
        (
            lambda: buckets(max_distance=8, bidirectional=True),
            ValueError,
            "max_distance must be above 8; got 8",
        ),
        (
            lambda: RelativeBias(0, bidirectional=True),
            ValueError,
            "num_heads must be 1 or more; got 0",
        ),
        (
            lambda: RelativeBias(2, num_buckets=7, bidirectional=True),
            ValueError,
            "num_buckets must be even if bidirectional; got 7",
        ),
        (
            lambda: RelativeBias(2, bidirectional=True)(3, offset=1.0),
            TypeError,
            r"offset must be an int; got 1\.0",
        ),
    ],
)
def test_bad_input_is_refused(call: Callable, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}"):
        call()


def buckets(**options: object) -> Tensor:
    return t5_bucket(torch.arange(3), **options)


@pytest.mark.parametrize(("num_buckets", "both"), [(2, False), (4, True), (3, False)])
def test_the_least_that_is_taken(num_buckets: int, both: bool) -> None:
    distance = torch.arange(-5, 6)
    options = {"num_buckets": num_buckets, "max_distance": 2}
    theirs = T5Attention._relative_position_bucket(distance, both, **options)
    assert t5_bucket(distance, bidirectional=both, **options).equal(theirs)


def test_what_is_set_is_shown() -> None:
    assert "max_distance=128, bidirectional=True" in repr(RelativeBias(2, bidirectional=True))


# --- exhibits ----------------------------------------------------------------------------------

MENDED = {
    "alibi_one_series": ("num_heads", "1 << (num_heads.bit_length() - 1)"),
    "alibi_rewards_distance": ("at[:, None] - at", "at - at[:, None]"),
    "alibi_of_new_tokens": ("0", "cache.length"),
    "bias_scaled": ("(query @ key.mT + bias) * scale", "query @ key.mT * scale + bias"),
    "t5_all_in_bucket_zero": ("distance.clamp(min=0)", "(-distance).clamp(min=0)"),
}


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"position/{name}", MENDED[name], mended=mended)


def exhibited(name: str, module: ModuleType) -> tuple[Tensor, Tensor]:
    """Return what an exhibit finds and what it ought to."""
    if name == "alibi_one_series":
        return module.slopes(12), alibi_slopes(12)
    if name == "alibi_rewards_distance":
        return module.bias(alibi_slopes(8), 6).tril(), alibi_bias(8, 6)[0].tril()
    if name == "alibi_of_new_tokens":
        torch.manual_seed(0)
        attend = MultiHeadAttention(24, 4).requires_grad_(False)
        x, cache = normal(2, 6, 24, dtype=torch.float32), KVCache(2, 4, 6, capacity=6)
        steps = [module.step(attend, x[:, [t]], cache) for t in range(6)]
        return torch.cat(steps, dim=1), attend(x, attn_mask=alibi_bias(4, 6), is_causal=True)
    if name == "t5_all_in_bucket_zero":
        distance = -torch.arange(14)
        return module.exact_bucket(distance), t5_bucket(distance, bidirectional=False)
    query, key, bias = normal(2, 3, 5, 4), normal(2, 3, 7, 4, seed=1), normal(1, 3, 5, 7)
    return module.scores(query, key, bias), query @ key.mT / 2 + bias


@pytest.mark.parametrize("name", sorted(MENDED))
def test_the_shape_is_right_the_numbers_are_not_and_mending_the_line_mends_them(name: str) -> None:
    assert error(*exhibited(name, load(name, mended=False))) > 0.01
    assert error(*exhibited(name, load(name, mended=True))) <= 1e-6


def test_a_bias_of_the_new_token_alone_is_no_bias() -> None:
    wrong, _ = exhibited("alibi_of_new_tokens", load("alibi_of_new_tokens", mended=False))
    torch.manual_seed(0)
    attend = MultiHeadAttention(24, 4).requires_grad_(False)
    assert error(wrong, attend(normal(2, 6, 24, dtype=torch.float32), is_causal=True)) <= 1e-6


def test_all_in_bucket_zero_is_no_bias_under_a_causal_mask() -> None:
    at = torch.arange(9)
    found = load("t5_all_in_bucket_zero", mended=False).exact_bucket(at - at.unsqueeze(-1))
    assert found.tril().eq(0).all()


# --- figures and tables ------------------------------------------------------------------------


def test_the_figures_show_what_the_functions_return() -> None:
    for language in ("en", "zh"):
        root = parse(figures.idea(language))
        cells = [r for r in root.iter("rect") if "data-bias" in r.attrib]
        assert len(cells) == 15
        for cell in cells:
            i, j = (int(cell.attrib[f"data-{axis}"]) for axis in ("row", "column"))
            wanted = alibi_bias(8, 5)[0, 0, i, j].item()
            assert float(cell.attrib["data-bias"]) == pytest.approx(wanted, abs=0.0051)
        lines = {p.attrib["data-head"]: p for p in root.iter("path") if "data-head" in p.attrib}
        assert set(lines) == {str(head) for head in figures.HEADS}
        for head, line in lines.items():
            left = math.exp(-alibi_slopes(8)[int(head)].item() * figures.FAR)
            assert float(line.attrib["data-far"]) == pytest.approx(left, abs=0.0051)
        desc = parse(figures.slopes(language)).find("desc").text
        for slope in (*alibi_slopes(12).tolist(), *figures.one_series(12)):
            assert f"{slope:.4f}" in desc
        desc = parse(figures.buckets(language)).find("desc").text
        for both in (True, False):
            assert ", ".join(map(str, figures.edges(bidirectional=both))) in desc


def test_buckets_begin_where_the_page_says() -> None:
    for both in (True, False):
        starts = figures.edges(bidirectional=both)
        for bucket, start in enumerate(starts):
            assert t5_bucket(torch.tensor(-start), bidirectional=both) == bucket
            assert (
                not bucket or t5_bucket(torch.tensor(1 - start), bidirectional=both) == bucket - 1
            )


def test_a_fixed_bias_takes_the_fused_kernel_and_a_learned_one_does_not() -> None:
    found = measured.load(benchmark.__file__)["ways"]
    kernels = {(v["way"], v["backward"]): v["kernel"] for v in found.values}
    for backward in (False, True):
        assert "flash_attention_for_cpu" in kernels["alibi", backward]
        assert "math" in kernels["learned", backward]
        for quantity in ("time", "memory"):
            of = {"backward": backward}
            assert found(quantity, way="learned", **of) > found(quantity, way="alibi", **of)


def test_each_kind_learned_what_the_page_says() -> None:
    near, far = benchmark.TRAINED, benchmark.LONG
    worst = {
        (task, way, length): tables.shares(task, way, length)[0]
        for task in ("back", "latest")
        for way in ("none", "alibi", "t5", "closed", "short")
        for length in (near, far)
    }
    best = {of: tables.shares(*of)[-1] for of in worst}
    assert worst["back", "t5", near] > 0.99
    assert best["back", "alibi", near] < 0.3
    assert best["back", "t5", far] < 0.3
    assert worst["back", "closed", far] > 0.99
    assert best["latest", "t5", far] < worst["latest", "alibi", far]
    assert best["latest", "none", near] < worst["latest", "alibi", near]
    assert best["latest", "alibi", near] < worst["latest", "t5", near]
    assert worst["latest", "closed", far] > best["latest", "alibi", far]
    for task in ("back", "latest"):
        assert worst[task, "short", near] > 0.9
        assert best[task, "t5", far] < worst[task, "short", far]
        assert best[task, "alibi", far] < worst[task, "short", far]
        assert best[task, "short", far] < worst[task, "closed", far]


def test_the_learners_tasks_ask_what_they_say() -> None:
    text, wanted = benchmark.back(9)
    assert wanted[:, 3:].equal(text[:, :-3])
    assert wanted[:, :3].eq(benchmark.IGNORED).all()
    text, wanted = benchmark.latest(12)
    for row, asked in zip(text.tolist(), wanted.tolist(), strict=True):
        last: dict[int, int] = {}
        for token, value in zip(row, asked, strict=True):
            assert value == last.get(token // benchmark.VALUES, benchmark.IGNORED)
            last[token // benchmark.VALUES] = token % benchmark.VALUES


@pytest.mark.parametrize(("heads", "n"), [(12, 700), (2, 4096)])
def test_alibi_in_two_elements_is_as_exact_in_bfloat16_as_the_mask(heads: int, n: int) -> None:
    attend, slopes = example("position/relative/no_matrix")["attend"], alibi_slopes(heads)
    inputs = [normal(1, heads, n, 16, seed=seed, dtype=torch.float32) for seed in range(3)]
    wanted = scaled_dot_product_attention(*inputs, alibi_bias(heads, n), is_causal=True)
    assert error(attend(*inputs, slopes), wanted) <= 1e-4
    half = [each.bfloat16() for each in inputs]
    rounded = scaled_dot_product_attention(*half, alibi_bias(heads, n), is_causal=True)
    assert error(attend(*half, slopes), wanted) <= 1.5 * error(rounded, wanted)


def test_the_bytes_are_those_of_a_bias() -> None:
    assert alibi_bias(4, 6, 10).nbytes * 8 * 5 == tables.BYTES * 32 * 30 * 10
    assert tables.bytes_of(1) == tables.BIG_HEADS * tables.BIG_LENGTH * 4
    few = [normal(1, 2, 5, 8, seed=seed, dtype=torch.float32) for seed in range(3)]
    copies = sum(F.pad(each, (0, 2)).nbytes for each in few)
    big = tables.BIG_HEADS * tables.BIG_LENGTH * (tables.BIG_DIM + 2)
    assert tables.wider() * 2 * 5 * (8 + 2) == copies * big


# --- the formulas of the page ------------------------------------------------------------------


@pytest.mark.formula(r"S_{ps} = \frac{q_p \cdot k_s}{\sqrt{d}} + B_{ps}")
def test_the_formula_of_a_score() -> None:
    q, k, B = normal(5, 4), normal(7, 4, seed=1), normal(5, 7, seed=2)
    S = torch.empty(5, 7, dtype=torch.float64)
    for p, s in itertools.product(range(5), range(7)):
        S[p, s] = q[p] @ k[s] / math.sqrt(4) + B[p, s]
    found = attention_weights(q, k, B)
    assert error(found, S.softmax(-1)) <= 1e-12


@pytest.mark.formula(r"""
B_{ps} = -\lambda\, \lvert p - s \rvert
\qquad
B_{ps} = \operatorname{table}\bigl(\operatorname{bucket}(s - p)\bigr)
""")
def test_the_formula_of_both_biases() -> None:
    slopes, learnt = alibi_slopes(3), learned(3, bidirectional=False)
    alibi, t5 = alibi_bias(3, 4, offset=30), learnt(4, offset=30)
    weight = learnt.relative_attention_bias.weight
    for h, i, s in itertools.product(range(3), range(4), range(34)):
        p = 30 + i
        assert alibi[0, h, i, s].item() == pytest.approx(-slopes[h].item() * abs(p - s), abs=1e-6)
        bucket = bucket_by_integers(s - p, 32, 128, both=False)
        assert t5[0, h, i, s] == weight[bucket, h]


@pytest.mark.formula(r"""
\lambda_i = 2^{-8i/P} \quad (i \le P)
\qquad
\lambda_{P+i} = 2^{-4(2i-1)/P} \quad (i \le h - P)
\qquad
P = 2^{\lfloor \log_2 h \rfloor}
""")
def test_the_formula_of_the_slopes() -> None:
    for h in range(1, 50):
        P = 2 ** math.floor(math.log2(h))
        wanted = [2 ** (-8 * i / P) for i in range(1, P + 1)]
        wanted += [2 ** (-4 * (2 * i - 1) / P) for i in range(1, h - P + 1)]
        assert alibi_slopes(h).tolist() == pytest.approx(wanted, abs=1e-7)


@pytest.mark.formula(r"""
\operatorname{bucket}(\delta) = \begin{cases}
\operatorname{side}(\max(-\delta, 0)) & \text{decoder} \\
\operatorname{side}(\lvert \delta \rvert) + N\,[\delta > 0] & \text{encoder}
\end{cases}
""")
@pytest.mark.formula(r"""
\operatorname{side}(r) = \begin{cases}
r & r < E \\
\min\Bigl(E + \Bigl\lfloor \frac{\ln(r / E)}{\ln(R / E)}\, (N - E) \Bigr\rfloor,\; N - 1\Bigr)
& r \ge E
\end{cases}
""")
def test_the_formula_of_the_buckets() -> None:
    for N, R in ((32, 128), (16, 128), (10, 77)):
        E = N // 2

        def side(r: int, N: int = N, R: int = R, E: int = E) -> int:
            step = math.log(r / E) / math.log(R / E) * (N - E) if r >= E else 0
            return r if r < E else min(E + math.floor(step + 1e-9), N - 1)

        for delta in range(-300, 300):
            at, far = torch.tensor(delta), {"max_distance": R}
            decoder = t5_bucket(at, num_buckets=N, bidirectional=False, **far)
            assert decoder == side(max(-delta, 0))
            encoder = t5_bucket(at, num_buckets=2 * N, bidirectional=True, **far)
            assert encoder == side(abs(delta)) + N * (delta > 0)


@pytest.mark.parametrize("num_heads", [8, 12])
def test_two_elements_are_as_exact_in_bfloat16_as_a_mask(num_heads: int) -> None:
    n, attend = 1024, example("position/relative/no_matrix")["attend"]
    query, key, value = normal(3, 1, num_heads, n, 64, seed=1).to(torch.bfloat16).unbind()
    mask = alibi_bias(num_heads, n).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
    sdpa = F.scaled_dot_product_attention
    exact = sdpa(query.double(), key.double(), value.double(), mask.double())
    masked = sdpa(query, key, value, mask.to(query.dtype))
    found = attend(query, key, value, alibi_slopes(num_heads))
    off, usual = ((each.double() - exact).norm() for each in (found, masked))
    assert off < 1.1 * usual
    last = torch.tensor(65_791)
    split = torch.stack((last % 256, last - last % 256))
    assert split.bfloat16().long().equal(split)
    assert (last + 1).bfloat16().long() != last + 1
