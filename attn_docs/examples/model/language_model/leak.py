import torch
import torch.nn.functional as F

from attn_docs.model.language_model import HELD_OUT, batch_of, tell_stories, trained_model


@torch.no_grad()
def leaks(model, tokens):  # b n: does what comes later change what is predicted earlier?
    def predicted(tokens):
        with torch.random.fork_rng():
            torch.manual_seed(0)  # the same dropout each time
            return model(tokens)  # b n vocab

    modes, found = {part: part.training for part in model.modules()}, False
    for training in (True, False):  # a mask may be missing in one of them only
        model.train(training)
        right = predicted(tokens)
        for i in range(1, tokens.size(1)):  # of a long text, some
            other = tokens.clone()
            other[:, i:] = (other[:, i:] + 1) % right.size(-1)  # another end
            found |= not torch.allclose(predicted(other)[:, :i], right[:, :i], atol=1e-3)
    for part, mode in modes.items():
        part.training = mode  # as it was
    return found


model, (tokens, _) = trained_model(), batch_of(tell_stories(1, HELD_OUT))
masked = {"always": (True, False), "in evaluation": (False,), "in training": (True,), "never": ()}
for name, when in masked.items():
    for block in model.blocks:
        block.attention.attend = lambda q, k, v, *_, when=when, **__: (
            F.scaled_dot_product_attention(q, k, v, is_causal=model.training in when)
        )
    print(f"masked {name}: {leaks(model, tokens)}")
#> masked always: False
#> masked in evaluation: True
#> masked in training: True
#> masked never: True
