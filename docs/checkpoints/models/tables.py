"""The table of models, in which each cell leads to its chapter, and the chapter's numbers."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from attn_docs import KVConfig, KVLayers, KVModel, kv_cache_bytes, load_models
from docs._kit.form import fill
from docs._kit.text import Words, texts

MODELS = dict(sorted(load_models().items(), key=lambda item: item[1].year))
LENGTHS = (1024, 32_768, 131_072)
# 10^9 parameters as the makers state them, where neither the data nor the name has them
STATED = {"Transformer (base)": 0.065, "Kimi-K2": 1040, "GLM-5.3-Flash": 320, "MiniMax-M3": 428}
STATED |= {"DeepSeek-V4-Flash": 284, "Mistral-Small-4": 119, "Mistral-Large-4": 1050}
_SHARING = ("multi-head", "grouped-query", "multi-query")
HEADS = {name: f"../../heads/{name}/index.md" for name in _SHARING}
LATENT = "../../heads/latent/index.md"
WINDOW = "../window/index.md#local-and-global"
PLACES = "../../position"
NAMES = texts(__file__, "names", "en")
# where a short name of the data file is explained; what is not here has no chapter yet
CHAPTERS = {
    "sinusoidal": f"{PLACES}/sinusoidal/index.md",
    "learned": f"{PLACES}/sinusoidal/index.md",
    "t5": f"{PLACES}/relative/index.md#t5",
    "alibi": f"{PLACES}/relative/index.md#alibi",
    "rope": f"{PLACES}/rotary/index.md",
    "partial": f"{PLACES}/rotary-scaling/index.md#partial",
    "proportional": f"{PLACES}/rotary-scaling/index.md#partial",
    "linear": f"{PLACES}/rotary-scaling/index.md#linear",
    "yarn": f"{PLACES}/rotary-scaling/index.md#yarn",
    "llama3": f"{PLACES}/rotary-scaling/index.md#llama3",
    "longrope": f"{PLACES}/rotary-scaling/index.md#config",
    "nope": f"{PLACES}/none/index.md",
    "nope-some": f"{PLACES}/none/index.md#layers-without",
    "qk-norm": "../steadier/index.md#normalised",
    "qk-norm-some": "../steadier/index.md#normalised",
    "v-norm": "../steadier/index.md#normalised",
    "softcap": "../steadier/index.md#softcap",
    "sink": "../steadier/index.md#sinks",
    "sink-some": "../steadier/index.md#sinks",
    "gate": "../steadier/index.md#gate",
    "shared": "../../memory/kv-memory/index.md#variants",
    "k-eq-v": "#bytes",
    "one-projection": "#bytes",
}
NOT_YET = (
    "relative",
    "temperature",
    "temperature-some",
    "indexer",
    "blocks",
    "compressed",
    "bands",
)
CHUNKED = ("Llama-4-Scout",)  # its windows are chunks that do not overlap
PLAIN = ("own", "fewer")  # groups whose sizes say all
CLASSES = "https://github.com/huggingface/transformers/tree/main/src/transformers/models/"
FOLDERS = {  # of classes on which no parameters are counted
    "KimiLinearConfig": "kimi_linear",
    "DeepseekV4Config": "deepseek_v4",
    "MiniMaxM3VLConfig": "minimax_m3_vl",
    "NemotronHConfig": "nemotron_h",
}
STATES = ("gdn", "kda", "mamba", "mamba2", "conv")
# what can be asked for in the form
KINDS = (
    "long",
    "latent",
    "fewer",
    "window",
    "shared",
    "nope",
    "bounds",
    "sparse",
    "state",
    "alone",
)


class Part(NamedTuple):
    """A piece of a cell: what stands before it, its text, where it leads, what stands after it."""

    before: str
    text: str
    href: str
    after: str


def kib(model: KVModel, length: int) -> float:
    """Return the KiB of a model's whole cache at a length, for each token."""
    return kv_cache_bytes(model.config, length) / length / 1024


def reaches(model: KVModel) -> bool:
    """Say whether the data records that a model was made for texts of 128k."""
    return (model.context or 0) >= LENGTHS[-1]


def longest(model: KVModel) -> str:
    """Return how a number at 128k is shown: as it is only if the model was made for so much."""
    return "{}" if reaches(model) else "({})" if model.context else "{}?"


def billions(model: KVModel) -> float:
    """Return the parameters in 10^9: counted, else from the name, else as the makers state them."""
    if model.parameters:
        return model.parameters / 1e9
    named = re.findall(r"(\d+(?:\.\d+)?)B", model.name)
    return float(named[0]) if named else STATED[model.name]


