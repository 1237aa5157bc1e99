"""Bug: a model is judged at a length by the mean over all positions up to it."""


def accuracy_at(right, last=8):  # b n, True where a prediction is right
    return right.double().mean().item()  # wrong: right[:, -last:].double().mean().item()
