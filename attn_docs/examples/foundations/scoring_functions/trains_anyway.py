import torch
import torch.nn.functional as F

from attn_docs import DotProductAttention, GaussianAttention
from attn_docs.exhibits.foundations import cosine_for_dot, forgotten_sign, transposed_score


def train(attend):
    """Learn to recall: each query is a noisy key, the answer is that key's value."""
    torch.manual_seed(0)
    q_proj, k_proj = (torch.nn.Linear(16, 16, bias=False) for _ in range(2))
    optimizer = torch.optim.Adam([*q_proj.parameters(), *k_proj.parameters()], lr=0.02)
    for _ in range(150):
        key = torch.randn(32, 8, 16)  # b m d
        answer = torch.stack([torch.randperm(8) for _ in range(32)])  # b n
        query = key.gather(1, answer[..., None].expand(-1, -1, 16))
        query = query + 0.1 * torch.randn_like(query)
        mixed = attend(q_proj(query), k_proj(key), torch.eye(8).expand(32, 8, 8))
        loss = F.nll_loss(torch.log(mixed + 1e-6).flatten(0, 1), answer.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (mixed.argmax(-1) == answer).double().mean()
    return loss.item(), right.item()


for name, attend in (
    ("dot product", DotProductAttention()),
    ("Gaussian", GaussianAttention()),
    ("cosine for dot", cosine_for_dot.DotProduct()),
    ("forgotten sign", forgotten_sign.Gaussian()),
    ("transposed score", transposed_score.DotProduct()),
):
    loss, right = train(attend)
    print(f"{name:18} loss {loss:.1f}, right {right:.0%}")
#> dot product        loss 0.0, right 100%
#> Gaussian           loss 0.0, right 100%
#> cosine for dot     loss 1.9, right 100%
#> forgotten sign     loss 0.1, right 98%
#> transposed score   loss 2.0, right 23%
