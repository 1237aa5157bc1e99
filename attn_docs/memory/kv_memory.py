"""How many bytes the keys and values of real models take."""
