# pip install safetensors tokenizers
import json
import tempfile
from pathlib import Path

import torch
from tokenizers import Tokenizer

from attn_docs import load_decoder
from attn_docs.checkpoints.tiny_qwen3 import save_tiny_qwen3

path = save_tiny_qwen3(tempfile.mkdtemp())  # or yours: path = "Qwen3-0.6B"
device = "cpu"  # or "cuda"

folder = Path(path)
model = load_decoder(folder).to(device)
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
told = {}
for name in ("config.json", "generation_config.json"):  # where both say something, the second
    entries = json.loads((folder / name).read_text()) if (folder / name).exists() else {}
    entries = {key: value for key, value in entries.items() if value is not None}
    told |= entries
stop = told.get("eos_token_id", [])
stop = {stop} if isinstance(stop, int) else set(stop)  # one token, or a list
sampling, names = {}, {"temperature", "top_k", "top_p"}  # {}: the likeliest token
known = names | {"do_sample", "max_length", "max_new_tokens", "use_cache", "_from_model_config"}
known |= {"eos_token_id", "bos_token_id", "pad_token_id", "transformers_version"}
for name, value in entries.items():  # of generation_config.json alone, as transformers does
    if name not in known and value is not False:
        raise ValueError(f"{name} must be absent, because write() does not do it; got {value}")
if entries.get("do_sample"):
    sampling = {"top_k": 50} | {name: entries[name] for name in names & entries.keys()}


@torch.no_grad()
def write(prompt, most=200, temperature=1.0, top_k=1, top_p=1.0):  # top_k=1: the likeliest
    tokens = torch.tensor([prompt], device=device)  # 1 n
    caches = model.new_caches(batch=1, capacity=tokens.size(1) + most)
    for _ in range(most):  # first the prompt (prefill), then one token at a time (decode)
        logits = model(tokens, caches=caches)[:, -1]  # 1 vocab
        best = logits.topk(min(top_k or logits.size(-1), logits.size(-1)))  # 0: all
        chances = (best.values / temperature).softmax(-1)  # 1 k
        chances[chances.cumsum(-1) - chances >= top_p] = 0  # top-p: the likelier are enough
        tokens = best.indices.gather(1, chances.multinomial(1))  # 1 1
        if tokens.item() in stop:
            return
        yield tokens.item()


prompt = tokenizer.encode("\nmia has a red dog and tom has a black cat. the cat").ids
print(tokenizer.decode(list(write(prompt, **sampling))).strip())
#> sleeps in the hay. it dreams of milk. tom feeds the black cat.
