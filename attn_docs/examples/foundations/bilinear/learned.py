import torch

from attn_docs import MultiHeadAttention
from attn_docs.practice.bugs_that_train import NextWord, fit

torch.manual_seed(0)
layer = MultiHeadAttention(32, num_heads=2)
model = NextWord(layer).double()
fit(model)  # tokens repeat every four places, so the next one stood three back

w_q, w_k = layer.q_proj.weight[:16].mT, layer.k_proj.weight[:16].mT  # D d each, of one head
w = w_q @ w_k.mT  # D D
places = model.places  # n D, what the model adds at each position
scores = places @ w @ places.mT  # n n, without a single token
print([position - scores[position, : position + 1].argmax().item() for position in range(12)])
#> [0, 0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3]
