import torch

b, h, n, m, d, e = 2, 3, 5, 7, 4, 6
query, key, value = torch.randn(b, h, n, d), torch.randn(b, h, m, d), torch.randn(b, h, m, e)
sinks = torch.randn(h, 1, 1)  # one learned score for each head

scores = query @ key.mT / d**0.5  # b h n m
column = sinks.expand(b, h, n, 1)  # b h n 1
weights = torch.cat([scores, column], dim=-1).softmax(dim=-1)  # b h n m+1
dropped = weights[..., :-1] @ value  # b h n e: the sink's weight brings nothing

gate = torch.sigmoid(scores.logsumexp(dim=-1, keepdim=True) - sinks)  # b h n 1
gated = gate * (scores.softmax(dim=-1) @ value)  # b h n e: plain attention, times a factor
print(torch.allclose(dropped, gated, atol=1e-6))
#> True

from attn_docs import sink_attention

package = sink_attention(query, key, value, sinks=sinks.flatten())
print(torch.allclose(dropped, package, atol=1e-6))
#> True
