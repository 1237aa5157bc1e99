"""Wrong versions of what stands around attention in a model."""
