"""For each bug how its entry begins: its two lines, what training shows, what the report says."""

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
    taken,
    training,
)

MEASURED = load(__file__)["seeds"]


ENTRY = """<details class="bug" id="bug-{place}" markdown="1">
<summary markdown="span">**{title}**{colon}{short}</summary>

- {symptom}
{said}
- {repair}

```diff
# {name}.py
- {wrong}
+ {right}
```
"""

DASH = "\N{EN DASH}"
LEAKS = ("causal_only_in_training", "scrambled_heads")  # of the maps, those that see the future
# how the bugs train, in the order of the page's list
SYMPTOMS = ("breaks", "as without", "slower", "as well", "same", "better", "below floor")


def entry(name: str, language: str) -> str:
    """Return how a bug's entry begins: its title, lines, losses and finding. The page closes it."""
    bug, run, found = BUGS[name], training(name), finding(name)
    apart = run.kind in ("slower", "better")  # each run, so the digits must show it
    touching = apart and set(between(run.runs).split(DASH)) & set(between(run.right).split(DASH))
    digits = 3 if touching else 2
    loss = texts(__file__, "loss", language)[run.kind].format(
        runs=between(run.runs, digits),
        right=between(run.right, digits),
        none=between(run.none),
        floor=f"{floor():.2f}",
        step=run.finite + 1,
    )
    words = texts(__file__, "report", language)
    cause, colon, stop = words["words"]
    seen = words["seen"].format(property=bug.property)
    said = [f"- {seen}{colon}`{found.evidence.rstrip('.')}`{stop}"]
    if found.cause != found.evidence:
        said.append(f"- {cause}{colon}`{found.cause}`{stop}")
    symptom = words["symptom"].format(seen=looks(name, language), loss=loss)
    return ENTRY.format(
        place=name.replace("_", "-"),
        title=texts(__file__, "bugs", language)[name],
        colon=colon,
        short=texts(__file__, "short", language)[run.kind],
        symptom=symptom,
        repair=words["repair"],
        name=name,
        wrong=bug.wrong,
        right=bug.right,
        said="\n".join(said),
    )


def looks(name: str, language: str) -> str:
    """Return what a bug looks like in use: its own words, or those of how it trains."""
    kind = training(name).kind
    return texts(__file__, "seen", language)[name if kind in ("same", "as well") else kind]


def losses(language: str) -> str:
    """Return what bounds a loss and what the runs to compare with ended at, as a table."""
    text = texts(__file__, "losses", language)
    rows = [
        (text["without"].format(steps=STEPS), f"{entropy():.2f}", between(ended("none"))),
        (text["right"].format(steps=STEPS), f"{floor():.2f}", between(ended("right"))),
        (text["right"].format(steps=LONG), f"{floor():.2f}", between(ended("right", steps=LONG))),
    ]
    return f"{table(text['header'], rows)}\n\n{MEASURED.caption(text['caption'], language)}"


def symptoms(language: str) -> str:
    """Return all bugs as a table: what each looks like, what a report names, the way to it."""
    text = texts(__file__, "symptoms", language)
    names = texts(__file__, "bugs", language)
    rows = [
        (
            looks(name, language),
            f"`{BUGS[name].property}`{text['colon']}`{BUGS[name].cause}`",
            f"[{names[name]}](#bug-{name.replace('_', '-')})",
        )
        for kind in SYMPTOMS
        for name in ORDER
        if training(name).kind == kind
    ]
    return table(text["header"], rows, words=(0, 1, 2))


TABLES: dict[str, Callable[[str], str]] = {
    "symptoms": symptoms,
    "losses": losses,
    **{name.replace("_", "-"): functools.partial(entry, name) for name in ORDER},
}


def between(runs: Sequence[float], digits: int = 2) -> str:
    """Return the lowest and the highest of some losses."""
    low, high = (f"{loss:.{digits}f}" for loss in (min(runs, default=0), max(runs, default=0)))
    return low if low == high else f"{low}{DASH}{high}"


def numbers() -> dict[str, str]:
    """Return the counts and losses that the chapter's sentences use."""
    kinds = Counter(training(name).kind for name in ORDER)
    return {
        "bugs": str(len(ORDER)),
        "trains": str(len(ORDER) - kinds["breaks"]),
        "properties": str(len(COLUMNS)),
        **{kind.replace(" ", "_"): str(kinds[kind]) for kind in TRAINS},
        "right": between(ended("right")),
        "right_long": between(ended("right", steps=LONG)),
        "none": between(ended("none")),
        "entropy": f"{entropy():.2f}",
        "floor": f"{floor():.2f}",
        "plausible": str(sum(kinds[k] for k in ("slower", "as well", "same", "better"))),
        "back_right": f"{100 * taken('right')[0]:.0f}",
        **{f"later_{name}": f"{100 * taken(name)[1]:.0f}" for name in LEAKS},
    }
