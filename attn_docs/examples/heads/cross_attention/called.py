import torch

from attn_docs import CrossAttention, padding_mask

torch.manual_seed(0)
attend = CrossAttention(input_dim=6, context_dim=8, output_dim=4)
x, context = torch.randn(2, 3, 6), torch.randn(2, 5, 8)  # b n 6, b m 8

output = attend(x, context)
print(tuple(output.shape))  # as many rows as x has
#> (2, 3, 4)
mask = padding_mask([5, 2])[:, None]  # b 1 m: the second context has 2 vectors
masked = attend(x, context, mask)
print(torch.equal(masked[0], output[0]))  # the first has no padding
#> True
print(output[1, 0].detach(), "all five")
#> tensor([ 0.1783,  0.4962, -0.3569,  0.1004]) all five
print(masked[1, 0].detach(), "two of five")
#> tensor([-0.3481,  0.9566, -0.7425, -0.3085]) two of five
print(torch.allclose(masked[1], attend(x[1:], context[1:, :2])[0]))  # as if cut off
#> True
