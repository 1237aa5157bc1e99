# pip install transformers
import torch
from transformers import Gemma3TextConfig, Gemma3TextModel

from attn_docs import from_transformers

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"hidden_size": 42, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
sizes |= {"num_hidden_layers": 6, "sliding_window": 16, "vocab_size": 50}
model = Gemma3TextModel(Gemma3TextConfig(**sizes)).eval()  # or your from_pretrained(…)
for weight in model.parameters():  # needless for trained weights: in a new model norms are equal
    torch.nn.init.normal_(weight, std=0.5)
ours = [from_transformers(block.self_attn) for block in model.layers]
for number in (0, 5):
    print(number, ours[number].window, ours[number].rotary.theta)
#> 0 16 10000.0
#> 5 None 1000000.0

seen = {}  # what a layer of the running model gets, and what it returns
for block in model.layers:
    block.self_attn.register_forward_hook(
        lambda layer, args, named, out: seen.update({layer.layer_idx: (args, named, out[0])}),
        with_kwargs=True,
    )
model(torch.randint(50, (2, 60)))
for number in (0, 5):
    args, named, right = seen[number]
    x = named["hidden_states"]
    cache = ours[number].new_cache(batch=2, capacity=60)
    steps = [ours[number](part, cache=cache) for part in x.split([37, 1, 22], dim=1)]
    for found in (ours[number](x, is_causal=True), torch.cat(steps, dim=1)):
        print(((found - right).abs().max() / right.abs().max()).item() < 1e-5)
#> True
#> True
#> True
#> True
