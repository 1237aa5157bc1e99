import random

import torch
import torch.nn.functional as F
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.sentence import labelled

NOUNS = {"cat": "feles", "bird": "avis", "fox": "vulpes", "frog": "rana", "eagle": "aquila"}
VERBS = {"sleeps": "dormit", "dreams": "somniat", "runs": "currit", "sings": "cantat"}
KINDS = {"small": "parva", "old": "vetus", "black": "nigra"}
LATIN = NOUNS | VERBS | KINDS
WORDS = ["", "the", "it", *LATIN, *LATIN.values()]  # a token is a place in this list


def make_pair():  # a sentence and its translation: verb first, adjective after the noun
    kind = random.sample([*KINDS], k=random.randint(0, 1))  # one adjective, or none
    noun = random.choice([noun for noun in NOUNS if [*kind, noun] != ["small", "fox"]])
    verb, other = random.choices([*VERBS], k=2)
    english = ["the", *kind, noun, verb, "it", other]
    return english, [LATIN[word] for word in (verb, noun, *kind, other)]


def tokens(texts):  # b n, padded with 0
    rows = [torch.tensor([WORDS.index(word) for word in text]) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


class Translator(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.word, self.place = nn.Embedding(len(WORDS), size), nn.Embedding(6, size)
        for embedding in (self.word, self.place):
            nn.init.normal_(embedding.weight, std=0.1)  # small: no weight is near 1 at first
        self.attend, self.cross = MultiHeadAttention(size, 2), MultiHeadAttention(size, 1)
        self.out = nn.Linear(size, len(WORDS), bias=False)

    def forward(self, source, target):  # b m, b n
        before = F.pad(target, (1, -1))  # b n: at each place, the token before it
        context, x = (self.word(t) + self.place.weight[: t.size(1)] for t in (source, before))
        x = x + self.attend(x, is_causal=True)
        found, weights = self.cross(x, context, key_padding_mask=source > 0, need_weights=True)
        return self.out(x + found), weights  # b n words, b 1 n m


def translate(model, english, length):  # one token after the other
    latin = []
    for _ in range(length):
        logits, weights = model(tokens([english]), tokens([[*latin, ""]]))
        latin.append(WORDS[logits[0, -1].argmax()])
    return latin, weights[0, 0]  # n m


torch.set_num_threads(1)
random.seed(1), torch.manual_seed(1)
model = Translator().double()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(150):
    source, target = (tokens(side) for side in zip(*(make_pair() for _ in range(64)), strict=True))
    logits = model(source, target)[0]
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

english = "the small fox runs it sings".split()  # "small fox" never occurred
latin, weights = translate(model, english, length=4)
print(labelled(weights, latin, english))
#>           the  small    fox   runs     it  sings
#> currit   0.00   0.00   0.00   1.00   0.00   0.00
#> vulpes   0.00   0.00   1.00   0.00   0.00   0.00
#> parva    0.00   1.00   0.00   0.00   0.00   0.00
#> cantat   0.00   0.00   0.00   0.00   0.00   1.00
