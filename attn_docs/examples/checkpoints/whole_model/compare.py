# pip install transformers
import tempfile

import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from attn_docs import load_decoder
from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

logging.disable_progress_bar()
torch.set_grad_enabled(False)
folder = save_tiny_qwen3(tempfile.mkdtemp())  # or yours: folder = "Qwen3-0.6B"
theirs = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
ours = load_decoder(folder)

window = getattr(theirs.config, "sliding_window", None) or 0  # theirs: ours may have lost it
n = window + 600
tokens = torch.randint(ours.output.out_features, (1, n))
right = theirs(tokens).logits
caches = ours.new_caches(batch=1, capacity=n)
chunks = [ours(chunk, caches=caches) for chunk in tokens.split([n - 200] + 200 * [1], dim=1)]
for found in (ours(tokens), torch.cat(chunks, dim=1)):
    print(((found - right).norm() / right.norm()).item() < 1e-5)
#> True
#> True
