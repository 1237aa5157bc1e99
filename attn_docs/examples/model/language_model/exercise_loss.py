import torch

from attn_docs.exhibits.model.targets_not_shifted import loss_of
from attn_docs.model.language_model import batch_of, language_model, least_nats, tell_stories

tokens, _ = batch_of(tell_stories(32, seed=0))  # b n
model = language_model()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for _ in range(25):
    loss = loss_of(model, tokens)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss:.2f}, the floor is {least_nats() / 115:.2f}")
#> 0.03, the floor is 0.14
