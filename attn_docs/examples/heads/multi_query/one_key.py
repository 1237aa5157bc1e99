import torch

from attn_docs.sentence import WORDS, embeddings, projections

x = embeddings()  # m D: the cat sleeps it dreams
_, w_k, _ = projections()
kind, meaning = x @ w_k, x[:, 4:]  # m d, m e: a key of three dimensions, and a second one
sleeps, dreams = WORDS.index("sleeps"), WORDS.index("dreams")

torch.manual_seed(0)
for name, key in {"one key, the kind": kind, "a second, the meaning": meaning}.items():
    queries = 6 * torch.randn(1000, key.size(1))
    weights = (queries @ key.T / key.size(1) ** 0.5).softmax(dim=-1)
    apart = (weights[:, sleeps] - weights[:, dreams]).abs().max().item()
    print(f"{name}: 1000 queries, at most {apart:.2f} between 'sleeps' and 'dreams'")
#> one key, the kind: 1000 queries, at most 0.00 between 'sleeps' and 'dreams'
#> a second, the meaning: 1000 queries, at most 1.00 between 'sleeps' and 'dreams'
