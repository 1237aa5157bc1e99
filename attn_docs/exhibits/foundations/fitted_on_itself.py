"""Bug: the width is learned on the pairs that answer, so each pair answers for itself."""

import torch
import torch.nn.functional as F


def fit(regression, x, y, steps=200):
    optimizer = torch.optim.Adam(regression.parameters(), lr=0.05)
    for _ in range(steps):
        prediction = regression(x, x, y)  # wrong: attn_mask=~torch.eye(len(x), dtype=torch.bool)
        loss = F.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()
