import torch

from attn_docs.checkpoints.tiny_qwen3 import tiny_qwen3
from attn_docs.model.language_model import decode, encode


@torch.no_grad()
def generate(model, tokens, new_tokens):
    caches = model.new_caches(tokens.size(0), 4096)
    for _ in range(new_tokens):
        logits = model(tokens, caches=caches)[:, -1]
        tokens = torch.cat([tokens, logits.argmax(-1, keepdim=True)], dim=1)
    return tokens


model, tokens = tiny_qwen3(), encode("\nmia has a red dog and tom has a black cat. the cat")[None]
print(decode(generate(model, tokens, 24)[0, -24:]))
#>  naps in the barn. it dr
print(decode(model.generate(tokens, 24)[0, -24:]))
#>  sleeps in the hay. it d
