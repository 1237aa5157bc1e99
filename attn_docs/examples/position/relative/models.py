# pip install transformers
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom
from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor as mpt

from attn_docs import alibi_slopes

two = torch.ones(1, 2, dtype=torch.long)  # a text of two tokens: what lies between is the slope
for heads in (8, 12, 71):
    found = {
        "BLOOM": bloom(two, heads, torch.float32).diff().flatten(),
        "MPT": mpt(heads, 2).diff().flatten(),
        "Falcon": falcon(two, heads, torch.float32).diff().flatten(),
        "2^(-8i/h)": 2 ** (-8 * torch.arange(1, heads + 1) / heads),
    }
    same = {name: torch.allclose(slopes, alibi_slopes(heads)) for name, slopes in found.items()}
    print(heads, "heads:", same)
#> 8 heads: {'BLOOM': True, 'MPT': True, 'Falcon': True, '2^(-8i/h)': True}
#> 12 heads: {'BLOOM': True, 'MPT': True, 'Falcon': False, '2^(-8i/h)': False}
#> 71 heads: {'BLOOM': True, 'MPT': True, 'Falcon': False, '2^(-8i/h)': False}
