import torch
import torch.nn.functional as F


def grouped_query_attention(query, key, value):  # b h n d, b g m d, b g m e
    group = query.size(1) // key.size(1)  # h/g query heads share a KV head
    key = key.repeat_interleave(group, dim=1)  # b h m d: heads 0 0 1 1
    value = value.repeat_interleave(group, dim=1)  # b h m e
    scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
    return scores.softmax(dim=-1) @ value  # b h n e


torch.manual_seed(0)
query = torch.randn(1, 4, 1, 3)  # b h n d: four query heads of the newest token
key, value = torch.randn(2, 1, 2, 5, 3)  # b g m d: two KV heads, all that is cached
output = grouped_query_attention(query, key, value)

from attn_docs import grouped_query_attention_repeat

print(torch.allclose(output, grouped_query_attention_repeat(query, key, value)))
#> True
wanted = F.scaled_dot_product_attention(query, key, value, enable_gqa=True)
print(torch.allclose(output, wanted, atol=1e-6))
#> True
