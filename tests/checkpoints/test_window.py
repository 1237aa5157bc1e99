"""Windows and kept first tokens: mask, chunks and ring against loops, and other people's counts."""

import itertools
import math
import random
import re
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import DynamicCache, MistralConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.mistral import modeling_mistral as mistral

from attn_docs import (
    GroupedQueryAttention,
    KVCache,
    MultiHeadAttention,
    RotaryEmbedding,
    apply_rotary,
    grouped_query_to_multi_head,
    load_models,
    multi_head_to_grouped_query,
    sliding_window_mask,
    split_heads,
)
from docs._kit.examples import example
from docs._tools.page import page_module
from tests.kit import error, load_exhibit, normal

tables = page_module("checkpoints/window", "tables")
benchmark = page_module("checkpoints/window", "benchmark")
B, E, H, G, D, N = 2, 20, 6, 3, 4, 17
SETTINGS = [(1, 0), (1, 2), (3, 0), (3, 1), (4, 3), (6, 9), (5, 13), (17, 2), (30, 0)]
settings_of = pytest.mark.parametrize(("window", "first"), SETTINGS)
CUTS = [(1,) * N, (N,), (2, 9, 1, 5), (7, 7, 3), (1, 1, 12, 3), (16, 1)]


def layer(window: int | None, first: int = 0, *, rotary: bool = True) -> GroupedQueryAttention:
    torch.manual_seed(0)
    turn = RotaryEmbedding(D) if rotary else None
    options = {"window": window, "keep_first": first, "rotary": turn, "head_dim": D}
    module = GroupedQueryAttention(E, H, G, **options).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def sees(i: int, j: int, window: int, first: int) -> bool:
    return j <= i and (i - j < window or j < first)


def written_out(module: GroupedQueryAttention, x: Tensor, window: int, first: int) -> Tensor:
    """Attend query by query and head by head, to a list of keys."""
    q, k, v = (
        (x @ proj.weight.T + proj.bias).unflatten(-1, (-1, D))
        for proj in (module.q_proj, module.k_proj, module.v_proj)
    )  # b n h d
    rows = []
    for i in range(x.size(1)):
        seen = [j for j in range(x.size(1)) if sees(i, j, window, first)]
        heads = []
        for h in range(H):
            g = h // (H // G)
            query, keys = q[:, i : i + 1, h], k[:, seen, g]
            if module.rotary is not None:
                query = apply_rotary(query.unsqueeze(1), torch.tensor([i])).squeeze(1)
                keys = apply_rotary(keys.unsqueeze(1), torch.tensor(seen)).squeeze(1)
            weights = (query @ keys.mT / math.sqrt(D)).softmax(dim=-1)
            heads.append(weights @ v[:, seen, g])
        rows.append(torch.cat(heads, dim=-1))
    return torch.cat(rows, dim=1) @ module.out_proj.weight.T + module.out_proj.bias


def in_steps(module: GroupedQueryAttention, x: Tensor, cuts: tuple[int, ...], **by: Tensor):
    cache, outputs, start = module.new_cache(x.size(0), x.size(1)), [], 0
    for size in cuts:
        part = slice(start, start + size)
        given = {"cache": cache}
        if "positions" in by:
            given["positions"] = by["positions"][:, part]
        if "mask" in by:
            given["key_padding_mask"] = by["mask"][:, : start + size]
        outputs.append(module(x[:, part], **given))
        start += size
    return torch.cat(outputs, dim=1)


# --- one setting --------------------------------------------------------------------------------


@settings_of
def test_the_mask_is_that_of_its_sentence(window: int, first: int) -> None:
    for n, m in ((17, 17), (4, 17), (5, 9), (1, 17), (0, 3)):
        offset = m - n
        wanted = [[sees(i + offset, j, window, first) for j in range(m)] for i in range(n)]
        found = sliding_window_mask(n, m, window=window, keep_first=first, offset=offset)
        assert found.tolist() == wanted


