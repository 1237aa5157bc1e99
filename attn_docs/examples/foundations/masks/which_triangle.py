import torch

from attn_docs import causal_mask, mask_to_additive

print(mask_to_additive(causal_mask(3)))  # allowed: the lower triangle with its diagonal
#> tensor([[0., -inf, -inf],
#>         [0., 0., -inf],
#>         [0., 0., 0.]])

above = torch.full((3, 3), -torch.inf).triu(diagonal=1)  # −∞ strictly above the diagonal
print(torch.equal(above, mask_to_additive(causal_mask(3))))
#> True

too_much = torch.full((3, 3), -torch.inf).triu()  # wrong: −∞ on the diagonal as well
print((too_much == 0).int())  # query 0 may attend to nothing
#> tensor([[0, 0, 0],
#>         [1, 0, 0],
#>         [1, 1, 0]], dtype=torch.int32)
