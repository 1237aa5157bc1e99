"""The table and the figure of the chapter on models."""

import math
import re
from collections.abc import Callable

import pytest
import torch
import transformers
from playwright.sync_api import expect

from attn_docs import KVCache, KVConfig, KVLayers, kv_cache_bytes, load_models, longest_context
from docs._tools.page import page_module
from tests.checkpoints.test_models import KINDS, parameters_of
from tests.conftest import Site
from tests.forms import without_scripts
from tests.kit import parse

figures = page_module("checkpoints/models", "figures")
tables = page_module("checkpoints/models", "tables")

MODELS = load_models()
URL = "checkpoints/models/"
languages = pytest.mark.parametrize("language", ["en", "zh"])


# --- layers of any kind -----------------------------------------------------------------------


def test_layers_beside_the_three_kinds_are_added() -> None:
    old = KVConfig(full_layers=2, windowed_layers=3, window=6, num_kv_heads=2, head_dim=4)
    both = KVConfig(
        full_layers=2, windowed_layers=3, window=6, num_kv_heads=2, head_dim=4, layers=KINDS
    )
    for length in (1, 6, 9):
        found = kv_cache_bytes(old, length) + kv_cache_bytes(KVConfig(layers=KINDS), length)
        assert kv_cache_bytes(both, length) == found
    assert both.num_layers == 5 + 23
    assert both.kinds == (*old.kinds, *KINDS)
    assert hash(both) == hash(both)
    assert isinstance(both.layers, tuple)
    room = {"dtype": torch.bfloat16, "device": "meta"}
    caches = (
        2 * KVCache(1, 2, 4, 9, **room).nbytes + 3 * KVCache(1, 2, 4, 9, window=6, **room).nbytes
    )
    assert kv_cache_bytes(old, 9) == caches


def test_growing_and_rolling_count_what_their_names_say() -> None:
    config = KVConfig(layers=KINDS)
    assert config.growing == 2 * 3 * 9 + 4 * (9 + 8) + 3 * 2 * 6
    assert config.rolling == 3 * 2 * 14 + 2 * 10


