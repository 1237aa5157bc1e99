import torch

from attn_docs import ScoreAttention


class LengthAttention(ScoreAttention):
    def score(self, query, key):
        return key.norm(dim=-1)[:, None, :].expand(-1, query.size(1), -1)  # b n m


torch.manual_seed(0)
query, key, value = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 6)
output = LengthAttention()(query, key, value)
print(tuple(output.shape), torch.equal(output, output[:, :1].expand(-1, 5, -1)))
#> (2, 5, 6) True
