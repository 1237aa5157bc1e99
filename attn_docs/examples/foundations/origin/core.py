import torch

torch.manual_seed(2)
states = torch.randn(5, 8)  # n d: what the encoder made, one state a word
state = torch.randn(6)  # d_s: the decoder's, before it writes the next word
previous = torch.randn(4)  # D: the word that it wrote last
W, U, u = torch.randn(7, 6), torch.randn(7, 8), torch.randn(7)  # learned: p d_s, p d, p
decoder = torch.nn.GRUCell(4 + 8, 6)  # the f of above: from state and input, the next state

scores = torch.tanh(W @ state + states @ U.T) @ u  # n: one for each word of the source
weights = torch.softmax(scores, dim=0)  # n
context = weights @ states  # d
after = decoder(torch.cat((previous, context)), state)  # d_s: the next query
print(weights, tuple(after.shape))
#> tensor([0.1323, 0.0447, 0.4921, 0.1735, 0.1574]) (6,)


from attn_docs import AdditiveAttention

attend = AdditiveAttention(query_dim=6, key_dim=8, hidden_dim=7)
attend.load_state_dict({"q_proj.weight": W, "k_proj.weight": U, "score_proj.weight": u[None]})
print(torch.allclose(attend(state[None, None], states[None], states[None])[0, 0], context))
#> True
