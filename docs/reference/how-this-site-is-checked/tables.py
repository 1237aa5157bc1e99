"""What `make mutants` found when it was last run."""

import json
from pathlib import Path

RESULT = Path(__file__).with_name("mutants.json")


def numbers() -> dict[str, str]:
    """Return the counts of the stored run, and its day."""
    stored = json.loads(RESULT.read_text(encoding="utf-8"))
    return {name: f"{n:,}" if isinstance(n, int) else n for name, n in stored.items()}
