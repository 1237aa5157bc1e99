import torch
import torch.nn.functional as F

from attn_docs.exhibits.foundations import (
    missing_scale,
    reshaped_key,
    scaled_twice,
    softmax_over_queries,
)


def train(attend):
    """Learn to recall: each query is a noisy key, the answer is that key's value."""
    torch.manual_seed(0)
    q_proj = torch.nn.Linear(16, 16, bias=False, dtype=torch.float64)
    k_proj = torch.nn.Linear(16, 16, bias=False, dtype=torch.float64)
    optimizer = torch.optim.Adam([*q_proj.parameters(), *k_proj.parameters()], lr=0.02)
    losses = []
    for _ in range(150):
        key = torch.randn(32, 8, 16, dtype=torch.float64)  # b m d
        answer = torch.stack([torch.randperm(8) for _ in range(32)])  # b n
        query = key.gather(1, answer[..., None].expand(-1, -1, 16))
        query = query + 0.1 * torch.randn_like(query)
        value = torch.eye(8, dtype=torch.float64).expand(32, 8, 8)
        mixed = attend(q_proj(query), k_proj(key), value)
        loss = F.nll_loss(torch.log(mixed + 1e-6).flatten(0, 1), answer.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


for name, attend in (
    ("right", F.scaled_dot_product_attention),
    ("missing scale", missing_scale.attention),
    ("scaled twice", scaled_twice.attention),
    ("softmax over queries", softmax_over_queries.attention),
    ("reshaped key", reshaped_key.attention),
):
    losses = train(attend)
    print(f"{name:22} {losses[0]:.1f} to {losses[-1]:.1f}")
#> right                  2.1 to 0.0
#> missing scale          2.8 to 0.0
#> scaled twice           2.1 to 0.0
#> softmax over queries   2.1 to 0.0
#> reshaped key           2.2 to 2.1
