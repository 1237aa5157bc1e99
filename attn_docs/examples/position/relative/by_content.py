# pip install transformers
import torch
from transformers.models.inkling.modeling_inkling import InklingRelativeLogits


def by_content(states, profiles):  # b n h r, and r × the distances from 0 on
    n, extent = states.size(1), profiles.size(1)
    at = torch.arange(n)
    back = at[:, None] - at  # n n
    of_distance = (states @ profiles).transpose(1, 2)  # b h n extent
    bias = of_distance.gather(-1, back.clamp(0, extent - 1).expand(*of_distance.shape[:2], n, n))
    return bias.masked_fill((back < 0) | (back >= extent), 0.0)  # b h n n


torch.manual_seed(0)
theirs, at = InklingRelativeLogits(d_rel=4, rel_extent=8), torch.arange(12)
torch.nn.init.normal_(theirs.proj)
states = torch.randn(2, 12, 3, 4)  # b n h r: what each token asks of the distances
print(torch.allclose(by_content(states, theirs.proj), theirs(states, at, at), atol=1e-6))
#> True

same = states[:1, :1].expand(1, 12, 3, 4)  # every token asks the same
bias, table = by_content(same, theirs.proj), (states[0, 0] @ theirs.proj)  # h × distances
print(torch.allclose(bias[0, :, 11, 4:].flip(-1), table, atol=1e-6))  # a table, as T5's
#> True
