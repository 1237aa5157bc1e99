import torch

from attn_docs import LinearScaling, MultiHeadAttention, RotaryEmbedding, rotary_frequencies
from attn_docs.exhibits.position import (
    factor_of_extended_length,
    length_with_padding,
    mean_over_positions,
    rule_left_out,
)
from attn_docs.model.induction import load_model, repeated_tokens

torch.manual_seed(0)
torch.set_grad_enabled(False)


def show(name, found, wanted):
    print(f"{name}: {'equal' if found == wanted else f'{found} instead of {wanted}'}")


# the frequencies in use, against those of the training code
rule = LinearScaling(4.0)
trained = MultiHeadAttention(8, 2, rotary=RotaryEmbedding(4, scaling=rule))
loaded = rule_left_out.load(trained.state_dict(), 8, 2, rule)
both = (rotary_frequencies(4, 1e4, layer.rotary.scaling)[0][0].item() for layer in (loaded, trained))
show("rule_left_out", *both)

# from 4096 tokens to 131072, in a configuration that says 32768 after a first extension
factor = factor_of_extended_length.rule_for(131072, 4096, 32768).factor
show("factor_of_extended_length", factor, 131072 / 4096)

# accuracy by position
tokens = repeated_tokens(256, torch.Generator().manual_seed(0), length=96).tokens
right = load_model()(tokens[:, :-1]).argmax(-1) == tokens[:, 1:]
halves = (right[:, 16:48], right[:, 48:])
early, late = (f"{mean_over_positions.accuracy_at(half):.1f}" for half in halves)
show("mean_over_positions", early, late)

# a row alone, and beside a longer one
alone, beside = torch.ones(1, 40, dtype=torch.bool), torch.ones(1, 200, dtype=torch.bool)
beside[:, :160] = False
found = (round(length_with_padding.sharper(x, 32).item(), 2) for x in (beside, alone))
show("length_with_padding", *found)
