import torch

from attn_docs import MultiHeadAttention
from attn_docs.practice.bugs_that_train import NextWord, fit

for seed in range(10):
    torch.manual_seed(seed)
    layer = MultiHeadAttention(32, num_heads=2)
    model = NextWord(layer).double()
    fit(model, seed=seed)  # other weights at the start, and other rows
    places, own = model.places, torch.arange(12)
    w_q, w_k = (p.weight.unflatten(0, (2, 16)).mT for p in (layer.q_proj, layer.k_proj))
    scores = places @ w_q @ w_k.mT @ places.mT  # h n n
    future = torch.ones(12, 12).triu(1).bool()
    best = scores.masked_fill(future, -torch.inf).argmax(-1)  # h n
    print(seed, *((own - row)[3:].tolist() for row in best))
#> 0 [3, 3, 3, 3, 3, 3, 3, 3, 3] [3, 3, 3, 3, 3, 3, 3, 3, 3]
#> 1 [3, 3, 3, 3, 3, 3, 7, 3, 3] [3, 3, 3, 3, 3, 3, 3, 7, 7]
#> 2 [3, 3, 3, 3, 3, 3, 3, 3, 7] [3, 3, 3, 3, 3, 3, 3, 3, 7]
#> 3 [3, 3, 3, 3, 3, 3, 3, 3, 7] [3, 3, 3, 3, 3, 3, 3, 3, 3]
#> 4 [3, 3, 3, 3, 3, 3, 3, 3, 7] [0, 1, 0, 0, 1, 2, 3, 1, 0]
#> 5 [3, 3, 3, 3, 3, 3, 3, 3, 7] [3, 3, 3, 3, 3, 3, 3, 3, 7]
#> 6 [3, 3, 3, 3, 3, 3, 3, 3, 3] [3, 3, 3, 3, 7, 3, 3, 3, 7]
#> 7 [3, 3, 3, 3, 3, 3, 3, 3, 7] [3, 3, 3, 3, 3, 3, 3, 3, 7]
#> 8 [3, 3, 3, 3, 3, 3, 3, 3, 3] [3, 3, 3, 3, 3, 3, 3, 3, 3]
#> 9 [3, 3, 3, 3, 3, 3, 3, 3, 3] [3, 3, 3, 3, 3, 3, 3, 7, 3]
