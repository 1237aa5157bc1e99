import torch
import torch.nn.functional as F

from attn_docs import scaled_dot_product_attention

torch.manual_seed(0)
query = torch.randn(2, 3, 5, 4, dtype=torch.float64)  # b h n d
key = torch.randn(2, 3, 7, 4, dtype=torch.float64)  # b h m d
value = torch.randn(2, 3, 7, 6, dtype=torch.float64)  # b h m e
mask = torch.rand(5, 7) > 0.3

for options in ({}, {"attn_mask": mask}, {"is_causal": True}, {"scale": 0.1}):
    leaves = [x.clone().requires_grad_() for x in (query, key, value)]
    ours = scaled_dot_product_attention(*leaves, **options)
    theirs = F.scaled_dot_product_attention(*leaves, **options)
    gradients = [torch.autograd.grad(out.square().sum(), leaves) for out in (ours, theirs)]
    difference = (ours - theirs).abs().max().item()
    for mine, reference in zip(*gradients, strict=True):
        difference = max(difference, (mine - reference).abs().max().item())
    print(list(options), difference < 1e-12)
#> [] True
#> ['attn_mask'] True
#> ['is_causal'] True
#> ['scale'] True
