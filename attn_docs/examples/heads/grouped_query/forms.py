import torch
import torch.nn.functional as F

from attn_docs import grouped_query_attention_broadcast, grouped_query_attention_repeat

torch.manual_seed(0)
query = torch.randn(2, 6, 5, 4, dtype=torch.float64, requires_grad=True)  # b h n d
key = torch.randn(2, 3, 7, 4, dtype=torch.float64, requires_grad=True)  # b g m d
value = torch.randn(2, 3, 7, 8, dtype=torch.float64, requires_grad=True)  # b g m e
mask = torch.rand(5, 7) > 0.3
mask[:, 0] = True


def results(attend):
    output = attend(query, key, value, mask, enable_gqa=True)
    return output, *torch.autograd.grad(output.square().sum(), (query, key, value))


wanted = results(F.scaled_dot_product_attention)
for attend in (grouped_query_attention_repeat, grouped_query_attention_broadcast):
    pairs = zip(results(attend), wanted, strict=True)
    same = all(torch.allclose(*pair, rtol=0, atol=1e-12) for pair in pairs)
    print(same, attend.__name__)
#> True grouped_query_attention_repeat
#> True grouped_query_attention_broadcast
