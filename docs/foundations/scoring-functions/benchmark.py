"""What the operations of the table take: the scores, timed side by side."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import DotProductAttention, GaussianAttention
from docs._kit.measure import kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

LENGTH, SIZE, BUDGET = 1024, 64, 40.0
DIFFERENCES = "donot_use_mm_for_euclid_dist"


def cosine(query: Tensor, key: Tensor) -> Tensor:
    """Return the cosines, without a factor."""
    return F.normalize(query, dim=-1) @ F.normalize(key, dim=-1).mT


def gaussian_expanded(query: Tensor, key: Tensor) -> Tensor:
    """Return the Gaussian's scores through the dot product."""
    lengths = query.square().sum(-1).unsqueeze(-1) + key.square().sum(-1).unsqueeze(-2)
    return query @ key.mT - lengths / 2


def gaussian_cdist(query: Tensor, key: Tensor) -> Tensor:
    """Return the Gaussian's scores by PyTorch's loop over differences, which keeps none."""
    return -torch.cdist(query, key, compute_mode=DIFFERENCES).square() / 2


def l1(query: Tensor, key: Tensor) -> Tensor:
    """Return the negative L1 distances."""
    return -(query.unsqueeze(-2) - key.unsqueeze(-3)).abs().sum(-1)


SCORES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "dot": DotProductAttention().score,
    "cosine": cosine,
    "gaussian-expanded": gaussian_expanded,
    "gaussian-cdist": gaussian_cdist,
    "gaussian": GaussianAttention(width=1.0).score,
    "l1": l1,
}


def measure() -> dict[str, Measurement]:
    """Measure all scores of one batch entry, times as ratios to the dot product's."""
    values = []
    with one_thread(), torch.no_grad():
        torch.manual_seed(0)
        query, key = torch.randn(1, LENGTH, SIZE), torch.randn(1, LENGTH, SIZE)
        calls = {name: (lambda s=score: s(query, key)) for name, score in SCORES.items()}
        spent = dict(zip(calls, least_seconds(list(calls.values()), BUDGET), strict=True))
        for name, call in calls.items():
            setting = {"score": name, "length": LENGTH, "size": SIZE, "kernel": kernel_of(call)}
            ratio = spent[name] / spent["dot"]
            values.append(setting | {"quantity": "time", "value": ratio, "unit": "ratio"})
    return {"scores": measurement(values, threads=1)}
