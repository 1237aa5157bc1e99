import torch
import torch.nn.functional as F

from attn_docs import sink_attention, softcap_attention
from attn_docs.exhibits.checkpoints.softcap_ignored import attention as ignores

torch.manual_seed(0)
query, key, value = (5 * torch.randn(3, 2, 3, 8, 16)).unbind()  # large: scores beyond a cap


def moved(attend, **knob):
    without = F.scaled_dot_product_attention(query, key, value)
    return ((attend(query, key, value, **knob) - without).norm() / without.norm()).item()


for name, attend, knob in [
    ("softcap", softcap_attention, {"softcap": 5.0}),
    ("sinks", sink_attention, {"sinks": torch.full((3,), 20.0)}),
    ("softcap, ignored", ignores, {"softcap": 5.0}),
]:
    print(f"{name}: moved by {moved(attend, **knob):.2f}")
#> softcap: moved by 0.77
#> sinks: moved by 0.41
#> softcap, ignored: moved by 0.00
