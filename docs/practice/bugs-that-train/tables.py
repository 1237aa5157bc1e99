"""For each bug the wrong line and the right one, what training shows, and what the report says."""

import functools
from collections import Counter
from collections.abc import Callable, Sequence

from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts
from docs._tools.bugs import TRAINS

from .benchmark import LONG, STEPS
from .bugs import (
    BUGS,
    COLUMNS,
    ORDER,
    ended,
    entropy,
    finding,
    floor,
    training,
)

MEASURED = load(__file__)["seeds"]


def lines(name: str, language: str) -> str:
    """Return a bug's two lines, what its training run came to, and its finding."""
    bug = BUGS[name]
    run = training(name)
    loss = texts(__file__, "loss", language)[run.kind].format(
        runs=between(run.runs),
        right=between(run.right),
        none=between(run.none),
        floor=f"{floor():.2f}",
        step=run.finite + 1,
    )
    found = finding(name)
    report, cause, colon, stop = texts(__file__, "report", language)["words"]
    said = [f"- {report}{colon}`{found.property}`{colon}`{found.evidence.rstrip('.')}`{stop}"]
    if found.cause != found.evidence:
        said.append(f"- {cause}{colon}`{found.cause}`{stop}")
    diff = f"```diff\n# {name}.py\n- {bug.wrong}\n+ {bug.right}\n```"
    return "\n".join([diff, "", f"- {loss}", *said])


def losses(language: str) -> str:
    """Return what bounds a loss and what the runs to compare with ended at, as a table."""
    text = texts(__file__, "losses", language)
    rows = [
        (text["without"].format(steps=STEPS), f"{entropy():.2f}", between(ended("none"))),
        (text["right"].format(steps=STEPS), f"{floor():.2f}", between(ended("right"))),
        (text["right"].format(steps=LONG), f"{floor():.2f}", between(ended("right", steps=LONG))),
    ]
    return f"{table(text['header'], rows)}\n\n{MEASURED.caption(text['caption'], language)}"


TABLES: dict[str, Callable[[str], str]] = {
    "losses": losses,
    **{name.replace("_", "-"): functools.partial(lines, name) for name in ORDER},
}


def between(runs: Sequence[float]) -> str:
    """Return the lowest and the highest of some losses."""
    low, high = (f"{loss:.2f}" for loss in (min(runs, default=0), max(runs, default=0)))
    return low if low == high else f"{low}\N{EN DASH}{high}"


def numbers() -> dict[str, str]:
    """Return the counts and losses that the chapter's sentences use."""
    kinds = Counter(training(name).kind for name in ORDER)
    return {
        "bugs": str(len(ORDER)),
        "properties": str(len(COLUMNS)),
        **{kind.replace(" ", "_"): str(kinds[kind]) for kind in TRAINS},
        "right": between(ended("right")),
        "right_long": between(ended("right", steps=LONG)),
        "none": between(ended("none")),
        "entropy": f"{entropy():.2f}",
        "floor": f"{floor():.2f}",
    }
