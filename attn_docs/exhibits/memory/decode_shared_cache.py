"""Bug: the cache's bytes are counted once for the whole batch, as if all read the same text."""


def intensity(batch, length, num_heads, num_kv_heads, head_dim, bytes_per_number):
    flops = 4 * batch * num_heads * length * head_dim
    numbers = 2 * num_kv_heads * length * head_dim  # wrong: 2 * batch * …
    return flops / (numbers * bytes_per_number)
