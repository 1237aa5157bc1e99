import torch

torch.manual_seed(0)
print("   d  division  at the scores  at the query")
#>    d  division  at the scores  at the query
for d in (64, 1024):
    query, key, value = (torch.randn(64, 64, size).double() for size in (d, d, 1))
    for name, scale in (("none", 1.0), ("by √d", d**-0.5)):
        query.requires_grad_()
        scores = query @ key.mT * scale
        output = torch.softmax(scores, dim=-1) @ value
        gradients = torch.autograd.grad(output.sum(), (scores, query))
        medians = [g.norm(dim=-1).median().item() for g in gradients]
        print(f"{d:4}  {name:8}  {medians[0]:13.0e}  {medians[1]:12.0e}")
#>   64  none              1e-01         9e-01
#>   64  by √d             2e-01         2e-01
#> 1024  none              2e-04         5e-03
#> 1024  by √d             2e-01         2e-01
