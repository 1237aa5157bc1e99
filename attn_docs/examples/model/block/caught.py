import torch
from torch import nn

from attn_docs import MultiHeadAttention
from attn_docs.exhibits.model import (
    forgotten_residual,
    norm_over_sequence,
    normed_residual,
    post_for_pre,
    shared_norm,
)
from attn_docs.model import MLP, Block


def block():
    torch.manual_seed(0)
    return Block(MultiHeadAttention(16, 4), MLP(16), nn.LayerNorm(16), nn.LayerNorm(16))


fresh, trained = block(), block()
for norm in (trained.attention_norm, trained.mlp_norm):
    nn.init.normal_(norm.weight, 1.0, 0.3)  # as training changes it
    nn.init.normal_(norm.bias, 0.0, 0.3)
x = 3 * torch.randn(2, 6, 16)
changed = x.clone()
changed[:, -1] = torch.randn(16)  # another last token

found = {}
print("shape  past kept  gradients  fresh  trained")
#> shape  past kept  gradients  fresh  trained
for bug in (
    forgotten_residual,
    normed_residual,
    post_for_pre,
    norm_over_sequence,
    shared_norm,
):
    output = bug.block(trained, x)
    trained.zero_grad()
    output.square().sum().backward()
    checks = (
        output.shape == x.shape,
        torch.allclose(output[:, :-1], bug.block(trained, changed)[:, :-1], atol=1e-5),
        all(parameter.grad is not None for parameter in trained.parameters()),
        torch.allclose(bug.block(fresh, x), fresh(x, is_causal=True), atol=1e-5),
        torch.allclose(output, trained(x, is_causal=True), atol=1e-5),
    )
    name = bug.__name__.rpartition(".")[2]
    found[name] = checks
    print(*("pass" if check else "FAIL" for check in checks), name)
#> pass pass pass FAIL FAIL forgotten_residual
#> pass pass pass FAIL FAIL normed_residual
#> pass pass pass FAIL FAIL post_for_pre
#> pass FAIL pass FAIL FAIL norm_over_sequence
#> pass pass FAIL pass FAIL shared_norm
