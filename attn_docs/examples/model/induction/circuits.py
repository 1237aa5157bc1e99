import torch

from attn_docs.model.induction import load_model
from attn_docs.model.induction_circuits import copy_circuit, match_circuit

model = load_model()
itself = torch.arange(32)
for distance in (4, 8, 16):
    match = match_circuit(model, distance)  # V V: token asked for, token that layer 1 wrote
    print(f"{distance} places apart, {(match.argmax(-1) == itself).sum()} of 32 find themselves")
#> 4 places apart, 32 of 32 find themselves
#> 8 places apart, 32 of 32 find themselves
#> 16 places apart, 32 of 32 find themselves
copied = copy_circuit(model).argmax(-1) == itself  # V V: token attended to, logit
print(f"{copied.sum()} of 32 are copied")
#> 32 of 32 are copied

D, d = 768, 64  # of GPT-2: the stream, and one head
w_q, w_k, w_v, w_o = torch.randn(D, d), torch.randn(D, d), torch.randn(D, d), torch.randn(d, D)
print([int(torch.linalg.matrix_rank(matrix)) for matrix in (w_q @ w_k.mT, w_v @ w_o)])
#> [64, 64]
