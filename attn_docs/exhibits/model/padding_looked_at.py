"""Bug: the decoder may look at the padding of the shorter lines."""

import torch


def teach(model, source, target):  # b n, b 10
    states, context = model.encode(source)
    state, logits = context, []
    allowed = source >= 0  # wrong: source > 0
    given = torch.cat((torch.zeros_like(target[:, :1]), target), dim=1)[:, :-1]
    for previous in given.unbind(dim=1):
        context = model.attend(state[:, None], states, states, key_padding_mask=allowed)[:, 0]
        state = model.decoder(torch.cat((model.embedding(previous), context), -1), state)
        logits.append(model.output(state))
    return torch.stack(logits, dim=1)
