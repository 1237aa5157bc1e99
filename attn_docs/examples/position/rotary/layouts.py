import torch

from attn_docs import apply_rotary

torch.manual_seed(0)
x, positions = torch.randn(1, 1, 5, 8, dtype=torch.float64), torch.arange(5)
order = torch.tensor([0, 2, 4, 6, 1, 3, 5, 7])  # even places first, then odd ones

neighbours = apply_rotary(x, positions, interleaved=True)
halves = apply_rotary(x, positions)
reordered = apply_rotary(x[..., order], positions)
print("same numbers:           ", torch.allclose(halves, neighbours))
#> same numbers:            False
print("same, once reordered:   ", torch.allclose(reordered, neighbours[..., order]))
#> same, once reordered:    True
scores = neighbours @ neighbours.mT
print("same scores, reordered: ", torch.allclose(reordered @ reordered.mT, scores))
#> same scores, reordered:  True
print("same scores, as it was: ", torch.allclose(halves @ halves.mT, scores))
#> same scores, as it was:  False
