"""The model in the page computes what PyTorch computes, and the form shows it to everybody."""

import gzip
import json
from contextlib import ExitStack

import pytest
import torch
from playwright.sync_api import Page, expect

from attn_docs.model import load_weights
from attn_docs.model.induction import SYMBOLS, build_model, encode, load_model
from attn_docs.model.induction_circuits import head_off
from docs._kit.text import texts
from docs._tools.page import page_module
from tests.conftest import ROOT, Site
from tests.forms import served_and_shown, without_scripts

tables = page_module("model/induction", "tables")
weights = page_module("model/induction", "weights")

URL = "model/induction/"
HERE = ROOT / "docs" / URL
LENGTHS = (1, 2, 3, 8, 17, 32)
RUN = """cases => {
    const model = attnInduction.read(attnInduction.weights)
    return cases.map(([tokens, on]) => {
        const { maps, probabilities } = attnInduction.run(model, tokens, on)
        return [...maps.map(map => map.map(row => [...row])), probabilities.map(row => [...row])]
    })
}"""
languages = pytest.mark.parametrize("prefix", ["", "zh/"])


def words(prefix: str) -> dict[str, str]:
    return texts(tables.__file__, "explorer", "zh" if prefix else "en")


def look(tab: Page) -> None:
    """Bring the form into view and wait until the model has run."""
    tab.locator(".induction").scroll_into_view_if_needed()
    expect(tab.locator(".induction label.shown")).to_have_count(1)


def opened(visit, url: str, width: int = 360, scheme: str = "light"):
    """Open the page, bring the form into view and wait for its weights."""
    page = visit(url, width, scheme)
    look(page.tab)
    return page


@pytest.fixture
def page(visit):
    return opened(visit, URL)


@torch.no_grad()
def wanted(tokens: torch.Tensor, on: tuple[bool, bool]) -> list[torch.Tensor]:
    """Return both maps and the probabilities, by PyTorch."""
    model = load_model()
    with ExitStack() as off:
        for layer, runs in enumerate(on):
            if not runs:
                off.enter_context(head_off(model, layer))
        logits, maps = model(tokens[None], need_weights=True)
    return [*(layer[0, 0] for layer in maps), logits[0].softmax(-1)]


def test_the_forward_pass_is_pytorchs(page) -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = [torch.randint(32, (n,), generator=generator) for n in LENGTHS]
    drawn.append(encode("the cat. the c")[0])
    switches = [(True, True), (True, False), (False, True), (False, False)]
    cases = [(tokens, on) for tokens in drawn for on in switches]
    answers = page.tab.evaluate(RUN, [[tokens.tolist(), on] for tokens, on in cases])
    differences = []
    for (tokens, on), answer in zip(cases, answers, strict=True):
        for found, right in zip(answer, wanted(tokens, on), strict=True):
            rows = [row + [0.0] * (right.size(1) - len(row)) for row in found]
            difference = (torch.tensor(rows, dtype=torch.float64) - right.double()).abs().max()
            differences.append(difference.item())
    assert max(differences) <= 1e-4


def test_the_script_holds_the_shipped_weights() -> None:
    state = load_weights("induction")
    flat = torch.cat([state[name].flatten() for name in build_model().state_dict()])
    assert torch.equal(weights.stored().float(), flat)
    assert weights.FILE.read_text(encoding="utf-8") == weights.script()
    assert weights.FILE.stat().st_size <= 100_000


def test_scripts_are_small_and_know_the_symbols() -> None:
    sources = [HERE / name for name in ("forward.js", "explorer.js", "panel.js")]
    assert sum(len(gzip.compress(file.read_bytes())) for file in sources) <= 5 * 1024
    forward = sources[0].read_text(encoding="utf-8")
    assert forward.count("\n") <= 120
    assert f"SYMBOLS = {json.dumps(SYMBOLS)}" in forward


def test_weights_come_when_the_form_does(visit) -> None:
    page = visit(URL)
    page.tab.wait_for_timeout(300)
    late = ("forward.js", "panel.js", "weights.js")
    assert not [url for url in page.requests if url.endswith(late)]
    look(page.tab)
    assert len([url for url in page.requests if url.endswith("induction/weights.js")]) == 1
    assert not page.complaints


@languages
def test_what_is_served_is_what_the_script_says(visit, prefix) -> None:
    page = opened(visit, prefix + URL)
    page.tab.evaluate("document.querySelector('.induction label.shown').removeAttribute('class')")
    before, after = served_and_shown(page.tab, ".induction")
    assert before == after
    assert not page.complaints


