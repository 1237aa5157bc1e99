"""Masks that tell one way of masking from another, and what is said of a pattern that is seen."""

import torch
from torch import Tensor

LENGTH = 6  # tokens, where a check needs no other number
LENGTHS = (1, 2, LENGTH, 70)  # the last is longer than the blocks in which most kernels work


def sample_mask(length: int, device: torch.device, *, columns: bool = False) -> Tensor:
    """Return a mask that equals neither its complement nor its transpose, with full rows."""
    if columns:
        mask = torch.ones(length, length, dtype=torch.bool)
        mask[:, length - 1 or 1 :] = False  # the only token stays
        mask[:, 1 : min(2, length - 1)] = False
        return mask.to(device)
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    mask = ((2 * i + 3 * j + i * j) % 5 < 3) | (i == j)
    mask[:, 0] = True
    mask[0, 1:] = torch.tensor([k % 2 == 0 for k in range(1, length)])
    return mask.to(device)


def shuffled(length: int, device: torch.device) -> Tensor:
    """Return an order of tokens in which most stand elsewhere."""
    return torch.randperm(length, generator=torch.Generator().manual_seed(8)).to(device)


def ordered_mask(length: int, device: torch.device) -> Tensor:
    """Return a mask that one layer after the other leaves as it is: who sees whom, sees theirs."""
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    return ((j <= i) & ((i - j) % 2 == 0)).to(device)


def two_documents(device: torch.device) -> Tensor:
    """Return the mask that keeps documents of 3 and 4 tokens in one row apart."""
    first = torch.arange(7, device=device) < 3
    return first[:, None] == first


def off_diagonal(like: Tensor) -> Tensor:
    """Return what is no query's own key."""
    return ~torch.eye(*like.shape, dtype=torch.bool, device=like.device)


def pattern_evidence(seen: Tensor, mask: Tensor) -> str:
    """Say how what was seen differs from what the mask allows."""
    off = off_diagonal(mask)
    wrong = ((seen != mask) & off).nonzero()
    if not len(wrong):
        return f"by gradient, the keys seen are those allowed, all {int((mask & off).sum())} pairs"
    i, j = wrong[0].tolist()
    does = "sees" if seen[i, j] else "does not see"
    is_ = "allowed" if mask[i, j] else "forbidden"
    return f"query {i} {does} key {j}, which is {is_}; {len(wrong)} pairs are wrong"
