import torch

from attn_docs.exhibits.model.accuracy_of_first_copy import accuracy
from attn_docs.exhibits.model.score_without_match import score
from attn_docs.model.induction import (
    EXAMINED,
    induction_score,
    induction_targets,
    load_model,
    repeat_accuracy,
    repeated_tokens,
)

model = load_model()
examples = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
tokens = examples.tokens[:, :-1]  # b n
logits, weights = model(tokens, need_weights=True)
wrong = accuracy(logits, *examples)
print(f"accuracy {wrong:.2f}, on repetitions alone {repeat_accuracy(model, examples):.2f}")
#> accuracy 0.71, on repetitions alone 0.98
wrong = score(weights[1][:, 0], induction_targets(tokens))
print(f"score {wrong:.2f}, where there is a match {induction_score(weights[1], tokens):.2f}")
#> score 0.54, where there is a match 0.73
