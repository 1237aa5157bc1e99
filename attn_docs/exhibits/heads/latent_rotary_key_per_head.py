"""Bug: every head has a rotary key of its own, which makes the cache several times larger."""

import torch
from torch import nn

from attn_docs.exhibits.heads._latent import finish, join, parts, rotate, up_project


class Attention(nn.Module):
    def __init__(self, attend):
        super().__init__()
        self.attend = attend
        heads = attend.num_heads  # wrong: 1
        self.rotary_keys = nn.Linear(
            attend.kv_a_proj.in_features, heads * attend.rope_dim, bias=False
        )
        shared = attend.kv_a_proj.weight[attend.kv_rank :]
        self.rotary_keys.weight = nn.Parameter(shared.repeat(heads, 1))

    def forward(self, x):
        query, query_rope, latent, _ = parts(self.attend, x)
        rotary = self.rotary_keys(x).unflatten(-1, (-1, self.attend.rope_dim))  # b n heads rope_dim
        rotary, latent = rotate(rotary.transpose(1, 2)), self.attend.kv_a_norm(latent)
        entries = torch.cat((latent.squeeze(1), rotary.transpose(1, 2).flatten(2)), -1)
        key, value = up_project(self.attend, latent)
        output = finish(self.attend, join(query, rotate(query_rope)), join(key, rotary), value)
        return output, entries.nbytes
