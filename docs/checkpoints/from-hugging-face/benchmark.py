"""How far converted layers are from the models' own."""

import warnings

from docs._kit.measure import one_thread
from docs._kit.measured import Measurement, measurement
from tests.checkpoints.families import FAMILIES, compare


def measure() -> dict[str, Measurement]:
    """Compare each small model's layers with ours: whole, cached in chunks, and padded."""
    values: list[dict[str, object]] = []
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, family in FAMILIES.items():
            found = compare(family)._asdict()
            values += [
                {"family": name, "quantity": way, "value": float(f"{off:.2g}"), "unit": "ratio"}
                for way, off in found.items()
                if off is not None
            ]
    # the outputs are compared, whatever operator made them
    return {"families": measurement([v | {"kernel": "all"} for v in values], threads=1)}
