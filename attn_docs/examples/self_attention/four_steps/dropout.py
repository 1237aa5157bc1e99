import torch

from attn_docs.sentence import WORDS, embeddings, labelled, projections

p = 0.5
w_q, w_k, _ = projections(sharpness=6.0)
scores = embeddings()[3] @ w_q @ (embeddings() @ w_k).T / 3**0.5  # m: "it" against all
keep = torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0])  # a coin for each key: "cat" is dropped
coins = torch.cartesian_prod(*[torch.tensor([0.0, 1.0])] * 5)  # all 32 ways they can fall


def on_weights(coin):
    return torch.softmax(scores, dim=-1) * coin / (1 - p)


def on_scores(coin):
    return torch.softmax(scores * coin / (1 - p), dim=-1)  # wrong: before the softmax


rows = [torch.softmax(scores, dim=-1), on_weights(keep), on_weights(coins).mean(dim=0)]
rows += [on_scores(keep), on_scores(coins).mean(dim=0)]
names = ["no dropout", "on weights", "  mean of all", "on scores", "  mean of all"]
print(labelled(torch.stack(rows), names, WORDS))
#>                   the     cat  sleeps      it  dreams
#> no dropout       0.03    0.89    0.03    0.03    0.03
#> on weights       0.06    0.00    0.06    0.06    0.06
#>   mean of all    0.03    0.89    0.03    0.03    0.03
#> on scores        0.20    0.20    0.20    0.20    0.20
#>   mean of all    0.10    0.60    0.10    0.10    0.10
