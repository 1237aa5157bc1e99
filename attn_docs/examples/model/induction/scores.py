import torch

from attn_docs.model.induction import (
    EXAMINED,
    behaviour,
    induction_score,
    load_model,
    previous_token_score,
    repeated_tokens,
)

model = load_model()
examples = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))  # drawn in no training
tokens = examples.tokens[:, :-1]  # b n
_, (first, second) = model(tokens, need_weights=True)  # b 1 n n each
for name, weights in (("layer 1", first), ("layer 2", second)):
    previous, induction = previous_token_score(weights), induction_score(weights, tokens)
    print(f"{name}: previous token {previous:.2f}, induction {induction:.2f}")
#> layer 1: previous token 0.56, induction 0.08
#> layer 2: previous token 0.06, induction 0.73
print(f"accuracy on repetitions {behaviour(model, examples).accuracy:.2f}")
#> accuracy on repetitions 0.98
