from attn_docs import MultiHeadAttention

for num_heads in (12, 24):
    layer = MultiHeadAttention(embed_dim=768, num_heads=num_heads)
    print(num_heads, layer.head_dim, sum(p.numel() for p in layer.parameters()))
#> 12 64 2362368
#> 24 32 2362368
