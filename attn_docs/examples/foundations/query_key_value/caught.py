import torch

from attn_docs.exhibits.foundations import swapped_roles, value_from_key
from attn_docs.sentence import embeddings, projections
from attn_docs.testing import check_attention

x, (w_q, w_k, w_v) = embeddings(), projections()
w_v.requires_grad_()
output = value_from_key.attention(x, w_q.requires_grad_(), w_k, w_v)
print(torch.autograd.grad(output.sum(), w_v, allow_unused=True))  # nothing reaches w_v
#> (None,)

for finding in check_attention(swapped_roles.attention).failures:
    print(f"{finding.property}: {finding.cause}")
#> oracle: query and key are swapped: row i of the scores belongs to key i
#> permutation: something depends on where a key or query stands
#> cross-attention: the length of the queries is used for the keys
