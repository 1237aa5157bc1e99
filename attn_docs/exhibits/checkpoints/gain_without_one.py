"""Bug: the norm multiplies by the stored weight, where Gemma's multiplies by 1 + weight."""

from torch import nn


def norm(weight, eps):
    """Return a norm of queries or keys with a weight from Gemma 3's checkpoint."""
    made = nn.RMSNorm(weight.size(0), eps=eps)
    gain = weight  # wrong: 1.0 + weight
    made.weight = nn.Parameter(gain.detach().clone())
    return made
