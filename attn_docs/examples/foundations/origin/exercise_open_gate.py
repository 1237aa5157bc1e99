import torch

for size, bias in ((32, 0.0), (32, 5.0), (256, 5.0)):
    torch.manual_seed(0)
    gru = torch.nn.GRU(32, size, batch_first=True)
    with torch.no_grad():
        gru.bias_ih_l0[size : 2 * size] += bias  # the update gate z: 1 keeps the old state
    words = torch.randn(64, 32, 32, requires_grad=True)
    (gradient,) = torch.autograd.grad(gru(words)[0][:, -1].sum(), words)
    first, last = (gradient[:, place].norm(dim=-1).median().item() for place in (0, -1))
    print(f"state of {size}, bias {bias:g}: first word {first:.0e}, last word {last:.0e}")
#> state of 32, bias 0: first word 4e-07, last word 1e+00
#> state of 32, bias 5: first word 2e-02, last word 2e-02
#> state of 256, bias 5: first word 2e-02, last word 2e-02
