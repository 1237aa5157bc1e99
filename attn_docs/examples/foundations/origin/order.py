import torch
import torch.nn.functional as F

torch.manual_seed(0)
gru = torch.nn.GRU(4, 4, batch_first=True, dtype=torch.float64)
words = torch.randn(1, 6, 4, dtype=torch.float64)  # b n D
query = torch.randn(1, 1, 4, dtype=torch.float64)
backwards = words.flip(dims=(1,))

print(torch.allclose(gru(words)[1], gru(backwards)[1]))
#> False
attended = [F.scaled_dot_product_attention(query, w, w) for w in (words, backwards)]
print(torch.allclose(*attended))
#> True
