"""What the checks of functions and of modules share: verdicts, and a telling mask."""

import torch
from torch import Tensor

from attn_docs.testing.report import Finding, Verdict

NO_MASK = "it takes no mask"


def finding(name: str, verdict: Verdict, evidence: str, cause: str = "") -> Finding:
    """Return a finding; one that holds needs no cause."""
    return Finding(name, verdict, evidence, cause if verdict == "fail" else "")


def judge(name: str, good: bool, evidence: str, cause: str) -> Finding:
    """Return a finding that passes or fails."""
    return finding(name, "pass" if good else "fail", evidence, cause)


def skip(name: str, why: str) -> Finding:
    """Return a finding that could not be judged."""
    return finding(name, "not applicable", why)


def sample_mask(length: int, device: torch.device, *, columns: bool = False) -> Tensor:
    """Return a mask that equals neither its complement nor its transpose, with full rows."""
    if columns:
        mask = torch.ones(length, length, dtype=torch.bool)
        mask[:, [1, length - 1]] = False
        return mask.to(device)
    i, j = torch.meshgrid(torch.arange(length), torch.arange(length), indexing="ij")
    mask = ((2 * i + 3 * j + i * j) % 5 < 3) | (i == j)
    mask[:, 0] = True
    mask[0, 1:] = torch.tensor([k % 2 == 0 for k in range(1, length)])
    return mask.to(device)


def pattern_evidence(seen: Tensor, mask: Tensor) -> str:
    """Say how what was seen differs from what the mask allows."""
    off = ~torch.eye(*mask.shape, dtype=torch.bool, device=mask.device)
    wrong = ((seen != mask) & off).nonzero()
    if not len(wrong):
        return f"by gradient, the keys seen are those allowed, all {int((mask & off).sum())} pairs"
    i, j = wrong[0].tolist()
    does = "sees" if seen[i, j] else "does not see"
    is_ = "allowed" if mask[i, j] else "forbidden"
    return f"query {i} {does} key {j}, which is {is_}; {len(wrong)} pairs are wrong"


def two_documents() -> Tensor:
    """Return the mask that keeps documents of 3 and 4 words in one row apart."""
    first = torch.arange(7) < 3
    return first[:, None] == first
