embed_dim, num_heads, kv_rank, q_rank, head_dim = 7168, 128, 512, 1536, 128

apart = num_heads * head_dim * (q_rank + kv_rank)  # W_UQ and W_UK
fused = num_heads * q_rank * kv_rank  # one matrix for each head, W_UQ^T W_UK
print(f"two factors {apart / 1e6:.0f} M, one matrix {fused / 1e6:.0f} M")
#> two factors 34 M, one matrix 101 M
