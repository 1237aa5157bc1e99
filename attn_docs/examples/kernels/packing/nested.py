import warnings

import torch
import torch.nn.functional as F

from attn_docs import cu_seqlens, packed_attention

warnings.simplefilter("ignore")  # a prototype, and it says so
torch.manual_seed(0)
lengths = [3, 5, 2]
rows = torch.randn(3, 10, 2, 8, requires_grad=True)  # query, key and value, each n h d
offsets = cu_seqlens(lengths).long()
query, key, value = (torch.nested.nested_tensor_from_jagged(x, offsets) for x in rows)
print(tuple(query.shape))  # documents, their lengths, h, d
#> (3, j1, 2, 8)

output = F.scaled_dot_product_attention(
    query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
)
output = output.transpose(1, 2).values()  # n h d: one row again

loop = packed_attention(*rows.transpose(1, 2), lengths).transpose(0, 1)
print(torch.allclose(output, loop, atol=1e-6))
#> True
gradients = [torch.autograd.grad(x.square().sum(), rows)[0] for x in (output, loop)]
print(torch.allclose(*gradients, atol=1e-5))
#> True
