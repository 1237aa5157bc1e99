import torch

from attn_docs import sink_attention

torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 2, 6, 64).unbind()  # b h n d
sinks = torch.tensor([2.0, 4.0])

column = sinks.view(2, 1, 1).expand(1, 2, 6, 1)  # b h n 1
scores = torch.cat([query @ key.mT / 64**0.5, column], dim=-1)  # b h n m+1
output = scores.softmax(dim=-1)[..., :-1] @ value  # b h n d
print(torch.allclose(output, sink_attention(query, key, value, sinks=sinks), atol=1e-5))
#> True
