import torch

from attn_docs import MultiHeadAttention, causal_mask

torch.manual_seed(0)
theirs = torch.nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
ours = MultiHeadAttention.from_torch(theirs)
x, context = torch.randn(2, 5, 12).double(), torch.randn(2, 7, 12).double()

mask = causal_mask(5, 7)  # True where a query may attend
expected, weights = theirs(
    x, context, context, attn_mask=~mask, average_attn_weights=False
)
output, our_weights = ours(x, context, attn_mask=mask, need_weights=True)
print(torch.allclose(output, expected, atol=1e-12))
#> True
print(torch.allclose(our_weights, weights, atol=1e-12))
#> True
mean = theirs(x, context, context, attn_mask=~mask)[1]  # over the heads, unless told not to
print(torch.allclose(our_weights.mean(dim=1), mean, atol=1e-12))
#> True

back = ours.to_torch()
print(all(torch.equal(w, back.state_dict()[name]) for name, w in theirs.state_dict().items()))
#> True
