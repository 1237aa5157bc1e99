from attn_docs import MultiHeadAttention
from attn_docs.testing import check_module


def test_attention():
    check_module(MultiHeadAttention(64, 4), embed_dim=64).raise_if_failed()