@settings_of
@pytest.mark.parametrize("rotary", [True, False], ids=["rotary", "plain"])
def test_training_is_the_loop_values_and_gradients(window: int, first: int, rotary: bool) -> None:
    module, x = layer(window, first, rotary=rotary), normal(B, N, E).requires_grad_()
    given = (x, *module.parameters())
    ours, theirs = module(x, is_causal=True), written_out(module, x, window, first)
    assert error(ours, theirs) <= 1e-11
    weight = normal(B, N, E, seed=1)
    for mine, other in zip(
        torch.autograd.grad((ours * weight).sum(), given),
        torch.autograd.grad((theirs * weight).sum(), given),
        strict=True,
    ):
        assert error(mine, other) <= 1e-10 * max(1.0, other.abs().max().item())


@settings_of
@pytest.mark.parametrize("cuts", CUTS, ids=str)
def test_chunks_and_ring_are_training_values_and_gradients(
    window: int, first: int, cuts: tuple[int, ...]
) -> None:
    module, x = layer(window, first), normal(B, N, E).requires_grad_()
    given = (x, *module.parameters())
    whole, steps = module(x, is_causal=True), in_steps(module, x, cuts)
    assert error(steps, whole) <= 1e-11
    weight = normal(B, N, E, seed=1)
    for mine, other in zip(
        torch.autograd.grad((steps * weight).sum(), given),
        torch.autograd.grad((whole * weight).sum(), given),
        strict=True,
    ):
        assert error(mine, other) <= 1e-10 * max(1.0, other.abs().max().item())


@given(
    window=st.integers(1, 6),
    first=st.integers(0, 6),
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=6),
    spare=st.integers(0, 5),
)
@settings(derandomize=True, deadline=None, max_examples=150)
def test_the_cache_returns_what_its_queries_see(
    window: int, first: int, sizes: list[int], spare: int
) -> None:
    n = sum(sizes)
    cache = KVCache(1, 1, 1, n + spare, dtype=torch.float64, window=window, keep_first=first)
    mask, start = sliding_window_mask(n, window=window, keep_first=first), 0
    keys = torch.arange(float(n)).double().view(1, 1, n, 1)
    for size in sizes:
        at, visible = cache.key_positions(size), cache.visible(size)
        part = keys[:, :, start : start + size]
        found, values = cache.update(part, -part)
        assert found.flatten().tolist() == at.tolist() == (-values).flatten().tolist()
        seen = torch.zeros(size, n, dtype=torch.bool)
        seen[:, at] = torch.ones(size, len(at), dtype=torch.bool) if visible is None else visible
        assert torch.equal(seen, mask[start : start + size])
        start += size
    assert cache.key.size(2) == min(n + spare, first + window)


def test_a_full_ring_takes_no_more_memory_and_its_first_keys_stay() -> None:
    cache = KVCache(2, 3, 4, 1000, window=5, keep_first=2)
    for t in range(40):
        new = torch.full((2, 3, 1, 4), float(t))
        cache.update(new, new)
    assert cache.nbytes == 2 * 4 * 2 * 3 * 7 * 4
    assert cache.key[0, 0, :, 0].tolist() == [0, 1, 37, 38, 39, 35, 36]
    assert "window=5, keep_first=2" in repr(cache)


def test_select_crop_and_reset_go_on_working() -> None:
    module, x = layer(4, 2), normal(B, N, E)
    cache = module.new_cache(B, N)
    module(x[:, :9], cache=cache)
    cache.select(torch.tensor([1, 1, 0]))
    whole = module(x[[1, 1, 0]], is_causal=True)
    assert error(module(x[[1, 1, 0], 9:], cache=cache), whole[:, 9:]) <= 1e-11
    with pytest.raises(ValueError, match="slots have been written over"):
        cache.crop(5)
    cache.reset()
    assert error(module(x[[1, 1, 0], :6], cache=cache), whole[:, :6]) <= 1e-11
    cache.crop(3)  # six slots: nothing has been overwritten
    assert error(module(x[[1, 1, 0], 3:], cache=cache), whole[:, 3:]) <= 1e-11


