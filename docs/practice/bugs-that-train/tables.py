"""For each bug the wrong line and the right one, what training shows, and what the report says."""

import functools
import math
from collections import Counter
from collections.abc import Callable

from .bugs import (
    BUGS,
    COLUMNS,
    ORDER,
    finding,
    last,
    losses,
    training,
)

_LOSS = {
    "en": {
        "same": "**Trains exactly like the right layer**: loss {first} → {last}.",
        "as well": "**Trains**: loss {first} → {last}, the right layer {right}.",
        "better": "**Trains, better than the right layer**: loss {first} → {last}, "
        "the right layer {right}.",
        "as without": "**Trains, as if there were no attention**: loss {first} → {last}, "
        "the right layer {right}, without attention {none}.",
        "breaks": "**Does not train** here: the loss is NaN from step {step} on.",
    },
    "zh": {
        "same": "**训练过程与正确的层完全相同**：损失 {first} → {last}。",
        "as well": "**能训练**：损失 {first} → {last}，正确的层是 {right}。",
        "better": "**能训练，而且比正确的层还好**：损失 {first} → {last}，正确的层是 {right}。",
        "as without": "**能训练，但像没有注意力一样**：损失 {first} → {last}，正确的层是 {right}，"
        "去掉注意力是 {none}。",
        "breaks": "在这里**不能训练**：从第 {step} 步起，损失是 NaN。",
    },
}
_REPORT = {
    "en": ("**Report**", "**Cause**", ": ", "."),
    "zh": ("**报告**", "**原因**", "：", "。"),
}


def lines(name: str, language: str) -> str:
    """Return a bug's two lines, what its training run came to, and its finding."""
    bug = BUGS[name]
    run = training(name)
    values = losses(name)
    loss = _LOSS[language][run.kind].format(
        first=f"{run.first:.2f}",
        last=f"{run.last:.2f}",
        right=f"{run.right:.2f}",
        none=f"{run.none:.2f}",
        step=next((i for i, value in enumerate(values, 1) if math.isnan(value)), 0),
    )
    found = finding(name)
    report, cause, colon, stop = _REPORT[language]
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
