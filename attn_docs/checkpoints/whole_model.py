"""A whole Llama-, Mistral-, Qwen2- or Qwen3-shaped model from its config.json and its weights."""

import json
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attn_docs._checks import check_flag, check_float_dtype, check_instance, check_size
from attn_docs.checkpoints._config import scaling_of
from attn_docs.heads.grouped_query import GroupedQueryAttention
from attn_docs.model.block import Block, GatedMLP
from attn_docs.model.decoder import DecoderModel
from attn_docs.position._frequencies import RotaryScaling
from attn_docs.position.rotary import RotaryEmbedding

# Pieces of the names of weights: in the file, and here.
NAMES = {
    "model.embed_tokens.": "token_embedding.",
    "model.layers.": "blocks.",
    ".input_layernorm.": ".attention_norm.",
    ".self_attn.o_proj.": ".attention.out_proj.",
    ".self_attn.": ".attention.",
    ".post_attention_layernorm.": ".mlp_norm.",
    "model.norm.": "norm.",
    "lm_head.": "output.",
}
# The entries that decide the numbers: those of all four, and those that only some have.
_SHARED = {
    "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
    "num_attention_heads", "num_key_value_heads", "head_dim", "rms_norm_eps",
    "tie_word_embeddings", "rope_parameters", "rope_scaling", "rope_theta",
    "max_position_embeddings",
}  # fmt: skip
_QWEN = {"use_sliding_window", "sliding_window", "max_window_layers", "layer_types"}
_OWN = {
    "llama": {"attention_bias", "mlp_bias"},
    "mistral": {"sliding_window"},
    "qwen2": _QWEN,
    "qwen3": {"attention_bias", *_QWEN},
}
# Those that decide them in one way alone here: any other value is refused.
_ONLY = {
    "hidden_act": "silu", "is_causal": True, "is_encoder_decoder": False,
    "add_cross_attention": False, "use_mrope": False, "mlp_bias": False, "attention_bias": False,
    "use_sliding_window": False, "rope_interleaved": False,
}  # fmt: skip
# Those that do not.
_WITHOUT_EFFECT = {
    # what the model is called, who wrote the file, in which type
    "architectures", "transformers_version", "_name_or_path", "name_or_path", "_commit_hash",
    "torch_dtype", "dtype", "is_llama_config", "unsloth_fixed", "unsloth_version",
    "transformers.js_config", "auto_map",  # other programs' notes, and code that nobody runs here
    # how transformers calls it and what it returns
    "use_cache", "return_dict", "output_attentions", "output_hidden_states", "torchscript",
    "is_decoder", "use_bfloat16", "return_dict_in_generate", "output_scores", "tf_legacy_loss",
    "_attn_implementation", "_attn_implementation_autoset", "attn_implementation",
    "chunk_size_feed_forward", "pretraining_tp",  # the same product in pieces
    # tokens and lengths, and how to choose the next token
    "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id",
    "tokenizer_class", "max_length", "max_sequence_length", "model_max_length", "min_length",
    "do_sample", "temperature", "top_k", "top_p", "typical_p", "num_beams", "num_beam_groups",
    "num_return_sequences", "repetition_penalty", "length_penalty", "diversity_penalty",
    "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "early_stopping",
    "remove_invalid_values",
    # training, and other heads than the one for text
    "initializer_range", "attention_dropout", "neftune_noise_alpha", "finetuning_task",
    "id2label", "label2id", "num_labels", "problem_type", "task_specific_params",
}  # fmt: skip
_YARN = ("beta_fast", "beta_slow", "truncate", "attention_factor", "mscale", "mscale_all_dim")
_ROPE = {
    "default": set(),
    "linear": {"factor"},
    "llama3": {"factor", "low_freq_factor", "high_freq_factor"},
    "yarn": {"factor", *_YARN},
}
_WINDOWED = {"full_attention": False, "sliding_attention": True}


