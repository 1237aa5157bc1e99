"""The mask explorer: its matrix, its lines and its table, run and compared with the package."""

import itertools
import re

import pytest
import torch
from playwright.sync_api import expect
from torch.nn import functional
from torch.nn.attention.flex_attention import create_mask

from attn_docs import causal_mask, mask_to_additive, padding_mask, sliding_window_mask
from tests.conftest import ROOT, Site
from tests.forms import reset, served_and_shown, without_scripts

URL = "explore/masks/"
KINDS = ("causal", "window", "prefix", "padding")
LENGTHS = range(1, 9)
ASK = """cases => {
    const form = document.querySelector(".mask-explorer")
    const text = name => form.querySelector(`[data-of=${name}]`).textContent
    return cases.map(wanted => {
        for (const [name, value] of Object.entries(wanted)) {
            const field = form.elements.namedItem(name)
            if (field.type === "checkbox") field.checked = value
            else field.value = value
        }
        form.dispatchEvent(new Event("input"))
        const rows = [...form.querySelectorAll(".mask tbody tr")]
        return {
            code: text("code"),
            flex: text("flex"),
            summary: text("summary"),
            causal: form.elements.namedItem("causal").checked,
            heads: [...form.querySelectorAll(".mask thead th")].map(th => th.textContent),
            names: rows.map(row => row.querySelector("th[scope=row]").textContent),
            cells: rows.map(row => [...row.querySelectorAll("td")].map(td => td.textContent)),
            marks: rows.map(row => [...row.querySelectorAll("td")].map(td => td.className)),
            given: [...form.querySelectorAll("[data-of=given] tr")].filter(row => !row.hidden)
                .map(row => row.querySelector("td code").textContent),
        }
    })
}"""


def every_combination(step: int) -> list[dict[str, object]]:
    """Return all choices of masks and alignment, each with sizes that take their turns."""
    chosen = itertools.product(*[(False, True)] * len(KINDS), ("first", "last"))
    sizes = list(itertools.product(LENGTHS, LENGTHS, LENGTHS))
    cases = []
    for first, (*kinds, alignment) in enumerate(chosen):
        for n, m, window in sizes[first % step :: step]:  # prime: every length meets every other
            prefix, padding = (n * m + window) % 8 + 1, (n + 3 * m + 5 * window) % 8 + 1
            cases.append({
                "n": n, "m": m, "causal-by": alignment, "window-by": window, "prefix-by": prefix,
                "padding-by": padding, **dict(zip(KINDS, kinds, strict=True)),
            })  # fmt: skip
    return cases


def mask_of(case) -> torch.Tensor:
    """Return the mask by this package's functions."""
    n, m = case["n"], case["m"]
    offset = m - n if case["causal-by"] == "last" else 0
    mask = torch.ones(n, m, dtype=torch.bool)
    if case["window"]:
        mask = sliding_window_mask(n, m, window=case["window-by"], offset=offset)
    elif case["causal"] or case["prefix"]:
        mask = causal_mask(n, m, offset=offset)
    if case["prefix"]:
        mask = mask | padding_mask([min(case["prefix-by"], m)], m)
    if case["padding"]:
        mask = mask & keys_of(case)
    return mask


def keys_of(case) -> torch.Tensor:
    return padding_mask([max(case["m"] - case["padding-by"], 0)], case["m"])


@pytest.fixture(scope="module", params=["", "zh/"], ids=["en", "zh"])
def page(request, visit):
    opened = visit(request.param + URL)
    cases = every_combination(101 if request.param else 23)
    opened.answers = list(zip(cases, opened.tab.evaluate(ASK, cases), strict=True))
    reset(opened.tab, ".mask-explorer")
    return opened


def test_the_matrix_is_the_mask(page) -> None:
    for case, answer in page.answers:
        wanted = mask_of(case).int().tolist()
        assert [list(map(int, row)) for row in answer["cells"]] == wanted, case
        assert [["may" if cell else "" for cell in row] for row in wanted] == answer["marks"], case
        assert answer["names"] == [str(row) for row in range(case["n"])]
        assert answer["heads"][1:] == [str(column) for column in range(case["m"])]


def test_the_lines_make_the_mask(page) -> None:
    for case, answer in page.answers:
        names: dict[str, torch.Tensor] = {}
        exec(answer["code"], names)  # noqa: S102 - what the page offers to copy
        assert torch.equal(names["mask"], mask_of(case)), case
        assert ("keep" in names) == case["padding"]
        if case["padding"]:
            assert torch.equal(names["keep"][None], keys_of(case))
            assert "< -" not in answer["code"], "fewer than no keys"


def test_the_rule_for_flex_attention_makes_the_mask(page) -> None:
    for case, answer in page.answers[::31]:
        rule = eval(answer["flex"])  # noqa: S307 - what the page offers to copy
        n, m = case["n"], case["m"]
        made = create_mask(rule, B=None, H=None, Q_LEN=n, KV_LEN=m, device="cpu")
        assert torch.equal(made[0, 0], mask_of(case)), case


def test_the_table_gives_the_mask_as_each_library_wants_it(page) -> None:
    for case, answer in page.answers:
        mask, m = mask_of(case), case["m"]
        wanted = ["mask", "~mask", "torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)"]
        if torch.equal(mask, causal_mask(case["n"], m)):
            wanted.append("is_causal=True")
        if mask.all():
            wanted.append("attn_mask=None")
        if case["padding"]:
            wanted += ["~keep[None]", "keep[None].long()"]
        assert sorted(answer["given"]) == sorted([*wanted, answer["flex"]]), case


