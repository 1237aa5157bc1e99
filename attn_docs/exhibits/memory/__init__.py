"""Wrong versions of the mechanisms of memory."""
