"""What a benchmark measured, kept as numbers: `measured.json` beside the page.

A benchmark makes measurements, `make bench` stores them, and the page's tables, sentences and
figures are all made from the stored file:

    {"decode": {"date": "2026-11-21", "torch": "2.13.0+cpu", "python": "3.11.7", "machine": "…",
                "threads": 1, "values": [
        {"way": "naive", "context": 256, "quantity": "time", "value": 2.6, "unit": "ratio",
         "kernel": "aten::bmm"}, …]}}
"""

import json
import platform
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from docs._kit.text import texts

UNITS = {
    "ratio",
    "ms",
    "s",
    "B",
    "KiB",
    "MiB",
    "GFLOP/s",
    "GB/s",
    "FLOP/B",
    "nat",
    "steps",
    "layers",
}
REQUIRED = {"quantity", "value", "unit", "kernel"}


class MeasurementError(ValueError):
    """A stored measurement that lacks something; the message names file, entry and what it is."""


@dataclass(frozen=True)
class Measurement:
    """Values measured in one run, and where, when and with what.

    A value is a dictionary with "quantity", "value", "unit" and "kernel", the operator that did
    the work, and besides whatever tells it from the others, such as "way" and "context".
    """

    date: str
    torch: str
    python: str
    machine: str
    threads: int
    values: list[dict[str, Any]]

    def __call__(self, quantity: str, **of: str | int) -> float:
        """Return the one value of a quantity that has these properties."""
        wanted = {"quantity": quantity, **of}
        found = [v["value"] for v in self.values if wanted.items() <= v.items()]
        if len(found) != 1:
            raise MeasurementError(f"one value must have {wanted}; got {len(found)}")
        return float(found[0])

    def circumstances(self, language: str) -> str:
        """Return date, versions and machine, for the caption of a table."""
        told = {key: value for key, value in asdict(self).items() if key != "values"}
        caption: str = texts(__file__, "measured", language)["caption"]
        return caption.format(**told, s="s" if self.threads > 1 else "")

    def caption(self, text: str, language: str) -> str:
        """Return the line below a table of this measurement: what was measured, where and when."""
        space = " " if language == "en" else ""
        return f"{text}{space}{self.circumstances(language)}\n{{ .measured }}"


def measurement(values: list[dict[str, Any]], *, threads: int) -> Measurement:
    """Return values that were just measured, with the circumstances of now."""
    import torch  # noqa: PLC0415 - reading what is stored needs no PyTorch

    return Measurement(
        date=datetime.now(UTC).date().isoformat(),
        torch=torch.__version__,
        python=platform.python_version(),
        machine=_processor(),
        threads=threads,
        values=values,
    )


def load(module: str) -> dict[str, Measurement]:
    """Return the measurements stored beside a module, by name; refuse incomplete ones.

    Args:
        module: `__file__` of the module that asks.

    Raises:
        MeasurementError: If a measurement lacks its date, a version, its machine or its threads,
            or a value lacks a quantity, a number, a known unit or the kernel that ran.
    """
    file = Path(module).with_name("measured.json")
    found = json.loads(file.read_text(encoding="utf-8"))
    wanted = {field.name for field in fields(Measurement)}
    for name, entry in found.items():
        where = f"{file.parent.name}/{file.name}: {name}"
        lacking = {key for key in wanted if not entry.get(key)}
        if lacking or set(entry) != wanted:
            raise MeasurementError(f"{where} must have {sorted(wanted)}; got {sorted(entry)}")
        for value in entry["values"]:
            _check(value, where)
    return {name: Measurement(**entry) for name, entry in found.items()}


def _check(value: dict[str, Any], where: str) -> None:
    if not all(key in value for key in REQUIRED) or not value["kernel"]:
        raise MeasurementError(f"{where}: a value must have {sorted(REQUIRED)}; got {value}")
    if value["unit"] not in UNITS:
        raise MeasurementError(f"{where}: unit must be one of {sorted(UNITS)}; got {value}")
    if isinstance(value["value"], bool) or not isinstance(value["value"], int | float):
        raise MeasurementError(f"{where}: value must be a number; got {value}")


def store(folder: Path, measurements: dict[str, Measurement]) -> None:
    """Write what a page's benchmark measured, a line a value."""
    entries = []
    for name, of in measurements.items():
        told = {key: value for key, value in asdict(of).items() if key != "values"}
        values = ",\n    ".join(json.dumps(value, ensure_ascii=False) for value in of.values)
        head = json.dumps(told, ensure_ascii=False)[1:-1]
        entries.append(f'  {json.dumps(name)}: {{{head}, "values": [\n    {values}\n  ]}}')
    text = "{\n" + ",\n".join(entries) + "\n}\n"
    (folder / "measured.json").write_text(text, encoding="utf-8")


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
