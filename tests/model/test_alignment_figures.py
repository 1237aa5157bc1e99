"""The figures and tables on learning to align show the shipped model and the measurements."""

import re
from datetime import date
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

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
def test_size_and_distance_are_crossed(language: str) -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \| (.+) \|$", tables.apart(language), re.M)
    assert [int(size) for size, *_ in rows] == [16, 32, 64, 128]
    numbers = tables.numbers()
    for size, *told in rows:
        assert (told[1] in ("not run", "未测")) == (size == "128")
        for place, text in zip(("first", "dots", "last"), told, strict=True):
            if (place, size) == ("dots", "128"):
                continue
            kept = MEASURED["far" if size == "64" and place != "dots" else "apart"]
            lines = benchmark.DOTS if place == "dots" else f"date {place}"
            way = benchmark.Way(int(size), attends=False, lines=lines)
            share = float(text.partition("%")[0])
            assert share == pytest.approx(100 * kept("accuracy", **way._asdict()), abs=0.051)
            assert numbers[f"{place}_{size}"] == text.partition("%")[0] + "%"


def test_dots_leave_date_and_length_as_they_are() -> None:
    for size, lines in ((64, benchmark.DOTS), (64, "date first")):
        assert benchmark.Way(size, attends=False, lines=lines).words() == {"before": 0, "after": 6}
    words = benchmark.FAR["forwards"].draw(20, 1)
    dots = benchmark.APART[64, benchmark.DOTS].draw(20, 1)
    for word, dot in zip(words, dots, strict=True):
        assert (len(word.text), word.iso) == (len(dot.text), dot.iso)
        day = dot.text.rstrip(".")
        assert word.text.startswith(f"{day} ")
        assert len(day) < len(dot.text)


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


def test_the_decoders_own_state_and_not_its_first_query_is_at_fault() -> None:
    found = example("model/alignment/start")["found"]
    wholly, query, state = (found[parts] for parts in ((16,) * 3, (16, 2, 16), (16, 16, 2)))
    assert query == pytest.approx(wholly, abs=0.01)
    assert state > 0.95


class Transformer(nn.Module):
    """A small encoder and decoder, with its causal mask or without."""

    def __init__(self, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.embedding = nn.Embedding(12, 16)
        self.body = nn.Transformer(16, 2, 1, 1, 32, dropout=0.1, batch_first=True)
        self.body.encoder.use_nested_tensor = False  # it warns
        self.output = nn.Linear(16, 12)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        given = self.embedding(functional.pad(target, (1, 0))[:, :-1])
        mask = torch.ones(2 * [target.size(1)]).triu(1).bool() if self.causal else None
        padding = source == 0
        read = self.body.encoder(self.embedding(source), src_key_padding_mask=padding)
        written = self.body.decoder(given, read, mask, memory_key_padding_mask=padding)
        logits: Tensor = self.output(written)
        return logits


def test_the_checks_are_for_other_models_too() -> None:
    program = example("model/alignment/caught")
    torch.manual_seed(0)
    source = torch.randint(1, 12, (2, 7))
    source[0, 5:] = 0
    target = torch.randint(1, 12, (2, 6))
    right, leaking = (Transformer(causal=causal).eval() for causal in (True, False))
    assert not program["sees_its_answer"](right, source, target)
    assert not program["sees_padding"](right, source, target)
    assert program["sees_its_answer"](leaking, source, target)
    for name in ("sees_its_answer", "sees_padding"):
        with pytest.raises(AssertionError, match="call eval"):
            program[name](right.train(), source, target)


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
