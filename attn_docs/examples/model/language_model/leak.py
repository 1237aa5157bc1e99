import torch
import torch.nn.functional as F

from attn_docs.model.language_model import HELD_OUT, batch_of, tell_stories, trained_model


@torch.no_grad()
def leaks(model, tokens):  # b n: does what comes later change what is predicted earlier?
    whole = model.eval()(tokens)  # b n vocab
    for i in range(tokens.size(1)):
        alone = model(tokens[:, : i + 1])[:, -1]  # b vocab: what follows is not there
        if not torch.allclose(whole[:, i], alone, atol=1e-3):
            return True
    return False


model, (tokens, _) = trained_model(), batch_of(tell_stories(1, HELD_OUT))
print(leaks(model, tokens))
#> False
for block in model.blocks:  # without a mask
    block.attention.attend = lambda q, k, v, *_, **__: F.scaled_dot_product_attention(q, k, v)
print(leaks(model, tokens))
#> True
