"""The form of the softmax explorer, and the settings that the page proposes, in numbers."""

import json

from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.text import texts
from docs._tools.page import page_module

chapter = page_module("foundations/scaled-dot-product", "tables")

EXPLORED = 6  # the explorer starts with d = 64
# what the page proposes: the power of d, whether it is divided, and the temperature
STATES = ((6, True, 1), (10, False, 1), (9, False, 1), (4, False, 4), (4, True, 1))


def explorer(language: str) -> str:
    """Return the form of the softmax explorer with what it shows at first, and its data."""
    found = chapter.explored(EXPLORED)
    columns = (found[name].tolist() for name in ("score", "logit", "weight"))
    return fill(
        __file__,
        **texts(__file__, "explorer", language),
        power_most=chapter.POWERS - 1,
        power_at_first=EXPLORED,
        rows=list(zip(*columns, strict=True)),
        entropy_at_first=found["entropy"].item(),
        gradient_at_first=found["gradient"].item(),
        scores=json.dumps(chapter.partial_scores().tolist(), separators=(",", ":")),
    )


def states(language: str) -> str:
    """Return what the settings that the page proposes give."""
    text = texts(__file__, "states", language)
    rows = []
    for power, scaled, temperature in STATES:
        found = chapter.explored(power, scaled=scaled, temperature=temperature)
        told = (f"{found['weight'].max():.3f}", f"{found['entropy'].abs():.3f}")
        how = text["yes" if scaled else "no"]
        rows.append((f"{2**power:,}", how, str(temperature), *told, f"{found['gradient']:.2g}"))
    return table(text["header"], rows)


TABLES = {"explorer": explorer, "states": states}
