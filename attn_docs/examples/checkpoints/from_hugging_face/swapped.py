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
for weight in model.parameters():  # needless for trained weights: in a new model norms are equal
    nn.init.normal_(weight, std=0.5)
tokens, padding = torch.randint(50, (2, 60)), torch.ones(2, 60, dtype=torch.long)
padding[1, :13] = 0  # the second text is shorter, and padded on the left
right = model(tokens, attention_mask=padding).logits


class Mine(nn.Module):
    def __init__(self, theirs):
        super().__init__()
        self.layer = from_transformers(theirs)  # or your own layer, loaded by hand

    def forward(self, hidden_states, attention_mask=None, past_key_values=None, **named):
        if past_key_values is not None:
            raise ValueError("Mine does not fill their cache: call the model with use_cache=False")
        positions = named["position_ids"].expand(len(hidden_states), -1)  # b n
        named = {"attn_mask": attention_mask, "positions": positions}
        # a mask of theirs is causal already
        return self.layer(hidden_states, is_causal=attention_mask is None, **named), None


for block in model.model.layers:
    block.self_attn = Mine(block.self_attn)
found = model(tokens, attention_mask=padding, use_cache=False).logits
print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
try:
    model(tokens)
except ValueError as error:
    print(error)
#> Mine does not fill their cache: call the model with use_cache=False