def test_without_a_causal_order_the_first_keys_are_seen_too() -> None:
    module, x = layer(3, 2), normal(B, 9, E)
    full = layer(None)
    full.load_state_dict(module.state_dict())
    i, j = torch.arange(9).unsqueeze(1), torch.arange(9)
    mask = (i - j < 3) | (j < 2)
    assert error(module(x), full(x, attn_mask=mask)) <= 1e-12


def test_weights_are_zero_outside_and_stand_in_the_order_of_the_text() -> None:
    module, x = layer(4, 1), normal(B, 12, E)
    _, whole = module(x, is_causal=True, need_weights=True)
    assert bool(((whole > 0) == sliding_window_mask(12, window=4, keep_first=1)).all())
    cache = module.new_cache(B, 12)
    module(x[:, :11], cache=cache)
    _, last = module(x[:, 11:], cache=cache, need_weights=True)
    assert error(last, whole[:, :, -1:]) <= 1e-12


def test_padding_after_the_first_tokens_is_as_if_alone() -> None:
    module, x = layer(4, 2), normal(2, N, E)
    gap = 5
    real = torch.ones(2, N, dtype=torch.bool)
    real[1, 2 : 2 + gap] = False
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    alone = module(torch.cat((x[1:, :2], x[1:, 2 + gap :]), dim=1), is_causal=True)
    options = {"key_padding_mask": real, "positions": positions}
    together = module(x, is_causal=True, **options)
    assert error(together[1:, 2 + gap :], alone[:, 2:]) <= 1e-11
    assert error(together[:1], module(x[:1], is_causal=True)) <= 1e-11
    for cuts in CUTS:
        steps = in_steps(module, x, cuts, mask=real, positions=positions)
        assert error(steps[1:, 2 + gap :], alone[:, 2:]) <= 1e-11


def test_left_padding_and_a_window_alone_is_as_if_alone() -> None:
    module, x = layer(4), normal(2, N, E)
    real = torch.ones(2, N, dtype=torch.bool)
    real[1, :5] = False
    positions = (real.cumsum(-1) - 1).clamp(min=0)
    alone = module(x[1:, 5:], is_causal=True)
    for cuts in CUTS:
        steps = in_steps(module, x, cuts, mask=real, positions=positions)
        assert error(steps[1:, 5:], alone) <= 1e-11


def test_conversions_keep_both_settings() -> None:
    module, x = layer(4, 2), normal(B, N, E)
    multi = grouped_query_to_multi_head(module)
    assert error(multi(x, is_causal=True), module(x, is_causal=True)) <= 1e-11
    assert multi_head_to_grouped_query(multi, G).keep_first == 2
    assert "window=4, keep_first=2" in repr(multi)


