from attn_docs import MultiHeadAttention
from attn_docs.testing import check_module


def test_attention():
    attend = MultiHeadAttention(64, 4)
    check_module(attend, embed_dim=64, causal=True, require=["oracle"]).raise_if_failed()
