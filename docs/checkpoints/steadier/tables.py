"""What was measured with norms, caps, sinks and gates, and which model has which."""

import math
import statistics
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

from torch import nn

from docs._kit.markdown import table
from docs._kit.measured import Measurement, load
from docs._kit.text import texts

from .benchmark import (
    DRAWN,
    KEYS,
    LOWER,
    RATES,
    REPAIRS,
    SEEDS,
    SLOW,
    STEPS,
    TASK_STEPS,
    TASKS,
    WAYS,
)

HEAD, HEADS, KV_HEADS = 8, 4, 2  # of the layers that are made and looked at
# name, folder of transformers, its prefix there, that of its configuration, and a layer
MODELS = {
    "Llama 3": ("llama", "Llama", "Llama", 0),
    "Llama 4": ("llama4", "Llama4Text", "Llama4Text", 0),
    "Mistral": ("mistral", "Mistral", "Mistral", 0),
    "Gemma 2": ("gemma2", "Gemma2", "Gemma2", 0),
    "Gemma 3": ("gemma3", "Gemma3", "Gemma3Text", 0),
    "Gemma 4": ("gemma4", "Gemma4Text", "Gemma4Text", 0),
    "Qwen3": ("qwen3", "Qwen3", "Qwen3", 0),
    "OLMo 2": ("olmo2", "Olmo2", "Olmo2", 0),
    "Olmo 3": ("olmo3", "Olmo3", "Olmo3", 0),
    "gpt-oss": ("gpt_oss", "GptOss", "GptOss", 0),
    "MiMo-V2-Flash": ("mimo_v2_flash", "MiMoV2Flash", "MiMoV2Flash", 1),
    "Granite SWA": ("granite_swa", "GraniteSWA", "GraniteSWA", 0),
    "Qwen3-Next": ("qwen3_next", "Qwen3Next", "Qwen3Next", 3),
    "DiffLlama": ("diffllama", "DiffLlama", "DiffLlama", 0),
}

KINDS = (
    ("scale", "own"),
    ("norm", "head"),
    ("norm", "across"),
    ("norm", "bare"),
    ("cap", "yes"),
    ("sink", "yes"),
    ("gate", "yes"),
    ("differential", "yes"),
)


def of_seeds(found: Measurement, quantity: str, **of: str | int) -> list[float]:
    """Return what was measured with each seed."""
    return [found(quantity, seed=seed, **of) for seed in SEEDS]


def growth(language: str) -> str:
    """Return the accuracy of each way at each rate, seed by seed."""
    text, found = texts(__file__, "growth", language), load(__file__)["growth"]
    rows = []
    for way in WAYS:
        every = (of_seeds(found, "accuracy", way=way, rate=str(rate)) for rate in RATES)
        rows.append((text[way], *(", ".join(f"{a:.2f}" for a in values) for values in every)))
    low = max(a for way in LOWER for a in of_seeds(found, "accuracy", way=way, rate=str(DRAWN)))
    caps = ", ".join(f"{cap:.0f}" for cap in LOWER.values())
    slow = ", ".join(f"{a:.2f}" for a in of_seeds(found, "accuracy", way="slow", rate=str(DRAWN)))
    for name, cell in (
        (text["lower"].format(caps), f"{low:.2f}"),
        (text["slow"].format(SLOW), slow),
    ):
        rows.append((name, *(cell if rate == DRAWN else text["none"] for rate in RATES)))
    header = (text["rate"], *(str(rate) for rate in RATES))
    caption = text["caption"].format(steps=STEPS)
    return f"{table(header, rows)}\n\n{found.caption(caption, language)}"


def repairs(language: str) -> str:
    """Return the error of each way on each task, where there is something and where nothing."""
    text, found = texts(__file__, "repairs", language), load(__file__)["repairs"]
    rows = []
    for way in REPAIRS:
        cells = (
            f"{statistics.mean(of_seeds(found, quantity, task=task, way=way)):.3f}"
            for task in TASKS
            for quantity in ("nothing", "something")
        )
        rows.append((text[way], *cells))
    apart = [
        max(values) - min(values)
        for values in (
            of_seeds(found, quantity, task=task, way=way)
            for task in TASKS
            for way in REPAIRS
            for quantity in ("nothing", "something")
        )
    ]
    told = {"keys": KEYS, "apart": f"{max(apart):.3f}"}
    caption = text["caption"].format(steps=f"{TASK_STEPS:,}", **told)
    return f"{table(text['header'], rows)}\n\n{found.caption(caption, language)}"


