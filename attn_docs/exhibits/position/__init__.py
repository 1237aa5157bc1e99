"""Wrong versions of the mechanisms of position."""
