"""Bug: a multiply-add is counted as one FLOP, and compared with a machine's that counts two."""


def intensity(num_heads, num_kv_heads, bytes_per_number):
    per_token = 2 * num_heads  # wrong: 4 * num_heads, for each element of a key and a value
    return per_token / (2 * num_kv_heads * bytes_per_number)
