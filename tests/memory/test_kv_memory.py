"""KV memory against real caches, published anchors and other ways of counting, and its errors."""

import itertools
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_docs import (
    KVCache,
    KVConfig,
    KVModel,
    LatentCache,
    kv_cache_bytes,
    load_models,
    longest_context,
)
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.kit import load_exhibit

tables = page_module("memory/kv-memory", "tables")

ROWS = json.loads((ROOT / "attn_docs/memory/kv_models.json").read_text(encoding="utf-8"))
MODELS = load_models()
every_row = pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
# by this chapter; the others by checkpoints/models
SHOWN = [row for row in ROWS if row["name"] in tables.MODELS]
every_shown = pytest.mark.parametrize("row", SHOWN, ids=[row["name"] for row in SHOWN])
proof = settings(derandomize=True, deadline=None, max_examples=100)
CLASSES = "https://github.com/huggingface/transformers/tree/main/src/transformers/models/"
KIB, MIB, GIB = 2**10, 2**20, 2**30
SIZES = {"num_kv_heads": 3, "head_dim": 5}

# bytes of a token, and of a text of full length, as they are known from elsewhere
ANCHORS = {
    "GPT-2 124M": (36_864, 1024, 36 * MIB),
    "GPT-2 XL": (307_200, 1024, 300 * MIB),
    "GPT-3 175B": (4_718_592, 2048, 9 * GIB),
    "PaLM 8B": (32_768, 2048, 64 * MIB),
    "PaLM 62B": (65_536, 2048, 128 * MIB),
    "PaLM 540B": (120_832, 2048, 236 * MIB),
    "Falcon-7B": (8_192, 2048, 16 * MIB),
    "Falcon-40B": (122_880, 2048, 240 * MIB),
    "Llama-2-7B": (524_288, 4096, 2 * GIB),
    "Llama-2-13B": (819_200, 4096, 3.125 * GIB),
    "Llama-2-70B": (327_680, 4096, 1.25 * GIB),
    "Llama-3-8B": (131_072, 8192, GIB),
    "Llama-3-70B": (327_680, 8192, 2.5 * GIB),
    "Llama-3.1-8B": (131_072, 131_072, 16 * GIB),
    "Llama-3.1-70B": (327_680, 131_072, 40 * GIB),
    "Llama-3.1-405B": (516_096, 131_072, 63 * GIB),
    "Llama-3.2-1B": (32_768, 131_072, 4 * GIB),
    "Mistral-7B v0.1": (131_072, 32_768, 0.5 * GIB),
    "Mistral-7B v0.3": (131_072, 32_768, 4 * GIB),
    "Qwen2.5-0.5B": (12_288, 32_768, 384 * MIB),
    "Qwen2.5-7B": (57_344, 32_768, 1.75 * GIB),
    "Qwen2.5-72B": (327_680, 32_768, 10 * GIB),
    "Qwen3-0.6B": (114_688, 32_768, 3.5 * GIB),
    "Qwen3-8B": (147_456, 32_768, 4.5 * GIB),
    "Qwen3-32B": (262_144, 32_768, 8 * GIB),
    "Qwen3-30B-A3B": (98_304, 32_768, 3 * GIB),
    "Qwen3-235B-A22B": (192_512, 32_768, 5.875 * GIB),
    "Qwen3.5-0.8B": (12_288, 262_144, 3.018 * GIB),
    "Gemma-2-2B": (106_496, 8192, 0.609 * GIB),
    "Gemma-2-9B": (344_064, 8192, 1.969 * GIB),
    "Gemma-2-27B": (376_832, 8192, 2.156 * GIB),
    "Gemma-3-1B": (26_624, 32_768, 0.136 * GIB),
    "Gemma-3-4B": (139_264, 131_072, 2.61 * GIB),
    "Gemma-3-12B": (393_216, 131_072, 8.31 * GIB),
    "Gemma-3-27B": (507_904, 131_072, 10.41 * GIB),
    "Gemma-4-E2B": (18_432, 131_072, 0.756 * GIB),
    "Gemma-4-E4B": (57_344, 131_072, 2.02 * GIB),
    "gpt-oss-20b": (49_152, 131_072, 3.00 * GIB),
    "gpt-oss-120b": (73_728, 131_072, 4.50 * GIB),
    "Olmo-3-7B": (524_288, 65_536, 9.5 * GIB),
    "DeepSeek-V2": (69_120, 131_072, 8.44 * GIB),
    "DeepSeek-V2-Lite": (31_104, 32_768, 0.949 * GIB),
    "DeepSeek-V3": (70_272, 131_072, 8.58 * GIB),
    "DeepSeek-V3.2": (85_888, 131_072, 10.48 * GIB),
}


