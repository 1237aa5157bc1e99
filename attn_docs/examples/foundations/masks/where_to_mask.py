import torch

from attn_docs.sentence import WORDS, embeddings, labelled, projections

w_q, w_k, _ = projections(sharpness=6.0)
scores = (embeddings() @ w_q) @ (embeddings() @ w_k).T / 3**0.5  # n n
mask = torch.ones(5, 5, dtype=torch.bool).tril()  # n n

ways = {
    "mask the weights": scores.softmax(dim=-1) * mask,  # wrong: the sum has counted all five
    "scores become 0": (scores * mask).softmax(dim=-1),  # wrong: e to the power 0 is 1
    "scores become −∞": scores.masked_fill(~mask, -torch.inf).softmax(dim=-1),  # right
}
rows = torch.stack([weights[0] for weights in ways.values()])  # the row of "the"
print(labelled(rows, list(ways), WORDS))
#>                      the     cat  sleeps      it  dreams
#> mask the weights    0.03    0.00    0.00    0.00    0.00
#> scores become 0     0.20    0.20    0.20    0.20    0.20
#> scores become −∞    1.00    0.00    0.00    0.00    0.00
