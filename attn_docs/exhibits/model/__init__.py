"""Wrong versions of what models are made of and looked at with."""