HIDDEN = (
    "key_padding_mask must be True for the first 2 positions, which keep_first keeps: put the "
    "padding after them; got padding among them"
)
REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: MultiHeadAttention(8, 2, keep_first=1),
        ValueError,
        "keep_first must be 0 without a window; got 1",
    ),
    (
        lambda: KVCache(1, 1, 4, 8, keep_first=2),
        ValueError,
        "keep_first must be 0 without a window; got 2",
    ),
    (
        lambda: KVCache(1, 1, 4, 8, window=2, keep_first=-1),
        ValueError,
        "keep_first must be 0 or more; got -1",
    ),
    (
        lambda: sliding_window_mask(4, window=2, keep_first=1.0),
        TypeError,
        "keep_first must be an int; got 1.0",
    ),
    (
        lambda: layer(4, 1)(normal(2, 3, E), cache=layer(4, 2).new_cache(2, 9)),
        ValueError,
        "cache must have keep_first 1, as the module; got 2",
    ),
    (
        lambda: layer(4, 1)(normal(2, 3, E), cache=layer(5, 1).new_cache(2, 9)),
        ValueError,
        "cache must have window 4, as the module; got 5",
    ),
    (
        lambda: layer(4, 2)(normal(1, 3, E), key_padding_mask=torch.tensor([[False, True, True]])),
        ValueError,
        HIDDEN,
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED, ids=[m for *_, m in REFUSED])
def test_what_does_not_fit_is_refused(
    call: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        call()


# --- other people's layers and counts -----------------------------------------------------------


@pytest.mark.parametrize("window", [2, 3, 5, 30])  # told 1, their dynamic cache keeps all
def test_the_window_is_that_of_mistral_in_transformers_training_and_cache(window: int) -> None:
    torch.manual_seed(0)
    config = MistralConfig(
        hidden_size=E * 2, num_attention_heads=H, num_key_value_heads=G, head_dim=D, vocab_size=9,
        intermediate_size=7, num_hidden_layers=1, sliding_window=window,
    )  # fmt: skip
    config._attn_implementation = "eager"
    theirs = mistral.MistralAttention(config, 0).double().eval()
    turn = mistral.MistralRotaryEmbedding(config).double()
    ours = GroupedQueryAttention(
        E * 2, H, G, head_dim=D, bias=False, window=window, rotary=RotaryEmbedding(D)
    ).double()
    names = {"q_proj": "q_proj", "k_proj": "k_proj", "v_proj": "v_proj", "o_proj": "out_proj"}
    for their, our in names.items():
        getattr(ours, our).load_state_dict(getattr(theirs, their).state_dict())
    x, past, outputs = normal(B, N, E * 2).requires_grad_(), DynamicCache(config=config), []

    def call(rows: Tensor, start: int, past: DynamicCache | None) -> Tensor:
        at = torch.arange(start, start + rows.size(1)).unsqueeze(0)
        mask = create_sliding_window_causal_mask(
            config=config, inputs_embeds=rows, attention_mask=None, past_key_values=past,
            position_ids=at,
        )  # fmt: skip
        return theirs(rows, turn(rows, at), mask, past_key_values=past)[0]

    whole = ours(x, is_causal=True)
    wanted = call(x, 0, None)
    assert error(whole, wanted) <= 1e-6  # their rotary angles are float32's
    given = (x, ours.k_proj.weight), (x, theirs.k_proj.weight)
    for mine, other in zip(
        torch.autograd.grad(whole.square().sum(), given[0]),
        torch.autograd.grad(wanted.square().sum(), given[1]),
        strict=True,
    ):
        assert error(mine, other) <= 1e-5 * other.abs().max().item() + 1e-12
    with torch.no_grad():
        for start, size in ((0, 7), (7, 6), (13, 1), (14, 1), (15, 2)):
            outputs.append(call(x[:, start : start + size], start, past))
    assert error(torch.cat(outputs, dim=1), whole) <= 1e-6


def test_each_counter_keeps_what_the_table_says() -> None:
    found = example("checkpoints/window/counts")["found"]
    assert [name for name, keys in found.items() if tables.WAYS[keys] == "W + 1"] == [
        "flash", "flex recipe", "mistral paper", "mimo",
    ]  # fmt: skip
    assert found["vllm"] == found["llama.cpp"] == found["attn_docs"] == 4
    assert found["transformers mask"] == found["transformers cache"] == 4
    assert found["transformers to flash"] == 4


CONFIGS = {
    "Gemma-3-27B": ("Gemma3TextConfig", 62, "LLLLLG"),
    "gpt-oss-120b": ("GptOssConfig", 36, "LG"),
    "Olmo-3-7B": ("Olmo3Config", 32, "LLLG"),
    "Gemma-2-27B": ("Gemma2Config", 46, "LG"),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_the_patterns_are_those_of_transformers(name: str) -> None:
    kind, layers, pattern = CONFIGS[name]
    config = getattr(transformers, kind)(num_hidden_layers=layers)
    found = "".join("L" if kind == "sliding_attention" else "G" for kind in config.layer_types)
    assert found == (pattern * layers)[:layers]
    ours = load_models()[name].config
    assert (found.count("G"), found.count("L")) == (ours.full_layers, ours.windowed_layers)
    if name != "Gemma-3-27B":  # the class's default is another checkpoint's
        assert config.sliding_window == ours.window


def test_the_patterns_that_the_page_tells() -> None:
    gemma = transformers.Gemma3TextConfig(num_hidden_layers=62).layer_types
    assert gemma[-1] == "sliding_attention"  # 62 is not a multiple of six
    mimo = transformers.MiMoV2FlashConfig()
    assert mimo.layer_types[0] == mimo.layer_types[5] == "full_attention"
    assert mimo.layer_types[1:5] == ["sliding_attention"] * 4
    assert transformers.MiMoV2FlashConfig(sliding_window_size=128).sliding_window == 129
    granite = transformers.GraniteSWAConfig(num_hidden_layers=8).layer_types
    assert [i for i, kind in enumerate(granite) if kind == "full_attention"] == [0, 4]
    command = transformers.Cohere2Config()
    assert command.layer_types[:4] == ["sliding_attention"] * 3 + ["full_attention"]


@pytest.mark.parametrize("length", [5, 40])
def test_their_cache_holds_a_window_only_if_told(length: int) -> None:
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
    config = transformers.Gemma3TextConfig(
        **sizes, vocab_size=50, num_hidden_layers=6, intermediate_size=32, sliding_window=8,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.randint(3, 50, (1, length))
    held, logits = [], []
    with torch.no_grad():
        for past in (DynamicCache(config=config), DynamicCache()):
            model(tokens, past_key_values=past)
            held.append([layer.keys.size(2) for layer in past.layers])
            logits.append(model(tokens[:, :1], past_key_values=past).logits)
        made = model.generate(tokens, max_new_tokens=1, return_dict_in_generate=True)
    few = min(length, 7)  # one less than the window: the next token's key comes
    assert held == [[few] * 5 + [length], [length] * 6]
    assert [layer.keys.size(2) for layer in made.past_key_values.layers][:5] == [few] * 5
    assert torch.allclose(*logits, atol=1e-5)


def test_the_count_of_keys_holds_under_their_default_kernels() -> None:
    keys_by_layer = example("checkpoints/window/look")["keys_by_layer"]
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
    config = transformers.GptOssConfig(
        **sizes, vocab_size=50, num_hidden_layers=4, intermediate_size=32, num_local_experts=4,
        sliding_window=8, pad_token_id=0,
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    tokens = torch.randint(3, 50, (1, 40))
    assert keys_by_layer(model, tokens) == [8, 40, 8, 40]
    model.config._attn_implementation = "flash_attention_2"
    with pytest.raises(AssertionError, match="flash_attention_2 gets its window otherwise"):
        keys_by_layer(model, tokens)


# --- what a stack sees --------------------------------------------------------------------------


@pytest.mark.parametrize(("layers", "window"), [(1, 4), (2, 4), (3, 5), (4, 2), (3, 1)])
def test_a_stack_sees_exactly_so_far(layers: int, window: int) -> None:
    torch.manual_seed(0)
    x = normal(1, 30, E).requires_grad_()
    y = x
    for _ in range(layers):
        y = y + layer(window)(y, is_causal=True)
    (gradient,) = torch.autograd.grad(y[0, -1].sum(), x)
    seen = gradient[0].norm(dim=-1).flip(0) > 0
    reach = layers * (window - 1)
    assert bool(seen[: reach + 1].all())
    assert not bool(seen[reach + 1 :].any())


def test_blocks_of_queries_are_the_mask_values_and_gradients() -> None:
    windowed = example("checkpoints/window/blocks")["windowed"]
    for n, window, block in itertools.product((1, 7, 23), (1, 4, 30), (1, 5, 8, 40)):
        rows = normal(3, 2, 3, n, D).requires_grad_()
        ours = windowed(*rows.unbind(), window, block)
        wanted = F.scaled_dot_product_attention(*rows, sliding_window_mask(n, window=window))
        assert error(ours, wanted) <= 1e-12
        weight = normal(2, 3, n, D, seed=2)
        mine, other = (torch.autograd.grad((out * weight).sum(), rows)[0] for out in (ours, wanted))
        assert error(mine, other) <= 1e-12


# --- positions ----------------------------------------------------------------------------------


def last_scores(module: GroupedQueryAttention, x: Tensor, held: list[int], at: list[int]):
    """Return the last query's scores with the held keys, all rotated as if at these places."""
    q = split_heads(module.q_proj(x[:, -1:]), H)
    k = split_heads(module.k_proj(x), G)[:, :, held].repeat_interleave(H // G, dim=1)
    q = apply_rotary(q, torch.tensor([at[-1]]))
    return (q @ apply_rotary(k, torch.tensor(at)).mT).squeeze(2)  # b h m


def test_ours_keep_their_positions_and_streaming_llm_moves_only_the_first() -> None:
    module, x, window, first = layer(4, 3), normal(B, N, E), 4, 3
    held = [*range(first), *range(N - window, N)]
    ours = last_scores(module, x, held, held)
    theirs = last_scores(module, x, held, list(range(len(held))))
    _, weights = module(x, is_causal=True, need_weights=True)
    assert error(weights[:, :, -1, held], (ours / D**0.5).softmax(-1)) <= 1e-12
    assert error(ours[..., first:], theirs[..., first:]) <= 1e-11
    assert error(ours[..., :first], theirs[..., :first]) > 0.1
    dropped = N - len(held)
    moved = last_scores(module, x, held, [j + dropped if j < first else j for j in held])
    assert error(moved, theirs) <= 1e-11


# --- the trained model --------------------------------------------------------------------------


def test_the_first_token_is_the_same_in_every_story_and_its_loss_is_what_the_page_tells() -> None:
    tokens, _ = tables.held_out()
    assert bool((tokens[:, 0] == 0).all())
    found = tables.cases()
    for column in (0, 1):
        first, window, empty = (found[name][column] for name in ("first", "window", "empty"))
        assert first < 1.1 * found["all"][column] < 0.2 * window
        assert found["second"][column] > 0.9 * window
        assert found["heads"][column] < 1.1 * found["all"][column]
        assert 0.3 * window < empty < 0.6 * window
    told = tables.numbers()
    assert float(told["stream_all"]) > math.log(29) > float(told["stream_window"])
    assert abs(float(told["stream_first"]) - float(told["stream_window"])) <= 0.1 + 1e-9


def test_the_heads_that_lean_on_the_newline_are_the_two_that_give_it_most_weight() -> None:
    tokens, _ = tables.held_out()
    with torch.no_grad():
        weights = tables.model()(tokens[:, :120], need_weights=True)[1][1][:, :, 100:, 0]
    assert tuple(weights.mean((0, 2)).argsort().tolist()[-2:]) == tables.LEANING
    last, others = tables.at_stops()
    assert last > 0.99
    assert others < 0.05


def test_a_local_layer_below_does_no_harm_and_the_colour_is_above_a_coin() -> None:
    whole = [tables.mean("loss", layers) for layers in ("global-global", "local-global")]
    assert whole[1] < whole[0]
    coin = 0.8 * math.log(2)  # one story in five has one colour twice
    for layers in ("global-global", "local-global", "global-local"):
        assert tables.mean("colour again", layers) > coin
        assert tables.mean("owner", layers) > math.log(2)
        assert math.log(2) < tables.mean("dream", layers) < 0.8


def test_the_modules_setting_is_the_mask_of_the_table() -> None:
    tokens, _ = tables.held_out()
    with torch.no_grad():
        for made, same in (
            (tables.seeing(), tables.model(window=100)),
            (tables.seeing(0), tables.model(window=100, keep_first=1)),
        ):
            assert error(made(tokens), same(tokens)) <= 1e-4


# --- the formulas -------------------------------------------------------------------------------


@pytest.mark.formula(r"""
M_{ij} = \begin{cases}
0 & j \le i \text{ and } (i - j < W \text{ or } j < f) \\
-\infty & \text{otherwise}
\end{cases}
""")
def test_the_formula_of_the_mask() -> None:
    W, f, n = 4, 2, 11
    M = [
        [0.0 if j <= i and (i - j < W or j < f) else -math.inf for j in range(n)] for i in range(n)
    ]
    rows = normal(3, 1, 2, n, D)
    wanted = F.scaled_dot_product_attention(*rows, torch.tensor(M, dtype=torch.float64))
    mask = sliding_window_mask(n, window=W, keep_first=f)
    assert error(F.scaled_dot_product_attention(*rows, mask), wanted) <= 1e-12


@pytest.mark.formula(r"""
\operatorname{slot}(t) = \begin{cases}
t & t < f \\
f + (t - f) \bmod W & t \ge f
\end{cases}
""")
def test_the_formula_of_the_slot() -> None:
    W, f = 4, 2
    cache = KVCache(1, 1, 1, 50, window=W, keep_first=f)
    for t in range(23):
        new = torch.full((1, 1, 1, 1), float(t))
        cache.update(new, new)
        slot = t if t < f else f + (t - f) % W
        assert cache.key[0, 0, slot, 0] == t


# --- what goes wrong ----------------------------------------------------------------------------

MENDED = {
    "look_back_for_window": ("WINDOW)", "WINDOW - 1)"),
    "window_in_cache_only": ("window=query.size(2))", "window=WINDOW)"),
    "first_tokens_dropped": (
        "held[held > t - WINDOW]", "held[(held > t - WINDOW) | (held < FIRST)]",
    ),
    "layers_swapped": ("i % EVERY", "(i + 1) % EVERY"),
}  # fmt: skip


def exhibited(name: str, module: ModuleType, length: int) -> tuple[Tensor, Tensor]:
    """Return what an exhibit finds and what it ought to."""
    rows = normal(3, 1, 2, length, D).unbind()
    mask = torch.tensor([[sees(i, j, 4, 0) for j in range(length)] for i in range(length)])
    if name == "look_back_for_window":
        return module.attention(*rows), F.scaled_dot_product_attention(*rows, mask)
    if name == "window_in_cache_only":
        return module.train(*rows), module.decode(*rows)
    if name == "first_tokens_dropped":
        mask[:, 0] = True
        return module.decode(*rows), F.scaled_dot_product_attention(*rows, mask)
    found = [float(window or 0) for window in module.windows(length)]
    wanted = [0.0 if (i + 1) % 6 == 0 else 4.0 for i in range(length)]
    return torch.tensor(found), torch.tensor(wanted)


@pytest.mark.parametrize("name", sorted(MENDED))
def test_a_bug_shows_beyond_the_window_only_and_mending_the_line_mends_it(name: str) -> None:
    for mended in (False, True):
        module = load_exhibit(f"checkpoints/{name}", MENDED[name], mended=mended)
        found, wanted = exhibited(name, module, 13)
        assert error(found, wanted) <= 1e-12 if mended else error(found, wanted) > 0.01
        if name != "layers_swapped":
            assert error(*exhibited(name, module, 4)) <= 1e-12


def test_swapped_layers_are_as_many_and_take_as_many_bytes() -> None:
    module = load_exhibit("checkpoints/layers_swapped", MENDED["layers_swapped"], mended=False)
    assert module.windows(12).count(4) == 10


def test_random_cuts_too() -> None:
    chance = random.Random(0)  # noqa: S311 - sizes are no secrets
    module, x = layer(3, 2), normal(1, 31, E)
    whole = module(x, is_causal=True)
    for _ in range(20):
        cuts = []
        while sum(cuts) < 31:
            cuts.append(min(chance.randint(1, 9), 31 - sum(cuts)))
        assert error(in_steps(module, x, tuple(cuts)), whole) <= 1e-11
