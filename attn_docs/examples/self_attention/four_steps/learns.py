import torch

from attn_docs import ScaledDotProductSelfAttention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled


def look(x):  # n D: where "it" looks, and what it then means
    query, key, _ = layer.qkv_proj(x).chunk(3, dim=-1)
    weights = torch.softmax(query @ key.mT / 8**0.5, dim=-1)
    return weights[it].detach(), (x + layer(x[None])[0])[it, 4:].detach()


torch.manual_seed(0)
layer = ScaledDotProductSelfAttention(8, dropout=0.0)  # the package's layer, head_dim 8
optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
sentence, noun, it, rows = embeddings(), 1, 3, {}
kinds = torch.cat([sentence[:, :4], torch.zeros(5, 4)], dim=-1)  # n D: no meanings
for step in range(301):
    if step in (0, 300):
        rows[str(step)] = look(sentence)
    meanings = torch.eye(8)[torch.randint(4, 8, (64, 5))]  # b n D: one each, at random
    meanings[:, it] = 0.0  # but "it" has none
    x = kinds + meanings
    x = x[(x != sentence).any(dim=(1, 2))]  # without the cat's sentence
    loss = ((x + layer(x))[:, it, 4:] - x[:, noun, 4:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

sentence[4, :4] = sentence[1, :4]  # edit me: "dreams" becomes a noun, and is no longer a verb
rows["2 nouns"] = look(sentence)
weights, meant = (torch.stack(found) for found in zip(*rows.values(), strict=True))
print(labelled(weights, list(rows), WORDS))
#>             the     cat  sleeps      it  dreams
#> 0          0.16    0.18    0.24    0.20    0.22
#> 300        0.01    0.96    0.01    0.01    0.01
#> 2 nouns    0.00    0.42    0.00    0.00    0.57
print(labelled(meant, list(rows), MEANINGS))
#>          definite    animal    asleep  dreaming
#> 0           -0.03      0.48     -0.24      0.12
#> 300          0.00      0.99      0.00     -0.00
#> 2 nouns     -0.00      0.42     -0.00      0.59
