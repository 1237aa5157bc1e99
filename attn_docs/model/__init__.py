"""Attention in a model: the block around it, and the decoder that blocks make."""

from attn_docs.model.block import MLP, Block, GatedMLP
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.weights import describe_weights, load_weights, save_weights

__all__ = [
    "MLP",
    "Block",
    "DecoderModel",
    "GatedMLP",
    "describe_weights",
    "load_weights",
    "save_weights",
]
