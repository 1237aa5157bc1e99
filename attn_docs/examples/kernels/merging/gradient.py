import torch

from attn_docs import attention_with_lse, merge_attention, scaled_dot_product_attention

name = "_scaled_dot_product_flash_attention_for_cpu"  # private: it may change
kernel, its_backward = (getattr(torch.ops.aten, name + end) for end in ("", "_backward"))
inputs = torch.randn(3, 1, 2, 64, 8).double().unbind()  # query, key, value, each b h n d
query, key, value = (x.requires_grad_() for x in inputs)
pairs = list(zip(key.chunk(4, -2), value.chunk(4, -2), strict=True))
whole = scaled_dot_product_attention(query, key, value)
d_out = torch.randn_like(whole)
wanted = torch.autograd.grad(whole, inputs, d_out)


def same(found):
    return [torch.allclose(f, w) for f, w in zip(found, wanted, strict=True)]  # dQ dK dV


for attend in (attention_with_lse, kernel):
    parts = [attend(query, k, v) for k, v in pairs]
    output, lse = merge_attention(*zip(*parts, strict=True))
    print(parts[0][1].requires_grad, torch.allclose(output, whole), end=" ")
    print(same(torch.autograd.grad(output, inputs, d_out)))
#> True True [True, True, True]
#> False True [False, False, True]

# what a ring does: the backward of each part gets the output and the LSE of the whole
parts = [its_backward(d_out, query, k, v, output, lse, 0.0, False) for k, v in pairs]
d_query, d_key, d_value = zip(*parts, strict=True)
print(same([sum(d_query), torch.cat(d_key, -2), torch.cat(d_value, -2)]))
#> [True, True, True]
