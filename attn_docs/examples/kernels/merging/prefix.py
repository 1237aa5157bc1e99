import torch

from attn_docs import attention_with_lse, merge_attention, scaled_dot_product_attention

requests, shared, own, d = 100, 500, 20, 16
query = torch.randn(requests, 1, d)  # b 1 d: each request asks once
prompt = torch.randn(2, shared, d)  # keys and values of the prompt, held once
tails = torch.randn(2, requests, own, d)  # b m d, twice

front = attention_with_lse(query.transpose(0, 1), *prompt[:, None])  # 1 b d: one matrix product
front = [x.transpose(0, 1) for x in front]  # b 1 e, b 1
back = attention_with_lse(query, *tails)  # b 1 e, b 1
output, _ = merge_attention(*zip(front, back, strict=True))

pairs = zip(prompt, tails, strict=True)
keys, values = (torch.cat([p.expand(requests, -1, -1), t], 1) for p, t in pairs)
print(torch.allclose(output, scaled_dot_product_attention(query, keys, values), atol=1e-6))
#> True
