import torch

from attn_docs import invert_mask, mask_to_boolean

attention_mask = torch.tensor([[1, 1, 1], [1, 1, 0]])  # b m, as a tokenizer returns it
print(~attention_mask[1])  # wrong: ~ on integers flips bits
#> tensor([-2, -2, -1])

mask = mask_to_boolean(attention_mask)
print(invert_mask(mask))  # key_padding_mask of nn.MultiheadAttention: True blocks
#> tensor([[False, False, False],
#>         [False, False,  True]])

x = torch.zeros(2, 3, 2)
module = torch.nn.MultiheadAttention(embed_dim=2, num_heads=1, batch_first=True)
_, weights = module(x, x, x, key_padding_mask=invert_mask(mask))
print(weights[1].detach())  # nobody attends to the last token
#> tensor([[0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000],
#>         [0.5000, 0.5000, 0.0000]])
