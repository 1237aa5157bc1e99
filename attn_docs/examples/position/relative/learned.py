import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import MultiHeadAttention, RelativeBias

torch.manual_seed(0)
embed, attend = nn.Embedding(16, 32), MultiHeadAttention(32, 1)
bias, read = RelativeBias(1, bidirectional=False), nn.Linear(32, 16)
parts = nn.ModuleList([embed, attend, bias, read])
optimizer = torch.optim.Adam(parts.parameters(), lr=0.02)
for _ in range(150):  # what stood three tokens before?
    text = torch.randint(16, (32, 24))
    output = read(attend(embed(text), attn_mask=bias(24), is_causal=True))  # b n 16
    loss = F.cross_entropy(output[:, 3:].transpose(1, 2), text[:, :-3])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

right = (output[:, 3:].argmax(-1) == text[:, :-3]).float().mean()
learned = bias(1, offset=7)[0, 0, 0].flip(0)  # from itself to seven tokens back
print(f"right: {right:.0%}, most is added {learned.argmax()} tokens back")
#> right: 100%, most is added 3 tokens back
