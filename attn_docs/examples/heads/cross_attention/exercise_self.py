import torch

from attn_docs import CrossAttention, SelfAttention

torch.manual_seed(0)
itself = SelfAttention(input_dim=6, output_dim=4)
cross = CrossAttention(input_dim=6, context_dim=6, output_dim=4)
cross.load_state_dict(itself.state_dict())  # the same names, the same shapes
x = torch.randn(2, 5, 6)
print(torch.allclose(cross(x, x), itself(x)))
#> True
