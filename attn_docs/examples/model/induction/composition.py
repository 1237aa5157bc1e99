import torch

from attn_docs.model.induction import EXAMINED, induction_score, load_model, repeated_tokens
from attn_docs.model.induction_circuits import composed

model = load_model()
tokens = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED)).tokens[:, :-1]  # b n
for part in ("query", "key", "value"):
    _, weights = composed(model, tokens, **{part: False})  # this part sees the embedding alone
    print(f"{part} without layer 1: induction score {induction_score(weights, tokens):.2f}")
#> query without layer 1: induction score 0.89
#> key without layer 1: induction score 0.16
#> value without layer 1: induction score 0.73
