# pip install transformers
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from attn_docs import decoder_from_config, rename_weights

sizes = {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 160, "head_dim": 16}
sizes |= {"num_hidden_layers": 4, "num_attention_heads": 8, "max_position_embeddings": 512}
sizes |= {"initializer_range": 0.2}  # random, but with scores that matter
windows = {"use_sliding_window": True, "sliding_window": 16}
windows |= {"layer_types": ["sliding_attention"] * 3 + ["full_attention"]}
steps = [
    ("no cache", {"num_key_value_heads": 8}),
    ("cache", {"num_key_value_heads": 8}),
    ("grouped heads", {"num_key_value_heads": 2}),
    ("windows, rings", {"num_key_value_heads": 2, **windows}),
]
torch.manual_seed(0)
torch.set_grad_enabled(False)
text, prompt = torch.randint(97, (1, 200)), 120
for name, more in steps:
    theirs = Qwen3ForCausalLM(Qwen3Config(**sizes, **more)).eval()
    ours = decoder_from_config(theirs.config.to_dict())
    ours.load_state_dict(rename_weights(theirs.state_dict()))
    if name == "no cache":
        caches = []
        logits = torch.cat([ours(text[:, : t + 1])[:, -1:] for t in range(prompt, 200)], 1)
    else:
        caches = ours.new_caches(batch=1, capacity=200)
        ours(text[:, :prompt], caches=caches)  # prefill
        logits = torch.cat([ours(text[:, [t]], caches=caches) for t in range(prompt, 200)], 1)
    right = theirs(text).logits[:, prompt:]  # the whole text at once
    off = ((logits - right).norm() / right.norm()).item()
    written = theirs.generate(text, max_new_tokens=30, do_sample=False)
    found = text
    while not caches and found.size(1) < 230:  # without a cache, the whole text each time
        found = torch.cat([found, ours(found)[:, -1:].argmax(-1)], 1)
    same = (ours.generate(text, 30) if caches else found).equal(written)
    held = sum(cache.nbytes for cache in caches)
    print(f"{name:15} {held:6} bytes, off by less than 1e-5: {off < 1e-5}, same text: {same}")
#> no cache             0 bytes, off by less than 1e-5: True, same text: True
#> cache           819200 bytes, off by less than 1e-5: True, same text: True
#> grouped heads   204800 bytes, off by less than 1e-5: True, same text: True
#> windows, rings   63488 bytes, off by less than 1e-5: True, same text: True
