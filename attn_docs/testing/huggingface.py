"""How `transformers` calls its attention layers, layers and models: what each is given.

Nothing of `transformers` is imported. What is needed is read from the module, from its `config`,
and from the file that its class stands in.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

MASKS = ("attention_mask", "mask")
CACHES = ("past_key_values", "layer_past")
ROTARY = "RotaryEmbedding"
CROSSING = ("crossattention", "encoder_attn", "EncDecAttention")
CONTEXTS = ("encoder_hidden_states", "key_value_states")
MEMORY = "what is judged is attention to x; an encoder's tokens are 5 random ones in every call"
# other attention functions take no mask of (batch, 1, n, m), or run on a GPU only
ATTENTIONS = (None, "eager", "sdpa")


@dataclass(frozen=True)
class Given:
    """Makes what a layer is given besides tokens and mask, as its model makes it."""

    names: tuple[str, ...]
    rotary: nn.Module | None
    layer_type: str | None
    alibi: Callable[..., Tensor] | None
    num_heads: int
    memory: bool  # whether the layer attends to an encoder's tokens as well

    def __call__(self, x: Tensor, start: int = 0) -> dict[str, Any]:
        """Return the arguments for tokens that stand at `start` and after."""
        places = torch.arange(start, start + x.size(1), device=x.device)
        given: dict[str, Any] = {}
        if "position_ids" in self.names:
            given["position_ids"] = places[None]
        if "cache_position" in self.names:
            given["cache_position"] = places
        if self.rotary is not None:
            kind = () if self.layer_type is None else (self.layer_type,)
            given["position_embeddings"] = self.rotary(x, places[None], *kind)
        if "alibi" in self.names:
            given["alibi"] = self._alibi(x, start + x.size(1))
        if "residual" in self.names:
            given["residual"] = torch.zeros_like(x)
        if self.memory:
            given["encoder_hidden_states"] = memory_for(x)
        return given

    def _alibi(self, x: Tensor, keys: int) -> Tensor | None:
        if self.alibi is None:
            return None
        return self.alibi(torch.ones(x.size(0), keys, device=x.device), self.num_heads, x.dtype)


def memory_for(x: Tensor) -> Tensor:
    """Return five tokens for a decoder layer to attend to, the same for each sample."""
    generator = torch.Generator().manual_seed(5)
    words = torch.randn(1, 5, x.size(-1), generator=generator).to(x)
    return words.expand(x.size(0), -1, -1)


def fields_of(module: nn.Module) -> dict[str, Any]:
    """Return the fields of the `Adapter` that calls the module as `transformers` does."""
    if not isinstance(module, nn.Module):
        raise TypeError(f"module must be a torch.nn.Module; got {type(module).__name__}")
    names = tuple(inspect.signature(module.forward).parameters)
    config = _first_of(module, "config")
    if (attention := getattr(config, "_attn_implementation", None)) not in ATTENTIONS:
        raise ValueError(
            "module must compute attention by 'eager' or 'sdpa', which run everywhere: set "
            f"config._attn_implementation; got {attention!r}"
        )
    if "inputs_embeds" in names and "decoder_inputs_embeds" not in names:
        return _of_model(module, names, config)
    if names[:1] == ("hidden_states",):
        return _of_layer(module, names, config)
    raise ValueError(
        "module must be a layer that takes hidden_states or a model that takes inputs_embeds, of "
        "an encoder and decoder one of the two; "
        f"{type(module).__name__}.forward takes {', '.join(names)}"
    )


def _of_model(module: nn.Module, names: tuple[str, ...], config: Any) -> dict[str, Any]:
    """Return the fields for a whole model, which makes triangle and positions itself."""
    mask, memory = _named(names, MASKS), _has_memory(module, names)

    def given(x: Tensor, *, use_cache: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = {"use_cache": use_cache} if "use_cache" in names else {}
        return made | ({"encoder_hidden_states": memory_for(x)} if memory else {})

    def step(module: nn.Module, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        result = module(inputs_embeds=x, past_key_values=cache, **given(x, use_cache=True))
        return result[0], result.past_key_values

    decodes = "past_key_values" in names and _is_causal(module, config)
    return {
        "x": "inputs_embeds",
        "attn_mask": mask,
        "mask_axes": 1,
        "mask_dtype": torch.long,
        "is_causal": None,
        "context": None,
        "keywords": given,
        "step": step if decodes else None,
        "positions": True,
        "guessed": MEMORY if memory else "",
    }


def _of_layer(module: nn.Module, names: tuple[str, ...], config: Any) -> dict[str, Any]:
    """Return the fields for a layer, which gets the triangle as a mask."""
    given, mask, context = _given(module, names, config), _named(names, MASKS), None
    crosses = "CrossAttention" in type(module).__name__ or _first_of(module, "is_cross_attention")
    attends = "Attention" in type(module).__name__
    if attends and (crosses or "key_value_states" in names):
        context = _named(names, CONTEXTS)
    if attends and crosses and "encoder_attention_mask" in names:
        mask = "encoder_attention_mask"
    needed = bool(attends and crosses)
    return {
        "attn_mask": mask,
        "mask_true": "added",
        "mask_axes": 4,
        "is_causal": None,
        "causal_mask": mask is not None and not needed,
        "context": context,
        "context_needed": needed,
        "keywords": given,
        "step": None if needed else _step(module, mask, given, config),
        "positions": _adds_positions(module, given),
        "guessed": MEMORY if given.memory else "",
    }


def _step(
    module: nn.Module, mask: str | None, given: Given, config: Any
) -> Callable[[nn.Module, Tensor, Any], tuple[Tensor, Any]] | None:
    """Return how a causal layer goes on from a `DynamicCache`; None for other layers."""
    name, layer = _named(given.names, CACHES), _first_of(module, "layer_idx")
    causal = given.alibi is not None or _is_causal(module, config)
    if name is None or mask is None or layer is None or not causal:
        return None

    def step(module: nn.Module, x: Tensor, cache: Any) -> tuple[Tensor, Any]:
        cache = _empty_cache(both=given.memory) if cache is None else cache
        start = cache.get_seq_length(layer)
        shape = (x.size(1), start + x.size(1))
        lowest = torch.full(shape, torch.finfo(x.dtype).min, dtype=x.dtype, device=x.device)
        triangle = lowest.triu(start + 1).expand(x.size(0), 1, *shape)
        result = module(x, **{mask: triangle, name: cache}, **given(x, start))
        return result[0] if isinstance(result, tuple) else result, cache

    return step


def _empty_cache(*, both: bool) -> Any:
    """Return a cache of `transformers`, of its own tokens and an encoder's if for both."""
    caches = sys.modules["transformers.cache_utils"]
    own = caches.DynamicCache()
    return caches.EncoderDecoderCache(own, caches.DynamicCache()) if both else own


