import torch

from attn_docs import ScoreAttention


class CityBlockAttention(ScoreAttention):
    def score(self, query, key):
        differences = query.unsqueeze(-2) - key.unsqueeze(-3)  # b n m d
        return -differences.abs().sum(-1)  # b n m


query = torch.tensor([[[2.0, 2.0]]])
key = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]])  # distances 5, 2 and 1
attend = CityBlockAttention()

print(attend.score(query, key))
#> tensor([[[-5., -2., -1.]]])
print(attend(query, key, key, need_weights=True)[1])
#> tensor([[[0.0132, 0.2654, 0.7214]]])
only_aligned = torch.tensor([[False, True, False]])  # n m; masks work without more code
print(attend(query, key, key, only_aligned))
#> tensor([[[1., 1.]]])