def layer_caches(row: dict, length: int, batch: int, dtype: torch.dtype) -> list[int]:
    """Make the cache of every layer that has one, without memory; return what each takes."""
    where = {"dtype": dtype, "device": "meta"}
    made = []
    for kind in ("full", "windowed", "latent"):
        keeping = row.get(f"{kind}_layers", 0) - row.get(f"shared_{kind}_layers", 0)
        if not keeping:
            continue
        if kind == "latent":
            cache = LatentCache(batch, row["kv_rank"], row["rope_dim"], length, **where)
        else:
            head_dim, window = row["head_dim"], None
            if kind == "windowed":
                head_dim, window = row.get("windowed_head_dim", head_dim), row["window"]
            cache = KVCache(batch, row["num_kv_heads"], head_dim, length, window=window, **where)
        made += [cache.nbytes] * keeping
    return made + OTHERS.get(row["name"], lambda *_: [])(batch, length, where)


def with_an_index(batch: int, length: int, where: dict) -> list[int]:
    """Return what each layer of DeepSeek-V3.2 takes."""
    index = torch.empty(batch, length, 128, **where)
    return [LatentCache(batch, 512, 64, length, **where).nbytes + index.nbytes] * 61


def with_a_state(batch: int, _length: int, _where: dict) -> list[int]:
    """Return what each recurrent layer of Qwen3.5-0.8B takes, whatever the cache's dtype."""
    state = torch.empty(batch, 16, 128, 128, dtype=torch.float32, device="meta")
    inputs = torch.empty(batch, 3 * 16 * 128, 4, dtype=torch.bfloat16, device="meta")
    return [state.nbytes + inputs.nbytes] * 18


def added(row: dict) -> int:
    """Return what a token adds, while it is inside every window, to what the caches take."""
    two, one = (sum(layer_caches(row, length, 1, torch.bfloat16)) for length in (2, 1))
    return two - one


OTHERS = {"DeepSeek-V3.2": with_an_index, "Qwen3.5-0.8B": with_a_state}


# --- the data file ---------------------------------------------------------------------------


def test_the_anchors_are_of_all_models() -> None:
    assert list(ANCHORS) == [row["name"] for row in SHOWN] == list(tables.MODELS)
    assert len(SHOWN) == 44
    assert list(MODELS) == [row["name"] for row in ROWS]


@every_row
def test_a_row_has_its_source_and_the_day_it_was_read(row: dict) -> None:
    # papers, the authors' model cards, the authors' code: nobody who copied from them
    publishers = ("openai-community", "openai", "tiiuae", "meta-llama", "mistralai", "Qwen")
    publishers += ("allenai", "deepseek-ai", "MiniMaxAI", "microsoft", "openbmb")
    places = ("arxiv.org/abs", *(f"huggingface.co/{name}" for name in publishers))
    places += (CLASSES.removeprefix("https://").removesuffix("/"),)
    places += ("github.com/google/gemma_pytorch", "github.com/google-deepmind/gemma")
    assert row["source"].startswith(tuple(f"https://{place}/" for place in places))
    assert date.fromisoformat(row["read"]) in {date(2026, 11, day) for day in (22, 23, 24)}
    assert ("parameters" in row) == ("parameters_source" in row)
    counted = row.get("parameters_source", CLASSES).startswith(CLASSES)
    assert counted != row["name"].startswith(("GPT-3", "PaLM"))
    if not counted:
        assert row["parameters_source"] == row["source"]
    assert row["source"].startswith(CLASSES) <= ("config_class" in row)


@every_row
def test_a_model_is_its_row(row: dict) -> None:
    model = MODELS[row["name"]]
    given = {name: value for name, value in asdict(model).items() if name != "config"}
    given |= asdict(model.config)
    given["layers"] = [
        {name: size for name, size in kind.items() if size or (name, size) == ("value_dim", 0)}
        for kind in given["layers"]
    ]
    assert {name: value for name, value in given.items() if value} == row
    assert isinstance(model, KVModel)


