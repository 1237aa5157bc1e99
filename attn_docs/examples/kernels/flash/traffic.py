import math

import torch


class Slow:
    """A matrix in slow memory: what is read of it and written to it is counted."""

    moved = 0

    def __init__(self, matrix):
        self.matrix = matrix

    def __getitem__(self, rows):
        Slow.moved += self.matrix[rows].numel()
        return self.matrix[rows]

    def __setitem__(self, rows, tile):
        Slow.moved += tile.numel()
        self.matrix[rows] = tile


def explicit(query, key, value, output, block):
    scores, weights = (Slow(torch.empty(n, n)) for _ in range(2))
    blocks = [slice(i, i + block) for i in range(0, n, block)]
    for i in blocks:
        for j in blocks:
            scores[i, j] = query[i] @ key[j].T / math.sqrt(d)
    for i in range(n):
        weights[i] = scores[i].softmax(dim=-1)
    for i in blocks:
        output[i] = sum(weights[i, j] @ value[j] for j in blocks)


def tiles(query, key, value, output, block_q, block_k):
    lse = Slow(torch.empty(n, 1))  # for the backward
    for i in range(0, n, block_q):
        q, total, mixed = query[i : i + block_q] / math.sqrt(d), 0.0, 0.0
        for j in range(0, n, block_k):
            powers = (q @ key[j : j + block_k].T).exp()  # small scores: no maximum needed
            total = total + powers.sum(-1, keepdim=True)
            mixed = mixed + powers @ value[j : j + block_k]
        output[i : i + block_q], lse[i : i + block_q] = mixed / total, total.log()


n, d = 1024, 64
inputs = [torch.randn(n, d) / 4 for _ in range(3)]
whole, output = torch.empty(n, d), torch.empty(n, d)
for block in (64, 128, 256):
    Slow.moved = 0
    explicit(*map(Slow, inputs), Slow(whole), block)
    formula = 4 * n * n + n // block * n * 3 * d + n * d
    print(f"explicit, {block} × {block}: {Slow.moved:,} elements;", Slow.moved == formula)
#> explicit, 64 × 64: 7,405,568 elements; True
#> explicit, 128 × 128: 5,832,704 elements; True
#> explicit, 256 × 256: 5,046,272 elements; True
for block_q, block_k in ((64, 64), (64, 128), (128, 64), (256, 64)):
    Slow.moved = 0
    tiles(*map(Slow, inputs), Slow(output), block_q, block_k)
    formula = n * (2 * d + 1) + math.ceil(n / block_q) * n * 2 * d
    right = torch.allclose(output, whole, atol=1e-6) and Slow.moved == formula
    print(f"tiles of {block_q} × {block_k}: {Slow.moved:,} elements;", right)
#> tiles of 64 × 64: 2,229,248 elements; True
#> tiles of 64 × 128: 2,229,248 elements; True
#> tiles of 128 × 64: 1,180,672 elements; True
#> tiles of 256 × 64: 656,384 elements; True
