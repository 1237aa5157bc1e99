"""Bug: the projections are added without new axes, so query i meets key i and no other."""

import torch


def attention(query, key, value, w_q, w_k, u, mask):
    asked, offered = query @ w_q.T, key @ w_k.T  # n p, m p
    hidden = torch.tanh(asked + offered)  # wrong: torch.tanh(asked[:, None] + offered)
    scores = hidden @ u  # n m
    scores = scores.masked_fill(~mask, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value
