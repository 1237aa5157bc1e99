import torch

from attn_docs.sentence import MEANINGS, WORDS, embeddings, labelled

latin = ("dormit", "feles", "somniat")  # sleeps, the cat, it dreams
x = torch.eye(3)  # n D: the target, three tokens
context = embeddings()  # m D_kv: the source, five tokens of eight features

w_q = 5 * torch.eye(4)[[2, 1, 3]]  # D d: each target token looks for one meaning
w_k = w_v = torch.eye(8)[:, 4:]  # D_kv d: a source token offers its meaning, and gives it
query = x @ w_q  # n d, from the target
key, value = context @ w_k, context @ w_v  # m d each, from the source
weights = torch.softmax(query @ key.T / 4**0.5, dim=-1)  # n m: three rows, five columns
output = weights @ value  # n d
print(labelled(weights, latin, WORDS))
#>             the     cat  sleeps      it  dreams
#> dormit     0.06    0.06    0.75    0.06    0.06
#> feles      0.06    0.75    0.06    0.06    0.06
#> somniat    0.06    0.06    0.06    0.06    0.75
print(labelled(output, latin, MEANINGS))
#>          definite    animal    asleep  dreaming
#> dormit       0.06      0.06      0.75      0.06
#> feles        0.06      0.75      0.06      0.06
#> somniat      0.06      0.06      0.06      0.75

from attn_docs import CrossAttention

attend = CrossAttention(input_dim=3, context_dim=8, output_dim=4).requires_grad_(False)
for projection, w in ((attend.q_proj, w_q), (attend.k_proj, w_k), (attend.v_proj, w_v)):
    projection.weight.copy_(w.T)
    projection.bias.zero_()
print(torch.allclose(output, attend(x[None], context[None])[0]))
#> True