def test_each_form_has_the_same_effect() -> None:
    """The expressions of the table, as the functions named beside them take them."""
    case = {"n": 4, "m": 4, "causal-by": "first", "padding-by": 1, "window": False, "prefix": False}
    causal = mask_of({**case, "causal": True, "padding": False})
    mask = mask_of({**case, "causal": True, "padding": True})
    keep = keys_of(case)[0]
    torch.manual_seed(0)
    x = torch.randn(1, 4, 8)
    attend, module = functional.scaled_dot_product_attention, torch.nn.MultiheadAttention(8, 2)
    module.batch_first = True
    right = attend(x, x, x, attn_mask=mask)
    added = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    assert torch.equal(added, mask_to_additive(mask))
    torch.testing.assert_close(attend(x, x, x, attn_mask=added), right)
    torch.testing.assert_close(attend(x, x, x, is_causal=True), attend(x, x, x, attn_mask=causal))
    everyone = torch.ones(4, 4, dtype=torch.bool)
    torch.testing.assert_close(attend(x, x, x, attn_mask=None), attend(x, x, x, attn_mask=everyone))
    blocked = [
        module(x, x, x, attn_mask=~mask),
        module(x, x, x, attn_mask=added),
        module(x, x, x, attn_mask=~causal, key_padding_mask=~keep[None]),
    ]
    for _, weights in blocked:
        assert torch.equal(weights[0] > 0, mask)
    assert torch.equal(keep[None].long(), torch.tensor([[1, 1, 1, 0]]))


def test_the_sentence_counts(page) -> None:
    for case, answer in page.answers:
        mask = mask_of(case)
        counts = mask.sum(1).tolist()
        empty = [row for row, count in enumerate(counts) if not count]
        numbers = list(map(int, re.findall(r"\d+", answer["summary"])))
        assert sorted(numbers[:2]) == [sum(counts), mask.numel()], case
        assert numbers[2:] == counts + empty, case


def test_a_window_and_a_prefix_are_causal(page) -> None:
    for case, answer in page.answers:
        assert answer["causal"] == any(case[kind] for kind in ("causal", "window", "prefix"))


def test_the_block_of_the_chapter_shows_the_same_lines(page) -> None:
    block = (ROOT / "attn_docs/examples/foundations/masks/kinds.py").read_text(encoding="utf-8")
    wanted = re.findall(r"^\w+ = (.+)$", block, re.M)
    by = {"n": 5, "m": 5, "causal-by": "first", "window-by": 2, "prefix-by": 2, "padding-by": 1}
    off = dict.fromkeys(KINDS, False)
    cases = [{**by, **off, kind: True, "causal": True} for kind in KINDS]
    answers = page.tab.evaluate(ASK, cases)
    found = re.findall(r"^\w+ = (.+)$", "\n".join(a["code"] for a in answers), re.M)
    *offered, two_sided = wanted  # the explorer has no window to both sides
    assert found == offered
    assert "abs()" in two_sided


def test_what_the_page_says_before_the_script_runs_is_what_the_script_says(page) -> None:
    reset(page.tab, ".mask-explorer")
    before, after = served_and_shown(page.tab, ".mask-explorer [data-of]")
    assert len(before) == 8
    assert before == after
    assert not page.complaints


def test_it_works_by_keyboard_and_copies_its_line(page) -> None:
    tab = page.tab
    reset(tab, ".mask-explorer")
    english = "/zh/" not in tab.url
    labels = ("Queries", "Sliding window", "Copy") if english else ("查询数", "滑动窗口", "复制")
    form = tab.locator(".mask-explorer")
    form.get_by_label(labels[0], exact=True).focus()
    tab.keyboard.press("ArrowUp")
    expect(form.locator("[data-of=rows] tr")).to_have_count(4)
    form.get_by_label(labels[1], exact=True).focus()
    tab.keyboard.press("Space")
    expect(form.locator("[name=causal]")).to_be_disabled()
    expect(form.locator("[name=window-by]")).to_be_enabled()
    tab.keyboard.press("Tab")
    tab.keyboard.press("ArrowDown")
    expect(form.locator("[data-of=code]")).to_contain_text(".triu(-2)")
    button = form.get_by_role("button", name=labels[2])
    button.focus()
    tab.keyboard.press("Enter")
    expect(tab.locator(".md-dialog--active")).to_be_visible()
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines() == form.locator("[data-of=code]").text_content().splitlines()
    assert tab.url.partition("?")[2] == "n=4&window=1&window-by=3"
    assert form.locator("output").get_attribute("aria-live") == "polite"


def test_every_mask_fits_a_phone(page) -> None:
    large = {"n": 8, "m": 8, "window-by": 3, **dict.fromkeys(KINDS, True)}
    page.tab.evaluate(ASK, [large])
    assert page.tab.evaluate("document.scrollingElement.scrollWidth") == 360
    box = page.tab.locator(".mask-explorer .mask").bounding_box()
    assert box["x"] + box["width"] < 360


def test_only_these_pages_load_it_and_without_scripts_the_table_remains(
    site: Site, browser, address
) -> None:
    assert (ROOT / "docs" / URL / "explorer.js").is_file()
    assert site.loading(f"{URL}explorer.js") == [URL, f"zh/{URL}"]
    with without_scripts(browser) as tab:
        tab.goto(address + URL)
        expect(tab.locator(".mask-explorer")).to_be_hidden()
        expect(tab.get_by_role("cell", name=".tril(-2)")).to_be_visible()
