"""Measurements of the chapters on self-attention."""
