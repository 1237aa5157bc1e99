"""How many bytes the KV cache of a real model takes, and what fits beside its weights."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import Any

import torch

from attn_docs._checks import check_length, check_size


@dataclass(frozen=True)
class KVLayers:
    r"""Layers that cache the same things: how many they are, and what each of them holds.

    For m tokens of one sequence a layer holds so many elements, and `state_bytes` bytes beside:

    $$g\,(d + e) \min(m, W) + x\, m + c\, \lfloor m / r \rfloor$$

    Args:
        count: Number of such layers.
        num_kv_heads: KV heads g: 1 for a latent vector, 0 where only a state is kept.
        head_dim: Size d of a cached key; of the latent vector with its rotary key.
        value_dim: Size e of a cached value; `head_dim` if None, 0 where the values are read from
            the keys (K = V, and latent vectors).
        window: How many tokens W are cached; all if None.
        index_dim: Elements x, for each token, by which a sparse layer finds the keys to read.
        ratio: How many tokens r become one compressed entry; 0 for none.
        compressed_dim: Size c of a compressed entry.
        state_bytes: Bytes of a recurrent or convolution state, whose size is fixed.
        shared: How many of the layers read an earlier layer's cache and hold nothing.

    Raises:
        TypeError: If an argument is not an int.
        ValueError: If a number is out of range, one of a pair is missing, all layers are shared,
            or nothing is cached.

    Example:
        ```python
        from attn_docs import KVConfig, KVLayers, kv_cache_bytes

        window = KVLayers(count=3, num_kv_heads=2, head_dim=4, window=8)
        latent = KVLayers(count=1, num_kv_heads=1, head_dim=10, value_dim=0)
        print(kv_cache_bytes(KVConfig(layers=[window, latent]), length=100))
        #> 2768
        ```

    Reference:
        K = V and compressed entries: DeepSeek-AI, "DeepSeek-V4", section 2.3 (2026); an index:
        DeepSeek-AI, "DeepSeek-V3.2", arXiv:2512.02556 (2025); a state: Yang et al., "Gated Delta
        Networks", arXiv:2412.06464 (2024).
    """

    count: int
    num_kv_heads: int = 0
    head_dim: int = 0
    value_dim: int | None = None
    window: int | None = None
    index_dim: int = 0
    ratio: int = 0
    compressed_dim: int = 0
    state_bytes: int = 0
    shared: int = 0

    def __post_init__(self) -> None:
        """Refuse sizes that no layer has."""
        check_size("count", self.count)
        for name in ("num_kv_heads", "head_dim", "index_dim", "ratio", "compressed_dim"):
            check_length(name, getattr(self, name))
        for name in ("state_bytes", "shared"):
            check_length(name, getattr(self, name))
        if self.value_dim is not None:
            check_length("value_dim", self.value_dim)
        if self.window is not None:
            check_size("window", self.window)
        if self.shared >= self.count:
            raise ValueError(f"shared must be below count = {self.count}; got {self.shared}")
        pairs = (("num_kv_heads", "head_dim"), ("ratio", "compressed_dim"))
        for one, other in (*pairs, *(pair[::-1] for pair in pairs)):
            if getattr(self, one):
                check_size(other, getattr(self, other))
        if not (self.entry or self.index_dim or self.ratio or self.state_bytes):
            raise ValueError(
                "what a layer caches must be 1 element or 1 byte at least; got nothing"
            )

    @property
    def caching(self) -> int:
        """Number of layers that hold something."""
        return self.count - self.shared

    @property
    def entry(self) -> int:
        """Elements of a token's key and value in one layer."""
        value_dim = self.head_dim if self.value_dim is None else self.value_dim
        return self.num_kv_heads * (self.head_dim + value_dim)

    def elements(self, length: int) -> int:
        """Count the elements that all these layers hold for one sequence.

        Args:
            length: Number of tokens, 0 or more.

        Returns:
            Number of elements; the state is not among them.

        Raises:
            TypeError: If `length` is not an int.
            ValueError: If `length` is negative.
        """
        check_length("length", length)
        seen = length if self.window is None else min(length, self.window)
        entries = self.entry * seen + self.index_dim * length
        compressed = self.compressed_dim * (length // self.ratio) if self.ratio else 0
        return self.caching * (entries + compressed)


@dataclass(frozen=True)
class KVConfig:
    """What decides the size of a model's KV cache: its layers, and what each of them caches.

    A full layer caches the keys and values of all tokens, a windowed one those of the last
    `window`, a latent one a single vector for each token instead of keys and values. A shared
    layer reads what an earlier layer of its kind has cached, and caches nothing. Layers that these
    three kinds do not describe are given as `layers`, alone or beside the others.

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
        layers: Further layers of any kinds, as a list of `KVLayers`.

    Raises:
        TypeError: If an argument is not an int, or `layers` holds something else.
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
    layers: Sequence[KVLayers] = ()

    def __post_init__(self) -> None:
        """Refuse sizes that no model has."""
        for given in self.layers:
            if not isinstance(given, KVLayers):
                raise TypeError(f"layers must hold KVLayers; got {type(given).__name__}")
        object.__setattr__(self, "layers", tuple(self.layers))
        for kind in ("full", "windowed", "latent"):
            check_length(f"{kind}_layers", getattr(self, f"{kind}_layers"))
        if not (self.full_layers or self.windowed_layers or self.latent_layers or self.layers):
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
    def kinds(self) -> tuple[KVLayers, ...]:
        """All layers, kind by kind, in the one way that can describe any of them."""
        heads, made = self.num_kv_heads, []
        if self.full_layers:
            full = KVLayers(self.full_layers, heads, self.head_dim, shared=self.shared_full_layers)
            made.append(full)
        if self.windowed_layers:
            head_dim, shared = self.windowed_head_dim or self.head_dim, self.shared_windowed_layers
            count = self.windowed_layers
            made.append(KVLayers(count, heads, head_dim, window=self.window, shared=shared))
        if self.latent_layers:
            latent = self.kv_rank + self.rope_dim  # one vector for keys and values, of all heads
            made.append(KVLayers(self.latent_layers, 1, latent, value_dim=0))
        return (*made, *self.layers)

    @property
    def num_layers(self) -> int:
        """Number of layers, shared ones among them."""
        return sum(layers.count for layers in self.kinds)

    @property
    def growing(self) -> int:
        """How many elements are cached for each token, however long the text.

        Compressed entries are not among them: there is one for several tokens.
        """
        full = (kind.caching * kind.entry for kind in self.kinds if kind.window is None)
        return sum(full) + sum(kind.caching * kind.index_dim for kind in self.kinds)

    @property
    def rolling(self) -> int:
        """How many elements are cached for each token in the window."""
        return sum(kind.caching * kind.entry for kind in self.kinds if kind.window is not None)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "KVConfig":
        """Make a configuration from a row of the data file; what it does not need is ignored.

        Args:
            row: Names and values; those of this class are taken. `layers` holds mappings with
                the names of `KVLayers`.

        Returns:
            The configuration.

        Raises:
            TypeError: If `row` is not a mapping, or as for the class.
            ValueError: As for the class.
        """
        if not isinstance(row, Mapping):
            raise TypeError(f"row must be a mapping; got {type(row).__name__}")
        names = {field.name for field in fields(cls)}
        given = {name: value for name, value in row.items() if name in names}
        given["layers"] = [KVLayers(**layers) for layers in row.get("layers", ())]
        return cls(**given)


@dataclass(frozen=True)
class KVModel:
    """A published model: the sizes that decide its KV cache, and what gives them.

    Attributes:
        name: The model's name.
        config: Its layers.
        embed_dim: Size of the vectors between layers.
        num_heads: Number of query heads.
        source: What gives the sizes: a paper, the authors' model card or configuration, or the
            class of transformers whose defaults they are.
        read: The day on which they were last compared with it, or with the model's class.
        year: The year in which it was published.
        context: Longest text, in tokens, that it is published for; None if not looked up.
        config_class: Class of transformers whose defaults are its sizes; None if none is.
        elsewhere: Names of what the defaults of that class do not hold as published.
        position: How it knows the order of tokens, by short names.
        steadier: What keeps its scores and weights in bounds, by short names.
        choice: How it chooses, compresses or shares keys, by short names.
        state: What its layers without a growing cache are, by short names.
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
    source: str
    read: str
    year: int
    context: int | None = None
    config_class: str | None = None
    elsewhere: Sequence[str] = ()
    position: Sequence[str] = ()
    steadier: Sequence[str] = ()
    choice: Sequence[str] = ()
    state: Sequence[str] = ()
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
    r"""Count the bytes of all that a model caches: keys and values, latent vectors, states.

    $$b \sum_{\text{layers}} \Bigl( s \bigl( g\,(d + e) \min(m, W) + x\, m
    + c\, \lfloor m / r \rfloor \bigr) + f \Bigr)$$

    The sum goes over the layers that cache something: shared ones do not. For full layers with keys
    and values of one size a term is $2 g d\, m$, for latent ones $(d_c + d_r)\, m$.

    Args:
        config: The model's layers.
        length: Number of tokens m of each sequence, 0 or more.
        batch: Number of sequences b.
        dtype: The dtype of the cache: s bytes for each element. The f bytes of a state are as the
            configuration gives them.

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
    elements = sum(kind.elements(length) for kind in config.kinds)
    state = sum(kind.caching * kind.state_bytes for kind in config.kinds)
    return batch * (elements * dtype.itemsize + state)


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
        Number of tokens; None if any number fits, because every layer has a window or a state.

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
    widest = max((kind.window or 0 for kind in config.kinds), default=0)
    grows = config.growing or any(kind.ratio for kind in config.kinds)
    if not grows and kv_cache_bytes(config, widest, batch, dtype) <= memory:
        return None
    fits, beyond = 0, 1
    while kv_cache_bytes(config, beyond, batch, dtype) <= memory:
        beyond *= 2
    while beyond - fits > 1:
        middle = (fits + beyond) // 2
        enough = kv_cache_bytes(config, middle, batch, dtype) <= memory
        fits, beyond = (middle, beyond) if enough else (fits, middle)
    return fits


def _check(config: KVConfig, batch: int, dtype: torch.dtype) -> None:
    if not isinstance(config, KVConfig):
        raise TypeError(f"config must be a KVConfig; got {type(config).__name__}")
    check_size("batch", batch)
    if not isinstance(dtype, torch.dtype) or dtype == torch.bool or dtype.is_complex:
        raise TypeError(f"dtype must be a floating-point or integer torch.dtype; got {dtype!r}")
