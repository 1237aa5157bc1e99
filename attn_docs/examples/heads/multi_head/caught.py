import torch

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.heads import (
    merged_without_transpose,
    scale_by_embed_dim,
    scrambled_heads,
    softmax_over_heads,
)

torch.manual_seed(0)
x = torch.randn(2, 5, 12)  # query, key and value: b n D
order = [4, 0, 1, 2, 3]  # the last token first
layer = MultiHeadAttention(12, 3, bias=False).requires_grad_(False)
for projection in (layer.q_proj, layer.k_proj, layer.v_proj, layer.out_proj):
    projection.weight.copy_(torch.eye(12))
right = layer(x)

print("ones stay ones  order of tokens  equals ours")
#> ones stay ones  order of tokens  equals ours
for bug in (scrambled_heads, merged_without_transpose, scale_by_embed_dim, softmax_over_heads):
    output = bug.attention(x, x, x, 3)
    ones = bug.attention(x, x, torch.ones_like(x), 3)
    moved = bug.attention(x[:, order], x[:, order], x[:, order], 3)
    checks = (
        torch.allclose(ones, torch.ones_like(x)),
        torch.allclose(moved, output[:, order], atol=1e-6),
        torch.allclose(output, right, atol=1e-6),
    )
    print(*("pass" if check else "FAIL" for check in checks), bug.__name__.rpartition(".")[2])
#> pass FAIL FAIL scrambled_heads
#> pass FAIL FAIL merged_without_transpose
#> pass pass FAIL scale_by_embed_dim
#> FAIL pass FAIL softmax_over_heads
