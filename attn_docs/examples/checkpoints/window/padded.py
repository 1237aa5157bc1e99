import torch

from attn_docs import MultiHeadAttention, RotaryEmbedding

torch.manual_seed(0)
layer = MultiHeadAttention(24, 3, window=4, keep_first=1, rotary=RotaryEmbedding(8)).eval()
begin, long, short = torch.randn(1, 1, 24), torch.randn(1, 9, 24), torch.randn(1, 6, 24)
batch = torch.cat(
    (
        torch.cat((begin, long), dim=1),
        torch.cat((begin, torch.zeros(1, 3, 24), short), dim=1),  # the padding after the first
    )
)
real = torch.ones(2, 10, dtype=torch.bool)
real[1, 1:4] = False
positions = (real.cumsum(-1) - 1).clamp(min=0)  # b n: padding is not counted
with torch.no_grad():
    together = layer(batch, is_causal=True, key_padding_mask=real, positions=positions)
    alone = layer(torch.cat((begin, short), dim=1), is_causal=True)
print(torch.allclose(together[1:, 4:], alone[:, 1:], atol=1e-6))
#> True

real[1] = torch.arange(10) >= 3  # on the left, where the kept token is
try:
    layer(batch, is_causal=True, key_padding_mask=real)
except ValueError as error:
    print(str(error).partition(":")[0])
#> key_padding_mask must be True for the first 1 positions, which keep_first keeps
