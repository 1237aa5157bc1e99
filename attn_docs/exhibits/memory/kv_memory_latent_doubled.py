"""Bug: the latent vector is counted twice, once for keys and once for values."""


def bytes_per_token(layers, kv_rank, rope_dim, itemsize=2):
    vectors = 2  # wrong: 1
    return vectors * layers * (kv_rank + rope_dim) * itemsize
