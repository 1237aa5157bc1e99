import torch
import torch.nn.functional as F


def qwen3(weights, tokens, windows, d, theta=1e6, eps=1e-6):
    def norm(x, weight):
        return F.rms_norm(x, weight.shape, weight, eps)

    def rotate(x):  # b h n d
        (one, two), cos, sin = x.chunk(2, -1), angles.cos(), angles.sin()
        return torch.cat([one * cos - two * sin, two * cos + one * sin], -1)

    place = torch.arange(tokens.size(1))  # n
    back = place[:, None] - place  # n n: how many tokens a key stands behind
    angles = place[:, None] * (1 / theta ** (torch.arange(0, d, 2) / d))  # n d/2
    x = weights["token_embedding.weight"][tokens]  # b n c
    for i, window in enumerate(windows):
        own = {name: weight for name, weight in weights.items() if f"blocks.{i}." in name}
        w = {name.split(".")[-2]: weight.t() for name, weight in own.items()}
        y = norm(x, w["attention_norm"])  # b n c
        q, k, v = ((y @ w[f"{p}_proj"]).unflatten(2, (-1, d)) for p in "qkv")  # b n h d
        q, k, v = (each.transpose(1, 2) for each in (q, k, v))  # b h n d, b g n d
        q, k = rotate(norm(q, w["q_norm"])), rotate(norm(k, w["k_norm"]))
        seen = (back >= 0) & (back < window)  # n n
        y = F.scaled_dot_product_attention(q, k, v, seen, enable_gqa=True)  # b h n d
        x = x + y.transpose(1, 2).flatten(2) @ w["out_proj"]  # b n c
        y = norm(x, w["mlp_norm"])  # b n c
        y = F.silu(y @ w["gate_proj"]) * (y @ w["up_proj"])  # b n mlp
        x = x + y @ w["down_proj"]  # b n c
    return norm(x, weights["norm.weight"]) @ weights["output.weight"].T  # b n vocab


from attn_docs.checkpoints.tiny_qwen3 import tiny_qwen3
from attn_docs.model.language_model import encode

model = tiny_qwen3()
tokens = encode("\nmia has a red dog and tom has a black cat. the cat")[None]  # 1 n
found = qwen3(model.state_dict(), tokens, windows=(16, 999), d=16)
print(torch.allclose(found, model(tokens), atol=1e-4))
#> True
