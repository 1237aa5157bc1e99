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
kept = max(len(tokens) // 10, length + 1)
pieces = tokens[-kept:].unfold(0, length + 1, length)  # the last tenth is never trained on


def block():
    attention = MultiHeadAttention(D, heads, rotary=RotaryEmbedding(D // heads))
    return Block(attention, MLP(D), nn.LayerNorm(D), nn.LayerNorm(D))


def loss_of(windows):  # b n+1
    return cross_entropy(model(windows[:, :-1]).mT, windows[:, 1:])


torch.manual_seed(0)
model = DecoderModel(len(alphabet), D, [block(), block()], norm=nn.LayerNorm(D))
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(51):  # or some thousands, for a long text
    if step % 25 == 0:
        with torch.no_grad():
            held_out = loss_of(pieces)
    starts = torch.randint(len(tokens) - kept - length, (batch, 1))
    loss = loss_of(tokens[starts + torch.arange(length + 1)])
    if step % 25 == 0:
        print(f"step {step}: {loss:.1f}, held-out {held_out:.1f} nats a character")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
#> step 0: 4.5, held-out 4.5 nats a character
#> step 25: 2.4, held-out 2.8 nats a character
#> step 50: 2.1, held-out 2.6 nats a character

# no longer than it was trained on
written = model.generate(tokens[None, :20], length - 20, temperature=0.8)[0]
story = "".join(list(alphabet)[token] for token in written)  # print it
print(len(story), "characters")
#> 128 characters
