import torch
from torch import nn
from torch.nn.functional import cross_entropy

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel

torch.manual_seed(0)
part = {"attention": MultiHeadAttention(768, 12), "mlp": MLP(768)}
block = Block(**part, attention_norm=nn.LayerNorm(768), mlp_norm=nn.LayerNorm(768))
model = DecoderModel(1000, 768, [block], max_length=32, norm=nn.LayerNorm(768), tied=True)
tokens = torch.randint(1000, (4, 32))  # b n
losses = []
for name in ("PyTorch's normal, 1", "GPT-2's, 0.02"):
    logits = model(tokens[:, :-1])  # b n vocab
    losses.append(cross_entropy(logits.mT, tokens[:, 1:]).item())
    print(f"embedding {name}: {losses[-1]:.1f} nats a token")
    nn.init.normal_(model.token_embedding.weight, std=0.02)  # for the second time round
#> embedding PyTorch's normal, 1: 527.1 nats a token
#> embedding GPT-2's, 0.02: 7.0 nats a token
