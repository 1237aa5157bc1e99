"""Messages of PyTorch that the pages name, for whoever searches for them, are what it says."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attn_docs import MultiHeadAttention
from tests.conftest import ROOT


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(shape)


def fill_half():
    return zeros(3).half().masked_fill(zeros(3) == 0, -1e9)


def integer_mask():
    x = zeros(2, 5, 8)
    return scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(5, 5, dtype=torch.int64))


def hint_alone():
    x = zeros(2, 5, 8)
    return torch.nn.MultiheadAttention(8, 2)(x, x, x, is_causal=True)


def key_heads(count: int, *, enable_gqa: bool):
    query, key = zeros(2, 6, 5, 8), zeros(2, count, 7, 8)
    return scaled_dot_product_attention(query, key, key, enable_gqa=enable_gqa)


@pytest.mark.parametrize(
    ("page", "call", "message"),
    [
        ("foundations/masks", fill_half, "value cannot be converted to type c10::Half"),
        ("foundations/masks", integer_mask, "Expected attn_mask dtype to be bool or float"),
        ("heads/multi-head", hint_alone, "Need attn_mask if specifying the is_causal hint"),
        (
            "heads/multi-head",
            lambda: torch.nn.MultiheadAttention(10, 3),
            "embed_dim must be divisible by num_heads",
        ),
        (
            "heads/multi-head",
            lambda: MultiHeadAttention(10, 3),
            "num_heads must divide embed_dim = 10; got 3",
        ),
        (
            "heads/grouped-query",
            lambda: key_heads(3, enable_gqa=False),
            "The size of tensor a (6) must match the size of tensor b (3) at non-singleton",
        ),
        (
            "heads/grouped-query",
            lambda: key_heads(4, enable_gqa=True),
            "Number of heads in key and value must divide the number of heads in",
        ),
    ],
)
def test_message_on_both_pages_is_the_one_raised(page, call, message):
    for name in ("index.md", "index.zh.md"):
        text = (ROOT / "docs" / page / name).read_text(encoding="utf-8")
        assert message in " ".join(text.split()), f"{page}/{name}"
    with pytest.raises((RuntimeError, AssertionError, ValueError)) as error:
        call()
    said = str(error.value).replace("at::Half", "c10::Half")  # its name in older versions
    assert message in " ".join(said.split())
