"""The figures and tables on learning to align show the shipped model and the measurements."""

import re
from datetime import date
from pathlib import Path

import pytest

import attn_docs
from attn_docs.model.alignment import MONTHS, WEEKDAYS, load_translator
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
    assert [int(size) for size, *_ in rows] == [16, 32, 64]
    for size, *told in rows:
        for place, text in zip(("first", "last"), told, strict=True):
            kept = MEASURED["far" if size == "64" else "apart"]
            way = benchmark.Way(int(size), attends=False, lines=f"date {place}")
            share = float(text.partition("%")[0])
            assert share == pytest.approx(100 * kept("accuracy", **way._asdict()), abs=0.051)
            assert tables.numbers()[f"{place}_{size}"] == text.partition("%")[0] + "%"


def test_weekdays_are_those_of_their_days() -> None:
    sources = [Path(str(figures.__file__)), MODULE, *PAGES, *EXAMPLES.glob("*.py")]
    pattern = rf"({'|'.join(WEEKDAYS)}), ([a-z]{{3}}) (\d+) (\d{{4}})"
    found = [days for path in sources for days in re.findall(pattern, path.read_text("utf-8"))]
    assert len(found) >= 5
    for weekday, month, day, year in found:
        number = [name[:3] for name in MONTHS].index(month) + 1
        assert date(int(year), number, int(day)).weekday() == WEEKDAYS.index(weekday)
