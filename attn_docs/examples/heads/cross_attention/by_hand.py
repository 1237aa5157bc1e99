import torch

from attn_docs import attention_weights, scaled_dot_product_attention

query = torch.tensor([[0.0, 4, 0, 0], [0, 0, 4, 0]])  # feles, dormit
key = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])  # the, cat, sleeps
value = torch.tensor([[0.0, 0], [10, 0], [0, 10]])

# a row for each Latin word, a column for each English one
print(query @ key.mT / 4**0.5)
#> tensor([[0., 2., 0.],
#>         [0., 0., 2.]])
print(attention_weights(query, key))
#> tensor([[0.1065, 0.7870, 0.1065],
#>         [0.1065, 0.1065, 0.7870]])
print(scaled_dot_product_attention(query, key, value))
#> tensor([[7.8699, 1.0651],
#>         [1.0651, 7.8699]])
