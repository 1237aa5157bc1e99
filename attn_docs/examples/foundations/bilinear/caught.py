import torch

from attn_docs import BilinearAttention
from attn_docs.exhibits.foundations import bilinear_transposed, bilinear_wrong_divisor

torch.manual_seed(0)
for q, k in ((64, 64), (16, 64)):
    attend = BilinearAttention(q, k).double().requires_grad_(False)
    query, key = torch.randn(2, 3, q).double(), torch.randn(2, 5, k).double()
    value = torch.randn(2, 5, 7).double()
    for bug in (bilinear_transposed, bilinear_wrong_divisor):
        try:
            output = bug.attention(query, key, value, attend.weight)
            result = "equal" if torch.allclose(output, attend(query, key, value)) else "differs"
        except RuntimeError:
            result = "fails"
        print(q, k, bug.__name__.rpartition(".")[2], result)
#> 64 64 bilinear_transposed differs
#> 64 64 bilinear_wrong_divisor differs
#> 16 64 bilinear_transposed fails
#> 16 64 bilinear_wrong_divisor differs
