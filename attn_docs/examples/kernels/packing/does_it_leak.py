# pip install transformers
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=50, num_hidden_layers=2, **sizes)).eval()
tokens = torch.randint(50, (1, 9))  # a document of four tokens, then one of five
other = tokens.clone()
other[:, :4] = (other[:, :4] + 7) % 50  # the same row, with another first document
positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])


@torch.no_grad()
def leaks(**options):  # does the second document notice what the first one is?
    first, second = (model(x, **options).logits[:, 4:] for x in (tokens, other))
    return not torch.equal(first, second)


print(leaks(position_ids=positions))
#> True
print(leaks(position_ids=positions, use_cache=False))
#> False
print(leaks(position_ids=positions, use_cache=False, attention_mask=torch.ones(1, 9)))
#> True
