import torch

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.heads import (
    merged_without_transpose,
    overwritten_argument,
    scale_by_embed_dim,
    scrambled_heads,
    softmax_over_heads,
    split_reads_global,
)

torch.manual_seed(0)
x = torch.randn(2, 5, 12, dtype=torch.float64)  # query, key and value
order = torch.randperm(5)
layer = MultiHeadAttention(12, 3, bias=False).double().requires_grad_(False)
for projection in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
    projection.weight.copy_(torch.eye(12))
right = layer(x)

print("shape  ones stay ones  order of tokens  same again  equals ours")
#> shape  ones stay ones  order of tokens  same again  equals ours
for bug in (
    scrambled_heads,
    merged_without_transpose,
    scale_by_embed_dim,
    softmax_over_heads,
    split_reads_global,
    overwritten_argument,
):
    query, key, value = x.clone(), x.clone(), x.clone()
    output = bug.attention(query, key, value, 3)
    again = bug.attention(query, key, value, 3)
    ones = bug.attention(x.clone(), key, torch.ones_like(x), 3)
    moved = bug.attention(x[:, order], key[:, order], value[:, order], 3)
    checks = (
        output.shape == right.shape,
        torch.allclose(ones, torch.ones_like(x)),
        torch.allclose(moved, output[:, order]),
        torch.allclose(again, output),
        torch.allclose(output, right),
    )
    print(*("pass" if check else "FAIL" for check in checks), bug.__name__.rpartition(".")[2])
#> pass pass FAIL pass FAIL scrambled_heads
#> pass pass FAIL pass FAIL merged_without_transpose
#> pass pass pass pass FAIL scale_by_embed_dim
#> pass FAIL pass pass FAIL softmax_over_heads
#> pass pass pass pass FAIL split_reads_global
#> pass pass pass FAIL pass overwritten_argument
