import torch

from attn_docs import attention_weights, scaled_dot_product_attention

query = torch.tensor([[[[0.0, 4, 0, 0]], [[0, 0, 4, 0]]]])  # b h n d = 1 2 1 4
key = torch.tensor([[[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]]])  # 1 1 3 4
value = torch.tensor([[[[0.0, 0], [10, 0], [0, 10]]]])  # 1 1 3 2

print(attention_weights(query, key)[0, :, 0])  # a row for each head
#> tensor([[0.1065, 0.7870, 0.1065],
#>         [0.1065, 0.1065, 0.7870]])
output = scaled_dot_product_attention(query, key, value)
print(output[0, :, 0])
#> tensor([[7.8699, 1.0651],
#>         [1.0651, 7.8699]])
print(output.flatten())  # the heads side by side
#> tensor([7.8699, 1.0651, 1.0651, 7.8699])
