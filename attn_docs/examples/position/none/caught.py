import torch

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.position import (
    no_rope_inverted,
    one_layer_without,
    positions_left_out,
    rotated_everywhere,
)

torch.manual_seed(0)
torch.set_grad_enabled(False)
ORDER = [3, 0, 5, 1, 6, 2, 4, 7]  # the last token stays the last


def sees_order(attend: MultiHeadAttention) -> bool:
    x = torch.randn(1, 8, 16)  # b n 16
    outputs = [attend(tokens, is_causal=True)[:, -1] for tokens in (x, x[:, ORDER])]
    return not torch.allclose(*outputs, atol=1e-5)


print("wanted               [True, True, True, False]")
#> wanted               [True, True, True, False]
for exhibit in (no_rope_inverted, rotated_everywhere):
    found = [sees_order(layer) for layer in exhibit.layers([1, 1, 1, 0], 16, 2)]
    print(exhibit.__name__.rpartition(".")[2].ljust(20), found)
#> no_rope_inverted     [False, False, False, True]
#> rotated_everywhere   [True, True, True, True]

tokens = torch.arange(8)[None]  # b n
decoder = one_layer_without.decoder(8, 16, 2)
same = torch.allclose(decoder(tokens)[:, -1], decoder(tokens[:, ORDER])[:, -1], atol=1e-5)
print("one_layer_without    the same logits after another order:", same)
#> one_layer_without    the same logits after another order: True

encoder = positions_left_out.Encoder(8, 16, 2, max_length=8)
with torch.enable_grad():
    encoder(tokens).square().sum().backward()
for name, parameter in encoder.named_parameters():
    none = parameter.grad is None or not parameter.grad.any()
    if none and not name.endswith("k_proj.bias"):  # that one moves a whole row of scores alike
        print("positions_left_out   gets no gradient:", name)
#> positions_left_out   gets no gradient: positions.weight
