"""Bug: a decoder's distances are clipped at zero before their sign is turned."""

import torch


def exact_bucket(distance, num_buckets=32):  # key minus query, the buckets of one distance each
    back = distance.clamp(min=0)  # wrong: (-distance).clamp(min=0)
    return torch.minimum(back, torch.tensor(num_buckets - 1))
