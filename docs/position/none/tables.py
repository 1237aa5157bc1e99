"""Which layers of which models have no positions, what was learned without, and the numbers."""

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import torch
import transformers
from transformers.configuration_utils import PreTrainedConfig
from transformers.models.afmoe.configuration_afmoe import AfmoeConfig
from transformers.models.cohere2.configuration_cohere2 import Cohere2Config
from transformers.models.exaone4.configuration_exaone4 import Exaone4Config
from transformers.models.glm5_next.configuration_glm5_next import Glm5NextTextConfig
from transformers.models.jamba.configuration_jamba import JambaConfig
from transformers.models.kimi_linear.configuration_kimi_linear import KimiLinearConfig
from transformers.models.llama4.configuration_llama4 import Llama4TextConfig
from transformers.models.mistral_large4.configuration_mistral_large4 import MistralLarge4TextConfig
from transformers.models.smollm3.configuration_smollm3 import SmolLM3Config

from attn_docs.model import describe_weights, language_model
from attn_docs.position.extrapolation import TRAINED
from docs._kit.examples import example
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import (
    FIRST,
    LONG,
    MIXED,
    PLACES,
    RESCALED,
    SEEDS,
    STEPS,
    WINDOW,
    YARN,
)

if TYPE_CHECKING:
    from attn_docs import MultiHeadAttention
    from attn_docs.model import Block

# its minor version: the configurations are read from it
TRANSFORMERS = transformers.__version__.rpartition(".")[0]
Layer = Literal["none", "rotary", "recurrent"]


class Model(NamedTuple):
    """A model's configuration class with its defaults, and what of it says where positions are."""

    name: str
    config: PreTrainedConfig
    field: str
    rest: str  # a key of text.toml: what the other layers are


# `full_attn_layers` of the published config.json; the class has another list where it is missing
KIMI = [
    "full_attention" if layer in {4, 8, 12, 16, 20, 24, 27} else "linear_attention"
    for layer in range(1, 28)
]
MODELS = (
    Model("SmolLM3", SmolLM3Config(), "no_rope_layers", "full"),
    Model("Llama 4", Llama4TextConfig(), "no_rope_layers", "chunks"),
    Model("Mistral Large 4", MistralLarge4TextConfig(), "no_rope_layers", "indexed"),
    Model("Cohere2", Cohere2Config(), "layer_types", "window"),
    Model("EXAONE 4", Exaone4Config(), "layer_types", "window"),
    Model("AFMoE", AfmoeConfig(), "layer_types", "window"),
    Model("Kimi Linear", KimiLinearConfig(layer_types=KIMI), "layer_types", "kda"),
    Model("GLM-5.3-Flash", Glm5NextTextConfig(), "layer_types", "glm"),
    Model("Jamba", JambaConfig(), "layer_types", "mamba"),
)


def layers_of(model: Model) -> list[Layer]:
    """Return of each layer whether it rotates, knows no positions, or is a recurrent one."""
    entries: list[Any] = getattr(model.config, model.field)
    meaning: dict[Any, Layer] = {
        1: "rotary",  # no_rope_layers: a 1 rotates
        0: "none",
        "sliding_attention": "rotary",
        "full_attention": "none",
        "indexed_attention": "none",
        "linear_attention": "recurrent",
    }
    return [meaning[entry] for entry in entries]


def layers(language: str) -> str:
    """Return which layers of published models have no positions."""
    text = texts(__file__, "layers", language)
    rows = []
    for model in MODELS:
        found = layers_of(model)
        share = text["share"].format(some=found.count("none"), all=len(found))
        window = getattr(model.config, "sliding_window", None) or 8192
        rows.append((model.name, share, text[model.rest].format(window=window), f"`{model.field}`"))
    return f"{table(text['header'], rows)}\n\n{text['caption'].format(version=TRANSFORMERS)}"


def first(language: str) -> str:
    """Return how often models say rightly which of two letters came first."""
    text, found = texts(__file__, "first", language), load(__file__)["first"]
    rows = []
    for name in FIRST:
        values = {
            quantity: [100 * found(quantity, model=name, seed=seed) for seed in SEEDS]
            for quantity in ("right", "alike")
        }
        rows.append((text[name], *(_range(each) for each in values.values())))
    return f"{table(text['header'], rows)}\n\n{found.caption(text['caption'], language)}"


