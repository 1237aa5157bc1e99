import torch

from attn_docs import attention_weights

torch.set_printoptions(precision=2)
the, cat, sleeps = [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 2.0]
x = torch.tensor([the, cat, sleeps])

print(x @ x.T)  # one vector in all three roles
#> tensor([[1., 0., 0.],
#>         [0., 4., 2.],
#>         [0., 2., 5.]])
print(attention_weights(x, x))
#> tensor([[0.47, 0.26, 0.26],
#>         [0.07, 0.71, 0.22],
#>         [0.05, 0.14, 0.81]])
