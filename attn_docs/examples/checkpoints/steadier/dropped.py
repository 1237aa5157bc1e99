# pip install transformers
import torch
from torch import nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

torch.manual_seed(0)
query, key, value = torch.randn(3, 1, 2, 6, 16).unbind()  # b h n d
layer = nn.Module()
layer.is_causal = True  # what the function reads of the layer

plain, _ = sdpa_attention_forward(layer, query, key, value, None)
for name, knob in {"softcap": 5.0, "s_aux": torch.full((2,), 20.0)}.items():
    try:
        output, _ = sdpa_attention_forward(layer, query, key, value, None, **{name: knob})
        print(f"{name}: moved by {(output - plain).norm().item():.1f}")
    except ValueError:
        print(f"{name}: refused")
#> softcap: refused
#> s_aux: moved by 0.0
