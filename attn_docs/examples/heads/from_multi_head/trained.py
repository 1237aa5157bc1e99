import copy

import torch
from torch.nn.functional import cross_entropy

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query
from attn_docs.practice.bugs_that_train import NextWord, rounds


def loss(model, words):  # of the next token
    is_word = words[:, :-1] > 0
    return cross_entropy(model(words[:, :-1])[is_word], words[:, 1:][is_word])


def train(model, steps, rate, seed):
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, rounds(32, generator)).backward()
        optimizer.step()


torch.manual_seed(0)
test = rounds(256, torch.Generator().manual_seed(1))  # rows not trained on
multi = NextWord(MultiHeadAttention(32, num_heads=4)).double()
train(multi, steps=120, rate=0.02, seed=0)
print(f"4 key heads    {loss(multi, test).item():.2f}")
#> 4 key heads    0.98
for method in ("mean", "first", "random"):
    torch.manual_seed(0)
    model = copy.deepcopy(multi)
    model.attention = multi_head_to_grouped_query(multi.attention, 2, method=method)
    at_once = loss(model, test).item()
    train(model, steps=6, rate=0.02, seed=2)
    print(f"2, {method:6}      {at_once:.2f}, 6 steps later {loss(model, test).item():.2f}")
#> 2, mean        1.90, 6 steps later 1.16
#> 2, first       2.19, 6 steps later 1.22
#> 2, random      2.88, 6 steps later 1.84
