"""Attention mechanisms in plain PyTorch, as taught and verified on the attn-docs site."""

from attn_docs._renamed import renamed
from attn_docs.checkpoints.from_hugging_face import (
    from_transformers,
    position_bias_from_transformers,
)
from attn_docs.checkpoints.steadier import (
    AcrossHeads,
    DifferentialAttention,
    SinkAttention,
    differential_attention,
    sink_attention,
    softcap_attention,
)
from attn_docs.checkpoints.whole_model import (
    decoder_from_config,
    load_decoder,
    rename_weights,
)
from attn_docs.foundations.additive import AdditiveAttention
from attn_docs.foundations.bilinear import BilinearAttention
from attn_docs.foundations.kernel_regression import KernelRegression, nadaraya_watson
from attn_docs.foundations.masks import (
    causal_mask,
    invert_mask,
    mask_to_additive,
    mask_to_boolean,
    padding_mask,
)
from attn_docs.foundations.origin import encode_step_by_step
from attn_docs.foundations.query_key_value import attention_by_hand
from attn_docs.foundations.scaled_dot_product import (
    attention_weights,
    masked_softmax,
    scaled_dot_product_attention,
)
from attn_docs.foundations.scoring_functions import (
    DotProductAttention,
    GaussianAttention,
    ScoreAttention,
)
from attn_docs.heads.cross_attention import CrossAttention
from attn_docs.heads.from_multi_head import grouped_query_to_multi_head, multi_head_to_grouped_query
from attn_docs.heads.grouped_query import (
    GroupedQueryAttention,
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
)
from attn_docs.heads.latent import LatentCache, MultiHeadLatentAttention
from attn_docs.heads.multi_head import MultiHeadAttention, merge_heads, split_heads
from attn_docs.heads.multi_query import MultiQueryAttention
from attn_docs.kernels.flash import flash_attention
from attn_docs.kernels.merging import (
    attention_with_lse,
    merge_attention,
    ring_attention,
    ring_join,
    ring_split,
    ring_tiles,
    split_kv_attention,
)
from attn_docs.kernels.packing import (
    cu_seqlens,
    document_ids,
    document_mask,
    document_positions,
    packed_attention,
)
from attn_docs.kernels.softmax import OnlineSoftmax, stable_softmax
from attn_docs.kernels.which_kernel import attention_kernels, which_kernel
from attn_docs.memory.decode_cost import (
    DecodeCost,
    decode_cost,
    latent_decode_cost,
    projection_cost,
)
from attn_docs.memory.kv_cache import ContextCache, KVCache, sliding_window_mask
from attn_docs.memory.kv_memory import (
    KVConfig,
    KVLayers,
    KVModel,
    kv_cache_bytes,
    load_models,
    longest_context,
)
from attn_docs.position.relative import RelativeBias, alibi_bias, alibi_slopes, t5_bucket
from attn_docs.position.rotary import (
    RotaryEmbedding,
    apply_rotary,
    rotary_to_half_split,
    rotary_to_interleaved,
)
from attn_docs.position.rotary_scaling import (
    DynamicScaling,
    LinearScaling,
    Llama3Scaling,
    NTKScaling,
    ProportionalScaling,
    YaRNScaling,
    rotary_frequencies,
)
from attn_docs.position.sinusoidal import sinusoidal
from attn_docs.self_attention.four_steps import (
    FusedSelfAttention,
    MaskedSelfAttention,
    ScaledDotProductSelfAttention,
    SelfAttention,
)

__all__ = [
    "AcrossHeads",
    "AdditiveAttention",
    "BilinearAttention",
    "ContextCache",
    "CrossAttention",
    "DecodeCost",
    "DifferentialAttention",
    "DotProductAttention",
    "DynamicScaling",
    "FusedSelfAttention",
    "GaussianAttention",
    "GroupedQueryAttention",
    "KVCache",
    "KVConfig",
    "KVLayers",
    "KVModel",
    "KernelRegression",
    "LatentCache",
    "LinearScaling",
    "Llama3Scaling",
    "MaskedSelfAttention",
    "MultiHeadAttention",
    "MultiHeadLatentAttention",
    "MultiQueryAttention",
    "NTKScaling",
    "OnlineSoftmax",
    "ProportionalScaling",
    "RelativeBias",
    "RotaryEmbedding",
    "ScaledDotProductSelfAttention",
    "ScoreAttention",
    "SelfAttention",
    "SinkAttention",
    "YaRNScaling",
    "alibi_bias",
    "alibi_slopes",
    "apply_rotary",
    "attention_by_hand",
    "attention_kernels",
    "attention_weights",
    "attention_with_lse",
    "causal_mask",
    "cu_seqlens",
    "decode_cost",
    "decoder_from_config",
    "differential_attention",
    "document_ids",
    "document_mask",
    "document_positions",
    "encode_step_by_step",
    "flash_attention",
    "from_transformers",
    "grouped_query_attention_broadcast",
    "grouped_query_attention_repeat",
    "grouped_query_to_multi_head",
    "invert_mask",
    "kv_cache_bytes",
    "latent_decode_cost",
    "load_decoder",
    "load_models",
    "longest_context",
    "mask_to_additive",
    "mask_to_boolean",
    "masked_softmax",
    "merge_attention",
    "merge_heads",
    "multi_head_to_grouped_query",
    "nadaraya_watson",
    "packed_attention",
    "padding_mask",
    "position_bias_from_transformers",
    "projection_cost",
    "rename_weights",
    "ring_attention",
    "ring_join",
    "ring_split",
    "ring_tiles",
    "rotary_frequencies",
    "rotary_to_half_split",
    "rotary_to_interleaved",
    "scaled_dot_product_attention",
    "sink_attention",
    "sinusoidal",
    "sliding_window_mask",
    "softcap_attention",
    "split_heads",
    "split_kv_attention",
    "stable_softmax",
    "t5_bucket",
    "which_kernel",
]

__getattr__ = renamed(__name__)
