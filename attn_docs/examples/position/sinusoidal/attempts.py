import torch
import torch.nn.functional as F

from attn_docs import sinusoidal


def steps(vectors):  # the distance from each position to the next
    return [round(x, 2) for x in vectors.diff(dim=0).norm(dim=-1).tolist()]


n = torch.arange(9.0)[:, None]
bits = (torch.arange(9)[:, None] >> torch.arange(4)) % 2  # 8 is 0, 0, 0, 1
print("p / 9:     ", steps(n / 9))
#> p / 9:      [0.11, 0.11, 0.11, 0.11, 0.11, 0.11, 0.11, 0.11]
print("p / 90:    ", steps(n / 90))
#> p / 90:     [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01]
print("bits:      ", steps(bits.float()))
#> bits:       [1.0, 1.41, 1.0, 1.73, 1.0, 1.41, 1.0, 2.0]
print("sinusoidal:", steps(sinusoidal(torch.arange(9), 8)))
#> sinusoidal: [0.96, 0.96, 0.96, 0.96, 0.96, 0.96, 0.96, 0.96]

torch.manual_seed(0)
words = torch.randn(2, 8)  # two different words
cosine = torch.cosine_similarity(words[0], words[1], dim=0)
later = torch.cosine_similarity(words[0] + 1000, words[1] + 1000, dim=0)
print(f"two words: cosine {cosine:.2f}, at position 1000 with p added {later:.4f}")
#> two words: cosine 0.31, at position 1000 with p added 1.0000
normed = F.layer_norm(words, (8,)), F.layer_norm(words + 1000, (8,))
print("after a LayerNorm p is gone:", torch.allclose(*normed, atol=1e-3))
#> after a LayerNorm p is gone: True
