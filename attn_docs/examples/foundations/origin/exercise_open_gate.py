import torch

for bias in (0.0, 5.0):
    torch.manual_seed(0)
    gru = torch.nn.GRU(32, 32, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        gru.bias_ih_l0[32:64] += bias  # the update gate z: 1 keeps the old state
    words = torch.randn(64, 32, 32, dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(gru(words)[0][:, -1].sum(), words)
    first, last = (gradient[:, place].norm(dim=-1).median().item() for place in (0, -1))
    print(f"bias {bias:g}: first word {first:.0e}, last word {last:.0e}")
#> bias 0: first word 2e-07, last word 1e+00
#> bias 5: first word 2e-02, last word 2e-02
