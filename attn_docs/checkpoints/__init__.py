"""Attention as today's models have it, and their own layers as this book's."""

from attn_docs.checkpoints.from_hugging_face import from_transformers

__all__ = ["from_transformers"]
