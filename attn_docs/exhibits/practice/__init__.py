"""Wrong versions of one small layer, each wrong in one line."""
