"""The picture of attention on the home page computes what the package computes."""

import gzip
import itertools

import pytest
import torch
from playwright.sync_api import expect

from attn_docs import attention_weights, scaled_dot_product_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, projections
from docs._kit.text import texts
from docs._tools.page import page_module
from tests.conftest import ROOT, Site
from tests.forms import reset, served_and_shown, without_scripts

tables = page_module("", "tables")

CASES = list(itertools.product(range(len(WORDS)), (0, 1, 3, 6, 9, 12), (False, True)))
SET = """([word, sharpness, causal]) => {
    const form = document.querySelector(".attention")
    form.elements.namedItem("word").value = word
    form.elements.namedItem("sharpness").value = sharpness
    form.elements.namedItem("causal").checked = causal
    form.dispatchEvent(new Event("input"))
}"""
READ = """() => {
    const form = document.querySelector(".attention")
    const all = (what, read) => [...form.querySelectorAll(what)].map(read)
    return {
        arcs: all("path", path => Number(path.getAttribute("stroke-width"))),
        starts: all("path", path => parseInt(path.getAttribute("d").slice(1))),
        ends: all("path", path => parseInt(path.getAttribute("d").match(/(\\d+) 112$/)[1])),
        parts: all(".parts b", part => part.textContent),
        brought: all(".brought td:last-child", cell => Number(cell.textContent)),
        bars: all(".brought rect", bar => parseFloat(bar.getAttribute("width"))),
        said: form.querySelector("output").textContent,
    }
}"""


