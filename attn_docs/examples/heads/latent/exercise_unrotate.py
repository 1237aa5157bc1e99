import torch

torch.manual_seed(0)
m, pairs = 6, 4  # a pair is one complex number, and rotating it one product
c = torch.randn(m, pairs, dtype=torch.complex64)
query = torch.randn(pairs, dtype=torch.complex64)
speeds = 10_000.0 ** -(torch.arange(pairs) / pairs)


def attend(start, *, back):  # the tokens stand at start, start + 1, …; the last one asks
    turns = torch.exp(1j * (start + torch.arange(m))[:, None] * speeds)  # m pairs
    cached = c * turns  # keys and values at once
    scores = (cached.conj() @ (query * turns[-1])).real  # m
    mixed = scores.softmax(0).to(c.dtype) @ cached  # pairs
    return mixed * turns[-1].conj() if back else mixed


for back in (False, True):
    print(torch.allclose(attend(0, back=back), attend(100, back=back), atol=1e-4))
#> False
#> True
