import torch

from attn_docs import MultiHeadAttention

torch.manual_seed(0)
attend = MultiHeadAttention(embed_dim=24, num_heads=4, kv_dim=16).eval()
encoded = torch.randn(2, 9, 16)  # what the encoder made of two inputs
real = torch.tensor([[1] * 9, [1] * 6 + [0] * 3]).bool()  # the encoder's padding
x = torch.randn(2, 5, 24)

with torch.no_grad():
    context = attend.cache_context(encoded)  # k_proj and v_proj run here, and only here
    steps = [attend(x[:, [t]], context, key_padding_mask=real) for t in range(5)]
    expected = attend(x, encoded, key_padding_mask=real)
print(torch.allclose(torch.cat(steps, dim=1), expected, atol=1e-6))
#> True
beams = context.select(torch.tensor([0, 0, 1, 1]))  # two beams for each input
print(beams)
#> ContextCache(batch=4, num_kv_heads=4, head_dim=6, length=9, torch.float32, cpu)
