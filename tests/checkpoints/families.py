"""Models of transformers with random weights, whose own runs say what a converted layer must do.

A `Family` is a small model: `build` makes it, `record` runs the whole of it, with its own rotary
positions and masks, and keeps what each of its attention layers got and returned. Nothing is
downloaded. `compare` puts our layer on the same inputs: whole, cached in uneven chunks, and with
padding on the left.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor, nn

from attn_docs import from_transformers, position_bias_from_transformers

LENGTH, PADDED = 29, 5  # longer than any window; the second row starts with so much padding
CHUNKS = (11, 1, 4, 1, 1, 9, 2)
WINDOW = 7
# sizes that all differ: heads are not embed_dim / num_heads
SIZES = {
    "vocab_size": 40,
    "hidden_size": 36,
    "intermediate_size": 20,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "max_position_embeddings": 64,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}


@dataclass(frozen=True)
class Family:
    """A small model of one family.

    Attributes:
        model: The model's class in transformers, and its config's name without "Model".
        layer: The class of its attention layers.
        options: What its config has besides `SIZES`; a size of None is left out.
        decodes: Whether its layers are causal and cached.
        config: The name of the config's class, if it is not the model's.
        positions: Whether our layer takes positions for padding on the left.
        numbers: Which of the layers are compared; all if None.
        output: The part of a layer whose output is compared, where the layer adds more to it.
        bias: Which layer's position bias is added to the scores: its "own", the "first" one's, or
            none.
        attention: transformers' implementation, where its eager one is not right.
        part: The part of the model that is run; all if empty.
        shown: Whether a released model is like it, so that the page's table names it.
    """

    model: str
    layer: str
    options: dict[str, Any] = field(default_factory=dict)
    decodes: bool = True
    config: str | None = None
    positions: bool = True
    numbers: tuple[int, ...] | None = None
    output: str = ""
    bias: str = ""
    attention: str = "eager"
    part: str = ""
    shown: bool = True

    def make_config(self, **changed: Any) -> Any:
        """Return the config of the small model, or of one with an option changed."""
        name = self.config or self.model.removesuffix("Model") + "Config"
        # configs keep the dictionaries that they get, and write to them
        sizes = copy.deepcopy(SIZES | self.options | changed)
        kept = {key: value for key, value in sizes.items() if value is not None or key in changed}
        kept = dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id")) | kept
        config = getattr(transformers, name)(**kept)
        config._attn_implementation = self.attention
        config._experts_implementation = "eager"
        return config

    def build(self, *, seed: int = 0, **changed: Any) -> nn.Module:
        """Return the model with random weights everywhere: also norms, biases and sinks."""
        torch.manual_seed(seed)
        whole = getattr(transformers, self.model)(self.make_config(**changed)).eval()
        model: nn.Module = whole.get_submodule(self.part)
        generator = torch.Generator().manual_seed(seed + 1)
        with torch.no_grad():
            for parameter in model.parameters():
                values = torch.randn(parameter.shape, generator=generator)
                parameter.copy_(
                    values / parameter.shape[-1] ** 0.5 if parameter.ndim > 1 else values
                )
        return model

    def layers(self, model: nn.Module) -> list[nn.Module]:
        """Return the attention layers that are compared."""
        found = [module for module in model.modules() if type(module).__name__ == self.layer]
        assert found, f"{self.model} has no {self.layer}"
        return found if self.numbers is None else [found[number] for number in self.numbers]

    def biases(self, layers: list[nn.Module]) -> list[Callable[..., Tensor] | None]:
        """Return what each layer adds to its scores for the positions."""
        if not self.bias:
            return [None] * len(layers)
        holders = layers[:1] * len(layers) if self.bias == "first" else layers
        return [position_bias_from_transformers(holder) for holder in holders]


class Run(NamedTuple):
    """What an attention layer got in a run of the whole model, and what it returned."""

    inputs: Tensor
    output: Tensor


class Differences(NamedTuple):
    """The largest relative difference of our layer's outputs from theirs."""

    whole: float
    cached: float | None
    padded: float  # whole and in chunks


def record(
    model: nn.Module, layers: list[nn.Module], inputs: dict[str, Any], part: str = ""
) -> list[Run]:
    """Run a model and return what each of the layers got, and what it or its part returned."""
    got: dict[int, Tensor] = {}
    returned: dict[int, Tensor] = {}

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:
        got[id(module)] = (args[0] if args else kwargs["hidden_states"]).clone()

    def after(module: nn.Module, _: Any, output: Any) -> None:
        returned[id(module)] = (output[0] if isinstance(output, tuple) else output).clone()

    parts = [layer.get_submodule(part) for layer in layers]
    handles = [layer.register_forward_pre_hook(before, with_kwargs=True) for layer in layers]
    handles += [module.register_forward_hook(after) for module in parts]
    with torch.no_grad():
        model(**inputs)
    for handle in handles:
        handle.remove()
    return [
        Run(got[id(layer)], returned[id(module)])
        for layer, module in zip(layers, parts, strict=True)
    ]


