"""Bug: a kernel that is enabled is taken for one that is forced."""

import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]  # wrong: [SDPBackend.FLASH_ATTENTION]


def attention(query, key, value, **options):
    with sdpa_kernel(BACKENDS, set_priority=True):
        return F.scaled_dot_product_attention(query, key, value, **options)
