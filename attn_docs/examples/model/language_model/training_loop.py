import torch
from torch.nn.functional import cross_entropy

from attn_docs.model.language_model import batch_of, language_model, tell_stories

model = language_model(seed=0)  # random weights
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
for step in range(51):
    tokens, targets = batch_of(tell_stories(16, seed=step))  # b n: targets are shifted by one
    loss = cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
    optimizer.zero_grad()  # forget the gradients of the step before
    loss.backward()  # for each weight: would more of it raise the loss, and how much?
    optimizer.step()  # move every weight a little, by a running mean of its gradients
    if step % 25 == 0:
        print(f"step {step}: {loss:.1f} nats a character")
#> step 0: 3.4 nats a character
#> step 25: 1.4 nats a character
#> step 50: 0.7 nats a character
