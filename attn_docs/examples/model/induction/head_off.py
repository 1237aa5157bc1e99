import torch

from attn_docs.model.induction import EXAMINED, load_model, repeat_accuracy, repeated_tokens
from attn_docs.model.induction_circuits import head_off

model = load_model()
examples = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
print(f"both heads: {repeat_accuracy(model, examples):.2f}")
#> both heads: 0.98
for layer in (0, 1):
    with head_off(model, layer):
        print(f"head of layer {layer + 1} off: {repeat_accuracy(model, examples):.2f}")
#> head of layer 1 off: 0.19
#> head of layer 2 off: 0.02
