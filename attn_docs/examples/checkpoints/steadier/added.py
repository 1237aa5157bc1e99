from functools import partial

import torch
from torch import nn

from attn_docs import MultiHeadAttention, RotaryEmbedding, SinkAttention
from attn_docs.model.language_model import language_model, loss_of, tell_stories, trained_model

stories = tell_stories(100, seed=1)


def norms(gain):
    made = {"q_norm": nn.RMSNorm(16), "k_norm": nn.RMSNorm(16)}
    for norm in made.values():
        nn.init.constant_(norm.weight, gain)
    return made


def sinks(score):
    attend = SinkAttention(4)
    nn.init.constant_(attend.sinks, score)
    return {"attend": attend}


def gate(bias):
    made = nn.Linear(64, 4)
    nn.init.zeros_(made.weight)
    nn.init.constant_(made.bias, bias)
    return {"gate": made}


def attention(make):
    return MultiHeadAttention(64, 4, rotary=RotaryEmbedding(16), **make())


for name, make in {
    "as trained": dict,
    "QK-Norm, gains 1": partial(norms, 1.0),
    "QK-Norm, gains 2": partial(norms, 2.0),
    "QK-Norm, gains 3": partial(norms, 3.0),
    "sinks of 0": partial(sinks, 0.0),
    "sinks of −5": partial(sinks, -5.0),
    "gate, bias 0": partial(gate, 0.0),
    "gate, bias 6": partial(gate, 6.0),
}.items():
    model = language_model(attention=partial(attention, make)).eval()
    model.load_state_dict(trained_model().state_dict(), strict=False)  # the rest as it was made
    with torch.no_grad():
        print(f"{name}: {loss_of(model, stories).item():.3f} nats a character")
#> as trained: 0.150 nats a character
#> QK-Norm, gains 1: 3.204 nats a character
#> QK-Norm, gains 2: 0.861 nats a character
#> QK-Norm, gains 3: 1.334 nats a character
#> sinks of 0: 0.152 nats a character
#> sinks of −5: 0.150 nats a character
#> gate, bias 0: 0.629 nats a character
#> gate, bias 6: 0.150 nats a character
