import torch
import torch.nn.functional as F

from attn_docs import causal_mask, padding_mask, scaled_dot_product_attention

torch.manual_seed(0)
lengths = [7, 4, 2]
query = torch.randn(3, 5, 4, dtype=torch.float64, requires_grad=True)  # b n d
key = torch.randn(3, 7, 4, dtype=torch.float64, requires_grad=True)  # b m d
value = torch.randn(3, 7, 6, dtype=torch.float64, requires_grad=True)  # b m e

mask = causal_mask(5, 7, offset=2) & padding_mask(lengths)[:, None, :]  # b n m
rows = []
for b, length in enumerate(lengths):
    for i in range(5):
        seen = min(length, i + 3)  # query i sees the keys 0 to i + 2 that are not padding
        row = query[b, i : i + 1], key[b, :seen], value[b, :seen]
        rows.append(F.scaled_dot_product_attention(*row))  # no mask

cut = torch.cat(rows).view(3, 5, 6)
pytorch = F.scaled_dot_product_attention(query, key, value, mask)
ours = scaled_dot_product_attention(query, key, value, mask)
for name, other in (("cut out", cut), ("PyTorch", pytorch)):
    difference = (ours - other).abs().max().item()
    for leaf in (query, key, value):
        (mine,) = torch.autograd.grad(ours.sin().sum(), leaf, retain_graph=True)
        (theirs,) = torch.autograd.grad(other.sin().sum(), leaf, retain_graph=True)
        difference = max(difference, (mine - theirs).abs().max().item())
    print(name, difference < 1e-12)
#> cut out True
#> PyTorch True
