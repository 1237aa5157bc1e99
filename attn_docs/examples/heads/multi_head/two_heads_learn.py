import torch
import torch.nn.functional as F

from attn_docs import MultiHeadAttention

torch.set_num_threads(1)  # the arrays are too small to share


def encode(letters, marked):
    """Return (batch, 7, 16): letter, mark and place of each of seven letters."""
    is_marked = F.one_hot(marked, 7).mT  # b n 1
    place = F.one_hot(torch.arange(7)).expand(len(letters), 7, 7)
    return torch.cat([F.one_hot(letters, 8), is_marked, place], dim=-1).double()


def make_batch(size):
    """Return seven letters of eight kinds, the letter before each, and the marked letter."""
    letters = torch.randint(8, (size, 7))
    marked = torch.randint(7, (size, 1))  # the place of the marked one
    previous = letters.roll(1, dims=1)
    previous[:, 0] = -100  # the first has none: not counted
    return encode(letters, marked), previous, letters.gather(1, marked).expand(-1, 7)


def train(num_heads):
    """Learn to say at each place: the letter before, and the marked letter."""
    torch.manual_seed(0)
    layer = MultiHeadAttention(embed_dim=16, num_heads=num_heads, bias=False).double()
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
    for _ in range(80):
        x, previous, marked = make_batch(16)
        output = layer(x)  # 8 numbers for each of the two answers
        loss = F.cross_entropy(output[..., :8].flatten(0, 1), previous.flatten())
        loss = loss + F.cross_entropy(output[..., 8:].flatten(0, 1), marked.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return layer


layers = {num_heads: train(num_heads) for num_heads in (1, 2)}
torch.manual_seed(1)
x, previous, marked = make_batch(500)
for num_heads, layer in layers.items():
    output = layer(x)
    right = (output[..., :8].argmax(-1) == previous) & (output[..., 8:].argmax(-1) == marked)
    print(f"heads: {num_heads}, both answers right: {right[:, 1:].double().mean():.2f}")
#> heads: 1, both answers right: 0.32
#> heads: 2, both answers right: 1.00

weights = layers[2](x, need_weights=True)[1]  # b h n m
at_previous = weights.diagonal(-1, dim1=2, dim2=3).mean(dim=(0, 2))
at_marked = (weights * x[:, None, None, :, 8]).sum(-1).mean(dim=(0, 2))
for i in range(2):
    print(f"head {i + 1}: letter before {at_previous[i]:.2f}, marked letter {at_marked[i]:.2f}")
#> head 1: letter before 1.00, marked letter 0.15
#> head 2: letter before 0.14, marked letter 1.00
