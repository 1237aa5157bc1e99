# pip install transformers
import torch
from transformers import LlamaConfig, LlamaModel

torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 50}
plain = {"rope_type": "default", "rope_theta": 10000.0}
for rope in (plain, plain | {"rope_type": "dynamic", "factor": 4.0}):
    config = LlamaConfig(**sizes, max_position_embeddings=16, rope_parameters=rope)  # trained: 16
    model, tokens, cache = LlamaModel(config).double(), torch.randint(50, (1, 64)), None
    for weight in model.parameters():
        weight.mul_(4 if weight.ndim == 2 else 1)  # random, but with scores that matter
    for length in (16, 64):
        model.rotary_emb = type(model.rotary_emb)(config)  # it remembers the longest text
        whole = model(tokens[:, :length]).last_hidden_state[:, -1]
        model.rotary_emb, cache = type(model.rotary_emb)(config), None
        for t in range(length):
            step = model(tokens[:, [t]], past_key_values=cache, use_cache=True)
            cache = step.past_key_values
        error = (step.last_hidden_state[:, -1] - whole).norm() / whole.norm()
        print(f"{rope['rope_type']}, last of {length} tokens: cached differs by {error:.2f}")
#> default, last of 16 tokens: cached differs by 0.00
#> default, last of 64 tokens: cached differs by 0.00
#> dynamic, last of 16 tokens: cached differs by 0.00
#> dynamic, last of 64 tokens: cached differs by 0.11
