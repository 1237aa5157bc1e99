import torch
import torch.nn.functional as F

from attn_docs import ScoreAttention


class CosineAttention(ScoreAttention):
    def __init__(self, dropout=0.0):
        super().__init__(dropout)
        self.factor = torch.nn.Parameter(torch.tensor(1.0))

    def score(self, query, key):
        query, key = F.normalize(query, dim=-1), F.normalize(key, dim=-1)
        return self.factor * (query @ key.mT)


query = torch.tensor([[[2.0, 2.0]]])
key = torch.tensor([[[6.0, 1.0], [1.0, 1.0], [3.0, 2.0]]])
attend = CosineAttention()

for factor in (1.0, 20.0):
    attend.factor.data.fill_(factor)
    print(factor, attend(query, key, key, need_weights=True)[1].data)
#> 1.0 tensor([[[0.2953, 0.3558, 0.3489]]])
#> 20.0 tensor([[[0.0142, 0.5875, 0.3984]]])
