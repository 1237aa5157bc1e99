"""Converters of the attention layers with other layouts: fused or interleaved projections."""

from attn_docs.checkpoints._config import Converter

OTHERS: dict[str, Converter] = {}
