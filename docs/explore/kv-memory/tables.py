"""The form of the KV cache calculator, and the settings that the page proposes, in numbers."""

import json
from dataclasses import asdict
from decimal import ROUND_HALF_UP, Decimal

from attn_docs import kv_cache_bytes, load_models, longest_context
from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.text import texts

MODELS = load_models()
CALCULATOR = {"model": "Llama-3.1-8B", "context": 131_072, "batch": 1, "memory": 24_564}
DTYPES = {"float32": 4, "bfloat16, float16": 2, "float8, int8": 1}
# what the page proposes: model, context length and number of sequences
STATES = (
    ("Llama-3.1-8B", 131_072, 1),
    ("Llama-3.1-8B", 131_072, 8),
    ("DeepSeek-V3", 131_072, 1),
    ("Mistral-7B v0.1", 1_000_000, 1),
    ("Llama-3.1-8B", 8192, 9),
)
LIMITS = {"context": (0, 100_000_000), "batch": (1, 100_000), "memory": (1, 100_000_000)}


def shown(language: str, name: str, context: int, batch: int, memory: int) -> dict[str, str]:
    """Return what the calculator shows, in bfloat16: text by the name of its place."""
    text, model = texts(__file__, "form", language), MODELS[name]
    count = kv_cache_bytes(model.config, context, batch)
    more = kv_cache_bytes(model.config, context + 1, batch) - count
    longest = longest_context(model.config, memory * 2**20 - model.weight_bytes, batch)
    return {
        "cache": f"{_two_digits(count)} ({count:,} {text['bytes']})",
        "more": _two_digits(more),
        "weights": _two_digits(model.weight_bytes),
        "longest": f"{longest:,}",
    }


def _two_digits(count: int) -> str:
    """Round as the browser does: what lies halfway, upwards."""
    power = 1 if count < 2**20 else 2 if count < 2**30 else 3
    number = (Decimal(count) / 1024**power).quantize(Decimal("0.01"), ROUND_HALF_UP)
    return f"{number} {('KiB', 'MiB', 'GiB')[power - 1]}"


def calculator(language: str) -> str:
    """Return the form, with what it shows at first, and the data file's sizes for its script."""
    text = texts(__file__, "form", language)
    first = {name: value for name, value in CALCULATOR.items() if name != "model"}
    limits = (f"{LIMITS[name][1]:,}" for name in ("context", "batch", "memory"))
    words = {**text, "invalid": text["invalid"].format(*limits)}
    words["none_fits"] = words.pop("none")
    return fill(
        __file__,
        **words,
        names=text,
        models=list(MODELS),
        dtypes=DTYPES,
        limits=LIMITS,
        first=CALCULATOR,
        results=shown(language, CALCULATOR["model"], **first),
        data=_data(),
    )


def _data() -> str:
    """Return the rows of the data file, less what the calculator does not need."""
    rows = []
    for model in MODELS.values():
        row = {"name": model.name, **asdict(model.config), "weights": model.weight_bytes}
        row["layers"] = [
            {name: size for name, size in kind.items() if size or (name, size) == ("value_dim", 0)}
            for kind in row["layers"]
        ]
        rows.append({name: value for name, value in row.items() if value})
    return json.dumps(rows, separators=(",", ":"))


def states(language: str) -> str:
    """Return what the settings that the page proposes give."""
    text, words = (texts(__file__, name, language) for name in ("states", "form"))
    rows = []
    for name, context, batch in STATES:
        model = MODELS[name]
        count, more = (kv_cache_bytes(model.config, n, batch) for n in (context, context + 1))
        weights = _two_digits(model.weight_bytes)
        further = _two_digits(more - count) if more > count else words["nothing"]
        rows.append((name, f"{context:,}", str(batch), _two_digits(count), further, weights))
    return f"{table(text['header'], rows)}\n\n{text['caption']}"


TABLES = {"explorer": calculator, "states": states}
