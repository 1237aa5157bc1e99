"""How many bytes the KV cache of a real model takes, and what fits beside its weights."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

import torch

from attn_docs._checks import check_length, check_size


@dataclass(frozen=True)
class KVConfig:
    """What decides the size of a model's KV cache: its layers, and what each of them caches.

    A full layer caches the keys and values of all tokens, a windowed one those of the last
    `window`, a latent one a single vector for each token instead of keys and values. A shared
    layer reads what an earlier layer of its kind has cached, and caches nothing.

    Args:
        full_layers: Number of layers that see all tokens.
        windowed_layers: Number of layers that see a window.
        latent_layers: Number of layers with multi-head latent attention.
        shared_full_layers: How many of the full layers are shared.
        shared_windowed_layers: How many of the windowed layers are shared.
        num_kv_heads: Number of key heads, and of value heads, of a full or windowed layer.
        head_dim: Size of a head.
        windowed_head_dim: Size of a head in a windowed layer; `head_dim` if None.
        window: How many tokens a windowed layer caches.
        kv_rank: Size of the latent vector.
        rope_dim: Size of the rotary key that is cached beside it.

    Raises:
        TypeError: If an argument is not an int.
        ValueError: If a number is out of range or one that the layers need is missing, there is
            no layer, or all layers of a kind are shared.

    Example:
        ```python
        from attn_docs import KVConfig, kv_cache_bytes

        config = KVConfig(full_layers=2, num_kv_heads=2, head_dim=4)
        print(kv_cache_bytes(config, length=1))
        #> 64
        ```

    Reference:
        Shared layers: Brandon et al., "Reducing Transformer Key-Value Cache Size with Cross-Layer
        Attention", arXiv:2405.12981 (2024); latent ones: DeepSeek-AI, "DeepSeek-V2", section 2.1,
        arXiv:2405.04434 (2024).
    """

    full_layers: int = 0
    windowed_layers: int = 0
    latent_layers: int = 0
    shared_full_layers: int = 0
    shared_windowed_layers: int = 0
    num_kv_heads: int = 0
    head_dim: int = 0
    windowed_head_dim: int | None = None
    window: int = 0
    kv_rank: int = 0
    rope_dim: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes that no model has."""
        for kind in ("full", "windowed", "latent"):
            check_length(f"{kind}_layers", getattr(self, f"{kind}_layers"))
        if not (self.full_layers or self.windowed_layers or self.latent_layers):
            raise ValueError("the layers of all kinds together must be 1 or more; got 0")
        for kind in ("full", "windowed"):
            shared, layers = f"shared_{kind}_layers", getattr(self, f"{kind}_layers")
            check_length(shared, getattr(self, shared))
            if getattr(self, shared) >= max(layers, 1):
                raise ValueError(
                    f"{shared} must be 0 or below {kind}_layers = {layers}; "
                    f"got {getattr(self, shared)}"
                )
        needed = {
            "num_kv_heads": self.full_layers or self.windowed_layers,
            "head_dim": self.full_layers or self.windowed_layers,
            "window": self.windowed_layers,
            "kv_rank": self.latent_layers,
            "rope_dim": self.latent_layers,
        }
        for name, layers in needed.items():
            check = check_size if layers else check_length
            check(name, getattr(self, name))
        if self.windowed_head_dim is not None:
            check_size("windowed_head_dim", self.windowed_head_dim)

    @property
    def num_layers(self) -> int:
        """Number of layers, shared ones among them."""
        return self.full_layers + self.windowed_layers + self.latent_layers

    @property
    def growing(self) -> int:
        """How many elements are cached for each token, however long the text."""
        caching = self.full_layers - self.shared_full_layers
        heads = 2 * self.num_kv_heads * self.head_dim  # keys and values
        latent = self.kv_rank + self.rope_dim  # one vector for both
        return caching * heads + self.latent_layers * latent

    @property
    def rolling(self) -> int:
        """How many elements are cached for each token in the window."""
        caching = self.windowed_layers - self.shared_windowed_layers
        return caching * 2 * self.num_kv_heads * (self.windowed_head_dim or self.head_dim)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "KVConfig":
        """Make a configuration from a row of the data file; what it does not need is ignored.

        Args:
            row: Names and values; those of this class are taken.

        Returns:
            The configuration.

        Raises:
            TypeError: If `row` is not a mapping, or as for the class.
            ValueError: As for the class.
        """
        if not isinstance(row, Mapping):
            raise TypeError(f"row must be a mapping; got {type(row).__name__}")
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in row.items() if name in names})


