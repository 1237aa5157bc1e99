import torch
import torch.nn.functional as F

WORDS = ("the", "dog", "cat", "chased", ".")


def attend(query, key, value):  # n d, n d, n e: one causal head, no positions
    hidden = torch.ones(len(query), len(key), dtype=torch.bool).triu(1)  # n n
    weights = (query @ key.T).masked_fill(hidden, -torch.inf).softmax(dim=-1)  # n n
    return weights @ value  # n e


for text in ("the dog chased the cat .", "the cat chased the dog ."):
    words = torch.tensor([WORDS.index(word) for word in text.split()])  # n
    x = F.one_hot(words, len(WORDS)).float()  # n 5
    bags = attend(torch.zeros_like(x), x, x)  # n 5: layer 1, equal scores: the mean of all so far
    is_verb = 50 * x[:, [3]]  # n 1: the keys of layer 2, large at the verb alone
    looks = torch.ones_like(is_verb)  # n 1: every query looks for it
    found = attend(looks, is_verb, bags)  # n 5: and takes its bag
    print(text, bags[-1, 1:3].numpy().round(2), found[-1, 1:3].numpy().round(2))
#> the dog chased the cat . [0.17 0.17] [0.33 0.  ]
#> the cat chased the dog . [0.17 0.17] [0.   0.33]

from attn_docs import scaled_dot_product_attention

again = scaled_dot_product_attention(looks, is_verb, bags, is_causal=True)  # n 5
print(torch.allclose(found, again))
#> True
