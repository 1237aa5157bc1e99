import torch

from attn_docs.sentence import MEANINGS, embeddings, labelled, projections

x = embeddings()[:4]  # m D: the cat sleeps it
_, w_k, w_v = projections()
key, value = x @ w_k, x @ w_v  # m d, m e: one KV head, and no axis for heads
query = torch.tensor([[0.0, 6, 0], [0, 0, 6]])  # h d: "it" looks for a noun, and for a verb
output = (query @ key.T / 3**0.5).softmax(dim=-1) @ value  # h e
print(labelled(output, ("noun", "verb"), MEANINGS))
#>       definite    animal    asleep  dreaming
#> noun      0.03      0.91      0.03      0.00
#> verb      0.03      0.03      0.91      0.00
