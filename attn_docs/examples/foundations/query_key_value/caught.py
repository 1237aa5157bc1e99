import torch

from attn_docs.exhibits.foundations import value_from_key
from attn_docs.sentence import embeddings, projections

x, (w_q, w_k, w_v) = embeddings(), projections()
w_v.requires_grad_()
output = value_from_key.attention(x, w_q.requires_grad_(), w_k, w_v)
print(torch.autograd.grad(output.sum(), w_v, allow_unused=True))  # nothing reaches w_v
#> (None,)
