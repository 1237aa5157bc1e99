from attn_docs.checkpoints.tiny_qwen3 import tiny_qwen3
from attn_docs.model.language_model import continue_text, decode, encode

model, prompt = tiny_qwen3(), "mia has a red dog and tom has a black cat. the "
caches = model.new_caches(batch=1, capacity=128)
logits = model(encode("\n" + prompt)[None], caches=caches)  # prefill
chances = logits[0, -1].softmax(-1)  # of each character, to be the next
for token in chances.topk(2).indices:
    print(decode(token[None]), f"{chances[token]:.2f}")
#> d 0.53
#> c 0.47

print(continue_text(model, prompt + "cat").removeprefix(prompt), end="")
#> cat sleeps in the hay. it dreams of milk. tom feeds the black cat.
for cache in caches:
    print(cache.length, "tokens seen,", cache.key.size(2), "slots,", cache.nbytes, "bytes")
#> 48 tokens seen, 16 slots, 4096 bytes
#> 48 tokens seen, 128 slots, 32768 bytes