@pytest.mark.parametrize(
    "config", [KVConfig(layers=[kind]) for kind in KINDS] + [KVConfig(layers=KINDS)]
)
def test_the_longest_context_fits_and_one_more_token_does_not(config: KVConfig) -> None:
    for memory in (0, 1, 30, 64, 65, 66, 1000, 12345):
        for batch in (1, 2):
            longest = longest_context(config, memory, batch)
            if longest is None:
                assert kv_cache_bytes(config, 10**9, batch) <= memory
                continue
            fits = kv_cache_bytes(config, longest, batch) <= memory
            assert fits or longest == 0  # the states alone may not fit
            assert kv_cache_bytes(config, longest + 1, batch) > memory


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"count": 0}, ValueError, "count must be 1 or more; got 0"),
        ({"count": 1.0}, TypeError, "count must be an int; got 1.0"),
        ({"num_kv_heads": 2}, ValueError, "head_dim must be 1 or more; got 0"),
        ({"head_dim": 2}, ValueError, "num_kv_heads must be 1 or more; got 0"),
        ({"ratio": 4}, ValueError, "compressed_dim must be 1 or more; got 0"),
        ({"compressed_dim": 4}, ValueError, "ratio must be 1 or more; got 0"),
        ({"value_dim": -1}, ValueError, "value_dim must be 0 or more; got -1"),
        ({"window": 0}, ValueError, "window must be 1 or more; got 0"),
        ({"index_dim": -1}, ValueError, "index_dim must be 0 or more; got -1"),
        ({"state_bytes": "8"}, TypeError, "state_bytes must be an int; got '8'"),
        ({"shared": 3}, ValueError, "shared must be below count = 3; got 3"),
        ({"shared": -1}, ValueError, "shared must be 0 or more; got -1"),
        ({}, ValueError, "what a layer caches must be 1 element or 1 byte at least; got nothing"),
    ],
)
def test_a_wrong_size_is_named(given: dict, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        KVLayers(**{"count": 3} | given)


def test_layers_are_layers() -> None:
    with pytest.raises(TypeError, match=r"^layers must hold KVLayers; got dict$"):
        KVConfig(layers=[{"count": 1}])
    with pytest.raises(ValueError, match=r"^length must be 0 or more; got -1$"):
        KINDS[0].elements(-1)


# --- what a class has by default ----------------------------------------------------------------


def test_what_the_page_says_of_defaults_that_are_not_the_released_model() -> None:
    assert round(parameters_of("Qwen3_5Config") / 1e9) == 9
    assert transformers.Phi3Config().sliding_window is None
    assert len(transformers.NemotronHConfig().layers_block_type) == 4
    kinds = transformers.DeepseekV4Config().layer_types
    assert "sliding_attention" not in kinds
    text = transformers.MiniMaxM3VLConfig().get_text_config()
    assert set(text.layer_types) == {"full_attention"}


# --- the table --------------------------------------------------------------------------------


def rows(site: Site, prefix: str = "") -> list[list[str]]:
    (body,) = (e for e in site.tree(prefix + URL).iter("div") if e.get("class") == "models")
    return [
        ["".join(cell.itertext()).strip() for cell in row]
        for row in body.iter("tr")
        if row.get("data-has") is not None
    ]


@languages
def test_the_table_has_every_model_with_its_bytes(site: Site, language: str) -> None:
    shown = rows(site, "zh/" if language == "zh" else "")
    assert sorted(row[0] for row in shown) == sorted(MODELS)
    years = [int(row[1]) for row in shown]
    assert years == sorted(years, reverse=True)
    for name, year, size, *numbers in (row[:6] for row in shown):
        counted = MODELS[name].parameters
        assert float(size.replace(",", "")) == pytest.approx(
            counted / 1e9 if counted else tables.billions(MODELS[name]), rel=6e-3
        )
        assert int(year) == MODELS[name].year
        context = MODELS[name].context
        shape = "?" if context is None else "()" if context < 131_072 else ""
        assert re.sub(r"[\d,.]", "", numbers[-1]) == shape
        numbers[-1] = numbers[-1].strip("()?")
        for length, number in zip((1024, 32_768, 131_072), numbers, strict=True):
            right = kv_cache_bytes(MODELS[name].config, length) / length / 1024
            assert float(number.replace(",", "")) == pytest.approx(right, rel=6e-3)


def test_each_row_leads_to_its_source_and_none_is_secondary(site: Site) -> None:
    (body,) = (e for e in site.tree(URL).iter("div") if e.get("class") == "models")
    for row in body.iter("tr"):
        if row.get("data-has") is None:
            continue
        name = "".join(row[0].itertext())
        links = [a.get("href") for a in row[-1].iter("a")]
        assert links[0] == MODELS[name].source
        also_read = MODELS[name].config_class and "github.com/huggingface" not in links[0]
        assert len(links) == (2 if also_read else 1)
        for link in links[1:]:
            assert link.startswith("https://github.com/huggingface/transformers/")


@languages
def test_what_has_no_chapter_is_marked(site: Site, language: str) -> None:
    for row in rows(site, "zh/" if language == "zh" else ""):
        model = MODELS[row[0]]
        marks = sum(
            name in tables.NOT_YET for name in (*model.position, *model.steadier, *model.choice)
        )
        assert "".join(row).count("°") == marks + len(model.state)


def test_layers_are_told_as_they_are() -> None:
    names = tables.NAMES

    def told(name: str) -> str:
        parts = tables.layers(MODELS[name], names)
        return "".join(f"{part.before}{part.text}{part.after}" for part in parts)

    assert told("Llama-3.1-8B") == "32 full"
    assert told("gpt-oss-20b") == "12 full + 12 window 128"
    assert told("Qwen3-Next-80B") == "12 full + 36 Gated DeltaNet°"
    assert told("Mistral-Large-4") == "72 full"
    assert told("Llama-4-Scout") == "12 full + 36 chunks of 8,192"
    assert told("Phi-3-mini-4k") == "32 window 2,047"
    assert told("Inkling") == "11 full + 55 window 512 + convolution°"
    assert told("DeepSeek-V4-Flash") == "2 window 128 + 21 window 128 ÷4 + 20 window 128 ÷128"


# --- in a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["", "zh/"], ids=["en", "zh"])
def page(request: pytest.FixtureRequest, visit: Callable):
    return visit(request.param + URL, width=1280)


def test_rows_are_found_by_name_and_kind(page) -> None:
    tab = page.tab
    shown = tab.locator(".models tbody tr:visible")
    expect(shown).to_have_count(len(MODELS))
    tab.focus("#models-name")
    tab.keyboard.type("gemma")
    expect(shown).to_have_count(sum("Gemma" in name for name in MODELS))
    tab.fill("#models-name", "Gemma, qwen ,")
    expect(shown).to_have_count(sum("Gemma" in name or "Qwen" in name for name in MODELS))
    tab.locator("#models-has").select_option("shared")
    expect(shown).to_have_count(3)
    expect(tab.locator(".models-filter output")).to_have_text(
        re.compile(rf"\b3\b.*\b{len(MODELS)}\b|{len(MODELS)}.* 3 ")
    )
    assert tab.locator(".models-filter output").get_attribute("aria-live") == "polite"
    tab.fill("#models-name", "")
    tab.locator("#models-has").select_option("")
    expect(shown).to_have_count(len(MODELS))
    assert not page.complaints


def test_a_heading_sorts_by_keyboard(page) -> None:
    tab = page.tab
    first = tab.locator(".models tbody tr th").first
    button = tab.locator(".models thead th:nth-child(6) button")
    button.focus()
    tab.keyboard.press("Enter")
    expect(first).to_have_text("Mistral-7B v0.1")
    tab.keyboard.press("Enter")
    expect(first).to_have_text("GPT-3 175B")
    assert tab.locator("[aria-sort]").count() == 1
    expect(tab.locator(".models thead th:nth-child(6)")).to_have_attribute(
        "aria-sort", "descending"
    )
    tab.locator(".models thead th:nth-child(1) button").click()
    expect(first).to_have_text("BLOOM 176B")
    assert not page.complaints


def test_without_javascript_the_table_is_whole(browser, address) -> None:
    with without_scripts(browser) as tab:
        tab.goto(address + URL)
        expect(tab.locator(".models-filter")).to_be_hidden()
        expect(tab.locator(".models tbody tr:visible")).to_have_count(len(MODELS))
        assert tab.locator(".models button").count() == 0


# --- the figure -------------------------------------------------------------------------------


@languages
def test_dots_stand_at_their_models_bytes(language: str) -> None:
    root = parse(figures.FIGURES["moved"](language))
    ticks = {
        float(e.get("data-tick")): float(re.findall(r"[ML][\d.]+,([\d.]+)", e.get("d"))[0])
        for e in root.iter("path") if e.get("data-tick")
    }  # fmt: skip
    step = (ticks[4] - ticks[4096]) / math.log(4096 / 4)
    dots = {e.get("data-model"): e for e in root.iter("rect") if e.get("data-model")}
    assert len(dots) == len(MODELS)
    for name, model in MODELS.items():
        dot = dots[name.replace("3.0", "3")]  # as numbers are written in a figure
        value = kv_cache_bytes(model.config, 131_072) / 131_072 / 1024
        middle = float(dot.get("y")) + float(dot.get("height")) / 2
        assert middle == pytest.approx(ticks[4] - step * math.log(value / 4), abs=0.1)
