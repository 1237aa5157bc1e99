"""Bug: layers with a window are taken to keep every token."""


def cache_bytes(length, full, windowed, window, kv_heads, head_dim, itemsize=2):
    seen = length  # wrong: min(length, window)
    positions = full * length + windowed * seen
    return 2 * positions * kv_heads * head_dim * itemsize