def layer_of(name: str) -> tuple[nn.Module, Any]:
    """Return an attention layer of a model as transformers makes it, and its configuration."""
    folder, prefix, config_prefix, layer = MODELS[name]
    place = f"transformers.models.{folder}"
    kind = getattr(import_module(f"{place}.configuration_{folder}"), f"{config_prefix}Config")
    sizes = {"num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD}
    config = kind(hidden_size=HEADS * HEAD, **sizes)
    made = getattr(import_module(f"{place}.modeling_{folder}"), f"{prefix}Attention")
    attention: nn.Module = made(config, layer)
    return attention, config


def has(name: str) -> dict[str, str]:
    """Return what a model's layer has, or "no", by its parameters and its configuration."""
    layer, config = layer_of(name)
    norm = getattr(layer, "q_norm", None)
    over = {None: "no", HEAD: "head", HEADS * HEAD: "across"}[norm and norm.weight.numel()]
    if hasattr(layer, "qk_norm"):  # divides, and has no gains
        over = "bare"
    yes = ("no", "yes")
    scaling = float(layer.scaling)  # type: ignore[arg-type]
    return {
        "scale": "no" if math.isclose(scaling, HEAD**-0.5) else "own",
        "norm": over,
        "cap": yes[getattr(config, "attn_logit_softcapping", None) is not None],
        "sink": yes[getattr(layer, "sinks", None) is not None],
        "gate": yes[layer.q_proj.out_features == 2 * HEADS * HEAD],  # type: ignore[union-attr]
        "differential": yes[hasattr(layer, "lambda_q1")],
    }


def models(language: str) -> str:
    """Return what each of the six does, and which models have it."""
    text = texts(__file__, "models", language)
    found = {name: has(name) for name in MODELS}
    rows = []
    for kind, of in KINDS:
        having = [name for name, each in found.items() if each[kind] == of]
        rows.append((*text[f"{kind}_{of}"], text["join"].join(having)))
    plain = [name for name, each in found.items() if set(each.values()) == {"no"}]
    rows.append((*text["none"], text["join"].join(plain)))
    caption = text["caption"].format(transformers=installed())
    return f"{table(text['header'], rows, words=range(3))}\n\n{caption}"


def installed() -> str:
    """Return the version of transformers that is read."""
    return ".".join(version("transformers").split(".")[:2])


def at_told(found: Measurement, quantity: str) -> list[float]:
    """Return what was measured of the sink where the query is told."""
    return of_seeds(found, quantity, task="told", way="sink")


TABLES: dict[str, Callable[[str], str]] = {"growth": growth, "repairs": repairs, "models": models}


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    stored = load(__file__)
    found = stored["growth"]

    def at(quantity: str, way: str, rate: float = DRAWN) -> list[float]:
        return of_seeds(found, quantity, way=way, rate=str(rate))

    def error(task: str, way: str, quantity: str = "nothing") -> str:
        return f"{statistics.mean(of_seeds(stored['repairs'], quantity, task=task, way=way)):.3f}"

    lead = sorted(at("lead", "plain"))
    kept = {of: at_told(stored["repairs"], f"kept {of}") for of in ("nothing", "something")}
    return {
        "cap_largest": f"{max(at('largest', 'cap')):,.0f}",
        "drawn": str(DRAWN),
        "gate_absent": error("absent", "gate"),
        "kept_nothing": f"{statistics.mean(kept['nothing']):.1%}",
        "kept_something": f"{statistics.mean(kept['something']):.0%}",
        "lead_odd": f"{lead[0]:.0f}",
        "lead_lost": f"{lead[1]:,.0f}",
        "lead_low": f"{max(x for rate in RATES[:2] for x in at('lead', 'plain', rate)):.0f}",
        "slow": str(SLOW),
        "slow_largest": f"{max(at('largest', 'slow')):.0f}",
        "torch": version("torch").split("+")[0],
        "transformers": installed(),
    }
