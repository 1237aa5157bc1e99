"""What the converters share: reading a config of transformers, copying weights, refusing options.

Nothing here imports transformers: a config and a layer are objects with the attributes that
transformers 5 gives them.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from attn_docs.position._frequencies import RotaryScaling
from attn_docs.position.rotary import RotaryEmbedding
from attn_docs.position.rotary_scaling import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    ProportionalScaling,
    YaRNScaling,
)

Converter = Callable[[nn.Module, object], nn.Module]

_COMMON = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
_YARN = {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"}
# the keys of rope_parameters that are read with each rope_type
_KEYS: dict[str, set[str]] = {
    "default": _COMMON,
    "linear": _COMMON | {"factor"},
    "dynamic": _COMMON | {"factor"},
    "llama3": _COMMON
    | {"factor", "original_max_position_embeddings", "low_freq_factor", "high_freq_factor"},
    "yarn": _COMMON | {"factor", "original_max_position_embeddings"} | _YARN,
    "proportional": _COMMON | {"factor"},
}


def refuse(name: str, value: object, rule: str) -> NoReturn:
    """Raise a ValueError that names the option, the rule and the value.

    Args:
        name: The option, as transformers calls it.
        value: What it is.
        rule: What it must be, as in "None" or "one of llama3, yarn".

    Raises:
        ValueError: Always.
    """
    raise ValueError(f"{name} must be {rule}; got {value!r}")


def only_transformers(module: nn.Module, known: Collection[str]) -> None:
    """Refuse a layer whose class is not one of those that are read, as transformers wrote it.

    A fork may give its class the same name, and what it changes stands in its code alone.

    Args:
        module: The layer.
        known: Names of the classes that are read.

    Raises:
        TypeError: If `module` is not a module.
        ValueError: If its class has another name, or is not defined in `transformers.models`.
    """
    name, place = type(module).__name__, type(module).__module__
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a Module; got {name}")
    if name not in known:
        raise ValueError(f"module must be one of {', '.join(sorted(known))}; got {name}")
    if not place.startswith("transformers.models."):
        raise ValueError(f"module must be of transformers' own class {name}; got {place}.{name}")


def require(holder: object, rules: Mapping[str, Collection[object]]) -> None:
    """Refuse each attribute of a config or layer that has another value than those that we hold.

    Args:
        holder: The config, or the layer.
        rules: For each name, the values that are held. None and what is missing pass, and so
            does False, unless True is what is held.

    Raises:
        ValueError: For the first attribute with another value.
    """
    for name, held in rules.items():
        value = getattr(holder, name, None)
        off = value is None or (value is False and True not in held)
        if not off and value not in held:
            refuse(name, value, " or ".join(repr(one) for one in held) or "None or False")


def only_parts(module: nn.Module, known: Iterable[str]) -> None:
    """Refuse a layer with a parameter or a buffer that its converter does not read.

    Args:
        module: The layer of transformers.
        known: Names as in its state dict; a name without a dot stands for all below it.

    Raises:
        ValueError: For the first that is not known.
    """
    names = set(known)
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        if name not in names and name.split(".")[0] not in names:
            rule = f"absent, because {type(module).__name__} is not known to have it"
            refuse(name, tuple(tensor.shape), rule)


# a config's names that sound as if attention read them
_SOUNDS = re.compile(
    r"attn|attention|rope|rotary|qk|qkv|sliding|window|softcap|scal|head|kv|bias|clip|alibi|sink"
    r"|multiplier|floor|temperature|chunk|causal|bidirectional|index|sparse|latent|lora"
)
# those that attention does not read, or that every converter reads
_READ = {
    "attention_bias",  # the layer's projections have one or not
    "attention_dropout",  # the layer holds it too
    "head_dim",
    "layer_types",
    "num_attention_heads",
    "num_key_value_heads",
    "rope_parameters",
    "is_causal",  # required to be True
    "scaling",
    "sliding_window",  # read from the layer
    "architectures",
    "chunk_size_feed_forward",
    "embedding_multiplier",
    "final_logit_softcapping",
    "ignore_keys_at_rope_validation",
    "logit_scale",
    "logits_scaling",
    "mlp_bias",
    "residual_multiplier",
}


def only_options(config: object, known: Iterable[str] = ()) -> None:
    """Refuse a config's option that is set, is about attention, and is not known.

    A new version of transformers, or a fork, may read an option that no converter has seen. So
    each public name that sounds like attention must be known, or be None, False or empty.

    Args:
        config: The config.
        known: What the family's converter reads or refuses by itself.

    Raises:
        ValueError: For the first that is not known.
    """
    names = _READ | set(known)
    for name, value in getattr(config, "__dict__", {}).items():
        if name.startswith("_") or name in names or not _SOUNDS.search(name):
            continue
        if value is not None and value is not False and value not in ({}, [], ()):
            refuse(name, value, "None, because no converter of this family is known to read it")


def copy_linear(ours: nn.Linear, weight: Tensor, bias: Tensor | None = None) -> None:
    """Give one of our projections a weight, and a bias if it has one: their values, dtype, device.

    Args:
        ours: The projection.
        weight: (out_features, in_features).
        bias: (out_features,); None for a projection without.

    Raises:
        TypeError: If `weight` is not floating-point, as a quantised one.
        ValueError: If the shapes differ, or only one of the two has a bias.
    """
    if not weight.is_floating_point():
        raise TypeError(f"weight must be floating-point, not quantised; got {weight.dtype}")
    if weight.shape != ours.weight.shape:
        raise ValueError(f"weight must be {tuple(ours.weight.shape)}; got {tuple(weight.shape)}")
    if (bias is None) != (ours.bias is None):
        has = "a tensor" if bias is None else "None"
        raise ValueError(f"bias must be {has}; got {None if bias is None else tuple(bias.shape)}")
    ours.weight = copied(weight)
    if bias is not None:
        if bias.shape != ours.bias.shape:
            raise ValueError(f"bias must be {tuple(ours.bias.shape)}; got {tuple(bias.shape)}")
        ours.bias = copied(bias)


def copied(tensor: Tensor) -> nn.Parameter:
    """Return a parameter of its own memory with the values, dtype and device of a tensor."""
    return nn.Parameter(tensor.detach().clone(), requires_grad=tensor.requires_grad)


def rotary_of(
    config: object,
    head_dim: int,
    *,
    layer_type: str | None = None,
    interleaved: bool = False,
    partial: bool = False,
) -> RotaryEmbedding | None:
    """Return the rotary positions that a config of transformers describes.

    Args:
        config: With `rope_parameters`, as transformers 5 has it, for all layers or by layer type.
        head_dim: Size of a head, or of the part of it that is rotated by itself.
        layer_type: The layer's type, where `rope_parameters` differ by it.
        interleaved: Whether this family's code pairs neighbours.
        partial: Whether its rotary class reads `partial_rotary_factor`; if not, it is refused.

    Returns:
        The positions, or None where the config has none for this type of layer.

    Raises:
        ValueError: For a rule, or an option of one, that `RotaryEmbedding` does not hold.
    """
    given = getattr(config, "rope_parameters", None)
    if given is None and getattr(config, "rope_scaling", None) is not None:
        refuse("rope_parameters", None, "a dict, as in transformers 5")
    if not given:
        return None
    options = _of_layer(given, layer_type)
    if not options:
        return None
    options = {name: value for name, value in options.items() if value is not None}
    rope_type = options.get("rope_type", options.get("type", "default"))
    if rope_type not in _KEYS:
        refuse("rope_type", rope_type, "one of " + ", ".join(sorted(_KEYS)))
    for name, value in options.items():
        if name not in _KEYS[rope_type]:
            refuse(name, value, f"absent with rope_type {rope_type!r}")
    share = float(options.get("partial_rotary_factor", 1.0))
    if not partial and rope_type != "proportional" and share != 1.0:
        refuse("partial_rotary_factor", share, "1 in this family, whose layers ignore it")
    if layer_type in given and not options.get("truncate", True):
        refuse("truncate", False, "True by layer type, where transformers does not read it")
    rotary_dim = head_dim if rope_type == "proportional" else int(head_dim * share)
    return RotaryEmbedding(
        head_dim,
        theta=float(options["rope_theta"]),
        scaling=scaling_of(rope_type, options, config, share),
        rotary_dim=rotary_dim,
        interleaved=interleaved,
    )


def _of_layer(given: dict[str, Any], layer_type: str | None) -> dict[str, Any] | None:
    """Return the options of one type of layer, out of options by type or for all of them."""
    by_type = any(isinstance(value, dict) for value in given.values())
    if not by_type and (layer_type is None or layer_type not in given):
        return dict(given)
    if layer_type not in given:
        refuse("rope_parameters", sorted(given), f"given for layer type {layer_type!r}")
    found = given[layer_type]
    return None if found is None else dict(found)


def scaling_of(
    rope_type: str, options: dict[str, Any], config: object, share: float = 1.0
) -> RotaryScaling | None:
    """Return the rule of a rope_type that rotates this share of a head."""
    length = options.get("original_max_position_embeddings")
    longest = getattr(config, "max_position_embeddings", None)
    factor = options.get("factor")
    if rope_type == "proportional":
        return ProportionalScaling(share, 1.0 if factor is None else float(factor))
    if rope_type == "default":
        return None
    if factor is None and rope_type == "yarn" and length and longest:
        factor = longest / length  # as transformers does
    if factor is None:
        refuse("factor", None, f"a number with rope_type {rope_type!r}")
    if rope_type == "linear":
        return LinearScaling(float(factor))
    if rope_type == "dynamic":
        if longest is None:
            refuse("max_position_embeddings", None, "an int with rope_type 'dynamic'")
        return DynamicScaling(float(factor), longest)
    if length is None:
        refuse("original_max_position_embeddings", None, f"an int with rope_type {rope_type!r}")
    if rope_type == "llama3":
        low, high = options["low_freq_factor"], options["high_freq_factor"]
        return Llama3Scaling(float(factor), length, float(low), float(high))
    return _yarn(float(factor), length, options)


def _yarn(factor: float, length: int, options: dict[str, Any]) -> YaRNScaling:
    """Return YaRN's rule; transformers reads the two mscales only where both are there."""
    mscale, all_dim = options.get("mscale"), options.get("mscale_all_dim")
    both = bool(mscale and all_dim)
    return YaRNScaling(
        factor,
        length,
        beta_fast=float(options.get("beta_fast") or 32),
        beta_slow=float(options.get("beta_slow") or 1),
        attention_factor=options.get("attention_factor"),
        mscale=mscale if both else None,
        mscale_all_dim=all_dim if both else None,
        truncate=bool(options.get("truncate", True)),
    )


def place(ours: nn.Module, module: nn.Module) -> nn.Module:
    """Return ours in the training mode of theirs, on its device and in its dtype."""
    first = next(module.parameters())
    if not first.is_floating_point():
        raise TypeError(f"weight must be floating-point, not quantised; got {first.dtype}")
    with torch.no_grad():
        return ours.to(device=first.device, dtype=first.dtype).train(module.training)