def natural(model: KVModel) -> tuple[int, list[tuple[bool, float, str]]]:
    """Return what sorts the newest first, and within a year by name, with numbers as numbers."""
    pieces = re.split(r"(\d+(?:\.\d+)?)", model.name.casefold())
    return -model.year, [(p[:1].isdigit(), float(p) if p[:1].isdigit() else 0, p) for p in pieces]


def digits(value: float) -> str:
    """Return a number to three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def attending(model: KVModel) -> list[KVLayers]:
    """Return the kinds of layers that cache keys."""
    return [kind for kind in model.config.kinds if kind.entry]


def linked(names: Iterable[str], text: Words) -> list[Part]:
    """Return short names of the data file as pieces of a cell."""
    parts = []
    for name in names:
        href = CHAPTERS.get(name, "")
        parts.append(Part(text["join"] if parts else "", text[name], href, "" if href else "°"))
    return parts


def heads(model: KVModel, text: Words) -> list[Part]:
    """Return query heads, KV heads and their sizes."""
    kinds = attending(model)
    if model.key_dim:
        sizes = ", ".join(dict.fromkeys(str(kind.head_dim) for kind in kinds))
        return [Part(f"{model.num_heads}, ", text["latent"].format(sizes), LATENT, "")]
    groups = list(dict.fromkeys(kind.num_kv_heads for kind in kinds))
    sizes = ", ".join(dict.fromkeys(_size(kind) for kind in kinds))
    shown = f"{model.num_heads}/{', '.join(map(str, groups))} × {sizes}"
    some = max(groups)
    name = "multi-head" if some == model.num_heads else "grouped-query"
    return [Part("", shown, HEADS["multi-query" if some == 1 else name], "")]


def _size(kind: KVLayers) -> str:
    """Return the size of a key and, where it is another, of a value."""
    other = kind.value_dim not in (None, 0, kind.head_dim)
    return f"{kind.head_dim}/{kind.value_dim}" if other else str(kind.head_dim)


def layers(model: KVModel, text: Words) -> list[Part]:
    """Return how many layers of which reach or state there are."""
    reaches: Counter[tuple[bool, int, int]] = Counter()
    for kind in model.config.kinds:  # a state last, a window after none
        reaches[not kind.entry, kind.window or 0, kind.ratio] += kind.count
    parts, states = [], list(model.state)
    for (state, window, ratio), count in sorted(reaches.items()):
        before = " + " if parts else ""
        if state:
            name = text["layer"].format(count, text[states.pop(0)])
            parts.append(Part(before, name, "", "°"))
        elif window:
            kind = "chunked" if model.name in CHUNKED else "windowed"
            shown = text[kind].format(count, f"{window:,}")
            parts.append(Part(before, shown, WINDOW, f" ÷{ratio}" if ratio else ""))
        else:
            parts.append(Part(before, text["full"].format(count), "", ""))
    return [*parts, *(Part(" + ", text[name], "", "°") for name in states)]


def source(model: KVModel, text: Words) -> list[Part]:
    """Return what gives the sizes."""
    places = {"github.com/huggingface": "class", "arxiv": "paper", "huggingface.co": "card"}
    kind = next((name for place, name in places.items() if place in model.source), "code")
    apart = " ≠" if model.elsewhere else ""  # the class has something otherwise by default
    parts = [Part("", text[kind], model.source, apart if kind == "class" else "")]
    if model.config_class and kind != "class":
        folder = model.parameters_source or CLASSES + FOLDERS[model.config_class]
        parts.append(Part(" + ", text["class"], folder, apart))
    return parts


def alone(model: KVModel) -> bool:
    """Say whether all that the row has is from the defaults of a class."""
    only = [part.text for part in source(model, NAMES)] == [NAMES["class"]]
    return only and not model.elsewhere


def has(model: KVModel) -> str:
    """Return the kinds of the form that a model is of."""
    kinds = attending(model)
    nope = {"nope", "nope-some"} & {*model.position}
    found = {
        "long": reaches(model),
        "latent": bool(model.key_dim),
        "fewer": not model.key_dim and max(k.num_kv_heads for k in kinds) < model.num_heads,
        "window": any(kind.window for kind in kinds),
        "shared": "shared" in model.choice,
        "nope": bool(nope),
        "bounds": bool({"sink", "sink-some", "gate", "softcap"} & {*model.steadier}),
        "sparse": bool({"indexer", "blocks", "compressed"} & {*model.choice}),
        "state": any(not kind.entry for kind in model.config.kinds),
        "alone": alone(model),
    }
    return " ".join(name for name in KINDS if found[name])


def models(language: str) -> str:
    """Return the form and the table of all models, the newest first."""
    text, names = texts(__file__, "models", language), texts(__file__, "names", language)
    kinds = texts(__file__, "kinds", language)
    rows = [
        {
            "name": model.name,
            "year": model.year,
            "has": has(model),
            "size": digits(billions(model)),
            "numbers": [
                *(digits(kib(model, length)) for length in LENGTHS[:-1]),
                longest(model).format(digits(kib(model, LENGTHS[-1]))),
            ],
            "cells": [
                heads(model, names),
                layers(model, names),
                linked(model.position, names),
                linked(model.steadier, names),
                linked(model.choice, names),
                source(model, names),
            ],
        }
        for model in sorted(MODELS.values(), key=natural)
    ]
    sorts = ("text", *["number"] * 5, *[""] * 6)
    told = text["said"].format(shown=len(rows), all=len(rows))
    return fill(
        __file__,
        rows=rows,
        header=list(zip(sorts, text["header"], strict=True)),
        kinds=[(name, kinds[name]) for name in KINDS],
        told=told,
        **{name: text[name] for name in ("label", "said", "name_label", "has_label", "anything")},
        sort_by=text["sort_by"],
    )


def group(model: KVModel) -> str:
    """Return the one of five groups of the chart that a model is of."""
    kinds = model.config.kinds
    if any(kind.ratio or not kind.entry for kind in kinds):
        return "state"
    if model.key_dim:
        return "latent"
    if any(kind.window for kind in kinds):
        return "window"
    return "own" if kinds[0].num_kv_heads == model.num_heads else "fewer"


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    return counted() | ideas() | costs()


def counted() -> dict[str, str]:
    """Return how many models of the table are of which kind."""
    newest = [model for model in MODELS.values() if model.year == 2026]
    sources = Counter(source(model, NAMES)[0].text for model in MODELS.values())
    return {
        "models": str(len(MODELS)),
        "classes": str(sum(bool(model.config_class) for model in MODELS.values())),
        "defaults": str(sources["class"]),
        "built": str(sum(bool(m.config_class) and group(m) not in PLAIN for m in MODELS.values())),
        "papers": str(sources["paper"]),
        "cards": str(sources["card"]),
        "codes": str(sources["code"]),
        "newest": str(len(newest)),
        "newest_windowed": str(sum(map(_windowed, newest))),
        "newest_stateful": str(sum(map(_stateful, newest))),
        "newest_alone": str(sum(map(alone, newest))),
        "newest_read": str(sum(not alone(model) for model in newest)),
        "newest_nope": str(sum(map(_nope, newest))),
        "newest_part": str(sum(_part(m) and not _nope(m) for m in newest)),
        "compared": str(sum(bool(m.config_class) and not alone(m) for m in MODELS.values())),
        "differ": str(sum(bool(m.elsewhere) for m in MODELS.values())),
        "long_known": str(sum(map(reaches, MODELS.values()))),
        "unknown": str(sum(not m.context for m in MODELS.values())),
        "alone": str(sum(map(alone, MODELS.values()))),
    }


def ideas() -> dict[str, str]:
    """Return how many models of 2026 have each idea, and how many that rest not on defaults."""
    newest = [model for model in MODELS.values() if model.year == 2026]
    found: dict[str, Callable[[KVModel], bool]] = {
        "one": _one_for_several,
        "place": lambda model: _part(model) or _nope(model),
        "few": lambda model: _windowed(model) or _stateful(model),
        "bounds": lambda model: "qk-norm" in model.steadier,
        "sinks": lambda model: bool({"sink", "sink-some", "gate"} & {*model.steadier}),
        "sparse": lambda model: bool({"indexer", "blocks"} & {*model.choice}),
    }
    read = [model for model in newest if not alone(model)]
    every = {f"newest_{name}": str(sum(map(of, newest))) for name, of in found.items()}
    return every | {f"read_{name}": str(sum(map(of, read))) for name, of in found.items()}


def _windowed(model: KVModel) -> bool:
    """Say whether some layers have windows."""
    return any(kind.window for kind in model.config.kinds)


def _stateful(model: KVModel) -> bool:
    """Say whether some layers keep a state instead of keys."""
    return any(not kind.entry for kind in model.config.kinds)


def _nope(model: KVModel) -> bool:
    """Say whether some layers with keys have no position."""
    return bool({"nope", "nope-some"} & {*model.position})


def _part(model: KVModel) -> bool:
    """Say whether a part of a key is rotated, or a key of its own beside a latent vector."""
    return bool({"partial", "proportional"} & {*model.position}) or bool(model.key_dim)


def _one_for_several(model: KVModel) -> bool:
    """Say whether what is cached serves several heads, tokens or layers."""
    shared = {"shared", "compressed"} & {*model.choice}
    fewer = max(kind.num_kv_heads for kind in attending(model)) < model.num_heads
    return bool(shared or model.key_dim) or fewer


def costs() -> dict[str, str]:
    """Return what caches take, of models of the table and of two that are counted otherwise."""
    every = {model.name: kib(model, LENGTHS[-1]) for model in MODELS.values()}
    long = {name: value for name, value in every.items() if reaches(MODELS[name])}
    hybrid, both = MODELS["Qwen3-Next-80B"].config, MODELS["Gemma-4-31B"].config
    _, state = hybrid.kinds
    latent, remembering = MODELS["Kimi-Linear-48B"].config.kinds
    kimi = KVConfig(layers=[replace(latent, count=6), replace(remembering, count=21)])
    released = kv_cache_bytes(MODELS["Kimi-Linear-48B"].config, LENGTHS[-1])
    state_bytes = state.count * state.state_bytes
    (halved, rolling) = both.kinds
    half = replace(both, layers=[replace(halved, value_dim=0), rolling])
    compressed = MODELS["DeepSeek-V4-Flash"].config
    return {
        "asked": _shown("Qwen3.5-9B"),
        "shorter": _shown("Mistral-7B v0.1"),
        "medium": f"{LENGTHS[1]:,}",
        "long": f"{LENGTHS[-1]:,}",
        "least": f"{digits(min(long.values()))} KiB",
        "most": f"{digits(max(long.values()))} KiB",
        "least_name": min(long, key=lambda name: long[name]),
        "most_name": max(long, key=lambda name: long[name]),
        "hybrid_state": f"{state_bytes / 2**20:.0f} MiB",
        "window_tokens": f"{12 * 8 * 2 * 64 * 2 * 128 / 2**20:.0f} MiB",
        "hybrid_1k": f"{digits(kib(MODELS['Qwen3-Next-80B'], 1024))} KiB",
        "hybrid_128k": f"{digits(kib(MODELS['Qwen3-Next-80B'], LENGTHS[-1]))} KiB",
        "both": f"{kv_cache_bytes(both, LENGTHS[-1]) / 2**30:.1f} GiB",
        "half": f"{kv_cache_bytes(half, LENGTHS[-1]) / 2**30:.1f} GiB",
        "gpt3": f"{digits(every['GPT-3 175B'])} KiB",
        "gpt3_context": f"{MODELS['GPT-3 175B'].context:,}",
        "gpt3_text": _text("GPT-3 175B", MODELS["GPT-3 175B"].context or 0),
        "palm": f"{digits(every['PaLM 540B'])} KiB",
        "large_text": _text("Llama-3.1-405B", LENGTHS[-1]),
        "unlike": f"{digits(every['Hy3-preview'])} KiB",
        "fit_2024": _fit("Llama-3.1-8B"),
        "fit_2026": _fit("Gemma-4-E4B"),
        "v4": f"{kv_cache_bytes(compressed, 1_000_000) / 2**30:.1f} GiB",
        "v3": f"{kv_cache_bytes(MODELS['DeepSeek-V3'].config, 1_000_000) / 2**30:.0f} GiB",
        "index_share": f"{128 / 576:.0%}",
        "apart": f"{61 * 128 * (192 + 128) * 2 / 1024:,.0f} KiB",
        "together": f"{digits(kib(MODELS['DeepSeek-V3.2'], LENGTHS[-1]))} KiB",
        "phi": f"{MODELS['Phi-3-mini-4k'].config.window:,}",
        "default_less": f"{1 - kv_cache_bytes(kimi, LENGTHS[-1]) / released:.0%}",
    }


def _shown(name: str) -> str:
    """Return a model's cell in the column for 128k."""
    model = MODELS[name]
    return longest(model).format(digits(kib(model, LENGTHS[-1])))


def _fit(name: str) -> str:
    """Return how many texts of 128k fit beside a model's weights into 80 GiB."""
    model = MODELS[name]
    room = 80 * 2**30 - round(2e9 * billions(model))
    return str(room // kv_cache_bytes(model.config, LENGTHS[-1]))


def _text(name: str, length: int) -> str:
    """Return the GiB that one text takes."""
    return f"{kv_cache_bytes(MODELS[name].config, length) / 2**30:.0f} GiB"


TABLES: dict[str, Callable[[str], str]] = {"explorer": models}
