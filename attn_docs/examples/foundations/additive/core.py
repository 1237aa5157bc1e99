import torch

query = torch.tensor([[1.0, 0.0], [0.0, 1.0]])  # n q: "the" wants a noun, "cat" a verb
key = torch.eye(3)  # m k: is a determiner, a noun, a verb
w_q = torch.eye(2)  # p q
w_k = torch.tensor([[-2.0, -1.0, -2.0], [-2.0, -2.0, -1.0]])  # p k
u = torch.ones(2)  # p

sums = (query @ w_q.T)[:, None] + key @ w_k.T  # n m p: each query with each key
scores = torch.tanh(sums) @ u  # n m
weights = torch.softmax(scores, dim=-1)  # n m


from attn_docs import AdditiveAttention
from attn_docs.sentence import WORDS, labelled

print(labelled(sums[0], WORDS[:3], ["unit 1", "unit 2"], digits=0))
#>         unit 1  unit 2
#> the         -1      -2
#> cat          0      -2
#> sleeps      -1      -1
print(labelled(scores, WORDS[:2], WORDS[:3]))
#>         the     cat  sleeps
#> the   -1.73   -0.96   -1.52
#> cat   -1.73   -1.52   -0.96
print(labelled(weights, WORDS[:2], WORDS[:3]))
#>         the     cat  sleeps
#> the    0.23    0.49    0.28
#> cat    0.23    0.28    0.49
attend = AdditiveAttention(query_dim=2, key_dim=3, hidden_dim=2)
names = attend.state_dict()  # q_proj, k_proj, score_proj
attend.load_state_dict(dict(zip(names, (w_q, w_k, u[None]), strict=True)))
print(torch.allclose(attend.score(query[None], key[None])[0], scores))
#> True
