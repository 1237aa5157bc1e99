import torch

from attn_docs import causal_mask, mask_to_additive

print(causal_mask(4).int())  # 1: may attend
#> tensor([[1, 0, 0, 0],
#>         [1, 1, 0, 0],
#>         [1, 1, 1, 0],
#>         [1, 1, 1, 1]], dtype=torch.int32)

print(mask_to_additive(causal_mask(4)))
#> tensor([[0., -inf, -inf, -inf],
#>         [0., 0., -inf, -inf],
#>         [0., 0., 0., -inf],
#>         [0., 0., 0., 0.]])

above = torch.full((4, 4), float("-inf")).triu(diagonal=1)  # −∞ strictly above
print(torch.equal(above, mask_to_additive(causal_mask(4))))
#> True

too_much = torch.full((4, 4), float("-inf")).triu()  # −∞ on the diagonal as well
print((too_much == 0).int())  # query 0 may attend to nothing
#> tensor([[0, 0, 0, 0],
#>         [1, 0, 0, 0],
#>         [1, 1, 0, 0],
#>         [1, 1, 1, 0]], dtype=torch.int32)
