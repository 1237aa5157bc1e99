import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right

from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x, (w_q, w_k, w_v) = embeddings()[None], projections(sharpness=6.0)
key, value = x @ w_k, x @ w_v  # 1 m d, 1 m e: of all five tokens, from the cache
query = x[:, 3:] @ w_q  # 1 n d: "it dreams" is new
upper = F.scaled_dot_product_attention(query, key, value, is_causal=True)
lower = F.scaled_dot_product_attention(query, key, value, causal_lower_right(2, 5))
print(labelled(upper[0], WORDS[3:], MEANINGS))
#>         definite    animal    asleep  dreaming
#> it          1.00      0.00      0.00      0.00
#> dreams      0.03      0.97      0.00      0.00
print(labelled(lower[0], WORDS[3:], MEANINGS))
#>         definite    animal    asleep  dreaming
#> it          0.03      0.91      0.03      0.00
#> dreams      0.01      0.33      0.33      0.33
