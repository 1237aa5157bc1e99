import torch

from attn_docs import attention_with_lse, merge_attention, scaled_dot_product_attention

ranks = 4
query, key, value = torch.randn(3, 16, 8)  # n d
queries = query.chunk(ranks)  # these stay
held = list(zip(key.chunk(ranks), value.chunk(ranks), strict=True))  # these travel
results = [None] * ranks
for step in range(ranks):
    for rank in range(ranks):  # in a real ring, all at the same time
        part = attention_with_lse(queries[rank], *held[rank])  # output and LSE
        if step:
            (o1, lse1), (o2, lse2) = results[rank], part
            part = merge_attention([o1, o2], [lse1, lse2])
        results[rank] = part
    held = held[-1:] + held[:-1]  # each rank passes on what it holds to the next one
output = torch.cat([output for output, _ in results])
print(torch.allclose(output, scaled_dot_product_attention(query, key, value), atol=1e-6))
#> True
