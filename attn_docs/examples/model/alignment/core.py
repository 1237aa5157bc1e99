import torch


# d: size of a state; p: of the score's hidden layer; D: of a character's embedding
def write(model, states, state, steps=10):  # n d, and d: where the decoder starts
    previous, written, looked = torch.tensor(0), [], []  # 0: nothing is written yet
    for _ in range(steps):
        hidden = model.attend.q_proj(state) + model.attend.k_proj(states)  # n p: attention
        scores = model.attend.score_proj(torch.tanh(hidden))[:, 0]  # n: attention
        weights = torch.softmax(scores, dim=0)  # n, sum 1: attention
        context = weights @ states  # d: attention
        inputs = torch.cat((model.embedding(previous), context))  # D + d
        state = model.decoder(inputs, state)  # d: the next query
        previous = model.output(state).argmax()  # the likeliest character
        written, looked = [*written, previous], [*looked, weights]
    return torch.stack(written), torch.stack(looked)  # steps, steps n


from attn_docs.model.alignment import load_translator, to_indices, to_texts

model = load_translator()
line = "tea 23rd of september 1997"
states, last = model.encode(to_indices([line]))  # 1 n d, 1 d
written, looked = write(model, states[0], last[0])
print(to_texts(written[None]), torch.allclose(looked, model.align(line)[1], atol=1e-6))
#> ['1997-09-23'] True