def wanted(word: int, sharpness: float, *, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a word's weights and its output, by the package."""
    x = embeddings().double()
    query, key, value = (x @ w.double() for w in projections(sharpness))
    weights = attention_weights(query, key, is_causal=causal)[word]
    return weights, scaled_dot_product_attention(query, key, value, is_causal=causal)[word]


@pytest.fixture(scope="module", params=["en", "zh"])
def page(request, visit):
    opened = visit("" if request.param == "en" else "zh/", width=1280)
    opened.words = texts(tables.__file__, "attention", request.param)
    opened.answers = []
    for case in CASES:
        opened.tab.evaluate(SET, case)
        opened.answers.append(opened.tab.evaluate(READ))
    reset(opened.tab, ".attention")
    return opened


def test_every_setting_shows_what_the_package_computes(page) -> None:
    for (word, sharpness, causal), answer in zip(CASES, page.answers, strict=True):
        case = (word, sharpness, causal)
        weights, output = wanted(word, sharpness, causal=causal)
        parts = [
            page.words["masked"] if causal and j > word else f"{weight:.2f}"
            for j, weight in enumerate(weights.tolist())
        ]
        assert answer["parts"] == parts, case
        assert answer["arcs"] == pytest.approx((16 * weights).tolist(), abs=0.0051), case
        assert answer["starts"] == [100 * word + 50] * len(WORDS)
        assert answer["ends"] == [100 * j + 50 for j in range(len(WORDS))]
        assert answer["brought"] == pytest.approx(output.tolist(), abs=0.0051), case
        assert answer["bars"] == pytest.approx((100 * output).tolist(), abs=0.051), case


def test_the_sentence_names_what_is_largest(page) -> None:
    for (word, sharpness, causal), answer in zip(CASES, page.answers, strict=True):
        weights, output = wanted(word, sharpness, causal=causal)
        reason, said = tables.reason(word, page.words), answer["said"]
        assert said.startswith(reason)
        if causal and word == 0:
            assert said == reason + page.words["alone"]
            continue
        for names, numbers in ((WORDS, weights), (page.words["meanings"], output)):
            top = float(numbers.max())
            assert f"{top:.2f}" in said
            for name, number in zip(names, numbers.tolist(), strict=True):
                named = name in said.removeprefix(reason).replace("attention brings it this", "")
                alike = top - number < 1e-9
                assert named == alike or name in {"it", "the"}, (word, sharpness, causal, said)


def test_a_word_looks_for_what_its_query_matches(page) -> None:
    kinds = page.words["kinds"]
    sought = {"the": [1], "cat": [2], "sleeps": [1, 2], "it": [1], "dreams": [1, 2]}
    assert [kinds.index(k) for k in kinds] == [0, 1, 2, 3]
    for word, looked in sought.items():
        told = tables.reason(WORDS.index(word), page.words)
        assert told.rstrip().rstrip(".。").endswith(page.words["or"].join(kinds[k] for k in looked))


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_below_moves_when_something_is_chosen(page, width) -> None:
    page.tab.set_viewport_size({"width": width, "height": 900})
    heights = set()
    for case in CASES:
        page.tab.evaluate(SET, case)
        heights.add(page.tab.evaluate("document.documentElement.scrollHeight"))
    page.tab.set_viewport_size({"width": 1280, "height": 900})
    assert len(heights) == 1


def test_what_the_page_says_before_the_script_runs_is_what_the_script_says(page) -> None:
    reset(page.tab, ".attention")
    before, after = served_and_shown(page.tab, ".attention")
    assert before == after
    assert not page.complaints


def test_it_works_by_keyboard_and_says_so(page) -> None:
    tab, words = page.tab, page.words
    reset(tab, ".attention")
    form = tab.get_by_role("form", name=words["label"])
    group = form.get_by_role("group", name=words["choose"])
    expect(group.get_by_role("radio")).to_have_count(5)
    group.get_by_role("radio", name="it", exact=True).focus()
    tab.keyboard.press("ArrowLeft")
    expect(group.get_by_role("radio", name="sleeps")).to_be_checked()
    expect(form.locator("output")).to_contain_text(tables.reason(2, words).strip())
    tab.keyboard.press("Tab")
    tab.keyboard.press("Home")
    expect(form.locator(".parts b")).to_have_text(["0.20"] * 5)
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    expect(form.locator(".parts b").last).to_have_text(words["masked"])
    expect(form.get_by_label(words["causal"])).to_be_checked()
    assert form.locator("output").get_attribute("aria-live") == "polite"
    assert "?" not in tab.url


@pytest.mark.parametrize("url", ["", "zh/"])
def test_it_is_in_the_first_screen(visit, url) -> None:
    tab = visit(url, width=1280).tab
    tab.set_viewport_size({"width": 1280, "height": 900})
    for shown in (".attention", ".hero li >> nth=-1", ".grid.cards", ".install"):
        box = tab.locator(shown).bounding_box()
        assert box["y"] + box["height"] <= 900, shown
    tab.set_viewport_size({"width": 360, "height": 740})
    box = tab.locator(".attention .parts").bounding_box()
    assert box["y"] + box["height"] <= 740
    assert tab.evaluate("document.scrollingElement.scrollWidth") == 360
    for label in tab.locator(".attention fieldset label").all():
        assert label.evaluate("label => label.scrollWidth <= label.clientWidth")


def test_a_phone_still_has_the_list_of_pages(visit) -> None:
    tab = visit("", width=360).tab
    tab.locator(".md-header label[for=__drawer]").click()
    expect(tab.locator(".md-sidebar--primary")).to_be_in_viewport()
    tab.keyboard.press("Escape")


def test_the_figure_without_scripts_shows_the_same(browser, address) -> None:
    weights, output = wanted(WORDS.index("it"), 6, causal=False)
    with without_scripts(browser) as tab:
        for url in ("", "zh/"):
            tab.goto(address + url)
            expect(tab.locator(".attention")).to_be_hidden()
            figure = tab.locator("svg[aria-labelledby*=index-attention]")
            expect(figure).to_be_visible()
            shown = " ".join(figure.locator("text").all_text_contents())
            for number in [*weights.tolist(), *output.tolist()]:
                assert f"{number:.2f}" in shown
            rows = tab.locator(".static tbody tr")
            for word, row in enumerate(rows.all()):
                cells = row.locator("td").all_text_contents()
                found = [f"{w:.2f}" for w in wanted(word, 6, causal=False)[0].tolist()]
                assert cells[:6] == [WORDS[word], *found]
            assert rows.count() == len(WORDS)
    assert len(MEANINGS) == len(output)


def test_only_the_home_page_loads_it_and_shows_it_once(site: Site, visit) -> None:
    assert site.loading("explorer.js") == ["", "zh/"]
    assert len(gzip.compress((ROOT / "docs/explorer.js").read_bytes())) <= 3 * 1024
    expect(visit("", width=1280).tab.locator(".static")).to_be_hidden()