def decoder_from_config(config: Mapping[str, Any]) -> DecoderModel:
    r"""Build the model that a `config.json` describes, with random weights.

    $$x \leftarrow x + \operatorname{Attention}(\operatorname{norm}(x)), \qquad
    x \leftarrow x + W_\text{down}\bigl(\operatorname{SiLU}(W_\text{gate} \operatorname{norm}(x))
    \odot W_\text{up} \operatorname{norm}(x)\bigr)$$

    Llama, Mistral, Qwen2 and Qwen3 share this shape: RMS norms, rotary positions, grouped heads.
    Qwen3 normalises queries and keys, Qwen2 gives their projections a bias, and Mistral and both
    Qwens can have layers with a window. Whatever the model cannot hold is refused with its name
    and value, and so is an entry that this function does not know, unless it is None or False or
    says nothing about the numbers (`torch_dtype`, `use_cache`, `auto_map`, …).

    Args:
        config: What `json.load` makes of the file, in today's form (`rope_parameters`) or the one
            before (`rope_theta` and `rope_scaling`).

    Returns:
        The model. Each block's cache is a ring where the layer has a window.

    Raises:
        TypeError: If `config` is not a mapping.
        ValueError: If an entry is missing, unknown, or has a value that the model cannot hold.

    Example:
        ```python
        from attn_docs import decoder_from_config

        config = {"model_type": "qwen3", "vocab_size": 50, "hidden_size": 32, "head_dim": 16}
        config |= {"intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
        config |= {"num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-6}
        config |= {"max_position_embeddings": 128, "rope_theta": 10000.0}
        model = decoder_from_config(config)
        print(sum(weight.numel() for weight in model.parameters()))
        #> 28000
        ```

    Reference:
        Touvron et al., "LLaMA", arXiv:2302.13971 (2023); Qwen Team, "Qwen3 Technical Report",
        arXiv:2505.09388 (2025).
    """
    check_instance("config", config, Mapping)
    if config is None:
        raise TypeError("config must be a mapping; got NoneType")
    _refuse(config)
    hidden, eps = _size(config, "hidden_size"), _given(config, "rms_norm_eps")
    blocks = [
        Block(
            _attention(config, window),
            GatedMLP(hidden, _size(config, "intermediate_size"), bias=_flag(config, "mlp_bias")),
            nn.RMSNorm(hidden, eps=eps),
            nn.RMSNorm(hidden, eps=eps),
        )
        for window in _windows(config)
    ]
    return DecoderModel(
        _size(config, "vocab_size"),
        hidden,
        blocks,
        norm=nn.RMSNorm(hidden, eps=eps),
        tied=_flag(config, "tie_word_embeddings"),
    )


