"""Self-attention: queries, keys and values of one sequence."""
