import torch
import torch.nn.functional as F

from attn_docs import MultiHeadAttention, RotaryEmbedding
from attn_docs.model import load_weights
from attn_docs.model.language_model import HELD_OUT, batch_of, language_model, tell_stories

tokens, targets = batch_of(tell_stories(100, seed=HELD_OUT))  # each row begins with a newline


def loss(begin, **setting):  # nats a character, from a place on, last newline included
    def attention():
        return MultiHeadAttention(64, 4, rotary=RotaryEmbedding(16), **setting)

    model = language_model(attention=attention).eval()
    model.load_state_dict(load_weights("language-model"))  # the same weights each time
    with torch.no_grad():
        logits = model(tokens)[:, begin:]
    return F.cross_entropy(logits.mT, targets[:, begin:], ignore_index=-100).item()


print(f"all keys:                          {loss(100):.2f}")
#> all keys:                          0.04
print(f"the last 100:                      {loss(100, window=100):.2f}")
#> the last 100:                      0.82
print(f"the last 100 and the first newline: {loss(100, window=100, keep_first=1):.2f}")
#> the last 100 and the first newline: 0.04
