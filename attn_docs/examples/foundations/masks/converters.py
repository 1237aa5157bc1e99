import torch

from attn_docs import invert_mask, mask_to_additive, mask_to_boolean, padding_mask

mask = padding_mask([3, 2])
print(torch.equal(mask_to_boolean(mask_to_additive(mask)), mask))
#> True
print(torch.equal(mask_to_boolean(mask.int()), mask))
#> True
print(torch.equal(invert_mask(invert_mask(mask)), mask))
#> True

for unclear in (mask.float(), torch.tensor([0.0, -1e9]), torch.tensor([0, 2])):
    try:
        mask_to_boolean(unclear)
    except ValueError as error:
        print(error)
#> mask must be 0 (attends) or -inf in a float mask; got 1.0
#> mask must be 0 (attends) or -inf in a float mask; got -1000000000.0
#> mask must be 1 (attends) or 0 in an integer mask; got 2
