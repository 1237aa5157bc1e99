import torch

from attn_docs import YaRNScaling
from attn_docs.model.induction import load_model, repeated_tokens
from attn_docs.position.extrapolation import changed


@torch.no_grad()
def accuracy(model, length, factor):
    tokens = repeated_tokens(512, torch.Generator().manual_seed(2), length=length).tokens
    with changed(model, scaling=YaRNScaling(factor, original_length=32)):
        best = model(tokens[:, :-1])[:, -8:].argmax(-1)  # b 8: the last predictions
    return (best == tokens[:, -8:]).float().mean().item()


model = load_model()
print(f"{accuracy(model, 16, factor=1.0):.2f} {accuracy(model, 32, factor=1.0):.2f}")
#> 0.97 0.98
