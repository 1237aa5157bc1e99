"""What loads and is wrong, and the families: what sets their layers apart."""

import warnings
from collections.abc import Callable, Collection, Iterator
from functools import cache, partial
from importlib.metadata import version
from typing import Any, NamedTuple

from torch import nn

from attn_docs import (
    AcrossHeads,
    MultiHeadLatentAttention,
    SinkAttention,
    from_transformers,
    softcap_attention,
)
from attn_docs.checkpoints._others import OTHERS
from attn_docs.checkpoints._separate import SEPARATE
from attn_docs.checkpoints.from_hugging_face import CONVERTERS
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts
from tests.checkpoints.families import FAMILIES, Family

LIMIT = 1e-5  # above it two layers compute different things
WAYS = ("whole", "cached", "padded")
_RULES = {"Llama3Scaling": "llama3", "YaRNScaling": "yarn", "ProportionalScaling": "proportional"}
_FUSED = ("query_key_value", "qkv_proj", "c_attn", "Wqkv")


def by_layer() -> dict[str, list[str]]:
    """Return the names of the shown families that have each layer."""
    found: dict[str, list[str]] = {}
    for name, family in FAMILIES.items():
        if family.shown:
            found.setdefault(family.layer, []).append(name)
    return found


def features(ours: Any, theirs: nn.Module, family: Family) -> Iterator[str]:  # noqa: ANN401
    """Yield what a converted layer has that a plain one has not."""
    if isinstance(ours, MultiHeadLatentAttention):
        yield "latent"
    else:
        yield from _of_heads(ours)
    if isinstance(ours.attend, SinkAttention):
        yield "sinks"
    if isinstance(ours.attend, partial) and ours.attend.func is softcap_attention:
        yield "cap"
    if ours.scale is not None:
        yield "scale"
    if any(name.startswith(_FUSED) for name, _ in theirs.named_parameters()):
        yield "fused"
    if family.bias:
        yield "bias"
    yield from _of_positions(ours.rotary)


def _of_heads(ours: Any) -> Iterator[str]:  # noqa: ANN401
    if ours.q_proj.bias is not None:
        yield "qkv_biases" if ours.out_proj.bias is None else "biases"
    if ours.q_norm is not None:
        yield "across" if isinstance(ours.q_norm, AcrossHeads) else "norms"
    if ours.v_norm is not None:
        yield "v_norm"
    if ours.v_proj.weight is ours.k_proj.weight:
        yield "keys_are_values"
    if ours.gate is not None:
        yield "gate"
    if ours.window is not None:
        yield "window"


def _of_positions(rotary: Any) -> Iterator[str]:  # noqa: ANN401
    if rotary is None:
        yield "no_rotary"
        return
    if rotary.interleaved:
        yield "interleaved"
    if rotary.rotary_dim != rotary.head_dim:
        yield "partial"
    if rotary.scaling is not None:
        yield _RULES[type(rotary.scaling).__name__]


class Apart(NamedTuple):
    """What all tested layers of a class have, some layers of one model, and some models."""

    every: tuple[str, ...]
    layers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


@cache
def apart(layer: str) -> Apart:
    """Return what the converted layers of a class have, and which of them."""
    found: list[list[tuple[str, ...]]] = []  # of each model, of each of its layers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in by_layer()[layer]:
            family = FAMILIES[name]
            model: Any = family.build()
            found.append(
                [
                    tuple(features(from_transformers(each, model.config), each, family))
                    for each in family.layers(model)
                ]
            )
    ones = dict.fromkeys(one for model in found for each in model for one in each)
    every = tuple(one for one in ones if all(one in each for model in found for each in model))
    layers = tuple(
        one for one in ones if any(0 < sum(one in each for each in m) < len(m) for m in found)
    )
    return Apart(every, layers, tuple(one for one in ones if one not in every + layers))


def all_keys(language: str) -> str:
    """Return the table of what loads: how far off it is, and by what."""
    text = texts(__file__, "all_keys", language)
    found = example("checkpoints/from_hugging_face/all_keys")["found"]
    rows = [
        (name, f"{near:.4f}", f"{far:.4f}", text[name.lower().replace(" ", "_")])
        for name, (_, near, far) in found.items()
    ]
    return table(text["header"], rows, (0, 3))


def blind(language: str) -> str:
    """Return the table of bugs and inputs: how far off a layer is, or that it passes."""
    text, found = texts(__file__, "blind", language), example("checkpoints/from_hugging_face/blind")
    header = [text["bug"], *(text[name] for name in (*found["inputs"], "recipe"))]
    rows = [
        (text[name], *(text["passes"] if one < LIMIT else f"{one:.4f}" for one in off))
        for name, off in found["found"].items()
    ]
    return table(header, rows)


def families(language: str, layers: Collection[str] = tuple(SEPARATE)) -> str:
    """Return the table of the layers that are converted: those with four projections."""
    text, measured = texts(__file__, "families", language), load(__file__)["families"]
    rows = []
    for layer, names in by_layer().items():
        if layer not in layers:
            continue
        told = [
            text[which].format(rest=text["join"].join(text["parts"][one] for one in ones))
            for which, ones in apart(layer)._asdict().items()
            if ones
        ]
        shown = list(dict.fromkeys(name.partition(",")[0] for name in names))
        cells = [_worst(measured, names, way, text["none"]) for way in WAYS]
        rows.append((text["join"].join(shown), text["then"].join(told) or text["plain"], *cells))
    caption = measured.caption(text["caption"].format(transformers=_transformers()), language)
    return f"{table(text['header'], rows, (0, 1))}\n\n{caption}"


def others(language: str) -> str:
    """Return the table of the layers with other names, or with fused projections."""
    return families(language, tuple(OTHERS))


def _worst(measured: Any, names: list[str], way: str, none: str) -> str:  # noqa: ANN401
    values = [
        value["value"]
        for value in measured.values
        if value["family"] in names and value["quantity"] == way
    ]
    return f"{1e7 * max(values):.0f}" if values else none


def _transformers() -> str:
    return ".".join(version("transformers").split(".")[:2])


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    caught = example("checkpoints/from_hugging_face/caught")
    return {
        "classes": str(len(CONVERTERS)),
        "other_layouts": str(len(OTHERS)),
        "scale_27b": f"{(144 / 128) ** 0.5:.2f}",
        "scale_27b_3": f"{(168 / 128) ** 0.5:.2f}",
        "sixty": str(caught["x"].size(1)),
        "transformers": _transformers(),
        **{f"off_{name}": f"{off:.2f}" for name, off in caught["off"].items()},
    }


TABLES: dict[str, Callable[[str], str]] = {
    "all_keys": all_keys,
    "blind": blind,
    "families": families,
    "others": others,
}