@every_shown
def test_a_row_is_a_model_that_could_be(row: dict) -> None:
    config = MODELS[row["name"]].config
    if config.num_kv_heads:
        assert row["num_heads"] % config.num_kv_heads == 0
        wide = row["num_heads"] * config.head_dim
        same = wide == row["embed_dim"]
        different = ("PaLM 540B", "Qwen3-0.6B", "Qwen3-32B", "Qwen3-30B", "Qwen3-235B", "Qwen3.5")
        assert same != row["name"].startswith((*different, "Gemma", "gpt-oss"))
    assert row["context"] % 1024 == 0
    # all weights of attention are among the parameters, and much else
    if "parameters" in row and config.num_kv_heads:
        projections = 2 * row["num_heads"] + 2 * config.num_kv_heads
        least = config.num_layers * row["embed_dim"] * projections * config.head_dim
        assert 0.005 * row["parameters"] < least < 0.6 * row["parameters"]


def test_parameters_agree_with_the_name() -> None:
    for name, model in MODELS.items():
        sizes = re.findall(r"[ -](\d+(?:\.\d+)?)([BMb])(?![\w.])", name.partition("-A")[0])
        if sizes and model.parameters:
            (number, unit) = sizes[-1]
            stated = float(number) * (1e6 if unit == "M" else 1e9)
            assert stated * 0.95 <= model.parameters <= stated * 1.31, name


def test_llama_has_the_parameters_of_its_matrices() -> None:
    sizes = {"8B": (4096, 32, 1024, 14_336), "70B": (8192, 80, 1024, 28_672)}
    for name, (width, layers, kv, hidden) in sizes.items():
        attention, mlp, norms = 2 * width * (width + kv), 3 * width * hidden, 2 * width
        total = 2 * 128_256 * width + layers * (attention + mlp + norms) + width
        assert MODELS[f"Llama-3.1-{name}"].parameters == total


def test_weights_are_as_published() -> None:
    assert MODELS["Llama-3.1-8B"].weight_bytes == 2 * 8_030_261_248
    assert MODELS["Qwen3.5-0.8B"].weight_bytes is None
    # the checkpoints of table 1 in the gpt-oss model card
    for name, gib in (("gpt-oss-20b", 12.8), ("gpt-oss-120b", 60.8)):
        assert round(MODELS[name].weight_bytes / GIB, 1) == gib
    weights = MODELS["DeepSeek-V3"].weight_bytes
    assert MODELS["DeepSeek-V3"].parameters < weights < 1.01 * MODELS["DeepSeek-V3"].parameters


@every_shown
def test_a_model_takes_what_is_known_of_it(row: dict) -> None:
    config = MODELS[row["name"]].config
    token, length, full = ANCHORS[row["name"]]
    assert kv_cache_bytes(config, 1) - kv_cache_bytes(config, 0) == token
    assert row["context"] == length
    assert kv_cache_bytes(config, length) == pytest.approx(full, rel=4e-3)


@every_shown
@pytest.mark.parametrize(
    ("length", "batch", "dtype"),
    [(1, 1, torch.bfloat16), (127, 2, torch.float32), (1025, 3, torch.float16)],
)
def test_a_model_takes_what_its_caches_take(
    row: dict, length: int, batch: int, dtype: torch.dtype
) -> None:
    wanted = sum(layer_caches(row, length, batch, dtype))
    assert kv_cache_bytes(MODELS[row["name"]].config, length, batch, dtype) == wanted


@every_shown
def test_a_model_of_full_length_takes_what_its_caches_take(row: dict) -> None:
    wanted = sum(layer_caches(row, row["context"], 1, torch.bfloat16))
    assert kv_cache_bytes(MODELS[row["name"]].config, row["context"]) == wanted


def test_the_tiny_model_of_the_page() -> None:
    config = KVConfig(full_layers=2, num_kv_heads=2, head_dim=4)
    assert kv_cache_bytes(config, 1) == 64
    assert kv_cache_bytes(config, 3) == 3 * 64
    assert kv_cache_bytes(config, 0) == 0


@st.composite
def configs(draw: Callable) -> KVConfig:
    number = st.integers(1, 7)
    full, windowed, latent = (draw(st.integers(0, 4)) for _ in range(3))
    return KVConfig(
        full_layers=full or (not windowed and not latent) * 1,
        windowed_layers=windowed,
        latent_layers=latent,
        shared_full_layers=draw(st.integers(0, max(full - 1, 0))),
        shared_windowed_layers=draw(st.integers(0, max(windowed - 1, 0))),
        num_kv_heads=draw(number),
        head_dim=draw(number),
        windowed_head_dim=draw(st.none() | number),
        window=draw(number) if windowed else draw(st.integers(0, 7)),
        kv_rank=draw(number),
        rope_dim=draw(number),
    )


