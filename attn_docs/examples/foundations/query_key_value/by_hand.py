import torch
import torch.nn.functional as F

from attn_docs import attention_by_hand, scaled_dot_product_attention

query = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
key = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
value = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.3], [0.5, 0.5, 0.8]]

output, weights = attention_by_hand(query, key, value)
for row in weights:
    print("  ".join(f"{w:.4f}" for w in row))
#> 0.2645  0.4711  0.2645
#> 0.2645  0.2645  0.4711
#> 0.2192  0.3904  0.3904

q, k, v = (torch.tensor(rows, dtype=torch.float64) for rows in (query, key, value))
loops = torch.tensor(output, dtype=torch.float64)
print((scaled_dot_product_attention(q, k, v) - loops).abs().max().item() < 1e-12)
#> True
print((F.scaled_dot_product_attention(q, k, v) - loops).abs().max().item() < 1e-12)
#> True

for row in output:
    print("  ".join(f"{number:.4f}" for number in row))
#> 0.3967  0.6033  0.4851
#> 0.5000  0.5000  0.5884
#> 0.4144  0.5856  0.5390
