import torch


def share(x, heads):  # b g m d
    batch, kv_heads, length, size = x.shape
    x = x[:, :, None].expand(batch, kv_heads, heads // kv_heads, length, size)
    return x.reshape(batch, heads, length, size)  # b h m d


x = torch.randn(2, 2, 5, 4)
print(torch.equal(share(x, 8), x.repeat_interleave(4, dim=1)))
#> True
