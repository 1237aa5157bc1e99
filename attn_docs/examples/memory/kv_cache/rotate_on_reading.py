import torch

from attn_docs import RotaryEmbedding

torch.manual_seed(0)
rotary, length = RotaryEmbedding(8), 100
query, key = torch.randn(2, 1, 1, length, 8)  # 1 1 m d: one token a step
rotated = torch.empty(1, 1, 0, 8)
on_writing = on_reading = 0
for t in range(length):
    now = torch.tensor([t])
    asked = rotary(query[:, :, [t]], now)  # 1 1 1 d
    rotated = torch.cat((rotated, rotary(key[:, :, [t]], now)), dim=2)
    on_writing += 1
    later = rotary(key[:, :, : t + 1], torch.arange(t + 1))  # all of them, again
    on_reading += t + 1
    assert torch.allclose(asked @ rotated.mT, asked @ later.mT, atol=1e-5)
print("keys rotated:", on_writing, "or", on_reading)
#> keys rotated: 100 or 5050

moved = rotary(rotated, torch.full((length,), 10))  # ten tokens come in front: all move by ten
print(torch.allclose(moved, rotary(key, torch.arange(10, 110)), atol=1e-5))
#> True
