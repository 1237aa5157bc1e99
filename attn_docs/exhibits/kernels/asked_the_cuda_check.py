"""Bug: the check for CUDA's kernel is asked about a call on a CPU."""

from torch.backends.cuda import SDPAParams, can_use_flash_attention


def is_fused(query, key, value):
    params = SDPAParams(query, key, value, None, 0.0, False, False)
    return can_use_flash_attention(params)  # wrong: which_kernel(query, key, value) != "MATH"
