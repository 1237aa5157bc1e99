# pip install transformers
import torch
from torch import nn
from transformers import Qwen3Config, Qwen3ForCausalLM

from attn_docs import from_transformers

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
sizes |= {"intermediate_size": 50, "num_hidden_layers": 4, "vocab_size": 50}
model = Qwen3ForCausalLM(Qwen3Config(**sizes)).eval()  # or your from_pretrained(…)
tokens = torch.randint(50, (2, 60))
right = model(tokens).logits


class Mine(nn.Module):
    def __init__(self, theirs):
        super().__init__()
        self.layer = from_transformers(theirs)  # or your own layer, loaded by hand

    def forward(self, hidden_states, **_):  # their mask, positions and cache are ignored
        return self.layer(hidden_states, is_causal=True), None


for block in model.model.layers:
    block.self_attn = Mine(block.self_attn)
found = model(tokens, use_cache=False).logits
print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
