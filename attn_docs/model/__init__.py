"""Attention in a model: the block around it, and the decoder that blocks make."""

from attn_docs.model.block import MLP, Block, GatedMLP
from attn_docs.model.decoder import DecoderModel

__all__ = ["MLP", "Block", "DecoderModel", "GatedMLP"]
