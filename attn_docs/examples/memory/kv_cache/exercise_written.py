import torch

from attn_docs import MultiHeadAttention, merge_heads, split_heads
from attn_docs.testing import Adapter, check_module


def step(module, x, cache):  # b n D: the next few tokens; cache is None at the start
    layers = module.q_proj, module.k_proj, module.v_proj
    query, key, value = (split_heads(layer(x), 4) for layer in layers)  # b h n d
    if cache is not None:
        key, value = torch.cat((cache[0], key), dim=2), torch.cat((cache[1], value), dim=2)
    n, m = query.size(2), key.size(2)
    later = torch.ones(n, m).triu(m - n + 1) > 0  # n m: True where the key is later
    scores = query @ key.mT / query.size(-1) ** 0.5
    weights = scores.masked_fill(later, float("-inf")).softmax(dim=-1)
    return module.out_proj(merge_heads(weights @ value)), (key, value)


torch.manual_seed(0)
layer = MultiHeadAttention(16, 4)
print(check_module(layer, embed_dim=16, num_heads=4, adapter=Adapter(step=step)).verdict)
#> passed
