# pip install transformers
import torch
from transformers import Gemma3TextConfig, Gemma3TextModel

from attn_docs import KVConfig, kv_cache_bytes

sizes = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "sliding_window": 16}
sizes |= {"num_hidden_layers": 12, "hidden_size": 32, "intermediate_size": 64, "vocab_size": 100}
config = Gemma3TextConfig(**sizes)  # AutoConfig.from_pretrained(name).get_text_config()

kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
kept = KVConfig(
    full_layers=kinds.count("full_attention"),
    windowed_layers=kinds.count("sliding_attention"),
    num_kv_heads=config.num_key_value_heads,
    head_dim=config.head_dim,
    window=config.sliding_window or 0,
)
print(f"{kv_cache_bytes(kept, length=32_768, batch=8):,} bytes in bfloat16")
#> 33,636,352 bytes in bfloat16
model = Gemma3TextModel(config).eval()
with torch.no_grad():
    cache = model(torch.zeros(3, 10, dtype=torch.long)).past_key_values
bytes_there = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
print(bytes_there == kv_cache_bytes(kept, length=10, batch=3, dtype=torch.float32))
#> True
