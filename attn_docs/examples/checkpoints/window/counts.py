# pip install transformers
import collections

import torch
from transformers import (
    Gemma3TextConfig,
    GPTNeoConfig,
    LongformerConfig,
    MiMoV2FlashConfig,
    ModernBertConfig,
    cache_utils,
    masking_utils,
)
from transformers.modeling_flash_attention_utils import _process_flash_attention_kwargs
from transformers.models.gemma3.modeling_gemma3 import _bidirectional_window_overlay
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention
from transformers.models.t5gemma2 import modeling_t5gemma2

from attn_docs import sliding_window_mask

W, n = 4, 12
q, k = torch.arange(n).unsqueeze(1), torch.arange(n)  # n 1, n
found = {}  # how many keys a query in the middle sees when told W


def flash(left, right=0):  # FlashAttention's rule, from its documentation: not run
    return (q - left <= k) & (k <= q + right)


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
sizes = {"hidden_size": 8, "num_heads": 2, "max_position_embeddings": n, "window_size": W}
neo = GPTNeoConfig(num_layers=2, attention_types=[[["global", "local"], 1]], **sizes)
found["gpt neo"] = count(GPTNeoSelfAttention(neo, "local").bias[0, 0])
found["vllm"] = count(flash(W - 1))  # "self.sliding_window = (sliding_window - 1, 0)"
found["llama.cpp"] = count((q >= k) & ~(q - k >= W))  # hides keys with "p1 - p0 >= n_swa"
found["flash"] = count(flash(W))
found["flex recipe"] = count((q >= k) & (q - k <= W))  # "q_idx - kv_idx <= SLIDING_WINDOW"
found["mistral paper"] = count((q - W <= k) & (k <= q))  # "between i - W and i"
found["mimo"] = MiMoV2FlashConfig(sliding_window_size=W).sliding_window
two_sided = masking_utils.sliding_window_bidirectional_mask_function(W)
found["transformers two-sided"] = count(two_sided(0, 0, q, k))
passed = _process_flash_attention_kwargs(n, n, False, sliding_window=W, supports_mapping=knows)
found["t5gemma to flash"] = count(flash(*passed["window_size"]))  # its layer passes W itself
embed = Gemma3TextConfig(sliding_window=W, use_bidirectional_attention=True).sliding_window
found["embeddinggemma"] = count(_bidirectional_window_overlay(embed)(0, 0, q, k))
two = modeling_t5gemma2.sliding_window_mask_function(W, is_causal=False)
found["t5gemma 2"] = count(two(0, 0, q, k))
half = ModernBertConfig(local_attention=W).sliding_window
halved = masking_utils.sliding_window_bidirectional_mask_function(half)
found["modernbert"] = count(halved(0, 0, q, k))
long = LongformerConfig(
    hidden_size=8, num_attention_heads=2, num_hidden_layers=1, attention_window=[W]
)
x, none = torch.randn(1, n, 8, requires_grad=True), torch.zeros(1, n)
marks = {"is_index_masked": none > 0, "is_index_global_attn": none > 0}
output = LongformerSelfAttention(long, 0).eval()(x, none, **marks, is_global_attn=False)[0]
(gradient,) = torch.autograd.grad(output[0, n // 2].sum(), x)
found["longformer"] = int((gradient[0].norm(dim=-1) > 0).sum())

for name, keys in found.items():
    print(f"{name:22} {keys} keys")
#> attn_docs              4 keys
#> transformers mask      4 keys
#> transformers cache     4 keys
#> transformers to flash  4 keys
#> gpt neo                4 keys
#> vllm                   4 keys
#> llama.cpp              4 keys
#> flash                  5 keys
#> flex recipe            5 keys
#> mistral paper          5 keys
#> mimo                   5 keys
#> transformers two-sided 9 keys
#> t5gemma to flash       7 keys
#> embeddinggemma         5 keys
#> t5gemma 2              4 keys
#> modernbert             5 keys
#> longformer             5 keys
