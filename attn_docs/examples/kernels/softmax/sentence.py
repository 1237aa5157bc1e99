import math

import torch

from attn_docs import OnlineSoftmax
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
w_q, w_k, w_v = projections(sharpness=math.log(8))
scores, values = (x @ w_q) @ (x @ w_k).mT, x @ w_v  # 5 5, 5 4
print(labelled(scores[1:2].exp(), ["cat"], WORDS, digits=0))  # e to the power of each score
#>         the     cat  sleeps      it  dreams
#> cat       1       1       8       1       8

softmax = OnlineSoftmax()
for block in ([0, 1], [2, 3], [4]):
    softmax.update(scores[1:2, block], values[block])
print(labelled(softmax.result() * 19, ["19 × cat"], MEANINGS, digits=0))
#>           definite    animal    asleep  dreaming
#> 19 × cat         1         1         8         8
print(softmax.lse.exp())
#> tensor([19.])
print(torch.allclose(softmax.result(), scores[1:2].softmax(-1) @ values))
#> True
