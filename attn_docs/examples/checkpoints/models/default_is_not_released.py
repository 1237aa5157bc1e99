# pip install transformers
from collections import Counter

import transformers

from attn_docs import KVConfig, KVLayers, kv_cache_bytes, load_models

config = transformers.KimiLinearConfig()
print(Counter(config.layer_types))
#> Counter({'linear_attention': 21, 'full_attention': 6})

latent, state = load_models()["Kimi-Linear-48B"].config.kinds  # as released: 7 and 20
default = KVConfig(layers=[KVLayers(6, 1, latent.head_dim, value_dim=0),
                           KVLayers(21, state_bytes=state.state_bytes)])
for name, found in (("default", default), ("released", KVConfig(layers=[latent, state]))):
    print(f"{name:8}", kv_cache_bytes(found, 131_072) >> 20, "MiB")
#> default  907 MiB
#> released 1049 MiB
