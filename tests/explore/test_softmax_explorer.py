"""The softmax explorer shows what torch computes from the same random query and keys."""

import itertools
import json
import math

import pytest
import torch
from playwright.sync_api import expect

from docs._kit.text import texts
from docs._tools.page import page_module
from tests.conftest import ROOT, Site
from tests.forms import reset, served_and_shown, without_scripts

tables = page_module("explore/softmax", "tables")
chapter = page_module("foundations/scaled-dot-product", "tables")

URL = "explore/softmax/"
TEMPERATURES = [step / 4 for step in range(1, 17)]
CASES = list(itertools.product(range(11), TEMPERATURES, (True, False)))
ASK = """cases => {
    const form = document.querySelector(".softmax-explorer")
    const text = name => form.querySelector(`[data-of=${name}]`).textContent
    return cases.map(([power, temperature, scale]) => {
        form.elements.namedItem("power").value = power
        form.elements.namedItem("temperature").value = temperature
        form.elements.namedItem("scale").checked = scale
        form.dispatchEvent(new Event("input"))
        return {
            d: text("power"),
            spoken: form.elements.namedItem("power").ariaValueText,
            temperature: text("temperature"),
            entropy: text("entropy"),
            gradient: text("gradient"),
            rows: [...form.querySelectorAll("tbody tr")]
                .map(row => [...row.querySelectorAll("td")].map(td => td.textContent.trim())),
            bars: [...form.querySelectorAll("rect")].map(bar => bar.getAttribute("width")),
        }
    })
}"""


def drawn() -> torch.Tensor:
    """Draw the query and the keys anew, and multiply their first 1, 2, 4, … components."""
    generator = torch.Generator().manual_seed(chapter.SEED)
    query = torch.randn(1024, generator=generator, dtype=torch.float64)
    keys = torch.randn(6, 1024, generator=generator, dtype=torch.float64)
    return torch.stack([keys[:, : 2**power] @ query[: 2**power] for power in range(11)])


def wanted(scores: torch.Tensor, power: int, temperature: float, *, scale: bool):
    logits = scores[power] / (math.sqrt(2**power) if scale else 1.0) / temperature
    jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), logits)
    weights = torch.softmax(logits, -1)
    return logits, weights, torch.distributions.Categorical(weights).entropy(), jacobian.norm()


def is_rounded(text: str, value: float, *, slack: float = 0.0) -> bool:
    """Tell whether a text is a value, rounded to the digits that it shows."""
    digits, _, power = text.partition("e")
    last = 10.0 ** -len(digits.partition(".")[2]) * 10.0 ** int(power or 0)
    return abs(float(text) - value) <= last * (0.5 + 1e-6) + slack


@pytest.fixture(scope="module", params=["", "zh/"], ids=["en", "zh"])
def page(request, visit):
    opened = visit(request.param + URL)
    opened.answers = opened.tab.evaluate(ASK, CASES)
    reset(opened.tab, ".softmax-explorer")
    return opened


@pytest.fixture(scope="module")
def stored(site: Site) -> torch.Tensor:
    """The data on the page, which is the same in both languages."""
    texts = [
        next(e.text for e in site.tree(prefix + URL).iter() if e.get("id") == "softmax-scores")
        for prefix in ("", "zh/")
    ]
    assert texts[0] == texts[1]
    return torch.tensor(json.loads(texts[0]), dtype=torch.float64)


def test_the_page_holds_the_scores_to_four_digits(stored) -> None:
    torch.testing.assert_close(stored, drawn(), rtol=0, atol=0.51e-4)
    assert chapter.KEYS == 6


def test_every_setting_shows_what_torch_computes(page, stored) -> None:
    for (power, temperature, scale), answer in zip(CASES, page.answers, strict=True):
        setting = (power, temperature, scale)
        logits, weights, entropy, gradient = wanted(stored, power, temperature, scale=scale)
        columns = (stored[power], logits, weights)
        for row, values in zip(answer["rows"], zip(*columns, strict=True), strict=True):
            assert all(map(is_rounded, row, map(float, values))), (setting, row, values)
        assert is_rounded(answer["entropy"], float(entropy)), setting
        # 1 − w has no more digits than this in torch's derivative
        assert is_rounded(answer["gradient"], float(gradient), slack=1e-15), setting
        bars = [float(width.removesuffix("%")) for width in answer["bars"]]
        assert bars == pytest.approx((100 * weights).tolist(), abs=0.0501), setting
        assert answer["d"] == answer["spoken"] == str(2**power)
        assert float(answer["temperature"]) == temperature


