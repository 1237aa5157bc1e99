"""Wrong versions of the mechanisms, each wrong in one stated way."""
