import math

import torch

from attn_docs.sentence import MEANINGS, embeddings, labelled, projections

x = embeddings()  # m D: the cat sleeps it dreams
w_q, w_k, w_v = projections(sharpness=math.log(8))

rows = []
for seen in (x, x[3:]):  # all words, or "it dreams" alone
    exps = torch.exp(x[3:4] @ w_q @ (seen @ w_k).T)  # 1 m: 1 8 1 1 1, then 1 1
    # exp of the sink's score is 0, which is no sink, or 4
    rows += [exps / (exps.sum() + sink) @ (seen @ w_v) for sink in (0, 4)]
names = ["all words, plain", "with a sink", "it dreams, plain", "with a sink"]
print(labelled(torch.cat(rows), names, MEANINGS))
#>                   definite    animal    asleep  dreaming
#> all words, plain      0.08      0.67      0.08      0.08
#> with a sink           0.06      0.50      0.06      0.06
#> it dreams, plain      0.00      0.00      0.00      0.50
#> with a sink           0.00      0.00      0.00      0.17
