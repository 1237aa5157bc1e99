"""What each property of the checker asks, what its command says, what it was measured to catch."""

import importlib.metadata
import io
import shlex
from contextlib import redirect_stdout

from attn_docs.examples.practice.test_your_attention import layer
from attn_docs.testing import PROPERTIES, check_module
from attn_docs.testing.command import main
from attn_docs.testing.function import CHECKS as OF_FUNCTIONS
from attn_docs.testing.module import CHECKS as OF_MODULES
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

STORED = load(__file__)
NOW = STORED["score"]
FORMS = ("masked", "decoder", "encoder")
STRANGERS = ("strangers", "functions", "hard")
COMMAND = """\
attn_docs.exhibits.practice.causal_off_by_one:Attention \\
    --init '{"embed_dim": 32, "num_heads": 4}' --embed-dim 32 --causal"""


def properties(language: str) -> str:
    """Return each property, what it asks, and which of the two checkers asks it."""
    header = texts(__file__, "properties", language)["header"]
    asks = texts(__file__, "asks", language)
    rows = (
        (
            f"`{name}`",
            asks[name],
            "✓" if name in OF_FUNCTIONS else "",
            "✓" if name in OF_MODULES else "",
        )
        for name in PROPERTIES
    )
    return table(header, rows).replace("---:", ":--", 1).replace("---:", ":-:")


def count(quantity: str, part: str, group: str = "all") -> int:
    """Return how many layers of a group came to something."""
    return int(NOW(quantity, part=part, group=group))


def groups(part: str) -> list[str]:
    """Return the hosts of a form, as they were measured."""
    found = (value["group"] for value in NOW.values if value["part"] == part)
    return [group for group in dict.fromkeys(found) if group != "all"]


def command(_: str) -> str:
    """Return a command as it is typed, and what it prints, but for the seconds."""
    with redirect_stdout(io.StringIO()) as printed:
        code = main(shlex.split(COMMAND.replace("\\\n", "")))
    report = printed.getvalue().rpartition("\nchecked in")[0]
    shown = f"$ python -m attn_docs.testing {COMMAND}\n{report}\n$ echo $?\n{code}"
    return f"```console\n{shown}\n```"


def score(language: str) -> str:
    """Return how much wrong code was caught: what others had written, then the planted bugs."""
    text = texts(__file__, "score", language)
    rows = [
        (
            text[part].format(layers=len(groups(part))),
            *(str(count(name, part)) for name in ("wrong", "caught", "named")),
        )
        for part in STRANGERS + FORMS
    ]
    return f"{table(text['header'], rows)}\n\n{NOW.caption(text['caption'], language)}"


def missed(language: str) -> str:
    """Return each kind of wrong code that is not caught, with the reason."""
    text = texts(__file__, "missed", language)
    names = dict.fromkeys(v["layer"] for v in NOW.values if v["quantity"] == "missed")
    return table(text["header"], [text["layers"][name] for name in names]).replace("---:", "---")


TABLES = {
    "missed": missed,
    "command": command,
    "properties": properties,
    "score": score,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences use."""
    real = {
        name.replace(" ", "_"): str(count(name, "real classes"))
        for name in ("configurations", "passed", "by design", "false alarms")
    }
    right = {
        f"right_{name}": count(f"right {name.replace('_', ' ')}", "right")
        for name in ("passed", "not_judged")
    }
    right["right_failed"] = count("right", "right") - sum(right.values())
    slowest = max(NOW("worst", part=part, group="all") for part in FORMS)
    findings = check_module(layer.Attention(), embed_dim=32).findings
    return {
        "asked": str(sum(finding.verdict != "not applicable" for finding in findings)),
        "failing": str(sum(finding.verdict == "fail" for finding in findings)),
        "of_functions": str(len(OF_FUNCTIONS)),
        "properties": str(len(PROPERTIES)),
        "missed": str(sum(count("wrong", p) - count("caught", p) for p in STRANGERS)),
        "right": str(count("right", "right")),
        **{name: str(number) for name, number in right.items()},
        "median_seconds": f"{NOW('median', part='masked', group='all'):.1f}",
        "worst_seconds": f"{slowest:.1f}",
        "machine": NOW.machine,
        "transformers": importlib.metadata.version("transformers"),
        "x_transformers": importlib.metadata.version("x-transformers"),
        **real,
    }
