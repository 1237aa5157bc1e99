import torch

from attn_docs.model.induction import EXAMINED, induction_targets, load_model, repeated_tokens
from attn_docs.model.induction_circuits import composed

examples = repeated_tokens(256, torch.Generator().manual_seed(EXAMINED))
tokens, answers = examples.tokens[:, :-1], examples.tokens[:, 1:]  # b n
targets = induction_targets(tokens)  # b n n: the places after an earlier match
other = tokens[:, None] != answers[..., None]  # b n n: here stands something else
torn = examples.repeated & (targets & other).any(-1)  # b n: a match is followed by another token
agreed = examples.repeated & ~torn
share = (torn.sum() / examples.repeated.sum()).item()
print(f"a match misleads in {share:.0%} of the places")
#> a match misleads in 18% of the places
found = {}
for name, sees in (("as trained", True), ("blind queries", False)):
    right = composed(load_model(), tokens, query=sees)[0].argmax(-1) == answers  # b n
    found[name] = [right[where].float().mean().item() for where in (agreed, torn)]
    print("{}: elsewhere {:.2f}, there {:.2f}".format(name, *found[name]))
#> as trained: elsewhere 1.00, there 0.92
#> blind queries: elsewhere 0.99, there 0.63
