"""Figures of the chapters on self-attention."""