@proof
@given(configs(), st.integers(0, 20), st.integers(1, 4))
def test_bytes_are_counted_one_position_at_a_time(
    config: KVConfig, length: int, batch: int
) -> None:
    numbers = 0
    for position, layer in itertools.product(range(length), range(config.num_layers)):
        if layer < config.full_layers:
            if layer < config.full_layers - config.shared_full_layers:
                numbers += config.num_kv_heads * config.head_dim + (
                    config.num_kv_heads * config.head_dim
                )
        elif layer < config.full_layers + config.windowed_layers:
            place = layer - config.full_layers
            if place >= config.shared_windowed_layers and position >= length - config.window:
                size = config.windowed_head_dim
                numbers += 2 * config.num_kv_heads * (config.head_dim if size is None else size)
        else:
            numbers += config.kv_rank + config.rope_dim
    for dtype, itemsize in ((torch.int8, 1), (torch.bfloat16, 2), (torch.float32, 4)):
        found = kv_cache_bytes(config, length, batch, dtype)
        assert found == numbers * batch * itemsize
        assert isinstance(found, int)
    assert kv_cache_bytes(config, length) == 2 * numbers


def test_any_floating_point_or_integer_dtype_is_counted() -> None:
    config = KVConfig(full_layers=1, **SIZES)
    for dtype, itemsize in (
        (torch.float64, 8),
        (torch.float16, 2),
        (torch.float8_e4m3fn, 1),
        (torch.int8, 1),
        (torch.uint8, 1),
    ):
        assert kv_cache_bytes(config, 7, 2, dtype) == 7 * 2 * 2 * 3 * 5 * itemsize


def test_bytes_stay_exact_beyond_64_bits() -> None:
    config = MODELS["GPT-3 175B"].config
    assert kv_cache_bytes(config, 10**15, 10**6) == 4_718_592 * 10**21


def test_sizes_have_names() -> None:
    config = MODELS["Gemma-4-E2B"].config
    assert config.num_layers == 35
    assert config.growing == 3 * 2 * 512
    assert config.rolling == 12 * 2 * 256
    latent = MODELS["DeepSeek-V3"].config
    assert (latent.num_layers, latent.growing, latent.rolling) == (61, 61 * 576, 0)
    assert KVConfig(full_layers=1, windowed_layers=2, latent_layers=4, window=9, kv_rank=7,
                    rope_dim=2, **SIZES).num_layers == 7  # fmt: skip


# --- the longest context ---------------------------------------------------------------------


@proof
@given(configs(), st.integers(0, 5000), st.integers(1, 3))
def test_the_longest_context_fits_and_one_more_token_does_not(
    config: KVConfig, memory: int, batch: int
) -> None:
    for dtype in (torch.int8, torch.float32):
        longest = longest_context(config, memory, batch, dtype)
        if longest is None:
            assert config.growing == 0
            assert kv_cache_bytes(config, 10**9, batch, dtype) <= memory
        else:
            assert kv_cache_bytes(config, longest, batch, dtype) <= memory
            assert kv_cache_bytes(config, longest + 1, batch, dtype) > memory
    default = longest_context(config, memory)
    assert default == longest_context(config, memory, 1, torch.bfloat16)


@every_shown
def test_the_longest_context_of_a_models_own_cache_is_its_context(row: dict) -> None:
    config, context = MODELS[row["name"]].config, row["context"]
    longest = longest_context(config, kv_cache_bytes(config, context, 3), 3)
    if config.growing:
        assert longest == context
    else:
        assert longest is None


def test_a_window_that_is_just_reached() -> None:
    rolling = KVConfig(windowed_layers=1, window=4, num_kv_heads=1, head_dim=1)
    assert [longest_context(rolling, memory) for memory in (0, 3, 4, 15, 16)] == [0, 0, 1, 3, None]
    both = KVConfig(full_layers=1, windowed_layers=1, window=4, num_kv_heads=1, head_dim=1)
    sizes = (0, 7, 8, 31, 32, 35, 36)
    assert [longest_context(both, memory) for memory in sizes] == [0, 0, 1, 3, 4, 4, 5]


# --- errors ----------------------------------------------------------------------------------