@languages
def test_a_reader_types_hovers_and_switches_heads_off(visit, prefix) -> None:
    tab, said = opened(visit, prefix + URL, 1280).tab, words(prefix)
    form = tab.get_by_role("form", name=said["label"])
    likely = form.locator("tbody th")
    field = form.get_by_label(said["sequence"], exact=True)
    field.fill("bd dog bd do")
    expect(form.get_by_role("radio")).to_have_count(12)
    expect(likely.first).to_have_text("g")
    found = tables.seen("bd dog bd do")
    shown = [float(td.split()[0]) for td in form.locator("tbody td").all_text_contents()]
    assert shown == pytest.approx([share for _, share in found.likely[-1]], abs=0.00051)
    place = found.maps[1][-1].index(max(found.maps[1][-1])) + 1
    assert f"{place}" in form.locator("output").text_content()
    form.locator(".tokens label").nth(7).hover()  # the second "b"
    expect(form.locator("caption")).to_contain_text("“b”")
    expect(likely.first).to_have_text("d")
    field.hover()
    expect(form.locator("caption")).to_contain_text("“o”")
    for box in form.get_by_role("checkbox").all():
        box.uncheck()
        expect(likely.first).not_to_have_text("g")
        box.check()
        expect(likely.first).to_have_text("g")
    form.get_by_role("button", name="plough").click()
    expect(form.get_by_role("radio")).to_have_count(6)


@languages
def test_what_the_model_cannot_read_is_said(visit, prefix) -> None:
    tab, said = opened(visit, prefix + URL).tab, words(prefix)
    form, problem = tab.locator(".induction"), tab.locator("#induction-problem")
    field = form.get_by_label(said["sequence"], exact=True)
    for text, message in (
        ("", said["empty"]),
        ("\u00e9t\u00e9", said["unknown"].format(character="\u00e9")),
        ("猫", said["unknown"].format(character="猫")),
        ("ab" * 17, said["long"].format(length=34)),
    ):
        field.fill(text)
        expect(problem).to_have_text(message)
        expect(problem).to_have_attribute("role", "status")
        expect(field).to_have_attribute("aria-invalid", "true")
        expect(form.locator("[data-of=found]")).to_be_hidden()
    field.fill("AB" * 16)  # a large letter is its small one
    expect(problem).to_have_text("")
    expect(form.get_by_role("radio")).to_have_count(32)
    assert tab.evaluate("document.scrollingElement.scrollWidth") == 360


def test_it_works_by_keyboard(page) -> None:
    form = page.tab.locator(".induction")
    form.get_by_role("radio").last.focus()
    page.tab.keyboard.press("ArrowLeft")
    expect(form.locator("caption")).to_contain_text("“q” (place 7)")
    expect(form.locator("tbody th").first).to_have_text("v")
    form.get_by_role("checkbox").last.focus()
    page.tab.keyboard.press("Space")
    expect(form.locator("tbody th").first).not_to_have_text("v")


def test_it_works_by_touch(browser, address) -> None:
    with browser.new_context(has_touch=True, viewport={"width": 360, "height": 740}) as context:
        tab = context.new_page()
        tab.goto(address + URL)
        form = tab.locator(".induction")
        look(tab)
        form.locator(".tokens label").nth(6).tap()
        expect(form.locator("caption")).to_contain_text("“q” (place 7)")
        form.get_by_role("checkbox").first.tap()
        expect(form.locator("tbody th").first).not_to_have_text("v")
        sizes = form.locator(".tokens label").evaluate_all(
            "labels => labels.flatMap(label => [label.clientWidth, label.clientHeight])"
        )
        assert min(sizes) >= 24


def test_it_works_from_a_file(browser, site: Site) -> None:
    with browser.new_context(viewport={"width": 360, "height": 740}) as context:
        tab = context.new_page()
        tab.goto((site.path / URL / "index.html").as_uri())
        form = tab.locator(".induction")
        look(tab)
        form.get_by_role("button", name="the cat. the c").click()
        expect(form.locator("tbody th").first).to_have_text("a")


def test_weights_that_do_not_come_are_said(browser, address) -> None:
    with browser.new_context(viewport={"width": 360, "height": 740}) as context:
        tab = context.new_page()
        tab.route("**/weights.js", lambda route: route.abort())
        tab.goto(address + URL)
        tab.locator(".induction").scroll_into_view_if_needed()
        expect(tab.locator("#induction-problem")).to_have_text(words("")["lost"])


def test_only_this_page_loads_it_and_without_scripts_figures_remain(
    site: Site, browser, address
) -> None:
    assert site.loading(f"{URL}explorer.js") == [URL, f"zh/{URL}"]
    for name in ("forward.js", "panel.js", "weights.js"):
        assert site.loading(f"{URL}{name}") == []
    with without_scripts(browser) as tab:
        for prefix in ("", "zh/"):
            tab.goto(address + prefix + URL)
            expect(tab.locator(".induction")).to_be_hidden()
            expect(tab.locator("svg[aria-labelledby*=induction-worked]")).to_be_visible()
