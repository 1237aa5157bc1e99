import torch

from attn_docs import attention_weights

torch.manual_seed(0)
torch.set_printoptions(precision=4, sci_mode=False)
d, keys = 512, 6
query, key = torch.randn(1, d), torch.randn(keys, d)

print(attention_weights(query, key, scale=1.0))
#> tensor([[0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 1.0000]])
print(attention_weights(query, key))  # 1/√d by default
#> tensor([[0.0330, 0.0213, 0.1354, 0.1364, 0.1720, 0.5018]])
