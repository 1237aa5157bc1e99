import torch
import torch.nn.functional as F

from attn_docs import MultiHeadAttention, MultiQueryAttention, merge_heads, split_heads

torch.manual_seed(0)
ours = MultiQueryAttention(embed_dim=12, num_heads=3).double()
x = torch.randn(2, 5, 12, dtype=torch.float64, requires_grad=True)

# a loop over the query heads, one key matrix and one value matrix
key, value = ours.k_proj(x), ours.v_proj(x)  # b m d
heads = [F.scaled_dot_product_attention(q, key, value) for q in ours.q_proj(x).split(4, -1)]
loop = ours.out_proj(torch.cat(heads, dim=-1))

# multi-head attention whose key heads are all the same, and whose value heads are
same = MultiHeadAttention(embed_dim=12, num_heads=3).double()
state = ours.state_dict()
for name in ("k_proj.weight", "k_proj.bias", "v_proj.weight", "v_proj.bias"):
    state[name] = torch.cat([state[name]] * 3)  # the rows of one head, three times
same.load_state_dict(state)
module = same.to_torch()(x, x, x)[0]

# PyTorch's function
query = split_heads(ours.q_proj(x), 3)  # b h n d
function = F.scaled_dot_product_attention(query, key[:, None], value[:, None], enable_gqa=True)
function = ours.out_proj(merge_heads(function))

others = {"loop": loop, "equal heads": same(x), "PyTorch's module": module, "function": function}
for name, other in others.items():
    difference = (ours(x) - other).abs().max().item()
    (mine,) = torch.autograd.grad(ours(x).sin().sum(), x)
    (theirs,) = torch.autograd.grad(other.sin().sum(), x, retain_graph=True)
    print(name, max(difference, (mine - theirs).abs().max().item()) < 1e-12)
#> loop True
#> equal heads True
#> PyTorch's module True
#> function True
