import math

import torch

from attn_docs import OnlineSoftmax
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled, projections

x = embeddings()
w_q, w_k, w_v = projections(sharpness=math.log(8))
scores, values = (x @ w_q) @ (x @ w_k).mT, x @ w_v  # 5 5, 5 4
print(labelled(scores[1:2].exp(), ["cat"], WORDS, digits=0))  # e to the power of each score

softmax = OnlineSoftmax()
for block in ([0, 1], [2, 3], [4]):
    softmax.update(scores[1:2, block], values[block])
print(labelled(softmax.result() * 19, ["19 × cat"], MEANINGS, digits=0))
print(softmax.lse.exp())
print(torch.allclose(softmax.result(), scores[1:2].softmax(-1) @ values))
