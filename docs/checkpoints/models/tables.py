"""The table of models, in which each cell leads to its chapter, and the chapter's numbers."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from attn_docs import KVLayers, KVModel, kv_cache_bytes, load_models
from docs._kit.form import fill
from docs._kit.markdown import table
from docs._kit.text import Words, texts

MODELS = dict(sorted(load_models().items(), key=lambda item: item[1].year))
LENGTHS = (1024, 32_768, 131_072)
HEADS = {name: f"../../heads/{name}/" for name in ("multi-head", "grouped-query", "multi-query")}
LATENT = "../../heads/latent/"
WINDOW = "../window/#local-and-global"
PLACES = "../../position/"
# where a short name of the data file is explained; what is not here has no chapter yet
CHAPTERS = {
    "sinusoidal": f"{PLACES}sinusoidal/",
    "learned": f"{PLACES}sinusoidal/",
    "t5": f"{PLACES}relative/#t5",
    "alibi": f"{PLACES}relative/#alibi",
    "rope": f"{PLACES}rotary/",
    "partial": f"{PLACES}rotary-scaling/#partial",
    "proportional": f"{PLACES}rotary-scaling/#partial",
    "linear": f"{PLACES}rotary-scaling/#linear",
    "yarn": f"{PLACES}rotary-scaling/#yarn",
    "llama3": f"{PLACES}rotary-scaling/#llama3",
    "nope": f"{PLACES}none/",
    "nope-some": f"{PLACES}none/#layers-without",
    "qk-norm": "../steadier/#normalised",
    "v-norm": "../steadier/#normalised",
    "softcap": "../steadier/#softcap",
    "sink": "../steadier/#sinks",
    "gate": "../steadier/#gate",
    "shared": "../../memory/kv-memory/#variants",
}
NOT_YET = ("relative", "temperature", "indexer", "blocks", "compressed", "k-eq-v")
STATES = ("gdn", "kda", "mamba", "mamba2", "conv")
# what can be asked for in the form
KINDS = ("latent", "fewer", "window", "shared", "nope", "bounds", "sparse", "state", "class")


class Part(NamedTuple):
    """A piece of a cell: what stands before it, its text, where it leads, what stands after it."""

    before: str
    text: str
    href: str
    after: str


def kib(model: KVModel, length: int) -> float:
    """Return the KiB of a model's whole cache at a length, for each token."""
    return kv_cache_bytes(model.config, length) / length / 1024


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
        parts.append(Part(", " if parts else "", text[name], href, "" if href else "°"))
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
            shown = text["windowed"].format(count, f"{window:,}")
            parts.append(Part(before, shown, WINDOW, f" ÷{ratio}" if ratio else ""))
        else:
            parts.append(Part(before, text["full"].format(count), "", ""))
    return [*parts, *(Part(" + ", text[name], "", "°") for name in states)]


def source(model: KVModel, text: Words) -> list[Part]:
    """Return what gives the sizes."""
    places = {"github.com/huggingface": "class", "arxiv": "paper", "huggingface.co": "card"}
    kind = next((name for place, name in places.items() if place in model.source), "code")
    parts = [Part("", text[kind], model.source, "")]
    if model.config_class and kind != "class":
        folder = (model.parameters_source or "").rpartition("/models/")[2]
        also = Part(" + ", text["class"], model.parameters_source if folder else "", "")
        parts.append(also)
    return parts


def has(model: KVModel) -> str:
    """Return the kinds of the form that a model is of."""
    kinds = attending(model)
    nope = {"nope", "nope-some"} & {*model.position}
    found = {
        "latent": bool(model.key_dim),
        "fewer": not model.key_dim and max(k.num_kv_heads for k in kinds) < model.num_heads,
        "window": any(kind.window for kind in kinds),
        "shared": "shared" in model.choice,
        "nope": bool(nope),
        "bounds": bool({"sink", "gate", "softcap"} & {*model.steadier}),
        "sparse": bool({"indexer", "blocks", "compressed"} & {*model.choice}),
        "state": any(not kind.entry for kind in model.config.kinds),
        "class": bool(model.config_class),
    }
    return " ".join(name for name in KINDS if found[name])


def models(language: str) -> str:
    """Return the form and the table of all models, the oldest first."""
    text, names = texts(__file__, "models", language), texts(__file__, "names", language)
    kinds = texts(__file__, "kinds", language)
    rows = [
        {
            "name": model.name,
            "year": model.year,
            "has": has(model),
            "numbers": [digits(kib(model, length)) for length in LENGTHS],
            "cells": [
                heads(model, names),
                layers(model, names),
                linked(model.position, names),
                linked(model.steadier, names),
                linked(model.choice, names),
                source(model, names),
            ],
        }
        for model in MODELS.values()
    ]
    sorts = ("text", "number", "number", "number", "number", "number", "", "", "", "", "")
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


TABLES: dict[str, Callable[[str], str]] = {"explorer": models}
