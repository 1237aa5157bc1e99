import torch

from attn_docs.examples.practice.bugs_that_train import right
from attn_docs.examples.practice.bugs_that_train.right import masked_softmax, merge, split
from attn_docs.testing import check_module


class Attention(right.Attention):
    def forward(self, x, is_causal=False):
        projections = self.q_proj, self.k_proj, self.v_proj
        query, key, value = (split(project(x), self.num_heads) for project in projections)
        scores = query @ key.mT / query.size(-1) ** 0.5  # b h n n
        allowed = torch.ones(x.size(1), x.size(1), dtype=torch.bool)
        if is_causal:
            allowed = allowed.tril()
        weights = self.dropout(masked_softmax(scores, allowed))
        return self.out_proj(merge(weights @ value))


report = check_module(Attention(32, 4), embed_dim=32, causal=True)
print(report.verdict)
#> passed
