"""How the page's translator comes out from other seeds than its own."""

import contextlib
import io
from pathlib import Path
from typing import Any

from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

PROGRAM = Path(__file__).parents[3] / "attn_docs/examples/heads/cross_attention/learned.py"
SEEDED, SEEDS = "random.seed(1), torch.manual_seed(1)", range(8)
RIGHT = ["currit", "vulpes", "parva", "cantat"]  # the sentence with the pair that never occurred


def trained(seed: int) -> dict[str, Any]:
    """Run the page's program from a seed; return the names in it."""
    source = PROGRAM.read_text(encoding="utf-8")
    if SEEDED not in source:
        raise ValueError(f"{PROGRAM} does not set its seeds by {SEEDED!r}")
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source.replace(SEEDED, SEEDED.replace("1", str(seed))), names)  # noqa: S102
    return names


def measure() -> dict[str, Measurement]:
    """Train from each seed, and see whether the unseen pair is translated rightly."""
    with one_thread():
        found = [trained(seed) for seed in SEEDS]
        kernel = kernel_of(lambda: found[0]["translate"](found[0]["model"], found[0]["english"], 1))
    values = [
        {
            "seed": seed,
            "quantity": "right",
            "value": int(names["latin"] == RIGHT),
            "unit": "ratio",
            "kernel": kernel,
        }
        for seed, names in zip(SEEDS, found, strict=True)
    ]
    return {"seeds": measurement(values, threads=1)}
