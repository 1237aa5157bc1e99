"""Attention mechanisms in plain PyTorch, as taught and verified on the attn-docs site."""

from attn_docs.foundations.additive import AdditiveAttention
from attn_docs.foundations.bilinear import BilinearAttention
from attn_docs.foundations.kernel_regression import KernelRegression, nadaraya_watson
from attn_docs.foundations.masks import (
    causal_mask,
    invert_mask,
    padding_mask,
    to_additive,
    to_boolean,
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

__all__ = [
    "AdditiveAttention",
    "BilinearAttention",
    "DotProductAttention",
    "GaussianAttention",
    "KernelRegression",
    "ScoreAttention",
    "attention_by_hand",
    "attention_weights",
    "causal_mask",
    "encode_step_by_step",
    "invert_mask",
    "masked_softmax",
    "nadaraya_watson",
    "padding_mask",
    "scaled_dot_product_attention",
    "to_additive",
    "to_boolean",
]
