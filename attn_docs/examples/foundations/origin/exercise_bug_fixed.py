import torch

from attn_docs import AdditiveAttention

torch.manual_seed(0)
states = torch.randn(1, 5, 8)  # b n d: the encoder's
attend, decoder = AdditiveAttention(8, 8, 16), torch.nn.GRUCell(8, 8)

state, contexts = states[:, -1], []  # the decoder starts from the encoder's last state
for _ in range(3):  # three words of the translation
    query = state[:, None]  # b 1 d: the state as it is now
    context = attend(query, states, states)[:, 0]  # b d
    state = decoder(context, state)  # b d
    contexts.append(context)

print([torch.equal(contexts[0], context) for context in contexts])
#> [True, False, False]
