from torch import nn

from attn_docs.testing import Adapter, check_module


class Foreign(nn.Module):
    """(length, batch, dim), a mask of large negative numbers, and a tuple as output."""

    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, hidden, bias=None):
        qkv = self.qkv(hidden.transpose(0, 1)).unflatten(-1, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = q @ k.mT / q.size(-1) ** 0.5
        weights = (scores if bias is None else scores + bias).softmax(-1)
        mixed = (weights @ v).transpose(1, 2).flatten(2)
        return self.out(mixed).transpose(0, 1), weights

adapter = Adapter(attn_mask="bias", mask_true="added", mask_axes=4, batch_first=False)
report = check_module(Foreign(), embed_dim=32, adapter=adapter)
verdicts = {finding.property: finding.verdict for finding in report.findings}
print(report.passed, verdicts["mask polarity"], verdicts["head layout"])
#> True pass pass
