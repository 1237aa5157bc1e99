from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from attn_docs import MultiHeadAttention, RotaryEmbedding
from attn_docs.model import MLP, Block, DecoderModel, decoder

text = Path(decoder.__file__).read_text("utf-8")  # put your own file here
alphabet = {character: token for token, character in enumerate(sorted(set(text)))}
tokens = torch.tensor([alphabet[character] for character in text])
D, heads, length, batch = 64, 4, 128, 16


def block():
    attention = MultiHeadAttention(D, heads, rotary=RotaryEmbedding(D // heads))
    return Block(attention, MLP(D), nn.LayerNorm(D), nn.LayerNorm(D))


torch.manual_seed(0)
model = DecoderModel(len(alphabet), D, [block(), block()], norm=nn.LayerNorm(D))
optimizer, losses = torch.optim.AdamW(model.parameters(), lr=4e-3), []
for _ in range(40):  # or some thousands
    starts = torch.randint(len(tokens) - length, (batch, 1))
    windows = tokens[starts + torch.arange(length + 1)]  # b n+1: pieces of the text
    loss = cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[-1] < 0.8 * losses[0])
#> True
written = model.generate(tokens[None, :20], 20)[0]
print(len("".join(list(alphabet)[token] for token in written)))
#> 40