def test_a_gradient_that_torch_cannot_resolve_is_shown_all_the_same(page, stored) -> None:
    """One key far ahead has weight one, so its row and column of J are those of the others."""
    found = dict(zip(CASES, page.answers, strict=True))[10, 0.25, False]
    gaps = (stored[10] - stored[10].max()).sort().values[:-1] / 0.25
    others = [math.exp(gap) for gap in gaps]
    length = math.sqrt(sum(others) ** 2 + 3 * sum(weight**2 for weight in others))
    assert is_rounded(found["gradient"], length)


def test_what_the_page_tells_one_to_try_is_so(stored) -> None:
    keys = {
        scale: [wanted(stored, power, 1.0, scale=scale)[1:] for power in range(11)]
        for scale in (True, False)
    }
    weights, _, gradient = keys[False][10]
    assert weights.max() > 0.999
    lengths = [float(length) for _, _, length in keys[False]]
    assert gradient == lengths[10] < 1e-10  # nearly nothing is left of it
    assert max(lengths[5:9]) < 0.001  # from d = 32 on
    assert lengths[9] > 0.3  # at d = 512 it comes back
    best, second = stored[9].sort(descending=True).values[:2]
    assert best - second < 2
    for weights, _, length in keys[True]:  # with the division d changes little
        assert 0.3 < length < 0.45
        assert weights.max() < 0.6
    divided, heated = wanted(stored, 4, 1.0, scale=True), wanted(stored, 4, 4.0, scale=False)
    assert all(map(torch.equal, divided, heated))
    for case in keys.values():  # the length bounds what comes back
        for weights, _, length in case:
            jacobian = weights.diag() - weights[:, None] * weights
            assert torch.linalg.matrix_norm(jacobian, 2) <= length + 1e-15


def test_what_the_page_says_before_the_script_runs_is_what_the_script_says(page) -> None:
    reset(page.tab, ".softmax-explorer")
    before, after = served_and_shown(page.tab, ".softmax-explorer")
    assert before == after
    assert not page.complaints


def test_no_slider_lies_on_its_label_or_moves(page) -> None:
    reset(page.tab, ".softmax-explorer")
    before, after = page.tab.evaluate("""() => {
        const form = document.querySelector(".softmax-explorer")
        const places = () => ["power", "temperature"].map(name => {
            const slider = form.elements.namedItem(name).getBoundingClientRect()
            const words = document.createRange()
            words.selectNodeContents(form.querySelector(`[for=softmax-${name}]`))
            return [words.getBoundingClientRect().right, slider.left, slider.right]
        })
        const before = places()
        form.elements.namedItem("power").value = 10
        form.elements.namedItem("temperature").value = 0.25
        form.dispatchEvent(new Event("input"))
        return [before, places()]
    }""")
    assert all(words < left for words, left, _ in after), after
    assert before == after


def test_it_works_by_keyboard(page) -> None:
    tab, language = page.tab, "zh" if "/zh/" in page.tab.url else "en"
    words = texts(tables.__file__, "explorer", language)
    reset(tab, ".softmax-explorer")
    form = tab.locator(".softmax-explorer")
    form.get_by_label(words["power"]).focus()
    tab.keyboard.press("End")
    expect(form.locator("[data-of=power]")).to_have_text("1024")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Home")
    expect(form.locator("[data-of=temperature]")).to_have_text("0.25")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    expect(form.get_by_label(words["scale"])).not_to_be_checked()
    expect(form.locator("[data-of=entropy]")).to_have_text("0.000")
    assert form.locator("output").get_attribute("aria-live") == "polite"
    assert tab.evaluate("document.scrollingElement.scrollWidth") == 360


def test_only_these_pages_load_it_and_without_scripts_the_table_remains(
    site: Site, browser, address
) -> None:
    assert (ROOT / "docs" / URL / "explorer.js").is_file()
    assert site.loading(f"{URL}explorer.js") == [URL, f"zh/{URL}"]
    with without_scripts(browser) as tab:
        tab.goto(address + URL)
        expect(tab.locator(".softmax-explorer")).to_be_hidden()
        expect(tab.get_by_role("cell", name="1,024").first).to_be_visible()
