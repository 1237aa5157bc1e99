"""For each bug the wrong line and the right one, what training shows, and what the report says."""

import functools
import math
from collections import Counter
from collections.abc import Callable

from docs._kit.text import texts

from .bugs import (
    BUGS,
    COLUMNS,
    ORDER,
    finding,
    last,
    losses,
    training,
)


def lines(name: str, language: str) -> str:
    """Return a bug's two lines, what its training run came to, and its finding."""
    bug = BUGS[name]
    run = training(name)
    values = losses(name)
    loss = texts(__file__, "loss", language)[run.kind].format(
        first=f"{run.first:.2f}",
        last=f"{run.last:.2f}",
        right=f"{run.right:.2f}",
        none=f"{run.none:.2f}",
        step=next((i for i, value in enumerate(values, 1) if math.isnan(value)), 0),
    )
    found = finding(name)
    report, cause, colon, stop = texts(__file__, "report", language)["words"]
    said = [f"- {report}{colon}`{found.property}`{colon}`{found.evidence.rstrip('.')}`{stop}"]
    if found.cause != found.evidence:
        said.append(f"- {cause}{colon}`{found.cause}`{stop}")
    diff = f"```text\n# {name}.py\n- {bug.wrong}\n+ {bug.right}\n```"
    return "\n".join([diff, "", f"- {loss}", *said])


TABLES: dict[str, Callable[[str], str]] = {
    name.replace("_", "-"): functools.partial(lines, name) for name in ORDER
}


def numbers() -> dict[str, str]:
    """Return the counts and losses that the chapter's sentences use."""
    kinds = Counter(training(name).kind for name in ORDER)
    return {
        "bugs": str(len(ORDER)),
        "properties": str(len(COLUMNS)),
        "same": str(kinds["same"]),
        "as_well": str(kinds["as well"]),
        "better": str(kinds["better"]),
        "as_without": str(kinds["as without"]),
        "breaks": str(kinds["breaks"]),
        "right": f"{last(losses('right')):.2f}",
        "none": f"{last(losses('none')):.2f}",
    }
