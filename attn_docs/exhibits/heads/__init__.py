"""Wrong versions of the mechanisms of heads."""
