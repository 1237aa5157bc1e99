"""Bug: the unembedding reads the residual stream without the last norm."""


def logits(model, tokens):
    x = model.token_embedding(tokens)  # b n D
    for block in model.blocks:
        x = block(x, is_causal=True)
    return model.output(x)  # wrong: model.output(model.norm(x))
