import torch

from attn_docs import attention_weights, causal_mask

for n, m in ((2, 4), (4, 2)):
    print(f"n={n} m={m}")
    first, last = causal_mask(n, m), causal_mask(n, m, offset=m - n)
    for left, right in zip(first.int().tolist(), last.int().tolist(), strict=True):
        print(left, right)
#> n=2 m=4
#> [1, 0, 0, 0] [1, 1, 1, 0]
#> [1, 1, 0, 0] [1, 1, 1, 1]
#> n=4 m=2
#> [1, 0] [0, 0]
#> [1, 1] [0, 0]
#> [1, 1] [1, 0]
#> [1, 1] [1, 1]

query, key = torch.zeros(1, 2), torch.zeros(4, 2)  # a new word, four keys stored
print(attention_weights(query, key, is_causal=True))
#> tensor([[1., 0., 0., 0.]])
print(attention_weights(query, key, causal_mask(1, 4, offset=3)))
#> tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
