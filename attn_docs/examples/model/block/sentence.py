import torch
from torch import nn
from torch.nn.functional import pad

from attn_docs import MultiHeadAttention
from attn_docs.model import MLP, Block, DecoderModel
from attn_docs.sentence import FEATURES, WORDS, embeddings, labelled, projections

attention = MultiHeadAttention(8, 1, head_dim=4, bias=False)
mlp = MLP(8, hidden_dim=1)  # a single hidden neuron
block = Block(attention, mlp, nn.Identity(), nn.Identity())  # no norms yet
model = DecoderModel(5, 8, [block], tied=True).requires_grad_(False)

w_q, w_k, w_v = projections(sharpness=6.0)
model.token_embedding.weight.copy_(embeddings())
attention.q_proj.weight.copy_(pad(w_q, (0, 1)).T)  # three columns, padded to four
attention.k_proj.weight.copy_(pad(w_k, (0, 1)).T)
attention.v_proj.weight.copy_(w_v.T)
attention.out_proj.weight.copy_(w_v)  # each meaning back into its column
reads = {"pronoun": 10.0, "animal": 10.0}
writes = {"pronoun": -1.0, "verb": 1.0, "dreaming": 1.0}
mlp.up_proj.weight.copy_(torch.tensor([[reads.get(name, 0.0) for name in FEATURES]]))
mlp.up_proj.bias.fill_(-15.0)  # positive only if the token has both
mlp.down_proj.weight.copy_(torch.tensor([[writes.get(name, 0.0)] for name in FEATURES]))
mlp.down_proj.bias.zero_()

tokens = torch.tensor([[0, 1, 2, 3]])  # the cat sleeps it
x = model.token_embedding(tokens)  # b n D
read = attention(x, is_causal=True)  # b n D: what attention adds
written = mlp(x + read)  # b n D: what the MLP adds
parts = torch.stack([x, read, written, x + read + written])[:, 0, -1]  # for "it"
print(labelled(parts[:, 2:], ["embedding", "+ attention", "+ MLP", "= sum"], FEATURES[2:]))
#>                  verb   pronoun  definite    animal    asleep  dreaming
#> embedding        0.00      1.00      0.00      0.00      0.00      0.00
#> + attention      0.00      0.00      0.04      0.87      0.04      0.00
#> + MLP            3.70     -3.70      0.00      0.00      0.00      3.70
#> = sum            3.70     -2.70      0.04      0.87      0.04      3.70
print(labelled(model(tokens)[0, -1:].softmax(-1), ["next"], WORDS))
#>          the     cat  sleeps      it  dreams
#> next    0.00    0.00    0.03    0.00    0.97
