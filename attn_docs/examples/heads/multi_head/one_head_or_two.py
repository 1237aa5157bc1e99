import torch

from attn_docs import scaled_dot_product_attention as attend

query = torch.tensor([[4.0, 4.0]])  # "sleeps" looks for a noun and for a determiner
key = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])  # the, cat, sleeps
value = torch.tensor([[1.0, 4.0], [5.0, 2.0], [3.0, 0.0]])

print(attend(query, key, value))  # one head of size 2
#> tensor([[3.0000, 2.9139]])

first = attend(query[:, :1], key[:, :1], value[:, :1])  # head 1 has column 1
second = attend(query[:, 1:], key[:, 1:], value[:, 1:])  # head 2 has column 2
both = torch.cat([first, second], dim=-1)
print(both)
#> tensor([[4.8940, 3.8940]])
