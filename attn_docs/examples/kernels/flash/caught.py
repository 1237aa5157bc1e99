import torch
import torch.nn.functional as F

from attn_docs.exhibits.kernels import (
    flash_delta_of_elements,
    flash_key_untransposed,
    flash_scaled_twice,
    flash_without_delta,
)


def errors(module, n, m, d, e):
    torch.manual_seed(0)
    sizes = ((n, d), (m, d), (m, e))
    inputs = [torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    output = F.scaled_dot_product_attention(*inputs)
    d_out = torch.randn_like(output)
    wanted = torch.autograd.grad(output, inputs, d_out)
    found = module.gradients(*(x.detach() for x in (*inputs, output)), d_out)
    return [round((x - y).abs().max().item(), 2) for x, y in zip(found, wanted, strict=True)]


for module in (
    flash_without_delta,
    flash_delta_of_elements,
    flash_key_untransposed,
    flash_scaled_twice,
):
    print(module.__name__.rpartition(".")[2], errors(module, 8, 8, 8, 8))
    try:
        print("  sizes that differ:", errors(module, 5, 6, 8, 4))
    except RuntimeError:
        print("  sizes that differ: an error")
#> flash_without_delta [1.39, 0.71, 0.0]
#>   sizes that differ: [0.93, 1.39, 0.0]
#> flash_delta_of_elements [1.1, 0.92, 0.0]
#>   sizes that differ: an error
#> flash_key_untransposed [0.0, 1.69, 0.0]
#>   sizes that differ: an error
#> flash_scaled_twice [0.97, 0.95, 0.0]
#>   sizes that differ: [0.37, 0.31, 0.0]
