"""Real classes with random weights: how each is made, how it is checked, and what is defended."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import transformers
import x_transformers
from torch import nn
from transformers.models.whisper.modeling_whisper import WhisperAttention

from attn_docs.testing import Adapter

DIM, HEADS = 32, 4
CAUSAL = {"causal": True}
SIZES = {
    "hidden_size": DIM,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "vocab_size": 11,
    "max_position_embeddings": 96,
    "pad_token_id": None,
    "bos_token_id": None,
    "eos_token_id": None,
}
GROUPED = {"num_key_value_heads": 2}
SLIDING = {"layer_types": ["full_attention", "sliding_attention"], "sliding_window": 64}
SCALAR = {"query_pre_attn_scalar": 8, "head_dim": 8}
UNSCALED = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}  # YaRN scales
EXPERTS = {"num_local_experts": 2, "num_experts_per_tok": 2}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 8,
    "first_k_dense_replace": 2,
    "num_key_value_heads": HEADS,
}


HALVES_MEET = {"half precision": "with a mask, a layer turns float16 into float32"}
UNSUMMED = {"equal words": "by design the weights of the tokens do not sum to one"}


@dataclass(frozen=True)
class Row:
    """A configuration.

    Attributes:
        fails: The properties that fail, with why that is right.
        slow: Whether the audit alone looks at it.
    """

    name: str
    make: Callable[[], nn.Module]
    options: dict[str, Any] = field(default_factory=dict)
    fails: dict[str, str] = field(default_factory=dict)
    slow: bool = False


@dataclass(frozen=True)
class Family:
    """A family of `transformers`: the file, how its classes begin, and its config."""

    folder: str
    prefix: str
    config: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=lambda: CAUSAL)
    model: str = "Model"

    def made(self, kind: str, attention: str = "eager", *arguments: Any, **named: Any) -> nn.Module:
        """Return a layer or model of the family."""
        name = self.prefix + ("TextConfig" if self.folder == "gemma3" else "Config")
        config = getattr(transformers, name)(**(SIZES | self.config))
        config._attn_implementation = attention
        file = importlib.import_module(f"transformers.models.{self.folder}.modeling_{self.folder}")
        return getattr(file, self.prefix + kind)(config, *arguments, **named)

    def row(self, what: str, *made: Any, slow: bool = False, **named: Any) -> Row:
        """Return a row of the family."""

        def make() -> nn.Module:
            return self.made(*made, **named)

        options = {"embed_dim": DIM} | self.options
        return Row(f"{self.prefix} {what}", make, options, slow=slow or "model" in what)


def of_decoder(family: Family) -> list[Row]:
    """Return the attention layer in both kernels, the decoder layer, and the model."""
    return [
        family.row("attention", "Attention", "eager", 0),
        family.row("attention, sdpa", "Attention", "sdpa", 0, slow=True),
        family.row("layer", "DecoderLayer", "eager", 0, slow=True),
        family.row("model, sdpa", family.model, "sdpa"),
    ]


DECODERS = [
    Family("llama", "Llama", GROUPED),
    Family("qwen2", "Qwen2", GROUPED),
    Family("qwen3", "Qwen3", GROUPED | {"head_dim": 8}),
    Family("gemma3", "Gemma3", GROUPED | SLIDING | SCALAR, model="TextModel"),
    Family("mistral", "Mistral", GROUPED | {"head_dim": 8}),
    Family("phi", "Phi", {"partial_rotary_factor": 0.5}),
    Family("phi3", "Phi3", GROUPED),
    Family("deepseek_v3", "DeepseekV3", LATENT),
    Family("olmo2", "Olmo2", GROUPED),
    Family("cohere", "Cohere", GROUPED),
    Family("stablelm", "StableLm", GROUPED | {"partial_rotary_factor": 0.5}),
    Family("granite", "Granite", GROUPED, CAUSAL | {"scale": 1.0}),
    Family("smollm3", "SmolLM3", GROUPED),
]
PERSIMMON = Family("persimmon", "Persimmon", {"partial_rotary_factor": 0.5})
GEMMA2 = Family("gemma2", "Gemma2", GROUPED | SLIDING | SCALAR)
OSS = Family(
    "gpt_oss",
    "GptOss",
    GROUPED | SLIDING | EXPERTS | UNSCALED | {"head_dim": 8},
    CAUSAL | {"weights": "sinks"},
)
NEOX = Family("gpt_neox", "GPTNeoX")
OPT = Family("opt", "OPT", {"ffn_dim": 48, "word_embed_proj_dim": DIM})
GPT2 = Family("gpt2", "GPT2", {"n_inner": 48})
FALCON = Family("falcon", "Falcon", {"multi_query": True})
ALIBI = Family("falcon", "Falcon", {"alibi": True, "multi_query": False})
BLOOM = Family("bloom", "Bloom")
BERT = Family("bert", "Bert", options={})
VIT = Family("vit", "ViT", options={})
T5 = Family("t5", "T5", {"d_kv": 8, "d_ff": 48}, options={"scale": 1.0})
WHISPER = Family(
    "whisper",
    "Whisper",
    {
        "d_model": DIM,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "encoder_ffn_dim": 48,
        "decoder_ffn_dim": 48,
        "decoder_layers": 2,
        "decoder_start_token_id": 1,
    },
    options={},
)


def named(family: Family, **options: Any) -> Family:
    """Return the family with other options of the check."""
    return Family(**(vars(family) | {"options": options}))


def viewing(row: Row) -> Row:
    """Return the row of a layer whose `Conv1D` raises for an input that is not contiguous."""
    return replace(row, fails={"runs": "it is reshaped by `view`, where `reshape` would do"})


TRANSFORMERS = [
    *(row for family in DECODERS for row in of_decoder(family)),
    PERSIMMON.row("attention", "Attention", "eager", 0, slow=True),
    PERSIMMON.row("model, sdpa", "Model", "sdpa"),
    GEMMA2.row("attention, soft-cap", "Attention", "eager", 0),
    GEMMA2.row("layer", "DecoderLayer", "eager", 1, slow=True),
    GEMMA2.row("model", "Model", "eager", slow=True),
    OSS.row("attention, sinks", "Attention", "eager", 0),
    OSS.row("layer", "DecoderLayer", "eager", 1, slow=True),
    OSS.row("model", "Model", "eager"),
    NEOX.row("attention", "Attention", "eager", layer_idx=0, slow=True),
    NEOX.row("layer", "Layer", "eager", 0, slow=True),
    NEOX.row("model, sdpa", "Model", "sdpa"),
    OPT.row("attention", "Attention", "eager", layer_idx=0),
    OPT.row("layer", "DecoderLayer", "sdpa", layer_idx=0),
    OPT.row("decoder", "Decoder", "eager"),
    viewing(GPT2.row("attention", "Attention", "eager", layer_idx=0)),
    viewing(GPT2.row("attention, sdpa", "Attention", "sdpa", layer_idx=0)),
    GPT2.row("block", "Block", "eager", layer_idx=0),
    GPT2.row("model, sdpa", "Model", "sdpa"),
    viewing(named(GPT2).row("cross-attention", "Attention", is_cross_attention=True, layer_idx=0)),
    FALCON.row("attention, one key head", "Attention", "eager", layer_idx=0, slow=True),
    FALCON.row("layer", "DecoderLayer", "sdpa", layer_idx=0),
    FALCON.row("model", "Model", "eager"),
    ALIBI.row("attention, ALiBi", "Attention", "eager", layer_idx=0, slow=True),
    BLOOM.row("attention, ALiBi", "Attention", layer_idx=0, slow=True),
    BLOOM.row("block", "Block", layer_idx=0),
    BLOOM.row("model", "Model"),
    BERT.row("self-attention", "SelfAttention", "eager"),
    BERT.row("attention with norm", "Attention", "sdpa"),
    BERT.row("cross-attention", "CrossAttention", "eager"),
    BERT.row("layer", "Layer", "eager"),
    BERT.row("model", "Model", "eager", add_pooling_layer=False),
    VIT.row("attention", "Attention", "eager"),
    VIT.row("layer", "Layer", "sdpa"),
    T5.row("attention, relative bias", "Attention", has_relative_attention_bias=True),
    T5.row("attention", "Attention"),
    T5.row("layer of attention", "LayerSelfAttention"),
    T5.row("layer of cross-attention", "LayerCrossAttention"),
    T5.row("encoder model", "EncoderModel"),
    WHISPER.row("encoder layer", "EncoderLayer", "eager"),
    WHISPER.row("decoder layer", "DecoderLayer", "eager", 0),
    named(WHISPER, causal=True).row("decoder", "Decoder", "sdpa"),
]


def of_torch() -> list[Row]:
    """Return PyTorch's own layers."""
    sizes = {"d_model": DIM, "nhead": HEADS, "dim_feedforward": 48}

    def encoder(**options: Any) -> nn.TransformerEncoderLayer:
        return nn.TransformerEncoderLayer(**sizes, **options)

    def stack() -> nn.TransformerEncoder:
        return nn.TransformerEncoder(encoder(batch_first=True), 2, enable_nested_tensor=False)

    whole = {"embed_dim": DIM}
    return [
        Row("torch MultiheadAttention", lambda: nn.MultiheadAttention(DIM, HEADS), whole),
        Row(
            "torch MultiheadAttention, batch first, bias_kv",
            lambda: nn.MultiheadAttention(DIM, HEADS, batch_first=True, add_bias_kv=True),
            whole,
            fails=UNSUMMED,
        ),
        Row("torch TransformerEncoderLayer", encoder, whole),
        Row("torch encoder, norm first", lambda: encoder(norm_first=True), whole),
        Row("torch TransformerEncoder", stack, whole),
        Row(
            "torch TransformerDecoderLayer",
            lambda: nn.TransformerDecoderLayer(**sizes),
            whole,
        ),
    ]


