"""Tables and numbers of the chapters on self-attention."""
