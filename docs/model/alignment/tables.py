"""How often the translators of dates are right, as measured, and what the page says of it."""

from collections.abc import Callable

from attn_docs.model import describe_weights
from attn_docs.model.alignment import draw_lines, load_translator, to_indices
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import AFTER, EXAMINED, EXTRA, FAR, LENGTHENED, MIDDLE, MIXED, SIZES, TESTED, Way


def accuracies(size: int, *, attends: bool, words: int = -1) -> tuple[float, float, float]:
    """Return the mean accuracy of the seeds on mixed lines, the lowest and the highest.

    With `words` the date comes first, and so many words follow.
    """
    return _spread(Way(size, attends), words)


def _spread(way: Way, words: int = -1) -> tuple[float, float, float]:
    measured = load(__file__)["accuracy"]
    mean, low, high = (
        measured(quantity, **way._asdict(), words=words)
        for quantity in ("accuracy", "lowest", "highest")
    )
    return mean, low, high


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"


def _told(way: Way, spread: str, words: int = -1) -> str:
    """Return mean, lowest and highest in percent."""
    mean, low, high = map(_percent, _spread(way, words))
    return mean if low == high else spread.format(mean=mean, low=low, high=high)


def distance(language: str) -> str:
    """Return how often each translator is right where the date always comes first."""
    text = texts(__file__, "distance", language)
    names = ("forwards", "backwards", "attention")
    rows = [(text[name], _told(way, text["range"])) for name, way in zip(names, FAR, strict=True)]
    measured = load(__file__)["accuracy"]
    caption = text["caption"].format(size=SIZES[-1], words=AFTER, **_setting())
    return f"{table(text['header'], rows)}\n\n{measured.caption(caption, language)}"


def every(language: str) -> str:
    """Return accuracy and seconds of training of every translator of mixed lines."""
    text = texts(__file__, "every", language)
    measured = load(__file__)["accuracy"]
    rows = [
        (
            text["attention" if way.attends else "last"].format(size=way.size),
            _told(way, text["range"]),
            *(_told(way, text["range"], words) for words in (EXTRA[2], EXTRA[-1])),
            f"{measured('seconds', **way._asdict()):.0f}",
        )
        for way in MIXED
    ]
    header = [name.format(some=EXTRA[2], many=EXTRA[-1]) for name in text["header"]]
    caption = text["caption"].format(long=LENGTHENED, **_setting())
    return f"{table(header, rows)}\n\n{measured.caption(caption, language)}"


def _setting() -> dict[str, str]:
    first = load(__file__)["accuracy"].values[0]
    return {"seeds": str(first["seeds"]), "steps": f"{first['steps']:,}", "tested": f"{TESTED:,}"}


def share_of_year() -> float:
    """Return how much of the weight of the first four steps is on the year, written in full."""
    lines = [line for line in draw_lines(500, 18, unseen=True) if line.iso[:4] in line.text]
    _, weights = load_translator()(to_indices([line.text for line in lines]))
    if weights is None:
        raise ValueError("the shipped model must attend")
    places = [line.text.find(line.iso[:4]) for line in lines]
    shares = [
        looked[:4, place : place + 4].sum(-1).mean().item()
        for looked, place in zip(weights, places, strict=True)
    ]
    return sum(shares) / len(shares)


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


def numbers() -> dict[str, str]:
    """Return what the page says of both models."""
    mixed = {
        f"{'attention' if way.attends else 'last'}_{way.size}": _percent(_spread(way)[0])
        for way in MIXED
    }
    longer = {
        f"{name}_after_{words}": _percent(_spread(Way(MIDDLE, attends), words)[0])
        for name, attends in (("attention", True), ("last", False))
        for words in EXTRA
    }
    far = {
        name: _percent(_spread(way)[0])
        for name, way in zip(("forwards", "backwards", "far"), FAR, strict=True)
    }
    shipped = {
        f"{name}_{told}": value
        for name, weights in (("shipped", "alignment"), ("shipped_last", "alignment-last-state"))
        for told, value in (
            ("accuracy", _percent(float(str(describe_weights(weights)["accuracy"])))),
            ("seconds", f"{float(str(describe_weights(weights)['seconds'])):.0f}"),
            ("size", str(describe_weights(weights)["size"])),
        )
    }
    return (
        mixed
        | longer
        | far
        | shipped
        | parts()
        | _setting()
        | {"share_year": _percent(share_of_year())}
    )


TABLES: dict[str, Callable[[str], str]] = {"distance": distance, "every": every}