def tokens() -> Tensor:
    """Return two random texts."""
    generator = torch.Generator().manual_seed(2)
    return torch.randint(0, SIZES["vocab_size"], (2, LENGTH), generator=generator)


def padding(*, left: bool = True) -> Tensor:
    """Return which tokens of `tokens` are not padding: the second text is shorter."""
    keep = torch.ones(2, LENGTH, dtype=torch.bool)
    keep[1, slice(0, PADDED) if left else slice(LENGTH - PADDED, None)] = False
    return keep


def relative(found: Tensor, wanted: Tensor) -> float:
    """Return the largest difference, relative to the largest element."""
    return float((found - wanted).abs().max() / wanted.abs().max())


def chunked(
    ours: Any, x: Tensor, bias: Callable[..., Tensor] | None = None, **options: Any
) -> Tensor:
    """Return what our layer gives to a text that comes in uneven chunks."""
    assert sum(CHUNKS) == LENGTH
    cache, outputs, start = ours.new_cache(x.size(0), LENGTH), [], 0
    for size in CHUNKS:
        end = start + size
        now = {"positions": options["positions"][:, start:end]} if "positions" in options else {}
        if "key_padding_mask" in options:  # of all keys so far, cached or not
            now["key_padding_mask"] = options["key_padding_mask"][:, :end]
        if bias is not None:
            now["attn_mask"] = bias(size, end, offset=start)
        outputs.append(ours(x[:, start:end], cache=cache, **now))
        start = end
    return torch.cat(outputs, dim=1)


def compare(family: Family, **changed: Any) -> Differences:
    """Return how far our layers are from theirs, the worst of the model's layers."""
    model = family.build(**changed)
    layers = family.layers(model)
    biases = family.biases(layers)
    found = [_compare(family, model, layers, number, bias) for number, bias in enumerate(biases)]
    return Differences(
        max(one.whole for one in found),
        max(one.cached or 0.0 for one in found) if family.decodes else None,
        max(one.padded for one in found),
    )


@torch.no_grad()
def _compare(
    family: Family,
    model: nn.Module,
    layers: list[nn.Module],
    number: int,
    bias: Callable[..., Tensor] | None,
) -> Differences:
    ours: Any = from_transformers(layers[number], model.config)
    whole_text: dict[str, Any] = {"is_causal": True} if family.decodes else {}
    if bias is not None:
        whole_text["attn_mask"] = bias(LENGTH)
    whole = record(model, layers, {"input_ids": tokens()}, family.output)[number]
    cached = None
    if family.decodes:
        cached = relative(chunked(ours, whole.inputs, bias), whole.output)
    keep = padding()
    inputs: dict[str, Any] = {"input_ids": tokens(), "attention_mask": keep.long()}
    options: dict[str, Any] = {"key_padding_mask": keep}
    if family.positions and family.decodes:
        inputs["position_ids"] = (keep.cumsum(1) - 1).clamp(min=0)
        if getattr(ours, "rotary", None) is not None:
            options["positions"] = inputs["position_ids"]
    padded = record(model, layers, inputs, family.output)[number]
    mine = [ours(padded.inputs, **whole_text, **options)]
    if family.decodes:
        mine.append(chunked(ours, padded.inputs, bias, **options))
    return Differences(
        relative(ours(whole.inputs, **whole_text), whole.output),
        cached,
        max(relative(one[keep], padded.output[keep]) for one in mine),
    )


_WINDOWS = {"sliding_window": WINDOW}
_ALTERNATE = ["sliding_attention", "full_attention"] * 2
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500_000.0,
    "factor": 8.0,
    "original_max_position_embeddings": 16,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}
