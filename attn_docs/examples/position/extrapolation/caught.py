import torch

from attn_docs.exhibits.position import (
    factor_of_extended_length,
    length_with_padding,
    mean_over_positions,
)
from attn_docs.model.induction import load_model

torch.set_grad_enabled(False)


def show(name, found, wanted):
    print(f"{name}: {'equal' if found == wanted else f'{found} instead of {wanted}'}")


# from 4096 tokens to 131072, in a configuration that says 32768 after a first extension
factor = factor_of_extended_length.rule_for(131072, 4096, 32768).factor
show("factor_of_extended_length", factor, 131072 / 4096)
#> factor_of_extended_length: 4.0 instead of 32.0

# the mean over all positions that can be known, against the last ones
chance = torch.Generator().manual_seed(2)
period = torch.randint(3, 17, (512, 1), generator=chance)
segment = torch.randint(32, (512, 16), generator=chance)
texts = segment.gather(1, torch.arange(129) % period)
right = load_model()(texts[:, :-1]).argmax(-1) == texts[:, 1:]
mean = mean_over_positions.accuracy_at(right[:, 16:])
show("mean_over_positions", *(f"{x:.2f}" for x in (mean, right[:, -8:].double().mean().item())))
#> mean_over_positions: 0.85 instead of 0.62

# a row alone, and beside a longer one
alone, beside = torch.ones(1, 40, dtype=torch.bool), torch.ones(1, 200, dtype=torch.bool)
beside[:, :160] = False
found = (round(length_with_padding.sharper(x, 32).item(), 2) for x in (beside, alone))
show("length_with_padding", *found)
#> length_with_padding: 1.53 instead of 1.06
