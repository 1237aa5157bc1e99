import torch

from attn_docs import FusedSelfAttention
from attn_docs.exhibits.self_attention import (
    chunks_in_wrong_order,
    dropout_in_eval,
    dropout_on_scores,
    scaled_by_input_dim,
    value_from_k_proj,
)

torch.manual_seed(0)
x = torch.randn(2, 5, 16)
right = FusedSelfAttention(input_dim=16, output_dim=4)
for exhibit in (chunks_in_wrong_order, scaled_by_input_dim):
    wrong = exhibit.SelfAttention(16, 4)
    wrong.load_state_dict(right.state_dict())  # the same weights
    print(tuple(wrong(x).shape), torch.allclose(wrong(x), right(x), atol=1e-6))
#> (2, 5, 4) False
#> (2, 5, 4) False

wrong = value_from_k_proj.SelfAttention(16, 4)
wrong(x).sum().backward()
print([name for name, p in wrong.named_parameters() if p.grad is None])
#> ['v_proj.weight', 'v_proj.bias']

wrong = dropout_in_eval.SelfAttention(16, 4, dropout=0.5).eval()
print(torch.equal(wrong(x), wrong(x)))  # eval must give the same twice
#> False

may_attend = torch.ones(5, 5, dtype=torch.bool).tril()
output = dropout_on_scores.attention(x, x, x, 0.5, may_attend)
print(output.isnan().any().item())  # 0 · -inf
#> True
