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
    bags = attend(0 * x, x, x)  # n 5: layer 1, equal scores: each word's mean of all so far
    verb = 50 * x[:, [3]]  # n 1: layer 2, every query looks for the verb
    found = attend(torch.ones_like(verb), verb, bags)  # n 5: and takes its bag
    print(text, bags[-1, 1:3].numpy().round(2), found[-1, 1:3].numpy().round(2))
#> the dog chased the cat . [0.17 0.17] [0.33 0.  ]
#> the cat chased the dog . [0.17 0.17] [0.   0.33]

from attn_docs import scaled_dot_product_attention

right = scaled_dot_product_attention(verb[None] ** 0, verb[None], bags[None], is_causal=True)
print(torch.allclose(found, right[0]))
#> True
