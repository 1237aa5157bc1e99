import torch


def write(states, w, steps=10):  # states n d of the encoder; learned weights w, by their names
    gru = [w[f"decoder.{part}_{side}"] for part in ("weight", "bias") for side in ("ih", "hh")]
    state, previous, written, looked = states[-1], 0, [], []
    for _ in range(steps):
        hidden = w["attend.q_proj.weight"] @ state + states @ w["attend.k_proj.weight"].T  # n p
        scores = torch.tanh(hidden) @ w["attend.score_proj.weight"][0]  # n
        weights = torch.softmax(scores, dim=0)  # n
        context = weights @ states  # d
        inputs = torch.cat((w["embedding.weight"][previous], context))  # D + d
        state = torch.gru_cell(inputs[None], state[None], *gru)[0]  # d: the next query
        previous = (w["output.weight"] @ state + w["output.bias"]).argmax()
        written, looked = [*written, previous], [*looked, weights]
    return torch.stack(written), torch.stack(looked)  # steps, steps n


from attn_docs.model.alignment import load_translator, to_indices, to_texts

model = load_translator()
line = "tea 23rd of september 1987"
written, looked = write(model.encode(to_indices([line]))[0][0].detach(), model.state_dict())
print(to_texts(written[None]), torch.allclose(looked, model.align(line)[1], atol=1e-6))
#> ['1987-09-23'] True
