import torch
from torch import nn


def attend(query, key, value, axis):  # b n d, b m d, b m e
    scores = query @ key.mT / query.size(-1) ** 0.5  # b n m
    later = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(later, -torch.inf).softmax(axis) @ value  # b n e


for axis in (-1, -2):  # over the keys, which is right; over the queries
    torch.manual_seed(0)
    places, embed = nn.Parameter(torch.randn(12, 32)), nn.Embedding(16, 32)
    project, predict = nn.Linear(32, 3 * 32), nn.Linear(32, 16)
    learned = [places, *nn.ModuleList([embed, project, predict]).parameters()]
    optimizer = torch.optim.Adam(learned, lr=0.02)
    for _ in range(60):
        rows = torch.randint(16, (32, 4)).repeat(1, 4)[:, :13]  # four tokens, over and over
        x = embed(rows[:, :-1]) + places  # b n 32
        x = x + attend(*project(x).chunk(3, dim=-1), axis)
        loss = nn.functional.cross_entropy(predict(x).mT, rows[:, 1:])
        optimizer.zero_grad(), loss.backward(), optimizer.step()
    print(f"shape {tuple(x.shape)}, loss {loss.item():.1f}")
#> shape (32, 12, 32), loss 1.0
#> shape (32, 12, 32), loss 0.8


from attn_docs import scaled_dot_product_attention

query, key, value = torch.randn(3, 2, 6, 8)  # b n d
expected = scaled_dot_product_attention(query, key, value, is_causal=True)
print([torch.allclose(attend(query, key, value, axis), expected, atol=1e-6) for axis in (-1, -2)])
#> [True, False]
