import torch
from torch import nn

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiHeadLatentAttention,
    RelativeBias,
    alibi_bias,
)

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"kv_rank": 8, "head_dim": 6, "rope_dim": 4, "value_dim": 6}
layers = {
    "multi-head": MultiHeadAttention(24, 4),
    "grouped-query, window 5": GroupedQueryAttention(24, 4, 2, window=5),
    "latent": MultiHeadLatentAttention(24, 4, **sizes),
}
table = RelativeBias(4, bidirectional=False)
nn.init.normal_(table.relative_attention_bias.weight)
biases = {"ALiBi": lambda n, seen: alibi_bias(4, n, offset=seen)}
biases["T5"] = lambda n, seen: table(n, offset=seen)

x, real = torch.randn(2, 12, 24), torch.ones(2, 12, dtype=torch.bool)
real[1, :3] = False  # the second text is three tokens shorter: padded on the left
for layer_name, layer in layers.items():
    for bias_name, bias in biases.items():
        cache, chunks = layer.new_cache(batch=2, capacity=12), []
        for n in (5, 1, 4, 2):
            seen = cache.length
            masks = {"attn_mask": bias(n, seen), "key_padding_mask": real[:, : seen + n]}
            chunks.append(layer(x[:, seen : seen + n], cache=cache, **masks))
        alone = layer(x[1:, 3:], attn_mask=bias(9, 0), is_causal=True)  # without its padding
        same = torch.allclose(torch.cat(chunks, dim=1)[1:, 3:], alone, atol=1e-5)
        print(f"{layer_name}, {bias_name}: {same}")
#> multi-head, ALiBi: True
#> multi-head, T5: True
#> grouped-query, window 5, ALiBi: True
#> grouped-query, window 5, T5: True
#> latent, ALiBi: True
#> latent, T5: True
