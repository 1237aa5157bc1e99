import torch

from attn_docs import attention_weights
from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()[:3]
w_q, w_k, _ = projections()
may_attend = torch.ones(3, 3, dtype=torch.bool)
may_attend[2, 0] = False  # "sleeps" may not attend to "the"

weights = attention_weights(x @ w_q, x @ w_k, attn_mask=may_attend)
print(labelled(weights, WORDS[:3], WORDS[:3], digits=4))
#>            the     cat  sleeps
#> the     0.2645  0.4711  0.2645
#> cat     0.2645  0.2645  0.4711
#> sleeps  0.0000  0.5000  0.5000