NEEDED = {
    "full": {"full_layers": 2, **SIZES},
    "windowed": {"windowed_layers": 2, "window": 4, **SIZES},
    "latent": {"latent_layers": 2, "kv_rank": 4, "rope_dim": 2},
}


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"full_layers": -1}, ValueError, "full_layers must be 0 or more; got -1"),
        ({"windowed_layers": -1}, ValueError, "windowed_layers must be 0 or more; got -1"),
        ({"latent_layers": -1}, ValueError, "latent_layers must be 0 or more; got -1"),
        ({"full_layers": 2.0}, TypeError, "full_layers must be an int; got 2.0"),
        ({"full_layers": True}, TypeError, "full_layers must be an int; got True"),
        (
            {"full_layers": 0},
            ValueError,
            "the layers of all kinds together must be 1 or more; got 0",
        ),
        (
            {"shared_full_layers": 2},
            ValueError,
            "shared_full_layers must be 0 or below full_layers = 2; got 2",
        ),
        (
            {"shared_windowed_layers": 1},
            ValueError,
            "shared_windowed_layers must be 0 or below windowed_layers = 0; got 1",
        ),
        ({"shared_full_layers": -1}, ValueError, "shared_full_layers must be 0 or more; got -1"),
        (
            {"shared_windowed_layers": None},
            TypeError,
            "shared_windowed_layers must be an int; got None",
        ),
        ({"num_kv_heads": 0}, ValueError, "num_kv_heads must be 1 or more; got 0"),
        ({"num_kv_heads": "8"}, TypeError, "num_kv_heads must be an int; got '8'"),
        ({"head_dim": 0}, ValueError, "head_dim must be 1 or more; got 0"),
        ({"windowed_head_dim": 0}, ValueError, "windowed_head_dim must be 1 or more; got 0"),
        ({"window": -1}, ValueError, "window must be 0 or more; got -1"),
        ({"kv_rank": -4}, ValueError, "kv_rank must be 0 or more; got -4"),
        ({"rope_dim": None}, TypeError, "rope_dim must be an int; got None"),
        (
            {"full_layers": 0, "latent_layers": 1, "kv_rank": 2, "rope_dim": 2, "head_dim": -1},
            ValueError,
            "head_dim must be 0 or more; got -1",
        ),
    ],
)
def test_a_wrong_size_is_named(changes: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        KVConfig(**NEEDED["full"] | changes)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind, sizes in NEEDED.items() for name in sizes if "layers" not in name],
)
def test_a_missing_size_is_named(kind: str, name: str) -> None:
    sizes = {key: value for key, value in NEEDED[kind].items() if key != name}
    other = NEEDED["full" if kind == "latent" else "latent"]
    for more in ({}, {key: value for key, value in other.items() if key != name}):
        with pytest.raises(ValueError, match=rf"^{name} must be 1 or more; got 0$"):
            KVConfig(**more | sizes)
        KVConfig(**more | NEEDED[kind])


def test_one_layer_may_be_shared_of_two() -> None:
    config = KVConfig(
        full_layers=2,
        shared_full_layers=1,
        windowed_layers=3,
        shared_windowed_layers=2,
        window=4,
        **SIZES,
    )
    assert kv_cache_bytes(config, 1) == 2 * 2 * 2 * 3 * 5


def test_a_configuration_does_not_change() -> None:
    config = KVConfig(**NEEDED["full"])
    with pytest.raises(FrozenInstanceError):
        config.full_layers = 3
    assert config == KVConfig(**NEEDED["full"])
    assert hash(config) == hash(KVConfig(**NEEDED["full"]))
    with pytest.raises(FrozenInstanceError):
        MODELS["Llama-3-8B"].context = 1


def test_a_row_may_hold_more() -> None:
    row = {**NEEDED["full"], "name": "tiny", "source": "nowhere"}
    assert KVConfig.from_row(row) == KVConfig(**NEEDED["full"])
    with pytest.raises(TypeError, match=r"^row must be a mapping; got list$"):
        KVConfig.from_row([("full_layers", 2)])
    with pytest.raises(ValueError, match=r"^head_dim must be 1 or more; got 0$"):
        KVConfig.from_row({**row, "head_dim": 0})


CALLS = [(kv_cache_bytes, "length"), (longest_context, "memory")]


