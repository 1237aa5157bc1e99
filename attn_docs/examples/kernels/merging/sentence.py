import math

import torch

from attn_docs import attention_with_lse, merge_attention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()  # m D: the cat sleeps it dreams
w_q, w_k, w_v = projections(sharpness=math.log(8))  # exp(score): 8 for a noun, else 1
query, key, value = x[3:4] @ w_q, x @ w_k, x @ w_v  # "it" asks

a = attention_with_lse(query, key[:3], value[:3], scale=1.0)  # on machine A
b = attention_with_lse(query, key[3:], value[3:], scale=1.0)  # on machine B
outputs, lses = zip(a, b, strict=True)
merged, lse = merge_attention(outputs, lses)
whole, _ = attention_with_lse(query, key, value, scale=1.0)

rows = torch.cat([*outputs, sum(outputs) / 2, merged, whole])
names = [" ".join(WORDS[:3]), " ".join(WORDS[3:]), "averaged", "merged", "all words"]
print(labelled(rows, names, MEANINGS, digits=3))
#>                 definite    animal    asleep  dreaming
#> the cat sleeps     0.100     0.800     0.100     0.000
#> it dreams          0.000     0.000     0.000     0.500
#> averaged           0.050     0.400     0.050     0.250
#> merged             0.083     0.667     0.083     0.083
#> all words          0.083     0.667     0.083     0.083
print("sums of exp(score):", [round(one.exp().item()) for one in (*lses, lse)])
#> sums of exp(score): [10, 2, 12]
