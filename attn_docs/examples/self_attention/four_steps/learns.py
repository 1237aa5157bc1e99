import torch

from attn_docs import ScaledDotProductSelfAttention
from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled

torch.manual_seed(0)
layer = ScaledDotProductSelfAttention(8, dropout=0.0)  # the class above, of size 8
optimizer = torch.optim.Adam(layer.parameters(), lr=0.01)
cat, noun, it = embeddings(), 1, 3
kinds = torch.cat([cat[:, :4], torch.zeros(5, 4)], dim=-1)  # the words without their meanings
shares, meant, steps = [], [], [0, 100, 300]
for step in range(301):
    if step in steps:
        query, key, _ = layer.qkv_proj(cat).chunk(3, dim=-1)
        shares.append(torch.softmax(query @ key.mT / 8**0.5, dim=-1)[it].detach())
        meant.append((cat + layer(cat[None])[0])[it, 4:].detach())
    meanings = torch.eye(8)[torch.randint(4, 8, (64, 5))]  # b n D: each word gets one at random
    meanings[:, it] = 0.0  # but "it" has none
    x = kinds + meanings
    loss = ((x + layer(x))[:, it, 4:] - meanings[:, noun, 4:]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(labelled(torch.stack(shares), [str(step) for step in steps], WORDS))
#>         the     cat  sleeps      it  dreams
#> 0      0.16    0.18    0.24    0.20    0.22
#> 100    0.02    0.91    0.02    0.02    0.03
#> 300    0.01    0.96    0.01    0.01    0.01
print(labelled(torch.stack(meant), [str(step) for step in steps], MEANINGS))
#>      definite    animal    asleep  dreaming
#> 0       -0.03      0.48     -0.24      0.12
#> 100      0.01      0.99      0.00     -0.01
#> 300      0.00      0.99      0.00     -0.00
