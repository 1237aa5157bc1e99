# pip install transformers
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from attn_docs.model.induction import induction_score

torch.manual_seed(0)
config = GPT2Config(n_layer=2, n_head=4, n_embd=64, attn_implementation="eager")
model = GPT2LMHeadModel(config).eval()
tokens = torch.randint(50257, (4, 20)).repeat(1, 2)  # b n: random tokens, twice
with torch.no_grad():
    layers = model(tokens, output_attentions=True).attentions  # b h n n each
scores = [[induction_score(layer[:, [head]], tokens) for head in range(layer.size(1))]
          for layer in layers]
print(torch.tensor(scores))  # layers h
#> tensor([[0.0341, 0.0341, 0.0341, 0.0341],
#>         [0.0340, 0.0338, 0.0341, 0.0341]])
