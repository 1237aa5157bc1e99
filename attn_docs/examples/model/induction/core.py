import torch
import torch.nn.functional as F

text = "zqvx-zqvx-z"
symbols = sorted(set(text))
tokens = torch.tensor([symbols.index(character) for character in text])
n = len(text)
me = F.one_hot(tokens).float()  # n V: a single 1 a row, at the token's number
place = torch.eye(n)  # n n: a single 1 a row, at the place's number


def attend(query, key, value):
    scores = 20 * query @ key.mT  # n n; 20 makes the softmax pick one
    future = torch.ones(n, n, dtype=torch.bool).triu(1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)  # n n
    return weights @ value, weights


# layer 1: each place asks for the place before it, and takes the token from there
ask = place.roll(-1, 1)  # n n: row i has its 1 at i - 1, row 0 at the end
before, first = attend(ask, place, me)  # n V: which token stands before me
before[0] = 0  # nothing stands before the first, which could only see itself
# layer 2: each token looks for a place after a token like itself, and takes what stands there
output, second = attend(me, before, me)  # n V
print("".join(symbols[best] for best in output[5:].argmax(-1)))
#> qvx-zq

from attn_docs.model.induction import encode, induction_score, previous_token_score

scores = previous_token_score(first), induction_score(second[None], encode(text))
print([score.item() > 0.99 for score in scores])
#> [True, True]
