import torch

from attn_docs import encode_step_by_step

torch.manual_seed(0)
gru = torch.nn.GRU(4, 6, batch_first=True, dtype=torch.float64)
words = torch.randn(3, 5, 4, dtype=torch.float64, requires_grad=True)  # b n D
leaves = [words, *gru.parameters()]

ours = encode_step_by_step(words, gru)
theirs, last = gru(words)
mine = torch.autograd.grad(ours.square().sum(), leaves)
reference = torch.autograd.grad(theirs.square().sum(), leaves)

print((ours - theirs).abs().max().item() < 1e-12)
#> True
print(torch.equal(theirs[:, -1], last[0]))  # the last state is all a decoder got
#> True
print(all((a - b).abs().max().item() < 1e-12 for a, b in zip(mine, reference, strict=True)))
#> True
