import torch

from attn_docs import (
    MultiHeadAttention,
    RotaryEmbedding,
    causal_mask,
    document_ids,
    document_mask,
    document_positions,
)

torch.manual_seed(0)
layer = MultiHeadAttention(12, 3, rotary=RotaryEmbedding(4)).double()
x = torch.randn(1, 9, 12, dtype=torch.float64, requires_grad=True)  # 4 tokens, then 5
lengths, causal = [4, 5], causal_mask(9)
own = causal & document_mask(document_ids(lengths))
alone = layer(x[:, 4:], is_causal=True)  # document 2 in a row of its own

for name, mask, positions in (
    ("nothing        ", causal, torch.arange(9)),
    ("positions reset", causal, document_positions(lengths)),
    ("document mask  ", own, torch.arange(9)),
    ("both           ", own, document_positions(lengths)),
):
    output = layer(x, attn_mask=mask, positions=positions)[:, 4:]  # of document 2
    (gradient,) = torch.autograd.grad(output.square().sum(), x)
    leak = gradient[:, :4].abs().max()  # with respect to document 1
    print(f"{name}  leak {leak:.4f}  as alone: {torch.allclose(output, alone)}")
#> nothing          leak 0.3661  as alone: False
#> positions reset  leak 0.3827  as alone: False
#> document mask    leak 0.0000  as alone: True
#> both             leak 0.0000  as alone: True