def _range(values: list[float]) -> str:
    low, high = f"{min(values):.1f}", f"{max(values):.1f}"
    return f"{low}%" if low == high else f"{low}% … {high}%"


def recalled(name: str, place: str, length: int) -> list[float]:
    """Return how often four layers, some without positions, continue rightly, by seed."""
    of = {"model": name, "place": place, "length": length}
    return [load(__file__)["mixed"]("accuracy", seed=seed, **of) for seed in SEEDS]


def mixed(language: str) -> str:
    """Return what four layers find in texts longer than trained."""
    text = texts(__file__, "mixed", language)
    asked = [("near", TRAINED), *((place, LONG) for place in PLACES)]
    rows = []
    for name in ("rotary", RESCALED, *(name for name in MIXED if name != "rotary")):
        cells = [recalled(name, *each) for each in asked]
        told = text[name].format(factor=f"{YARN.factor:.0f}")
        rows.append((told, *(_seeds(values, text["range"]) for values in cells)))
    caption = text["caption"].format(window=WINDOW)
    return f"{table(text['header'], rows)}\n\n{load(__file__)['mixed'].caption(caption, language)}"


def _seeds(values: list[float], told: str) -> str:
    low, high, middle = (f"{of(values):.2f}" for of in (min, max, statistics.mean))
    return middle if low == high else told.format(mean=middle, least=low, most=high)


TABLES: dict[str, Callable[[str], str]] = {"layers": layers, "first": first, "mixed": mixed}


def rotary_curve() -> dict[int, float]:
    """Return what a story costs the shipped model of stories, which rotates, by steps."""
    curve: list[dict[str, Any]] = describe_weights("language-model")["curve"]
    return {each["step"]: sum(each["nats"].values()) for each in curve}


def plain_curve() -> dict[int, float]:
    """Return the same for the model without positions."""
    return {each["steps"]: each["value"] for each in load(__file__)["story"].values}


def first_shared(dtype: torch.dtype) -> int:
    """Return the first position whose 1/i is also that of the next one, in a format."""
    counter = (1 / torch.arange(1, 2**12).double()).to(dtype)
    return int((counter[1:] == counter[:-1]).nonzero()[0, 0]) + 1


def unrotated() -> dict[str, float]:
    """Return what a story costs the shipped model once a layer no longer rotates."""
    model = language_model.trained_model().eval()
    held_out, told = language_model.tell_stories(100, language_model.HELD_OUT), {}
    for name, block in zip(("first", "second"), model.blocks, strict=True):
        attention = cast("MultiHeadAttention", cast("Block", block).attention)
        kept, attention.rotary = attention.rotary, None
        told[name] = sum(language_model.nats_by_kind(model, held_out).values())
        attention.rotary = kept
    return told


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences name."""
    ours, theirs = plain_curve(), rotary_curve()
    last = language_model.STEPS
    share = example("position/none/core")["found"][-1]
    return {
        "steps": str(STEPS),
        "third": f"{max(share[1:3]):.2f}",
        "shared_bfloat16": str(first_shared(torch.bfloat16)),
        "shared_float16": f"{first_shared(torch.float16):,}",
        "nats_start": f"{ours[0]:.0f}",
        "nats_150": f"{ours[150]:.0f}",
        "nats_rotary_150": f"{theirs[150]:.0f}",
        "nats_last": f"{ours[last]:.1f}",
        "nats_rotary_last": f"{theirs[last]:.1f}",
        "nats_least": f"{language_model.least_nats():.1f}",
        "last_step": f"{last:,}",
        "transformers": TRANSFORMERS,
        "mixed_trained": str(TRAINED),
        "mixed_long": str(LONG),
        "mixed_window": str(WINDOW),
        **{
            f"mixed_{name}_start": f"{statistics.mean(recalled(name, 'start', LONG)):.2f}"
            for name in ("rotary", "fourth")
        },
        **{f"unrotated_{name}": f"{nats:.0f}" for name, nats in unrotated().items()},
    }
