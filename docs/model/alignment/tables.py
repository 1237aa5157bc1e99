"""How often the translators of dates are right, as measured, and what the page says of it."""

import re
from collections.abc import Callable
from datetime import date

from attn_docs.model import describe_weights
from attn_docs.model.alignment import (
    FORMATS,
    MONTHS,
    Line,
    draw_lines,
    load_translator,
    to_indices,
)
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import (
    AFTER,
    APART,
    ATTENDING,
    BY_SIZE,
    DATE_FIRST,
    DATE_LAST,
    DOTS,
    EXAMINED,
    EXTRA,
    FAR,
    PATIENT,
    SIZE,
    SIZES,
    TESTED,
    Way,
)

LEAST = 0.03  # a weight that is drawn
SEEN = 2  # words after a date, the most in training
COLUMNS = (DATE_FIRST, DOTS, DATE_LAST)  # of the table of what stands where


def right_after(*, attends: bool) -> dict[int, float]:
    """Return how often a shipped model is right, by the words that follow the date."""
    measured = load(__file__)["longer"]
    return {words: measured("accuracy", attends=attends, words=words) for words in EXTRA}


def _told(way: Way, language: str, kept: str = "far") -> str:
    """Return the mean accuracy in percent, with the lowest and the highest where they differ."""
    mean, low, high = _spread(way, kept)
    told = texts(__file__, "told", language)["range"].format(mean=mean, low=low, high=high)
    return mean if low == high else str(told)


def _spread(way: Way, kept: str = "far") -> list[str]:
    """Return the mean accuracy of the seeds, the lowest and the highest, in percent."""
    measured = load(__file__)[kept]
    quantities = ("accuracy", "lowest", "highest")
    return [_percent(measured(quantity, **way._asdict())) for quantity in quantities]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def sizes(language: str) -> str:
    """Return how often both kinds are right, for each size of the state."""
    text = texts(__file__, "sizes", language)
    measured = load(__file__)["sizes"]
    rows = [
        (
            str(size),
            *(_told(BY_SIZE[size, attends], language, "sizes") for attends in (False, True)),
        )
        for size in SIZES
    ]
    caption = text["caption"].format(**_setting())
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


def _apart() -> dict[int, list[tuple[Way, str]]]:
    """Return for each size the ways of the table, and where it is kept what they reached."""
    kept = {key: (way, "apart") for key, way in APART.items()}
    kept |= {(SIZE, FAR[name].lines): (FAR[name], "far") for name in ("forwards", "near")}
    sizes = sorted({size for size, _ in kept})
    return {size: [kept[size, at] for at in COLUMNS if (size, at) in kept] for size in sizes}


def apart(language: str) -> str:
    """Return how often the last state alone is right, by its size and the place of the date."""
    text = texts(__file__, "apart", language)
    rows = [
        (str(size), *(told.get(at, text["none"]) for at in COLUMNS))
        for size, ways in _apart().items()
        for told in [{way.lines: _told(way, language, kept) for way, kept in ways}]
    ]
    caption = text["caption"].format(words=AFTER, **_setting())
    return f"{table(text['header'], rows)}\n\n{load(__file__)['apart'].caption(caption, language)}"


def _setting() -> dict[str, str]:
    first = load(__file__)["far"].values[0]
    return {"seeds": str(first["seeds"]), "steps": f"{first['steps']:,}", "tested": f"{TESTED:,}"}


def shares() -> dict[str, str]:
    """Return how much of the weight of year, month and day is on what the line has for each."""
    lines = draw_lines(TESTED, EXAMINED, unseen=True)
    _, weights = load_translator()(to_indices([text for text, _ in lines]))
    if weights is None:
        raise ValueError("the shipped model must attend")
    steps = {"year": slice(4), "month": slice(5, 7), "day": slice(8, 10)}
    found: dict[str, list[float]] = {name: [] for name in steps}
    for line, looked in zip(lines, weights, strict=True):
        for name, (begin, end) in places_of(line).items():
            found[name].append(looked[steps[name], begin:end].sum(-1).mean().item())
    return {f"share_of_{name}": _percent(sum(of) / len(of)) for name, of in found.items()}


