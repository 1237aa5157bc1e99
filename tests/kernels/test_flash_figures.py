"""The figures, tables and the form of the chapter on tiles, compared with the package."""

import itertools
import re
from collections.abc import Callable

import pytest
import torch

from attn_docs import flash_attention
from attn_docs.kernels import flash
from docs._tools.page import page_module
from tests.conftest import ROOT
from tests.forms import served_and_shown
from tests.kit import normal, parse, read_off

figures = page_module("kernels/flash", "figures")
tables = page_module("kernels/flash", "tables")
benchmark = page_module("kernels/flash", "benchmark")

URL = "kernels/flash/"
BLOCKS = (1, 2, 4, 8)
ASK = """cases => {
    const form = document.querySelector(".flash-explorer")
    return cases.map(wanted => {
        for (const [name, value] of Object.entries(wanted)) {
            const field = form.elements.namedItem(name)
            if (field.type === "checkbox") field.checked = value
            else field.value = value
            // the number of tiles limits the step, so it is told before the step is set
            if (name === "causal") form.dispatchEvent(new Event("input"))
        }
        form.dispatchEvent(new Event("input"))
        return {
            said: form.querySelector("output").textContent,
            most: Number(form.elements.namedItem("step").max),
            cells: [...form.querySelectorAll(".mask tr")]
                .map(row => [...row.querySelectorAll("td")].map(td => td.textContent)),
            lit: form.querySelectorAll(".mask .may").length,
        }
    })
}"""


def tiles_made(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> list[tuple]:
    """Return rows and columns of the tiles that the package makes."""
    made, scores = [], flash._scores

    def spied(q: object, key: object, mask: object, rows: slice, columns: slice, call: object):
        made.append((rows, columns))
        return scores(q, key, mask, rows, columns, call)

    with monkeypatch.context() as patch:
        patch.setattr(flash, "_scores", spied)
        call()
    return made


@pytest.mark.parametrize("causal", [False, True])
def test_the_page_counts_the_tiles_that_the_package_makes(
    monkeypatch: pytest.MonkeyPatch, causal: bool
) -> None:
    for rows, columns in itertools.product((1, 3, 8), repeat=2):
        tensors = [normal(10, 2, seed=seed) for seed in range(3)]
        options = {"is_causal": causal, "block_q": rows, "block_k": columns}
        made = tiles_made(monkeypatch, lambda o=options, t=tensors: flash_attention(*t, **o))
        assert made == tables.tiles_of(10, rows, columns, causal=causal)


def test_the_tiles_of_the_figure_are_in_the_state_that_they_should_be() -> None:
    for language in ("en", "zh"):
        root = parse(figures.tiles(language))
        moments = {g.attrib["data-moment"]: g for g in root.iter("g") if "data-moment" in g.attrib}
        assert list(moments) == list(figures.MOMENTS)
        for name, (tile, causal) in figures.MOMENTS.items():
            states = [
                r.attrib["data-state"]
                for r in moments[name].iter("rect")
                if "data-state" in r.attrib
            ]
            made = tables.tiles_of(4, 1, 1, causal=causal)
            step = made.index(tuple(slice(at, at + 1) for at in tile))
            for at, state in enumerate(states):
                place = tuple(slice(of, of + 1) for of in divmod(at, 4))
                wanted = (
                    "skipped"
                    if place not in made
                    else ("gone", "now", "open")[
                        (made.index(place) >= step) + (made.index(place) > step)
                    ]
                )
                assert state == wanted
            outputs = [r for r in moments[name].iter("rect") if r.attrib.get("data-strip") == "o"]
            done = sum(r.attrib["fill"] == figures.ACCENT_2 for r in outputs)
            assert done == tile[0]


def test_the_chart_shows_what_was_measured() -> None:
    root = parse(figures.memory("en"))
    across, up = read_off(root, "x", log=True), read_off(root, "y", log=True)
    found = tables.load(tables.__file__)["forms"]
    for name in benchmark.FORMS:
        (group,) = (g for g in root.iter("g") if g.attrib.get("data-part") == name)
        line = next(p for p in group.iter("path") if p.attrib.get("fill") == "none")
        numbers = [float(x) for x in re.findall(r"-?[\d.]+", line.attrib["d"])]
        points = list(zip(numbers[::2], numbers[1::2], strict=True))
        for length, (x, y) in zip(benchmark.LENGTHS, points, strict=True):
            assert across(x) == pytest.approx(length, rel=0.01)
            assert up(y) == pytest.approx(found("memory", form=name, length=length), rel=0.02)


def test_what_is_measured_is_of_the_forms_named() -> None:
    torch.manual_seed(0)
    inputs = benchmark.draw(20)
    results = [benchmark.step(form, inputs) for form in benchmark.FORMS.values()]
    for result in results:
        for one, other in zip(result, results[0], strict=True):
            assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_bars_are_as_long_as_what_is_moved(language: str) -> None:
    bars = [r for r in parse(figures.traffic(language)).iter("rect") if "data-of" in r.attrib]
    forms = {"explicit": tables.explicit_moved, "tiles": tables.tiles_moved}
    amounts = []
    for bar in bars:
        form, of = bar.attrib["data-form"], bar.attrib["data-of"]
        moved = (
            tables.HBM[form] if of == "hbm" else forms[form](tables.TOKENS, tables.SIZE, int(of))
        )
        amounts.append(moved)
    assert len(bars) == 2 * len(tables.TILE_ROWS) + 2
    widths = [float(bar.attrib["width"]) for bar in bars]
    assert widths == pytest.approx([a * max(widths) / max(amounts) for a in amounts], abs=0.1)


CASES = [
    {"rows": str(rows), "columns": str(columns), "causal": causal, "step": step}
    for rows, columns, causal in itertools.product(BLOCKS, BLOCKS, (False, True))
    for step in range(1, len(tables.tiles_of(8, rows, columns, causal=causal)) + 1)
]


@pytest.mark.parametrize("prefix", ["", "zh/"], ids=["en", "zh"])
def test_the_explorer_shows_what_the_page_computes(visit: Callable, prefix: str) -> None:
    page = visit(prefix + URL)
    before, after = served_and_shown(page.tab, ".flash-explorer")
    assert before == after
    cases = CASES if not prefix else CASES[::9]
    for case, found in zip(cases, page.tab.evaluate(ASK, cases), strict=True):
        state = tables.State(int(case["rows"]), int(case["columns"]), case["causal"], case["step"])
        told = tables.told(state)
        assert found["cells"] == tables.cells(state)
        assert found["most"] == told["count"]
        numbers = [int(x) for x in re.findall(r"\d+", found["said"])]
        names = ("step", "count", "top", "bottom", "left", "right", "moved", "total")
        names += ("rows", "rows", "whole", "held")
        assert numbers == [told[name] for name in names]
        assert found["lit"] == sum(row.count("■") for row in found["cells"])
    assert page.tab.evaluate("document.scrollingElement.scrollWidth") == 360
    assert not page.complaints


def test_the_largest_tile_takes_the_fewest_reads() -> None:
    moved = [tables.tiles_moved(512, 64, rows) for rows in tables.TILE_ROWS]
    assert moved == sorted(moved, reverse=True)
    explicit = [tables.explicit_moved(512, 64, rows) for rows in tables.TILE_ROWS]
    ratios = [one / other for one, other in zip(moved, explicit, strict=True)]
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] < 2 / 3
    assert (ROOT / "docs/kernels/flash/explorer.js").stat().st_size < 3000
