import torch

from attn_docs import AdditiveAttention

attend = AdditiveAttention(query_dim=32, key_dim=48, hidden_dim=64)
query, key, value = torch.randn(1, 100, 32), torch.randn(1, 200, 48), torch.randn(1, 200, 16)
bytes_of = {}
attend.score_proj.register_forward_hook(
    lambda _, inputs, output: bytes_of.update(hidden=inputs[0].nbytes, scores=output.nbytes)
)
attend(query, key, value)

assert bytes_of == {"hidden": 4 * 100 * 200 * 64, "scores": 4 * 100 * 200}  # 4 bytes a number
print(bytes_of, bytes_of["hidden"] // bytes_of["scores"])
#> {'hidden': 5120000, 'scores': 80000} 64