_YARN = {
    "rope_type": "yarn",
    "rope_theta": 150_000.0,
    "factor": 32.0,
    "original_max_position_embeddings": 16,
    "beta_fast": 8.0,
    "beta_slow": 1.0,
    "truncate": False,
}
_EXPERTS = {"num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 12}

_OTHER = {"head_dim": None, "num_key_value_heads": None}  # heads of embed_dim / num_heads
_ROBERTA = _OTHER | {"pad_token_id": 0}  # from which it counts positions
_FALCON = _OTHER | {"bias": True}
_HALF = {"rope_type": "default", "rope_theta": 300.0, "partial_rotary_factor": 0.5}
_LATENT = {
    "head_dim": None,
    "num_key_value_heads": 6,
    "q_lora_rank": 14,
    "kv_lora_rank": 11,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 7,
    "moe_intermediate_size": 10,
    "first_k_dense_replace": 4,
}
_LATENT_V2 = _LATENT | {"kv_lora_rank": 12}  # its complex view wants even strides
_MSCALE = {
    "rope_type": "yarn",
    "rope_theta": 500.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
    "mscale": 0.7,
    "mscale_all_dim": 1.3,
}
_T5 = {"num_key_value_heads": None, "d_ff": 20, "num_decoder_layers": 4}

FAMILIES: dict[str, Family] = {
    "Llama 2": Family("LlamaModel", "LlamaAttention", {"num_key_value_heads": 6}),
    "Llama 3": Family(
        "LlamaModel",
        "LlamaAttention",
        {"rope_parameters": {"rope_type": "default", "rope_theta": 500_000.0}},
    ),
    "Llama 3.1": Family("LlamaModel", "LlamaAttention", {"rope_parameters": _LLAMA3}),
    "Mistral": Family("MistralModel", "MistralAttention", _WINDOWS),
    "Mixtral": Family("MixtralModel", "MixtralAttention", _WINDOWS | {"num_local_experts": 3}),
    "Qwen2": Family(
        "Qwen2Model",
        "Qwen2Attention",
        _WINDOWS | {"use_sliding_window": True, "max_window_layers": 2},
    ),
    "Qwen3": Family(
        "Qwen3Model",
        "Qwen3Attention",
        _WINDOWS | {"use_sliding_window": True, "max_window_layers": 2},
    ),
    "Qwen3-MoE": Family("Qwen3MoeModel", "Qwen3MoeAttention", _EXPERTS),
    "Qwen3-Next": Family(
        "Qwen3NextModel",
        "Qwen3NextAttention",
        _EXPERTS
        | {
            "head_dim": 16,
            "shared_expert_intermediate_size": 12,
            "linear_num_key_heads": 2,
            "linear_num_value_heads": 2,
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "layer_types": ["linear_attention", "full_attention"] * 2,
        },
    ),
    "Gemma": Family("GemmaModel", "GemmaAttention"),
    "Gemma 2": Family(
        "Gemma2Model",
        "Gemma2Attention",
        _WINDOWS | {"query_pre_attn_scalar": 17, "attn_logit_softcapping": 0.5},
    ),
    "Gemma 3": Family(
        "Gemma3TextModel",
        "Gemma3Attention",
        _WINDOWS | {"query_pre_attn_scalar": 17, "layer_types": _ALTERNATE},
    ),
    "Gemma 4": Family(
        "Gemma4TextModel",
        "Gemma4TextAttention",
        _WINDOWS
        | {
            "layer_types": _ALTERNATE,
            "attention_k_eq_v": True,
            "hidden_size_per_layer_input": 0,
            "vocab_size_per_layer_input": 40,
        },
    ),
    "gpt-oss": Family(
        "GptOssModel",
        "GptOssAttention",
        _WINDOWS
        | {"num_local_experts": 3, "num_experts_per_tok": 2, "rope_parameters": _YARN}
        | {"max_position_embeddings": 512},  # 32 times the trained length
    ),
    "OLMo": Family("OlmoModel", "OlmoAttention"),
    "OLMo 2": Family("Olmo2Model", "Olmo2Attention"),
    "OLMo 3": Family("Olmo3Model", "Olmo3Attention", _WINDOWS),
    "SmolLM3": Family("SmolLM3Model", "SmolLM3Attention", {"no_rope_layers": [1, 0, 1, 0]}),
    "Granite": Family("GraniteModel", "GraniteAttention", {"attention_multiplier": 0.21}),
    "Cohere": Family("CohereModel", "CohereAttention", {"use_qk_norm": True}),
    "Cohere 2": Family("Cohere2Model", "Cohere2Attention", _WINDOWS | {"head_dim": None}),
    "GPT-2": Family("GPT2Model", "GPT2Attention", _OTHER),
    "GPT-2, scale by layer": Family(
        "GPT2Model", "GPT2Attention", _OTHER | {"scale_attn_by_inverse_layer_idx": True}
    ),
    "GPT-2, no scale": Family("GPT2Model", "GPT2Attention", _OTHER | {"scale_attn_weights": False}),
    "GPT-2, upcast": Family(
        "GPT2Model", "GPT2Attention", _OTHER | {"reorder_and_upcast_attn": True}
    ),
    "GPT-J": Family("GPTJModel", "GPTJAttention", _OTHER | {"rotary_dim": 4}),
    "GPT-NeoX": Family(
        "GPTNeoXModel",
        "GPTNeoXAttention",
        _OTHER | {"num_attention_heads": 3, "rope_parameters": _HALF},
    ),
    "GPT-NeoX, no bias": Family(
        "GPTNeoXModel",
        "GPTNeoXAttention",
        _OTHER | {"num_attention_heads": 3, "rope_parameters": _HALF, "attention_bias": False},
    ),
    "Falcon": Family("FalconModel", "FalconAttention", _FALCON),
    "Falcon 40B": Family(
        "FalconModel",
        "FalconAttention",
        _OTHER | {"new_decoder_architecture": True, "num_kv_heads": 2},
    ),
    "Falcon, all KV heads": Family(
        "FalconModel", "FalconAttention", _FALCON | {"multi_query": False}
    ),
    "Falcon RW": Family(
        "FalconModel",
        "FalconAttention",
        _FALCON | {"multi_query": False, "alibi": True},
        positions=False,
        bias="own",
        attention="sdpa",  # the eager one adds the bias twice
    ),
    "BLOOM": Family(
        "BloomModel", "BloomAttention", _OTHER, positions=False, output="dense", bias="own"
    ),
    "MPT": Family("MptModel", "MptAttention", _OTHER, positions=False, bias="own"),
    "Phi-3 4k": Family("Phi3Model", "Phi3Attention", {"head_dim": None} | _WINDOWS),
    "Phi-3, half rotated": Family(  # released with longrope, which is refused
        "Phi3Model",
        "Phi3Attention",
        {"head_dim": None, "num_attention_heads": 3, "num_key_value_heads": 1}
        | {"rope_parameters": _HALF},
        shown=False,
    ),
    "BERT": Family("BertModel", "BertAttention", _OTHER, decodes=False, output="output.dense"),
    "BERT, decoder": Family(
        "BertModel",
        "BertAttention",
        _OTHER | {"is_decoder": True},
        positions=False,
        output="output.dense",
    ),
    "RoBERTa": Family(
        "RobertaModel", "RobertaAttention", _ROBERTA, decodes=False, output="output.dense"
    ),
    "XLM-R": Family(
        "XLMRobertaModel", "XLMRobertaAttention", _ROBERTA, decodes=False, output="output.dense"
    ),
    "CamemBERT": Family(
        "CamembertModel", "CamembertAttention", _ROBERTA, decodes=False, output="output.dense"
    ),
    "ELECTRA": Family(
        "ElectraModel", "ElectraAttention", _OTHER, decodes=False, output="output.dense"
    ),
    "T5, encoder": Family(
        "T5EncoderModel", "T5Attention", _T5, decodes=False, config="T5Config", bias="first"
    ),
    "T5, decoder": Family(
        "T5Model",
        "T5Attention",
        _T5,
        positions=False,
        numbers=(0, 2, 4, 6),  # between them is cross-attention
        bias="first",
        part="decoder",
    ),
    "mT5": Family(
        "MT5EncoderModel", "MT5Attention", _T5, decodes=False, config="MT5Config", bias="first"
    ),
    "umT5": Family(
        "UMT5EncoderModel", "UMT5Attention", _T5, decodes=False, config="UMT5Config", bias="own"
    ),
    "DeepSeek-V2": Family("DeepseekV2Model", "DeepseekV2Attention", _LATENT_V2),
    "DeepSeek-V2-Lite": Family(
        "DeepseekV2Model",
        "DeepseekV2Attention",
        _LATENT_V2 | {"q_lora_rank": None, "rope_parameters": _MSCALE},
    ),
    "DeepSeek-V3": Family(
        "DeepseekV3Model", "DeepseekV3Attention", _LATENT | {"rope_parameters": _MSCALE}
    ),
    "DeepSeek-V3, halves": Family(
        "DeepseekV3Model",
        "DeepseekV3Attention",
        _LATENT | {"rope_parameters": _MSCALE | {"mscale": None}, "rope_interleave": False},
    ),
    "GLM-4.7-Flash": Family(
        "Glm4MoeLiteModel",
        "Glm4MoeLiteAttention",
        _LATENT | {"first_k_dense_replace": None, "mlp_layer_types": ["dense"] * 4},
    ),
    "Youtu": Family("YoutuModel", "YoutuAttention", _LATENT),
}
