import torch

from attn_docs import MultiHeadAttention, merge_heads, split_heads
from attn_docs.testing import Adapter, check_module


def step(module, x, cache):  # b n D: the next few tokens; cache is None at the start
    layers = module.q_proj, module.k_proj, module.v_proj
    query, key, value = (split_heads(layer(x), 4) for layer in layers)  # b h n d
    later = torch.ones(x.size(1), x.size(1)).triu(1) > 0  # n n
    scores = query @ key.mT / query.size(-1) ** 0.5
    weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
    return module.out_proj(merge_heads(weights @ value)), cache


torch.manual_seed(0)
layer = MultiHeadAttention(16, 4)
print(check_module(layer, embed_dim=16, num_heads=4, adapter=Adapter(step=step)).verdict)
#> failed
