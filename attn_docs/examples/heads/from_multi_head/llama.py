# pip install transformers
import copy
import tempfile

import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM


def fewer_kv_heads(model, kv_heads):
    """Return a model of the same class whose KV heads are the means of their groups."""
    config, state = copy.deepcopy(model.config), model.state_dict()
    config.num_key_value_heads = kv_heads
    head_dim = getattr(config, "head_dim", None)  # Qwen2 has none
    head_dim = head_dim or config.hidden_size // config.num_attention_heads
    for name, old in state.items():
        if ".k_proj." in name or ".v_proj." in name:  # weights, and biases where there are some
            heads = old.unflatten(0, (kv_heads, -1, head_dim))
            state[name] = heads.mean(1).flatten(0, 1)
    # not .to(dtype): that would round the rotary frequencies, a buffer that stays float32
    smaller = AutoModelForCausalLM.from_config(config, dtype=model.dtype).to(model.device)
    smaller.load_state_dict(state)  # strict: a weight left out would raise
    smaller.generation_config = copy.deepcopy(model.generation_config)  # sampling, end of text
    return smaller.train(model.training)


torch.manual_seed(0)  # yours: LlamaForCausalLM.from_pretrained("…")
sizes = {"hidden_size": 32, "intermediate_size": 64, "vocab_size": 100, "num_hidden_layers": 2}
model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=8)).eval()
tokens = torch.tensor([[5, 3, 9, 3]])

with tempfile.TemporaryDirectory() as folder:
    fewer_kv_heads(model, 2).save_pretrained(folder)
    smaller = LlamaForCausalLM.from_pretrained(folder)
cache = smaller(tokens).past_key_values
print(cache.layers[0].keys.shape[1], cache.get_seq_length())
#> 2 4

with torch.no_grad():  # the test: make the heads of each group equal
    for layer in model.model.layers:
        for proj in (layer.self_attn.k_proj, layer.self_attn.v_proj):
            heads = proj.weight.unflatten(0, (2, 4, 4))
            heads[:] = heads[:, :1].clone()
print(torch.allclose(fewer_kv_heads(model, 2)(tokens).logits, model(tokens).logits, atol=1e-5))
#> True
