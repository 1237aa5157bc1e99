# pip install transformers
import tempfile

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.utils import logging

from attn_docs import load_decoder

logging.disable_progress_bar()
torch.manual_seed(0)
torch.set_grad_enabled(False)
sizes = {"vocab_size": 97, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3}
sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2, "initializer_range": 0.2}
llama3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0}
llama3 |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 64}
late = {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1}
tokens = torch.randint(97, (2, 150))
for kind, more in {
    "llama": {"rope_parameters": llama3, "max_position_embeddings": 512},
    "mistral": {"sliding_window": 16, "tie_word_embeddings": True},
    "qwen2": late,
    "qwen3": late | {"head_dim": 32},
}.items():
    config = AutoConfig.for_model(kind, **sizes, **more)
    theirs = AutoModelForCausalLM.from_config(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder, max_shard_size="100KB")  # several files and an index
        ours = load_decoder(folder)
    right = theirs(tokens).logits
    off = (ours(tokens) - right).norm() / right.norm()
    rings = sum(cache.window is not None for cache in ours.new_caches(1, 150))
    print(f"{kind:7} off by less than 1e-5: {off.item() < 1e-5}, layers with a ring: {rings}")
#> llama   off by less than 1e-5: True, layers with a ring: 0
#> mistral off by less than 1e-5: True, layers with a ring: 3
#> qwen2   off by less than 1e-5: True, layers with a ring: 2
#> qwen3   off by less than 1e-5: True, layers with a ring: 2
