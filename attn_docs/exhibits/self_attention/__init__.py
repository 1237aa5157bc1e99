"""Wrong versions of the mechanisms of self-attention."""
