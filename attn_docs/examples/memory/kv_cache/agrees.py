import torch
import torch.nn.functional as F

from attn_docs import GroupedQueryAttention, KVCache

torch.manual_seed(0)
attend = GroupedQueryAttention(24, 6, 3, bias=False).double()
x = torch.randn(2, 7, 24, dtype=torch.float64)


def last_token(tokens):  # no cache, no module: all is computed again
    b, n, _ = tokens.shape
    query = F.linear(tokens[:, -1:], attend.q_proj.weight).view(b, 1, 6, 4)
    key = F.linear(tokens, attend.k_proj.weight).view(b, n, 3, 4)
    value = F.linear(tokens, attend.v_proj.weight).view(b, n, 3, 4)
    heads = []
    for i in range(6):  # query head i reads key head i // 2
        scores = query[:, :, i] @ key[:, :, i // 2].mT / 4**0.5
        heads.append(scores.softmax(dim=-1) @ value[:, :, i // 2])
    return F.linear(torch.cat(heads, dim=-1), attend.out_proj.weight)


cache = KVCache(batch=2, num_kv_heads=3, head_dim=4, capacity=7, dtype=torch.float64)
for t in range(7):
    output = attend(x[:, t : t + 1], is_causal=True, cache=cache)
    assert torch.allclose(output, last_token(x[:, : t + 1]), rtol=0, atol=1e-12)
print("the same for", cache.length, "tokens")
#> the same for 7 tokens
