import torch

from attn_docs import alibi_bias, alibi_slopes, scaled_dot_product_attention

torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 8, 6, 4).unbind()  # b h n d each
full = alibi_bias(8, 6)  # 1 h n n: −λ·|i − j|
row = alibi_slopes(8)[:, None, None] * torch.arange(6)  # h 1 n: λ·j, the same for all queries
print(full[0, 0, 5].tolist(), "for the last query")
#> [-2.5, -2.0, -1.5, -1.0, -0.5, 0.0] for the last query
print(row[0, 0].tolist(), "for every query")
#> [0.0, 0.5, 1.0, 1.5, 2.0, 2.5] for every query
for causal in (True, False):
    outputs = (
        scaled_dot_product_attention(query, key, value, bias, is_causal=causal)
        for bias in (full, row)
    )
    same = torch.allclose(*outputs, atol=1e-5)
    print(f"{'causal' if causal else 'both sides':10}  one row is enough: {same}")
#> causal      one row is enough: True
#> both sides  one row is enough: False
