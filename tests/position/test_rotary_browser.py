"""A line of code that stands above the formulas lights up with its symbols below."""

from playwright.sync_api import expect


def test_a_line_above_the_formulas_is_explained_under_them(visit):
    tab = visit("position/rotary/", width=1280).tab
    line = tab.locator("bdi[data-symbol~=q]")
    line.evaluate("line => { line.closest('details').open = true }")  # its program is folded
    assert line.bounding_box()["y"] < tab.locator("#the-formula").bounding_box()["y"]
    line.focus()
    note = tab.locator(".symbols > :last-child")
    expect(note).to_contain_text("p: position of the query; q: a query of one head")
    expect(note.get_by_role("link")).to_have_text(
        "rotated_query = apply_rotary(query, torch.tensor([chased]))"
    )
    for key in "pq":
        expect(tab.locator(f"mrow[data-symbol={key}]").first).to_have_class("lit")
