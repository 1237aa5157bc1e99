"""The calculator on the page gives the functions' numbers, to the byte, for every model."""

import itertools
import json
import re

import pytest
import torch
from playwright.sync_api import expect

from attn_docs import kv_cache_bytes, load_models, longest_context
from docs._kit.text import texts
from docs._tools.page import page_module
from tests.conftest import ROOT, Site
from tests.forms import without_scripts

tables = page_module("explore/kv-memory", "tables")

URL = "explore/kv-memory/"
SCRIPT = f"{URL}explorer.js"
MODELS = load_models()
DTYPES = {4: torch.float32, 2: torch.bfloat16, 1: torch.int8}
LENGTHS = (0, 1, 511, 512, 513, 4096, 4097, 131_072, 10_000_000, 99_999_999)
BATCHES = (1, 7, 99_991)
MEMORIES = (1, 24_564, 143_771, 99_999_999)  # MiB
CARD = 24_564
ASK = """cases => {
    const form = document.querySelector(".kv-calculator")
    const set = (name, value) => { form.elements.namedItem(name).value = value }
    return cases.map(([model, context, batch, itemsize, memory]) => {
        Object.entries({ model, context, batch, itemsize, memory }).forEach(e => set(...e))
        form.dispatchEvent(new Event("input"))
        return Object.fromEntries([...form.querySelectorAll("data")]
            .map(place => [place.dataset.of, [place.value, place.textContent]]))
    })
}"""


@pytest.fixture(scope="module", params=["", "zh/"], ids=["en", "zh"])
def page(request, visit):
    opened = visit(request.param + URL, width=1280)
    opened.language = request.param[:2] or "en"
    return opened


def wanted(model, context: int, batch: int, itemsize: int, memory: int) -> dict[str, str]:
    dtype = DTYPES[itemsize]
    count = kv_cache_bytes(model.config, context, batch, dtype)
    weights = model.weight_bytes or 0
    room = memory * 2**20 - weights
    longest = longest_context(model.config, room, batch, dtype) if room >= 0 else 0
    return {
        "cache": str(count),
        "more": str(kv_cache_bytes(model.config, context + 1, batch, dtype) - count),
        "weights": str(weights),
        "longest": "" if longest is None else str(longest),
    }


def test_every_model_to_the_byte(page) -> None:
    rest = list(itertools.product(LENGTHS, BATCHES, DTYPES, MEMORIES))
    step = 29 if page.language == "en" else 97  # prime: every length, batch, dtype and memory
    cases = [
        [name, *numbers]
        for first, name in enumerate(MODELS)
        for numbers in rest[first % step :: step]
    ]
    found = page.tab.evaluate(ASK, cases)
    for (name, *numbers), answer in zip(cases, found, strict=True):
        values = {place: value for place, (value, _) in answer.items()}
        assert values == wanted(MODELS[name], *numbers), (name, numbers)
    largest = max(int(answer["cache"][0]) for answer in found)
    assert largest > 2**53  # where JavaScript's plain numbers are no longer exact


def test_numbers_are_shown_as_in_the_tables(page) -> None:
    words = texts(tables.__file__, "form", page.language)
    cases = [["Llama-3.1-8B", 131_072, 1, 2, CARD], ["GPT-2 124M", 3, 1, 2, CARD],
             ["Mistral-7B v0.1", 5000, 2, 2, CARD], ["Qwen3.5-0.8B", 7, 1, 1, CARD],
             ["Llama-2-70B", 1000, 1, 2, CARD], ["gpt-oss-20b", 1000, 4, 2, CARD]]  # fmt: skip
    answers = [
        {place: text for place, (_, text) in answer.items()}
        for answer in page.tab.evaluate(ASK, cases)
    ]
    first = tables.shown(page.language, "Llama-3.1-8B", 131_072, 1, CARD)
    assert answers[0] == first
    assert answers[1]["cache"] == f"108.00 KiB (110,592 {words['bytes']})"
    assert answers[2]["more"] == words["nothing"]
    assert answers[2]["longest"] == words["any"]
    assert answers[3]["weights"] == words["unknown"]
    assert answers[4]["longest"] == words["none"]
    assert answers[5]["weights"] == "12.82 GiB"  # as published, in MXFP4
    room = CARD * 2**20 - MODELS["gpt-oss-20b"].weight_bytes
    assert answers[5]["longest"] == f"{longest_context(MODELS['gpt-oss-20b'].config, room, 4):,}"


