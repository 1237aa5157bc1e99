import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from attn_docs import GroupedQueryAttention, grouped_query_attention_broadcast


class Largest(TorchDispatchMode):
    """Remember whether a tensor as large as the repeated keys was made."""

    found = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.found |= isinstance(result, torch.Tensor) and result.numel() == 6 * 7 * 16
        return result


x, context = torch.randn(1, 5, 24), torch.randn(1, 7, 10)
ways = {
    "PyTorch": F.scaled_dot_product_attention,
    "broadcast": grouped_query_attention_broadcast,
}
for dropout in (0.0, 0.1):
    for name, way in ways.items():
        attend = GroupedQueryAttention(
            24, 6, 3, kv_dim=10, head_dim=16, dropout=dropout, attend=way
        )
        with Largest() as largest:
            attend(x, context)
        print(f"dropout {dropout}, {name:9}: keys repeated: {largest.found}")
#> dropout 0.0, PyTorch  : keys repeated: False
#> dropout 0.0, broadcast: keys repeated: False
#> dropout 0.1, PyTorch  : keys repeated: True
#> dropout 0.1, broadcast: keys repeated: False
