from attn_docs import GroupedQueryAttention, RotaryEmbedding
from attn_docs.testing import check_module

layer = GroupedQueryAttention(32, 4, 2, rotary=RotaryEmbedding(8))
print(check_module(layer, embed_dim=32, num_heads=4, positions="rotary").verdict)
#> passed
