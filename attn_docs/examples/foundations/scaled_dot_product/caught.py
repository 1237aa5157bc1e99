import torch
import torch.nn.functional as F

from attn_docs.exhibits.foundations import (
    missing_scale,
    reshaped_key,
    scaled_twice,
    softmax_over_queries,
)

torch.manual_seed(0)
query = torch.randn(5, 4, dtype=torch.float64)  # n d
key = torch.randn(7, 4, dtype=torch.float64)  # m d
value = torch.randn(7, 6, dtype=torch.float64)  # m e
order = torch.randperm(7)

print("shape  ones stay ones  order of keys  equals PyTorch")
#> shape  ones stay ones  order of keys  equals PyTorch
for bug in (missing_scale, scaled_twice, softmax_over_queries, reshaped_key):
    output = bug.attention(query, key, value)
    checks = (
        output.shape == (5, 6),
        torch.allclose(
            bug.attention(query, key, torch.ones_like(value)), torch.ones(5, 6).double()
        ),
        torch.allclose(bug.attention(query, key[order], value[order]), output),
        torch.allclose(F.scaled_dot_product_attention(query, key, value), output),
    )
    name = bug.__name__.rpartition(".")[2]
    print(*("pass" if check else "FAIL" for check in checks), name)
#> pass pass pass FAIL missing_scale
#> pass pass pass FAIL scaled_twice
#> pass FAIL pass FAIL softmax_over_queries
#> pass pass FAIL FAIL reshaped_key
