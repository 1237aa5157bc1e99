# pip install safetensors tokenizers
import tempfile

import torch
from tokenizers import Tokenizer

from attn_docs import load_decoder
from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

path = save_tiny_qwen3(tempfile.mkdtemp())  # or yours: path = "Qwen3-0.6B"
model = load_decoder(path)
tokenizer = Tokenizer.from_file(f"{path}/tokenizer.json")

prompt = tokenizer.encode("\nmia has a red dog and tom has a black cat. the cat").ids
tokens = model.generate(torch.tensor([prompt]), 38)  # 38 times the likeliest token
print(tokenizer.decode(tokens[0, len(prompt) :].tolist()))
#>  sleeps in the hay. it dreams of milk.
