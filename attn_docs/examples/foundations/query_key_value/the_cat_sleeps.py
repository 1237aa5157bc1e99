import torch

from attn_docs.sentence import embeddings, projections

x = embeddings()[:3]  # the, cat, sleeps
w_q, w_k, _ = projections()  # queries of zeros and ones
scores = (x @ w_q) @ (x @ w_k).T  # a row for each word that asks, a column for each that offers
print(scores)
#> tensor([[0., 1., 0.],
#>         [0., 0., 1.],
#>         [0., 1., 1.]])
print(torch.softmax(scores / 3**0.5, dim=-1))
#> tensor([[0.2645, 0.4711, 0.2645],
#>         [0.2645, 0.2645, 0.4711],
#>         [0.2192, 0.3904, 0.3904]])