def _given(module: nn.Module, names: tuple[str, ...], config: Any) -> Given:
    rotary, layer_type = None, None
    if "position_embeddings" in names:
        rotary = _rotary(module, config)
        if "layer_type" in inspect.signature(rotary.forward).parameters:
            layer_type = config.layer_types[_first_of(module, "layer_idx")]
    alibi = None
    if "alibi" in names and getattr(config, "alibi", True):
        alibi = next(
            (f for file in _files(module) if (f := getattr(file, "build_alibi_tensor", None))), None
        )
    heads = _first_of(module, "num_heads") or getattr(config, "num_attention_heads", 1)
    return Given(names, rotary, layer_type, alibi, heads, _has_memory(module, names))


def _rotary(module: nn.Module, config: Any) -> nn.Module:
    """Return the rotary embedding of the module's family, made from its config."""
    if config is None:
        raise ValueError(
            "module must have a config, of which its position_embeddings are made; "
            f"{type(module).__name__} and its layers have none"
        )
    name = type(module).__name__
    for file in _files(module):
        kinds = [
            kind
            for kind in vars(file).values()
            if isinstance(kind, type)
            and issubclass(kind, nn.Module)
            and kind.__name__.endswith(ROTARY)
        ]
        if kinds:  # of several, the one whose name begins like the module's
            family = [k for k in kinds if name.startswith(k.__name__.removesuffix(ROTARY))]
            rotary: nn.Module = (family or kinds)[0](config=config)
            return rotary
    raise ValueError(
        f"module must stand in a file with its rotary embedding, which {name} needs for its "
        "position_embeddings; pass them as keywords of an Adapter"
    )


def _files(module: nn.Module) -> Iterator[Any]:
    """Yield the Python files of the module's class and of the classes that it inherits from."""
    for kind in type(module).__mro__:
        if kind is nn.Module:
            return
        yield sys.modules[kind.__module__]


def _first_of(module: nn.Module, name: str) -> Any:
    """Return an attribute of the module, or of the first of its layers that has it; or None."""
    held = (getattr(layer, name, None) for layer in module.modules())
    return next((value for value in held if value is not None), None)


def _has_memory(module: nn.Module, names: tuple[str, ...]) -> bool:
    """Tell whether a decoder's layer or model attends to an encoder's tokens beside its own."""
    if "encoder_hidden_states" not in names or "Attention" in type(module).__name__:
        return False
    paths = (path.rpartition(".")[2] for path, _ in module.named_modules())
    return any(path in CROSSING for path in paths)


def _named(names: tuple[str, ...], choices: tuple[str, ...]) -> str | None:
    return next((name for name in choices if name in names), None)


def _is_causal(module: nn.Module, config: Any) -> bool:
    told = any(getattr(layer, "is_causal", False) is True for layer in module.modules())
    return told or bool(getattr(config, "is_decoder", False))


def _adds_positions(module: nn.Module, given: Given) -> bool:
    turned = given.rotary is not None and _first_of(module, "use_rope") not in (0, False)
    biased = any(getattr(m, "has_relative_attention_bias", False) for m in module.modules())
    return turned or biased or given.alibi is not None
