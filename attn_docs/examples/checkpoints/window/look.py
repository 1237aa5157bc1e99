# pip install transformers
import torch
from transformers import Gemma2Config, Gemma2ForCausalLM

sizes = {"hidden_size": 32, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16}
config = Gemma2Config(**sizes, num_hidden_layers=4, vocab_size=50, sliding_window=8)
model = Gemma2ForCausalLM(config).eval()  # here: your model


def look(attention, _, options):
    row = options["attention_mask"][0, 0, -1]  # the last query's row
    keys = row.sum() if row.dtype == torch.bool else (row == 0).sum()  # additive: 0 lets through
    i = attention.layer_idx
    print(f"layer {i}, {config.layer_types[i]:17}: {int(keys)} keys of {len(row)}")


for layer in model.model.layers:
    layer.self_attn.register_forward_pre_hook(look, with_kwargs=True)
with torch.no_grad():
    _ = model(torch.randint(0, 50, (1, 40)))  # no padding, several times as long as the window
#> layer 0, sliding_attention: 8 keys of 40
#> layer 1, full_attention   : 40 keys of 40
#> layer 2, sliding_attention: 8 keys of 40
#> layer 3, full_attention   : 40 keys of 40