def test_it_asks_for_nothing_but_its_script(page) -> None:
    assert not page.complaints
    assert len([request for request in page.requests if request.endswith(SCRIPT)]) == 1
    assert not [request for request in page.requests if ".json" in request]


def test_wrong_numbers_are_explained_and_shown_no_result(page) -> None:
    tab = page.tab
    wrong_numbers = (("context", "-1"), ("context", "131072.00000001"), ("batch", "1.5"),
                     ("batch", "1e9"), ("memory", ""), ("memory", "1e-1"))  # fmt: skip
    for name, wrong in wrong_numbers:
        field = tab.locator(f".kv-calculator [name={name}]")
        right = field.input_value()
        field.fill(wrong)
        expect(tab.locator(".kv-calculator output")).to_be_hidden()
        expect(tab.locator(".kv-invalid")).to_be_visible()
        field.fill(right)
        expect(tab.locator(".kv-calculator output")).to_be_visible()
        expect(tab.locator(".kv-invalid")).to_be_hidden()
    assert not page.complaints


def test_a_number_may_be_written_in_any_way(page) -> None:
    tab, field = page.tab, page.tab.locator("#kv-context")
    tab.goto(tab.url.partition("?")[0])
    for written, number in (("1e6", 1_000_000), ("131072.0", 131_072), ("0004096", 4096)):
        for name in ("Llama-3.1-8B", "DeepSeek-V3"):
            field.fill(written)
            tab.locator("#kv-model").select_option(name)
            places = tab.locator("data").all()
            found = {e.get_attribute("data-of"): e.get_attribute("value") for e in places}
            assert found == wanted(MODELS[name], number, 1, 2, CARD), (name, written)
    assert not page.complaints


def test_it_works_by_keyboard(page) -> None:
    tab = page.tab
    tab.goto(tab.url.partition("?")[0])
    names = ("Model", "Context", "Sequences", "Bits", "Memory")
    if page.language == "zh":
        names = ("模型", "上下文长度", "同时处理", "缓存里每个分量", "设备显存")
    for name in names:
        expect(tab.get_by_label(re.compile(f"^{name}"))).to_have_count(1)
    tab.get_by_label(re.compile(f"^{names[0]}")).focus()
    tab.keyboard.type("Falcon-7")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Control+A")
    tab.keyboard.type("2048")
    expect(tab.locator("data[data-of=cache]")).to_contain_text("16.00 MiB")
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowUp")
    expect(tab.locator("data[data-of=cache]")).to_contain_text("32.00 MiB")
    tab.keyboard.press("Enter")  # submits nothing
    expect(tab.locator("data[data-of=cache]")).to_contain_text("32.00 MiB")
    assert tab.url.partition("?")[2] == "model=Falcon-7B&context=2048&batch=2"
    assert tab.locator(".kv-calculator output").get_attribute("aria-live") == "polite"


def test_what_the_page_says_before_the_script_runs_is_what_the_script_says(site: Site) -> None:
    for prefix, language in (("", "en"), ("zh/", "zh")):
        places = [e for e in site.tree(prefix + URL).iter("data") if e.get("data-of")]
        found = {place.get("data-of"): place.text for place in places}
        assert found == tables.shown(language, "Llama-3.1-8B", 131_072, 1, CARD)


def test_the_page_holds_the_data_file(site: Site) -> None:
    rows = json.loads((ROOT / "attn_docs/memory/kv_models.json").read_text(encoding="utf-8"))
    for prefix in ("", "zh/"):
        (script,) = (e for e in site.tree(prefix + URL).iter() if e.get("id") == "kv-models")
        for row, given in zip(json.loads(script.text), rows, strict=True):
            assert row.pop("weights", None) == MODELS[given["name"]].weight_bytes
            assert row.items() <= given.items()
            numbers = {name for name, value in given.items() if isinstance(value, int)}
            assert numbers - row.keys() <= {"embed_dim", "num_heads", "context", "key_dim",
                                            "value_dim", "parameters", "quantized",
                                            "year"}  # fmt: skip


def test_no_other_page_loads_the_script(site: Site) -> None:
    assert site.loading(SCRIPT) == [URL, f"zh/{URL}"]


def test_without_javascript_the_table_remains_and_no_empty_form(browser, address) -> None:
    with without_scripts(browser) as tab:
        for prefix in ("", "zh/"):
            tab.goto(address + prefix + URL)
            expect(tab.locator(".kv-calculator")).to_be_hidden()
            expect(tab.get_by_role("cell", name="DeepSeek-V3")).to_be_visible()
