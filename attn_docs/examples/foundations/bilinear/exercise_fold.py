import torch

torch.manual_seed(0)
x, y = torch.randn(3, 8).double(), torch.randn(5, 8).double()  # n D, m D
w_q, w_k = torch.randn(8, 2).double(), torch.randn(8, 2).double()  # D d each
scores = (x @ w_q) @ (y @ w_k).T

for name, a in (("scaling", torch.diag(torch.tensor([2.0, 5.0]))), ("any", torch.randn(2, 2))):
    other_q, other_k = w_q @ a.double(), w_k @ a.double().inverse()
    print(name, torch.allclose((x @ other_q) @ (y @ other_k).T, scores))
#> scaling True
#> any False
