"""The figures and tables on learning to align show the shipped model and the measurements."""

import re
from datetime import date
from pathlib import Path

import pytest

import attn_docs
from attn_docs.model.alignment import FORMATS, MONTHS, WEEKDAYS, Line, load_translator
from docs._kit.examples import example
from docs._kit.measured import load
from docs._tools.page import page_module
from tests.kit import parse

benchmark = page_module("model/alignment", "benchmark")
figures = page_module("model/alignment", "figures")
tables = page_module("model/alignment", "tables")

MEASURED = load(str(benchmark.__file__))
EXAMPLES = Path(attn_docs.__file__).parent / "examples/model/alignment"
MODULE = Path(attn_docs.__file__).parent / "model/alignment.py"
PAGES = sorted(Path(str(figures.__file__)).parent.glob("index*.md"))
languages = pytest.mark.parametrize("language", ["en", "zh"])


@languages
def test_maps_are_the_models(language: str) -> None:
    for name, lines in (("one-line", (figures.LINE,)), ("formats", figures.LINES)):
        root = parse(figures.FIGURES[name](language))
        groups = {g.get("data-line"): g for g in root.iter("g") if g.get("data-line")}
        assert tuple(groups) == lines
        for line, group in groups.items():
            frame, *cells = group.iter("rect")
            left, top = (float(frame.get(side)) for side in ("x", "y"))
            weights = load_translator().align(line)[1]
            assert len(cells) == int((weights >= figures.LEAST).sum())
            for cell in cells:
                row = round((float(cell.get("y")) - top) / figures.CELL)
                column = round((float(cell.get("x")) - left) / figures.CELL)
                wanted = weights[row, column].item()
                assert float(cell.get("fill-opacity")) == pytest.approx(wanted, abs=0.0051)


@languages
def test_each_way_has_its_row(language: str) -> None:
    rows = re.findall(r"^\| .+ \| +(.+) \| +\d+ \|$", tables.distance(language), re.M)
    shares = [[float(share) for share in re.findall(r"[\d.]+(?=%)", row)] for row in rows]
    ways = [benchmark.FAR[name] for name in ("forwards", "near", "backwards", "far")]
    assert len(shares) == len(ways)
    for found, way in zip(shares, ways, strict=True):
        wanted = [
            100 * MEASURED["far"](quantity, **way._asdict())
            for quantity in ("accuracy", "lowest", "highest")
        ]
        assert found == pytest.approx(wanted[: len(found)], abs=0.051)


@languages
def test_size_and_distance_are_crossed(language: str) -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", tables.apart(language), re.M)
    assert [int(size) for size, *_ in rows] == [16, 32, 64, 128]
    numbers = tables.numbers()
    for size, *told in rows:
        for place, text in zip(("first", "last"), told, strict=True):
            kept = MEASURED["far" if size == "64" else "apart"]
            way = benchmark.Way(int(size), attends=False, lines=f"date {place}")
            share = float(text.partition("%")[0])
            assert share == pytest.approx(100 * kept("accuracy", **way._asdict()), abs=0.051)
            assert numbers[f"{place}_{size}"] == text.partition("%")[0] + "%"


def test_weekdays_are_those_of_their_days() -> None:
    sources = [Path(str(figures.__file__)), MODULE, *PAGES, *EXAMPLES.glob("*.py")]
    pattern = rf"({'|'.join(WEEKDAYS)}), ([a-z]{{3}}) (\d+) (\d{{4}})"
    found = [days for path in sources for days in re.findall(pattern, path.read_text("utf-8"))]
    assert len(found) >= 5
    for weekday, month, day, year in found:
        number = [name[:3] for name in MONTHS].index(month) + 1
        assert date(int(year), number, int(day)).weekday() == WEEKDAYS.index(weekday)


def test_the_month_comes_from_its_own_states_in_every_line() -> None:
    found = example("model/alignment/exchanged_all")
    lines = len(found["texts"])
    assert lines > 100
    assert found["counts"] == {"month's states": [0, lines], "last state": [lines, 0]}


def test_parts_of_a_line_are_found_in_every_format() -> None:
    for write in FORMATS:
        day = date(2003, 9, 3)
        line = Line(f"tea {write(day)} 3 sep", day.isoformat())
        found = {part: line.text[a:b] for part, (a, b) in tables.places_of(line).items()}
        assert found["day"].startswith("3")
        assert found["month"][:3] in ("sep", "9")
        assert found["year"] in ("2003", "03")
        assert tables.places_of(line)["day"][0] >= 4


def test_what_the_page_says_of_size_and_distance_is_so() -> None:
    wide = benchmark.APART[128, "date first"]
    assert MEASURED["apart"]("lowest", **wide._asdict()) == 1
    assert MEASURED["far"]("accuracy", **benchmark.FAR["forwards"]._asdict()) < 0.5
    last = tables.right_after(attends=False)
    assert last[8] > 0.8 * last[0]
