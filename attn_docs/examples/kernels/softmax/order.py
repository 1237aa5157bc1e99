import torch

torch.manual_seed(0)
powers = torch.rand(2**16)  # what a softmax sums: numbers from 0 to 1
exact = powers.double().sum()
ulp = torch.finfo(torch.float32).eps * 2**14  # the distance of neighbours, from 2**14 to 2**15


def in_blocks(size):
    total = torch.tensor(0.0)
    for block in powers.split(size):
        total = total + block.sum()
    return total


for name, total in {
    "one after another": in_blocks(1),
    "in blocks of 64": in_blocks(64),
    "torch.sum": powers.sum(),
}.items():
    print(f"{name:17} {(total - exact).abs() / ulp:6.1f} ulp")
