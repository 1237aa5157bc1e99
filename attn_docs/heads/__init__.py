"""Attention with several heads, and with keys and values that heads share."""
