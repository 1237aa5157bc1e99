import torch

from attn_docs.model.induction import EXAMINED, induction_targets, load_model, repeated_tokens
from attn_docs.model.induction_circuits import composed

examples = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
tokens, answers = examples.tokens[:, :-1], examples.tokens[:, 1:]  # b n
targets = induction_targets(tokens)  # b n n: the places after an earlier match
other = tokens[:, None] != answers[..., None]  # b n n: here stands something else
torn = examples.repeated & (targets & other).any(-1)  # b n: the matches disagree
agreed = examples.repeated & ~torn
for name, sees in (("as trained", True), ("blind queries", False)):
    right = composed(load_model(), tokens, query=sees)[0].argmax(-1) == answers  # b n
    shares = [right[where].float().mean() for where in (agreed, torn)]
    print(f"{name}: matches agree {shares[0]:.2f}, disagree {shares[1]:.2f}")
#> as trained: matches agree 1.00, disagree 0.92
#> blind queries: matches agree 0.99, disagree 0.63
