import torch

die = torch.arange(1.0, 7.0)  # 1 to 6
print((die - die.mean()).square().mean())
#> tensor(2.9167)

pairs = die[:, None] + die  # 6 6: all throws of two dice
print(pairs.var(correction=0))  # twice that of one
#> tensor(5.8333)
print((die + die).var(correction=0))  # one die, counted twice: four times
#> tensor(11.6667)
