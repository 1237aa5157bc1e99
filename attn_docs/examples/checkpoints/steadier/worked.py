import math

import torch

from attn_docs import attention_with_lse
from attn_docs.sentence import MEANINGS, embeddings, labelled, projections

x = embeddings()  # m D: the cat sleeps it dreams
w_q, w_k, w_v = projections(sharpness=math.log(8))  # exp(score): 8 for a noun, else 1
sink = math.log(4)  # exp(sink) is 4

rows, names = [], []
for name, seen in (("the cat sleeps it dreams", x), ("it dreams", x[3:])):
    plain, lse = attention_with_lse(x[3:4] @ w_q, seen @ w_k, seen @ w_v, scale=1.0)
    kept = torch.sigmoid(lse - sink)
    print(f"{name}: a sum of {lse.exp().item():.0f}, of which the words keep {kept.item():.4f}")
    rows += [plain, kept.unsqueeze(-1) * plain]
    names += [f"{name}, plain", f"{name}, with a sink"]
#> the cat sleeps it dreams: a sum of 12, of which the words keep 0.7500
#> it dreams: a sum of 2, of which the words keep 0.3333
print(labelled(torch.cat(rows), names, MEANINGS))
#>                                        definite    animal    asleep  dreaming
#> the cat sleeps it dreams, plain            0.08      0.67      0.08      0.08
#> the cat sleeps it dreams, with a sink      0.06      0.50      0.06      0.06
#> it dreams, plain                           0.00      0.00      0.00      0.50
#> it dreams, with a sink                     0.00      0.00      0.00      0.17
