"""The numbers of the worked example."""

import math

import torch

from attn_docs import nadaraya_watson

KEYS, VALUES = (0.0, 1.0, 3.0), (2.0, 4.0, 10.0)
QUERY = 2.0


def numbers() -> dict[str, str]:
    """Return the numbers that the chapter's sentences use."""
    powers = [math.exp(-0.5 * (QUERY - key) ** 2) for key in KEYS]
    keys, values = torch.tensor(KEYS), torch.tensor(VALUES)
    asked = nadaraya_watson(torch.tensor([1.9, 2.0, 2.1]), keys, values).tolist()
    return {
        "at_19": f"{asked[0]:.2f}",
        "at_21": f"{asked[2]:.2f}",
        "mean": f"{sum(VALUES) / len(VALUES):.2f}",
        "output": f"{asked[1]:.4f}",
        "power_far": f"{powers[0]:.4f}",
        "power_near": f"{powers[1]:.4f}",
        "share_far": f"{powers[0] / sum(powers):.4f}",
        "share_near": f"{powers[1] / sum(powers):.4f}",
        "sum_powers": f"{sum(powers):.4f}",
    }
