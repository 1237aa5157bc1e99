"""What the reading paths promise to whoever looks for an error message."""

import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

PAGES = [
    Path(__file__).parents[1] / "docs" / "reading-paths" / name
    for name in ("index.md", "index.zh.md")
]
HEADS = torch.randn(1, 8, 5, 4)
WRONG = {
    "value cannot be converted to type … without overflow": lambda: HEADS.half().masked_fill(
        HEADS > 0, -1e9
    ),
    "The size of tensor a (…) must match the size of tensor b (…) at non-singleton dimension …": (
        lambda: F.scaled_dot_product_attention(HEADS, HEADS[:, :2], HEADS[:, :2])
    ),
    "view size is not compatible with input tensor's size and stride (at least one dimension spans "
    "across two contiguous subspaces). Use .reshape(...) instead.": (
        lambda: HEADS.transpose(1, 2).view(1, 5, 32)
    ),
    "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
    "attn_mask.dtype: long int": (
        lambda: F.scaled_dot_product_attention(HEADS, HEADS, HEADS, torch.ones(5, 5).long())
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_error_messages_are_those_of_torch(message):
    with pytest.raises(RuntimeError, match=re.escape(message).replace("…", ".*")):
        WRONG[message]()
    for page in PAGES:
        assert f"`{message}`" in page.read_text(encoding="utf-8")