def rename_weights(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give a checkpoint's weights the names of `DecoderModel`; their numbers stay as they are.

    Stored frequencies (`rotary_emb.inv_freq` of old Llama files) are left out: they are computed.

    Args:
        weights: By the names of transformers, such as `model.layers.0.self_attn.q_proj.weight`.

    Returns:
        The same tensors by ours, such as `blocks.0.attention.q_proj.weight`.

    Example:
        ```python
        import torch

        from attn_docs import rename_weights

        print(list(rename_weights({"model.layers.7.self_attn.o_proj.weight": torch.ones(2, 2)})))
        #> ['blocks.7.attention.out_proj.weight']
        ```
    """
    renamed = {}
    for name, weight in weights.items():
        new = name
        for theirs, ours in NAMES.items():
            new = new.replace(theirs, ours)
        if not new.endswith(".rotary_emb.inv_freq"):
            renamed[new] = weight
    return renamed


def load_decoder(folder: str | Path, *, dtype: torch.dtype = torch.float32) -> DecoderModel:
    """Read a model from a folder of your own: config.json and safetensors, in one file or several.

    It needs the package safetensors, which comes with transformers, and asks no network.

    Args:
        folder: With `config.json` and either `model.safetensors` or `model.safetensors.index.json`
            and the files that it names.
        dtype: Of the model's weights; those in the files are converted, one file after the
            other, so that while loading the largest file is held besides.

    Returns:
        The model, in evaluation.

    Raises:
        FileNotFoundError: If a file is missing.
        ModuleNotFoundError: If safetensors is not installed.
        RuntimeError: If the files lack a weight, have one too many, or one of another shape.
        ValueError: If `decoder_from_config` refuses the configuration, `dtype` is not of floats,
            or a tied unembedding differs from the embedding.

    Example:
        ```python
        from attn_docs import load_decoder

        try:
            load_decoder("not-a-folder")
        except FileNotFoundError as error:
            print(error)
        #> [Errno 2] No such file or directory: 'not-a-folder/config.json'
        ```
    """
    check_float_dtype("dtype", dtype)
    folder = Path(folder)
    config = json.loads((folder / "config.json").read_text("utf-8"))
    with torch.device("meta"):  # shapes without numbers: the files bring those
        model = decoder_from_config(config)
    load_file = import_module("safetensors.torch").load_file  # attn_docs itself needs torch alone
    weights: dict[str, Tensor] = {}
    for file in _files(folder):  # a copy, since load_file's tensors are the file
        weights |= {name: x.to(dtype, copy=True) for name, x in load_file(file).items()}
    weights = rename_weights(weights)
    tied = model.output.weight is model.token_embedding.weight
    embedding = weights.get("token_embedding.weight")
    if tied and embedding is not None:
        same = weights.setdefault("output.weight", embedding).equal(embedding)
        if not same:
            raise ValueError("tie_word_embeddings must be false where lm_head differs; got true")
    model.load_state_dict(weights, assign=True)
    if tied:
        model.output.weight = model.token_embedding.weight
    return model.eval()


def _files(folder: Path) -> list[Path]:
    """Return the files with weights: those that an index names, or the one without an index."""
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return [folder / "model.safetensors"]
    names = json.loads(index.read_text("utf-8"))["weight_map"].values()
    return [folder / name for name in sorted(set(names))]


def _refuse(config: Mapping[str, Any]) -> None:
    """Refuse a configuration with an entry that would be ignored though it may matter."""
    kind = config.get("model_type")
    if kind not in _OWN:
        raise ValueError(f"model_type must be one of {', '.join(_OWN)}; got {kind!r}")
    read = _SHARED | _OWN[kind]
    for name, only in _ONLY.items():
        value = config.get(name)
        if name not in read and value is not None and value != only:
            raise ValueError(f"{name} must be {only!r}; got {value!r}")
    _refuse_others(config, read | _ONLY.keys() | _WITHOUT_EFFECT, kind)


def _refuse_others(entries: Mapping[str, Any], known: set[str], who: str) -> None:
    for name, value in entries.items():
        if name not in known and value is not None:
            rule = f"absent, because {who} here does not know it"
            raise ValueError(f"{name} must be {rule}; got {value!r}")


def _given(config: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    if config.get(name) is None:
        raise ValueError(f"{name} must be given; got {config.get(name)}")
    return config[name]


def _size(config: Mapping[str, Any], name: str) -> int:
    size: int = _given(config, name)
    check_size(name, size)
    return size


def _flag(config: Mapping[str, Any], name: str) -> bool:
    flag: bool = config.get(name) or False
    check_flag(name, flag)
    return flag


def _attention(config: Mapping[str, Any], window: int | None) -> GroupedQueryAttention:
    """Return a layer's attention with what its model type adds."""
    kind, hidden = config["model_type"], _size(config, "hidden_size")
    heads = _size(config, "num_attention_heads")
    several = kind == "llama" and config.get("num_key_value_heads") is None
    kv_heads = heads if several else _size(config, "num_key_value_heads")
    given = kind == "qwen3" or config.get("head_dim") is not None
    head_dim = _size(config, "head_dim") if given else hidden // heads
    eps = _given(config, "rms_norm_eps")
    norms = [nn.RMSNorm(head_dim, eps=eps) if kind == "qwen3" else None for _ in range(2)]
    bias = _flag(config, "attention_bias")
    return GroupedQueryAttention(
        hidden,
        heads,
        kv_heads,
        head_dim=head_dim,
        qkv_bias=bias or kind == "qwen2",
        out_bias=bias,
        window=window,
        rotary=_rotary(config, head_dim),
        q_norm=norms[0],
        k_norm=norms[1],
    )


def _windows(config: Mapping[str, Any]) -> list[int | None]:
    """Return each layer's window, None where it sees all."""
    layers, kind = _size(config, "num_hidden_layers"), config["model_type"]
    if kind == "mistral" and "sliding_window" not in config:
        raise ValueError("sliding_window must be given, null for none; got no such entry")
    windowed = kind == "mistral" or _flag(config, "use_sliding_window")
    window = config.get("sliding_window") if windowed else None
    if kind == "mistral":
        return [window] * layers
    types = config.get("layer_types")
    if types is None:
        first = _given(config, "max_window_layers") if window is not None else layers
        return [window if layer >= first else None for layer in range(layers)]
    if len(types) != layers or not set(types) <= set(_WINDOWED):
        rule = f"{layers} of {' and '.join(_WINDOWED)}"
        raise ValueError(f"layer_types must be {rule}; got {types}")
    if window is None and "sliding_attention" in types:
        raise ValueError(f"sliding_window must be given for sliding_attention; got {window}")
    return [window if _WINDOWED[each] else None for each in types]


def _rotary(config: Mapping[str, Any], head_dim: int) -> RotaryEmbedding:
    """Return the rotary positions; without `rope_theta` it is 10,000, as for transformers."""
    now, before = config.get("rope_parameters"), config.get("rope_scaling")
    if now and before:
        raise ValueError(f"rope_scaling must be None beside rope_parameters; got {before}")
    rope = {"rope_theta": config.get("rope_theta", 10000.0)} | dict(now or before or {})
    return RotaryEmbedding(head_dim, theta=rope["rope_theta"], scaling=_rule(config, rope))


def _rule(config: Mapping[str, Any], rope: Mapping[str, Any]) -> RotaryScaling | None:
    kind = rope.get("rope_type", rope.get("type", "default"))  # older files say type
    if kind not in _ROPE:
        raise ValueError(f"rope_type must be one of {', '.join(_ROPE)}; got {kind!r}")
    known = {"rope_type", "type", "rope_theta", "original_max_position_embeddings", *_ROPE[kind]}
    _refuse_others(rope, known, f"rope_type {kind}")
    for name in ("factor", "low_freq_factor", "high_freq_factor"):
        if name in _ROPE[kind]:
            _given(rope, name)
    trained = rope.get("original_max_position_embeddings")
    if trained is None and kind in {"llama3", "yarn"}:
        trained = _size(config, "max_position_embeddings")
    return scaling_of(kind, {**rope, "original_max_position_embeddings": trained}, config)
