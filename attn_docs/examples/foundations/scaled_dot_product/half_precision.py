import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention


def plain(query, key, value):
    weights = torch.softmax(query @ key.mT / query.size(-1) ** 0.5, dim=-1)
    return weights @ value


torch.manual_seed(0)
for dtype in (torch.float16, torch.bfloat16):
    query, key, value = (torch.randn(4, 256, 64).to(dtype) for _ in range(3))
    exact = F.scaled_dot_product_attention(query.double(), key.double(), value.double())

    def error(attend, inputs=(query, key, value), exact=exact):
        return (attend(*inputs).double() - exact).abs().max().item()

    theirs = error(F.scaled_dot_product_attention)
    ours = error(scaled_dot_product_attention)
    print(dtype, ours <= 2 * theirs, error(plain) > 3 * theirs)
#> torch.float16 True True
#> torch.bfloat16 True True
