# pip install transformers
import collections

import torch
from transformers import MiMoV2FlashConfig, cache_utils, masking_utils
from transformers.modeling_flash_attention_utils import _process_flash_attention_kwargs

from attn_docs import sliding_window_mask

W, n = 4, 12
q, k = torch.arange(n).unsqueeze(1), torch.arange(n)  # n 1, n
found = {}  # how many keys a query in the middle sees when told W


def flash(left):  # FlashAttention's rule, from its documentation: not run
    return (q - left <= k) & (k <= q)


def count(mask):
    return int(mask[n // 2].sum())


def cached(layer):  # what a cache hands to the query of the last token
    for _ in range(n):
        key, _ = layer.update(torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, 1, 1))
    return key.size(2)


found["attn_docs"] = count(sliding_window_mask(n, window=W))
causal = masking_utils.sliding_window_causal_mask_function(W)
found["transformers mask"] = count(causal(0, 0, q, k))
found["transformers cache"] = cached(cache_utils.DynamicSlidingWindowLayer(W))
static = cached(cache_utils.StaticSlidingWindowLayer(n, W))
assert static == found["transformers cache"] == found["transformers mask"]
knows = collections.defaultdict(bool, window_size=True)
passed = _process_flash_attention_kwargs(n, n, True, sliding_window=W, supports_mapping=knows)
found["transformers to flash"] = count(flash(passed["window_size"][0]))
found["vllm"] = count(flash(W - 1))  # "self.sliding_window = (sliding_window - 1, 0)"
found["llama.cpp"] = count((q >= k) & ~(q - k >= W))  # hides keys with "p1 - p0 >= n_swa"
found["flash"] = count(flash(W))
found["flex recipe"] = count((q >= k) & (q - k <= W))  # "q_idx - kv_idx <= SLIDING_WINDOW"
found["mistral paper"] = count((q - W <= k) & (k <= q))  # "between i - W and i"
found["mimo"] = MiMoV2FlashConfig(sliding_window_size=W).sliding_window

for name, keys in found.items():
    print(f"{name:22} {keys} keys")
#> attn_docs              4 keys
#> transformers mask      4 keys
#> transformers cache     4 keys
#> transformers to flash  4 keys
#> vllm                   4 keys
#> llama.cpp              4 keys
#> flash                  5 keys
#> flex recipe            5 keys
#> mistral paper          5 keys
#> mimo                   5 keys
