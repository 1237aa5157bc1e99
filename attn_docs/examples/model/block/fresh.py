import torch
from torch import nn
from torch.nn.functional import cross_entropy

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel


@torch.no_grad()
def initialise(model, std=0.02):  # as Hugging Face's GPT-2 does
    for name, parameter in model.named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
        elif parameter.ndim == 2:  # norms keep their gains of one
            writes = name.endswith(("out_proj.weight", "down_proj.weight"))
            parameter.normal_(0, std / (2 * len(model.blocks)) ** 0.5 if writes else std)


torch.manual_seed(0)
part = {"attention": MultiHeadAttention(768, 12), "mlp": MLP(768)}
block = Block(**part, attention_norm=nn.LayerNorm(768), mlp_norm=nn.LayerNorm(768))
model = DecoderModel(1000, 768, [block], max_length=32, norm=nn.LayerNorm(768), tied=True)
tokens = torch.randint(1000, (4, 32))  # b n
losses = []
for name in ("PyTorch's", "GPT-2's"):
    logits = model(tokens[:, :-1])  # b n vocab
    losses.append(cross_entropy(logits.mT, tokens[:, 1:]).item())
    print(f"{name} initialisation: {losses[-1]:.1f} nats a token")
    initialise(model)  # for the second time round
#> PyTorch's initialisation: 527.1 nats a token
#> GPT-2's initialisation: 7.0 nats a token
