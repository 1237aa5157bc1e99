"""Bug: the accuracy counts the first copy too, where being right is luck."""


def accuracy(logits, tokens, repeated):  # b n V, b n + 1, b n
    right = logits.argmax(-1) == tokens[:, 1:]  # b n
    return right.float().mean()  # wrong: right[repeated].float().mean()
