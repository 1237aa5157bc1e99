import torch

from attn_docs import attention_weights

torch.set_printoptions(precision=2)
# columns: determiner, noun, verb, alive
the, cat, sleeps = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]
x = torch.tensor([the, cat, sleeps])

print(x @ x.T)  # row: the word that asks, column: the word that answers
#> tensor([[1., 0., 0.],
#>         [0., 2., 1.],
#>         [0., 1., 2.]])
print(attention_weights(x, x))
#> tensor([[0.45, 0.27, 0.27],
#>         [0.19, 0.51, 0.31],
#>         [0.19, 0.31, 0.51]])