@dataclass(frozen=True)
class KVModel:
    """A published model: the sizes that decide its KV cache, and what gives them.

    Attributes:
        name: The model's name.
        config: Its layers.
        embed_dim: Size of the vectors between layers.
        num_heads: Number of query heads.
        context: Longest text, in tokens, that it is published for.
        source: What gives the sizes.
        read: The day on which they were last compared with it, or with the model's class.
        parameters: Number of parameters: counted on the model's own class of transformers, or,
            where there is no such class (GPT-3, PaLM), as published and rounded. None if unknown.
        parameters_source: Where that class, or the published number, is.
        quantized: How many of the parameters are published in fewer than 16 bits.
        quantized_bits: Bits of each of those, their share of the scales included.
        other_layers: Number of further layers with a state of fixed size, which is not counted.
        key_dim: Size of a head's keys before they are compressed; only with latent layers.
        value_dim: Size of its values; only with latent layers.
        note: What else there is to know of the row.
    """

    name: str
    config: KVConfig
    embed_dim: int
    num_heads: int
    context: int
    source: str
    read: str
    parameters: int | None = None
    parameters_source: str | None = None
    quantized: int = 0
    quantized_bits: float | None = None
    other_layers: int = 0
    key_dim: int | None = None
    value_dim: int | None = None
    note: str | None = None

    @property
    def weight_bytes(self) -> int | None:
        """Bytes of the weights as published, what is not quantized in 16 bits; None if unknown."""
        if self.parameters is None:
            return None
        bits = 16 * (self.parameters - self.quantized)
        return round((bits + self.quantized * (self.quantized_bits or 0)) / 8)


def load_models() -> dict[str, KVModel]:
    """Read the data file of published models, `attn_docs/memory/kv_models.json`.

    Returns:
        The models by name, in the order of the file.

    Example:
        ```python
        from attn_docs import load_models

        model = load_models()["Llama-3-8B"]
        print(model.config.num_kv_heads, model.num_heads, model.context)
        #> 8 32 8192
        ```
    """
    text = files(__package__).joinpath("kv_models.json").read_text(encoding="utf-8")
    names = {field.name for field in fields(KVModel)}
    return {
        row["name"]: KVModel(
            config=KVConfig.from_row(row),
            **{name: value for name, value in row.items() if name in names},
        )
        for row in json.loads(text)
    }


def kv_cache_bytes(
    config: KVConfig, length: int, batch: int = 1, dtype: torch.dtype = torch.bfloat16
) -> int:
    r"""Count the bytes of the keys and values, or latent vectors, that a model caches.

    $$b\, s\, \Bigl( \sum_{\text{full}} 2 g d\, m + \sum_{\text{windowed}} 2 g d \min(m, W)
    + \sum_{\text{latent}} (d_c + d_r)\, m \Bigr)$$

    The sums go over the layers that cache something: shared ones do not.

    Args:
        config: The model's layers.
        length: Number of tokens m of each sequence, 0 or more.
        batch: Number of sequences b.
        dtype: The dtype of the cache: s bytes for each element.

    Returns:
        Number of bytes.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `length` is negative or `batch` below 1.

    Example:
        ```python
        from attn_docs import kv_cache_bytes, load_models

        models = load_models()
        for name in ("Llama-3-8B", "DeepSeek-V3"):
            print(kv_cache_bytes(models[name].config, length=1))
        #> 131072
        #> 70272
        ```
    """
    _check(config, batch, dtype)
    check_length("length", length)
    elements = config.growing * length + config.rolling * min(length, config.window)
    return batch * elements * dtype.itemsize


def longest_context(
    config: KVConfig, memory: int, batch: int = 1, dtype: torch.dtype = torch.bfloat16
) -> int | None:
    """Return how many tokens of each sequence fit into a KV cache of a given size.

    Args:
        config: The model's layers.
        memory: Bytes there are for the cache, 0 or more.
        batch: Number of sequences.
        dtype: The dtype of the cache.

    Returns:
        Number of tokens; None if any number fits, because every layer has a window.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `memory` is negative or `batch` below 1.

    Example:
        ```python
        from attn_docs import load_models, longest_context

        config = load_models()["Llama-3.1-8B"].config
        print(longest_context(config, memory=8_000_000_000))
        #> 61035
        ```
    """
    _check(config, batch, dtype)
    check_length("memory", memory)
    room = memory // (batch * dtype.itemsize)  # in elements
    within = room // (config.growing + config.rolling)
    if within < config.window:
        return within
    if not config.growing:
        return None
    return (room - config.rolling * config.window) // config.growing


def _check(config: KVConfig, batch: int, dtype: torch.dtype) -> None:
    if not isinstance(config, KVConfig):
        raise TypeError(f"config must be a KVConfig; got {type(config).__name__}")
    check_size("batch", batch)
    if not isinstance(dtype, torch.dtype) or dtype == torch.bool or dtype.is_complex:
        raise TypeError(f"dtype must be a floating-point or integer torch.dtype; got {dtype!r}")