def of_x_transformers() -> list[Row]:
    """Return the attention layer of x-transformers, plain and with what can be switched on."""
    plain, causal = {"embed_dim": DIM}, {"embed_dim": DIM, "causal": True}
    # a mask of keys alone: what an upper layer sees through a lower one is not hidden by another
    keys = Adapter(attn_mask="mask", mask_axes=1, is_causal=None, context=None)
    tiled = "key heads are tiled by design, in other order than in weights of other libraries"

    def attention(what: str, options: dict[str, Any], **switched: Any) -> Row:
        def make() -> nn.Module:
            return x_transformers.Attention(dim=DIM, dim_head=8, heads=HEADS, **switched)

        return Row(f"x-transformers {what}", make, options)

    sizes = {"dim": DIM, "heads": HEADS, "attn_dim_head": 8}
    return [
        attention("attention", plain),
        attention("attention, causal", causal, causal=True),
        attention("attention, flash", causal, causal=True, flash=True),
        attention("qk_norm", plain, qk_norm=True),
        attention("qk_rmsnorm, causal", causal, causal=True, qk_rmsnorm=True),
        replace(
            attention("two key heads", plain, kv_heads=2),
            fails={"oracle": tiled, "group order": tiled},
        ),
        attention("one key head", plain, one_kv_head=True),
        attention("gated values", plain, gate_values=True),
        attention("soft-cap", plain, softclamp_logits=True),
        attention("sinks", plain | {"weights": "sinks"}, head_learned_sink=True),
        attention("talking heads", plain, pre_talking_heads=True),
        attention("sigmoid", plain | {"weights": "sigmoid"}, sigmoid=True),
        attention("window", causal | {"window": 4}, causal=True, max_attend_past=3),
        Row(
            "x-transformers encoder",
            lambda: x_transformers.Encoder(**sizes, depth=2),
            plain | {"adapter": keys},
            fails=HALVES_MEET,
        ),
        Row(
            "x-transformers decoder, rotary",
            lambda: x_transformers.Decoder(**sizes, depth=2, rotary_pos_emb=True),
            causal | {"positions": True, "adapter": keys},
            fails=HALVES_MEET,
        ),
    ]


def whisper(attention: str) -> Row:
    """Return the attention layer of Whisper, whose config is not its first argument."""

    def make() -> nn.Module:
        config = transformers.WhisperConfig(**(SIZES | WHISPER.config))
        config._attn_implementation = attention
        return WhisperAttention(DIM, HEADS, is_causal=True, layer_idx=0, config=config)

    return Row(f"Whisper attention, {attention}", make, {"embed_dim": DIM, "causal": True})


ROWS = [
    *TRANSFORMERS,
    whisper("eager"),
    whisper("sdpa"),
    *of_torch(),
    *of_x_transformers(),
]
