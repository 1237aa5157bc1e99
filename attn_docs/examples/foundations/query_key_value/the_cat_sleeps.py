import torch

from attn_docs.sentence import WORDS, embeddings, labelled, projections

x = embeddings()[:3]  # the, cat, sleeps
w_q, w_k, _ = projections()  # sharpness 1
query, key = x @ w_q, x @ w_k  # n d, m d

print(labelled(query, WORDS[:3], ["determiner", "noun", "verb"], digits=0))
#>         determiner        noun        verb
#> the              0           1           0
#> cat              0           0           1
#> sleeps           0           1           1
print(query @ key.T)  # a row for each word that asks, a column for each that offers
#> tensor([[0., 1., 0.],
#>         [0., 0., 1.],
#>         [0., 1., 1.]])
print(torch.softmax(query @ key.T / 3**0.5, dim=-1))
#> tensor([[0.2645, 0.4711, 0.2645],
#>         [0.2645, 0.2645, 0.4711],
#>         [0.2192, 0.3904, 0.3904]])
