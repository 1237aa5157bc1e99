"""Bug: the two projections are added with no tanh around them."""

import torch


def attention(query, key, value, w_q, w_k, u, mask=None):
    asked, offered = query @ w_q.T, key @ w_k.T  # n p, m p
    hidden = asked[:, None] + offered  # wrong: torch.tanh(asked[:, None] + offered)
    scores = hidden @ u  # n m
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value