@pytest.mark.parametrize(("function", "name"), CALLS)
def test_a_wrong_argument_is_named(function: Callable, name: str) -> None:
    config = KVConfig(**NEEDED["full"])
    for arguments, error, message in (
        ((config, -1), ValueError, f"{name} must be 0 or more; got -1"),
        ((config, 1.5), TypeError, f"{name} must be an int; got 1.5"),
        ((config, True), TypeError, f"{name} must be an int; got True"),
        ((config, 1, 0), ValueError, "batch must be 1 or more; got 0"),
        ((config, 1, None), TypeError, "batch must be an int; got None"),
        (({}, 1), TypeError, "config must be a KVConfig; got dict"),
        ((MODELS["GPT-2 XL"], 1), TypeError, "config must be a KVConfig; got KVModel"),
        *(
            (
                (config, 1, 1, dtype),
                TypeError,
                f"dtype must be a floating-point or integer torch.dtype; got {dtype!r}",
            )
            for dtype in (torch.bool, torch.complex64, 2, "bfloat16", None)
        ),
    ):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            function(*arguments)


# --- the wheel -------------------------------------------------------------------------------


def test_the_data_file_is_in_the_wheel(tmp_path: Path) -> None:
    code = (
        "import sys; from hatchling.builders.wheel import WheelBuilder; "
        "next(WheelBuilder('.').build(directory=sys.argv[1], versions=['standard']))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read("attn_docs/memory/kv_models.json")
    assert json.loads(data) == ROWS


# --- tables ----------------------------------------------------------------------------------


def cells(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_table_shows_what_the_caches_take(language: str) -> None:
    shown = cells(tables.models(language))
    assert len(shown) == len(SHOWN)
    for row, (name, _, width, heads, head, token, factor, context, full) in zip(
        SHOWN, shown, strict=True
    ):
        assert name == f"[{row['name']}]({row['source']})"
        assert int(width.replace(",", "")) == row["embed_dim"]
        assert int(context.replace(",", "")) == row["context"]
        one = added(row)
        assert float(token.replace(",", "")) * 1024 == one
        number, unit = full.split("\N{NO-BREAK SPACE}")
        count = float(number) * {"MiB": MIB, "GiB": GIB}[unit]
        real = sum(layer_caches(row, row["context"], 1, torch.bfloat16))
        assert count == pytest.approx(real, rel=1e-3)
        # with a key and a value for each query head
        many = {**row, "num_kv_heads": row["num_heads"]}
        if "kv_rank" in row:
            many |= {"kv_rank": row["num_heads"] * row["key_dim"]}
            many |= {"rope_dim": row["num_heads"] * row["value_dim"]}
        ratio = added(many) / one
        if row["name"] == "DeepSeek-V3.2":
            ratio = 128 * (192 + 128) / (512 + 64 + 128)
        assert float(factor.rstrip("×")) == pytest.approx(ratio, rel=5e-3)
        assert heads.split(", ")[0] == str(row["num_heads"])
        bold = "key_dim" not in row and "windowed_head_dim" not in row
        bold = bold and row["num_heads"] * row["head_dim"] != row["embed_dim"]
        assert head.startswith("**") == bold


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_short_table_has_rows_of_the_long_one(language: str) -> None:
    long, short = (cells(table(language)) for table in (tables.models, tables.chosen))
    assert len(short) == len(tables.CHOSEN)
    assert all(row in long for row in short)


# what one layer of each kind caches for a token, made
KINDS = {
    "Llama-2-7B": lambda: KVCache(1, 32, 128, 1),
    "Llama-3.1-8B": lambda: KVCache(1, 8, 128, 1),
    "Falcon-7B": lambda: KVCache(1, 1, 64, 1),
    "Gemma-3-27B": lambda: KVCache(1, 16, 128, 1, window=1024),
    "DeepSeek-V3": lambda: LatentCache(1, 512, 64, 1),
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_table_of_variants_shows_what_a_layers_cache_holds(language: str) -> None:
    shown = {name: count for *_, name, count in cells(tables.variants(language))}
    for name, cache in KINDS.items():
        assert int(shown.pop(name).replace(",", "")) * 4 == cache().nbytes
    assert shown == {"Gemma-4-E2B": "0", "Qwen3.5-0.8B": "0"}
    assert MODELS["Gemma-4-E2B"].config.shared_full_layers
    assert MODELS["Qwen3.5-0.8B"].config.layers[0].state_bytes


def test_nine_users_fit_on_paper_and_eight_in_fact() -> None:
    model, room = MODELS["Llama-3.1-8B"], 24_207 * MIB - MODELS["Llama-3.1-8B"].weight_bytes
    paper = 24_564 * MIB - model.weight_bytes
    numbers = tables.numbers()
    assert [numbers[name] for name in ("token", "conversation")] == ["128 KiB", "1 GiB"]
    assert [numbers[name] for name in ("users_on_paper", "users")] == ["9", "8"]
    assert [kv_cache_bytes(model.config, 8192, batch) <= paper for batch in (9, 10)] == [
        True,
        False,
    ]
    assert numbers["on_paper_left"] == f"{paper / MIB - 9 * 1024:.0f} MiB"
    for batch, name, fits in ((8, "each_of_eight", True), (9, "each_of_nine", False)):
        assert (kv_cache_bytes(model.config, 8192, batch) <= room) == fits
        length = int(numbers[name].replace(",", ""))
        assert kv_cache_bytes(model.config, length, batch) <= room
        assert kv_cache_bytes(model.config, length + 1, batch) > room


@pytest.mark.parametrize(("language", "none"), [("en", "no room"), ("zh", "放不下")])
def test_what_fits_beside_the_weights(language: str, none: str) -> None:
    reported = [24_207 * MIB, 81_008 * MIB, 143_155 * MIB]
    for name, parameters, bits, weight, *counts in cells(tables.fits(language)):
        model = MODELS[name.removeprefix("[").partition("]")[0]]
        assert name.endswith(f"({model.parameters_source})")
        assert int(parameters.replace(",", "")) == model.parameters
        weights = float(weight.removesuffix(" GiB")) * GIB
        assert weights == pytest.approx(model.weight_bytes, rel=5e-3)
        assert float(bits) * model.parameters / 8 == pytest.approx(model.weight_bytes, rel=5e-3)
        for memory, count in zip(reported, counts, strict=True):
            room = memory - model.weight_bytes
            assert (count == none) == (room < 0)
            if re.fullmatch(r"[\d,]+", count):
                number = int(count.replace(",", ""))
                assert len(str(number).rstrip("0")) <= 2
                assert number == pytest.approx(longest_context(model.config, room), rel=0.05)
            elif room >= 0:
                assert kv_cache_bytes(model.config, 10**12) <= room


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_name_of_a_card_is_not_its_memory(language: str) -> None:
    for name, _label, shown, gib, cuda, gb in cells(tables.cards(language)):
        (mib,) = re.findall(r"^\[([\d,]+) MiB\]\(https://github", shown)
        memory = int(mib.replace(",", "")) * MIB
        assert float(gib.removesuffix(" GiB")) * GIB == pytest.approx(memory, rel=5e-4)
        (found,) = re.findall(r"^\[([\d.]+) GiB\]\(https://github", cuda)
        usable = tables.CARDS[name].memory
        assert 0 <= float(found) * GIB - usable < MIB
        assert usable < memory - 200 * MIB  # the driver keeps some
        assert float(gb.removesuffix(" GB")) * 1e9 == pytest.approx(usable, rel=5e-3)


def test_rounding_decides_whether_70b_fits() -> None:
    numbers = tables.numbers()
    assert numbers["llama_70b_parameters"] == "70,553,706,496"
    assert numbers["llama_70b_promised"] == "3,100"
    assert numbers["llama_70b_beside"] == "27,000"
    assert 2 * MODELS["Llama-3.1-70B"].parameters > 141 * 10**9  # so it does not fit "141 GB"


def test_sizes_are_written_in_binary_units() -> None:
    sizes = {1: "0.0009766 KiB", 1536: "1.5 KiB", 2**20 - 1: "1,024 KiB", 2**20: "1 MiB"}
    sizes |= {2**30 - 1: "1,024 MiB", 3 * 2**29: "1.5 GiB", 2**40: "1,024 GiB"}
    assert {count: tables.size(count) for count in sizes} == sizes


# --- exhibits --------------------------------------------------------------------------------

EXHIBITS = ROOT / "attn_docs" / "exhibits" / "memory"
# arguments, and what is right
WRONG = {
    "kv_memory_head_dim_from_width": ((64, 5120, 64, 8, 128), 262_144),
    "kv_memory_query_heads": ((32, 32, 8, 128), 131_072),
    "kv_memory_window_ignored": ((131_072, 10, 52, 1024, 16, 128), 11_173_625_856),
    "kv_memory_latent_doubled": ((61, 512, 64), 70_272),
    "kv_memory_shared_counted": ((7, 4, 1, 512), 6_144),
}
# arguments with which it happens to be right
LUCKY = {
    "kv_memory_head_dim_from_width": ((32, 4096, 32, 8, 128), 131_072),
    "kv_memory_query_heads": ((32, 32, 32, 128), 524_288),
    "kv_memory_window_ignored": ((1024, 10, 52, 1024, 16, 128), 520_093_696),
    "kv_memory_shared_counted": ((7, 0, 1, 512), 14_336),
}


def load(name: str, *, mended: bool) -> ModuleType:
    """Import an exhibit, or its copy with the wrong line as its comment says it should be."""
    source = (EXHIBITS / f"{name}.py").read_text(encoding="utf-8")
    (marked,) = (line for line in source.splitlines() if "# wrong: " in line)
    code, _, right = marked.partition("  # wrong: ")
    wrong = code.partition("= ")[2]
    return load_exhibit(f"memory/{name}", (wrong, right), mended=mended)


def call(module: ModuleType, arguments: tuple[int, ...], **options: int) -> int:
    name = "cache_bytes" if hasattr(module, "cache_bytes") else "bytes_per_token"
    return getattr(module, name)(*arguments, **options)


@pytest.mark.parametrize("name", sorted(WRONG))
def test_an_exhibit_is_wrong_and_mending_its_line_makes_it_right(name: str) -> None:
    arguments, right = WRONG[name]
    wrong = call(load(name, mended=False), arguments)
    assert isinstance(wrong, int)
    assert not 0.9 < wrong / right < 1.1
    mended = load(name, mended=True)
    assert call(mended, arguments) == right
    assert call(mended, arguments, itemsize=4) == 2 * right


@pytest.mark.parametrize("name", sorted(LUCKY))
def test_an_exhibit_is_right_where_nobody_would_notice(name: str) -> None:
    arguments, right = LUCKY[name]
    for mended in (False, True):
        assert call(load(name, mended=mended), arguments) == right


@pytest.mark.parametrize(
    ("name", "model", "length"),
    [
        ("kv_memory_head_dim_from_width", "Qwen3-32B", 1),
        ("kv_memory_query_heads", "Llama-3-8B", 1),
        ("kv_memory_window_ignored", "Gemma-3-27B", 131_072),
        ("kv_memory_latent_doubled", "DeepSeek-V3", 1),
    ],
)
def test_the_exhibits_are_of_real_models(name: str, model: str, length: int) -> None:
    assert kv_cache_bytes(MODELS[model].config, length) == WRONG[name][1]


def test_models_come_by_name_in_the_order_of_the_file():
    models, names = load_models(), [row["name"] for row in ROWS]
    assert list(models) == names
    assert [model.name for model in models.values()] == names
    assert models == MODELS


# --- the formulas of the page -----------------------------------------------------------------


@pytest.mark.formula(r"""
\text{bytes} = b\, s\, \Bigl( \sum_{\text{full}} 2 g d\, m + \sum_{\text{windowed}} 2 g d \min(m, W)
+ \sum_{\text{latent}} (d_c + d_r)\, m \Bigr)
""")
def test_the_formula_is_the_function_and_the_bytes_of_real_caches() -> None:
    b, g, d, W, d_c, d_r = 2, 3, 5, 7, 11, 6
    config = KVConfig(
        full_layers=4 + 1,
        shared_full_layers=1,
        windowed_layers=8 + 2,
        shared_windowed_layers=2,
        latent_layers=9,
        num_kv_heads=g,
        head_dim=d,
        window=W,
        kv_rank=d_c,
        rope_dim=d_r,
    )
    full, windowed, latent = range(4), range(8), range(9)
    for m, (dtype, s) in itertools.product(
        (1, 6, 7, 20), ((torch.bfloat16, 2), (torch.float32, 4))
    ):
        numbers = sum(2 * g * d * m for _ in full) + sum(2 * g * d * min(m, W) for _ in windowed)
        numbers += sum((d_c + d_r) * m for _ in latent)
        assert kv_cache_bytes(config, m, b, dtype) == b * s * numbers
        made = [KVCache(b, g, d, m, dtype=dtype) for _ in full]
        made += [KVCache(b, g, d, m, dtype=dtype, window=W) for _ in windowed]
        made += [LatentCache(b, d_c, d_r, m, dtype=dtype) for _ in latent]
        assert sum(cache.nbytes for cache in made) == b * s * numbers
