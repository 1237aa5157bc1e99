# pip install pytest
import pytest
from torch import nn

from attn_docs import GroupedQueryAttention, RotaryEmbedding, scaled_dot_product_attention
from attn_docs.testing import check_attention, check_module

grouped = GroupedQueryAttention(32, 4, 2, rotary=RotaryEmbedding(8))
LAYERS = [  # yours: small instances, for their code is that of the large ones
    (nn.MultiheadAttention(32, 4), {"num_heads": 4}),
    (grouped, {"num_heads": 4, "positions": "rotary"}),
]


@pytest.mark.parametrize(("layer", "claims"), LAYERS)
def test_layer(layer, claims):
    check_module(layer, embed_dim=32, require=["oracle"], **claims).raise_if_failed()


def test_function():
    check_attention(scaled_dot_product_attention).raise_if_failed()