def places_of(line: Line) -> dict[str, tuple[int, int]]:
    """Return where a line has year, month and day: of each its first place, and that after it."""
    day = date.fromisoformat(line.iso)
    (form,) = {told for told in (write(day) for write in FORMATS) if told in line.text}
    start = line.text.find(form)
    name = re.search(MONTHS[day.month - 1][:3] + "[a-z]*", form)
    places = {"year": re.search(r"\d{2,4}$", form)}
    if name:
        places |= {"month": name, "day": re.search(rf"\b{day.day}(st|nd|rd|th|\b)", form)}
    else:
        places |= {"month": re.search(r"(?<=[/.])\d+(?=[/.])", form), "day": re.match(r"\d+", form)}
    return {part: (start + at.start(), start + at.end()) for part, at in places.items() if at}


def parts() -> dict[str, str]:
    """Return how often the model without attention has year, month and day right, each alone."""
    lines = draw_lines(TESTED, EXAMINED, unseen=True)
    written = load_translator(attends=False).translate([text for text, _ in lines])
    places = {"year": slice(4), "month": slice(5, 7), "day": slice(8, 10)}
    return {
        f"shipped_last_{name}": _percent(
            sum(ours[place] == line.iso[place] for ours, line in zip(written, lines, strict=True))
            / TESTED
        )
        for name, place in places.items()
    }


def begun() -> str:
    """Return how often the shipped model is right in its longest lines, begun as in shorter ones.

    The state that the decoder begins with is that of two words after the date.
    """
    many = EXTRA[-1]
    return _percent(example("model/alignment/start")["found"][many, many, SEEN])


def months_exchanged() -> dict[str, str]:
    """Return in how many lines the month's states and the last state were exchanged, and won."""
    program = example("model/alignment/exchanged_all")
    counts = program["counts"]
    return {
        "exchange_lines": str(len(program["texts"])),
        "exchanged_months": str(counts["month's states"][1]),
        "exchanged_last": str(counts["last state"][1]),
    }


def second_digit() -> int:
    """Count the years from 40 to 59 whose last digit has more of the first step's weight."""
    looks = (load_translator().align(f"16.8.{year}")[1][0] for year in range(40, 60))
    return sum(bool(weights[-1] > weights[-2]) for weights in looks)


def numbers() -> dict[str, str]:
    """Return what the page says of both models."""
    longer = {
        f"{name}_after_{words}": _percent(right)
        for name, attends in (("attention", True), ("last", False))
        for words, right in right_after(attends=attends).items()
    }
    far = {name: _spread(way)[0] for name, way in FAR.items()}
    far["near_size"] = str(SIZE)
    patient = load(__file__)["patient"]
    far |= {f"patient_{name}": _percent(patient("accuracy", name=name)) for name in PATIENT}
    shipped = {
        f"{name}_{told}": value
        for name, weights in (("shipped", "alignment"), ("shipped_last", "alignment-last-state"))
        for told, value in (
            ("accuracy", _percent(float(str(describe_weights(weights)["accuracy"])))),
            ("seconds", f"{float(str(describe_weights(weights)['seconds'])):.0f}"),
            ("size", str(describe_weights(weights)["size"])),
        )
    }
    far |= {
        f"{name}_{size}": _spread(BY_SIZE[size, attends], "sizes")[0]
        for name, attends in (("state", False), ("attending", True))
        for size in SIZES
    }
    far |= {
        f"{way.lines.removeprefix('date ')}_{size}": _spread(way, kept)[0]
        for size, ways in _apart().items()
        for way, kept in ways
    }
    far["attending_far_32"] = _spread(ATTENDING[32], "attending")[1]
    far["attending_far_16"] = _spread(ATTENDING[16], "attending")[2]
    far["after_32"] = _spread(APART[32, DATE_FIRST], "apart")[0]
    exchanged = {"least": str(LEAST), "second_digit": str(second_digit()), "short_start": begun()}
    exchanged |= months_exchanged()
    return longer | far | shipped | parts() | _setting() | shares() | exchanged


TABLES: dict[str, Callable[[str], str]] = {"sizes": sizes, "apart": apart}
