import torch
import torch.nn.functional as F

from attn_docs import attention_by_hand
from attn_docs.sentence import embeddings, projections

x = embeddings().double()
query, key, value = (x @ w.double() for w in projections(sharpness=6.0))

output, weights = attention_by_hand(query.tolist(), key.tolist(), value.tolist())
print([round(w, 2) for w in weights[3]])  # "it"
#> [0.03, 0.89, 0.03, 0.03, 0.03]
print([round(number, 2) for number in output[3]])
#> [0.03, 0.89, 0.03, 0.03]

theirs = F.scaled_dot_product_attention(query, key, value)
print((theirs - torch.tensor(output, dtype=torch.float64)).abs().max().item() < 1e-12)
#> True
