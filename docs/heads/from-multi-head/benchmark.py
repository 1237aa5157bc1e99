"""Losses of several trained models after conversion, each at once and after further training."""

from docs._kit.measured import Measurement, measurement

from .conversion import AT, HEADS, METHODS, SEEDS, losses

CASES = (("none", HEADS), *((method, 2) for method in (*METHODS, "rotated")))


def measure() -> dict[str, Measurement]:
    """Train a model for each seed, convert it in every way, and train on."""
    values = [
        {
            "quantity": "loss",
            "method": method,
            "kv_heads": kv_heads,
            "step": step,
            "seed": seed,
            "value": round(losses(method, kv_heads, seed)[step], 6),
            "unit": "nat",
            "kernel": "float64",
        }
        for seed in range(SEEDS)
        for method, kv_heads in CASES
        for step in AT
    ]
    return {"losses": measurement(values, threads=1)}
