import torch
import torch.nn.functional as F

torch.manual_seed(0)
words = torch.randn(6, 4, dtype=torch.float64)  # n d
together = F.scaled_dot_product_attention(words, words, words)

one_by_one = torch.empty_like(together)
for i in (4, 0, 5, 2, 1, 3):  # any order: no row needs another row's result
    one_by_one[i] = F.scaled_dot_product_attention(words[i : i + 1], words, words)[0]
print(torch.allclose(one_by_one, together))
#> True
