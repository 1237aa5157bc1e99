# pip install transformers
import torch
from transformers import LlamaConfig, LlamaForCausalLM, OPTConfig, OPTForCausalLM


@torch.no_grad()
def leaks(model, rows=1, **options):  # does the second document notice what the first one is?
    def second(tokens):
        torch.manual_seed(1)  # the same dropout in both calls
        return model(tokens, **options).logits[:, 4:]

    size = model.get_input_embeddings().num_embeddings
    tokens = torch.randint(size, (rows, 9), device=model.device)  # documents of 4 and of 5
    other = tokens.clone()
    other[:, :4] = (other[:, :4] + 1) % size
    return not torch.equal(second(tokens), second(other))


torch.manual_seed(0)
sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=50, num_hidden_layers=2, **sizes)).eval()
positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4]])
print(leaks(model, position_ids=positions))
#> True
print(leaks(model, position_ids=positions, use_cache=False))  # the repair
#> False
opt = OPTForCausalLM(OPTConfig(vocab_size=50, num_hidden_layers=2, word_embed_proj_dim=16, **sizes))
print(leaks(opt.eval(), position_ids=positions, use_cache=False))  # no repair for OPT
#> True
