# pip install safetensors tokenizers
import json
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer

from attn_docs import load_decoder
from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

path = save_tiny_qwen3(tempfile.mkdtemp())  # or yours: path = "Qwen3-0.6B"

folder = Path(path)
model = load_decoder(folder)
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
ends = folder / "generation_config.json"
ends = ends if ends.exists() else folder / "config.json"  # base models often have no other
stop = json.loads(ends.read_text())["eos_token_id"]
stop = {stop} if isinstance(stop, int) else set(stop)  # one token, or a list


@torch.no_grad()
def write(prompt, most=200, temperature=0.0):  # a prompt of token numbers
    tokens = torch.tensor([prompt])  # 1 n
    caches = model.new_caches(batch=1, capacity=tokens.size(1) + most)
    for _ in range(most):  # first the prompt (prefill), then one token at a time (decode)
        logits = model(tokens, caches=caches)[:, -1]  # 1 vocab
        if temperature:
            tokens = (logits / temperature).softmax(-1).multinomial(1)  # 1 1
        else:
            tokens = logits.argmax(-1, keepdim=True)  # 1 1
        if tokens.item() in stop:
            return
        yield tokens.item()


prompt = tokenizer.encode("\nmia has a red dog and tom has a black cat. the cat").ids
print(tokenizer.decode(list(write(prompt))).strip())
#> sleeps in the hay. it dreams of milk. tom feeds the black cat.
