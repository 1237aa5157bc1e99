import math

import torch

from attn_docs import attention_with_lse
from attn_docs.sentence import MEANINGS, embeddings, labelled, projections

x = embeddings()  # m D: the cat sleeps it dreams
w_q, w_k, w_v = projections(sharpness=math.log(8))  # exp(score): 8 for a noun, else 1

rows = []
for seen in (x, x[3:]):  # all words, or "it dreams" alone
    plain, lse = attention_with_lse(x[3:4] @ w_q, seen @ w_k, seen @ w_v, scale=1.0)
    kept = torch.sigmoid(lse - math.log(4))  # exp of the sink is 4: 12/16 or 2/6
    rows += [plain, kept.unsqueeze(-1) * plain]
names = ["all words, plain", "with a sink", "it dreams, plain", "with a sink"]
print(labelled(torch.cat(rows), names, MEANINGS))
#>                   definite    animal    asleep  dreaming
#> all words, plain      0.08      0.67      0.08      0.08
#> with a sink           0.06      0.50      0.06      0.06
#> it dreams, plain      0.00      0.00      0.00      0.50
#> with a sink           0.00      0.00      0.00      0.17
