import torch
from torch import Tensor


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:  # b n vocab, b n
    log_shares = logits[:, :-1].log_softmax(-1)  # b n-1 vocab: no token follows the last
    answers = tokens[:, 1:, None]  # b n-1 1: the token after each
    return -log_shares.gather(-1, answers).mean()  # the logarithm at each answer


def write(model, tokens: Tensor, new_tokens: int) -> Tensor:  # b n
    for _ in range(new_tokens):
        best = model(tokens)[:, -1:].argmax(-1)  # b 1: of the last row only
        tokens = torch.cat([tokens, best], dim=1)
    return tokens


from attn_docs.model.language_model import encode, loss_of, tell_stories, text_of, trained_model

model, stories = trained_model(), tell_stories(1, seed=7)
tokens = encode("\n" + text_of(stories[0]))[None]  # 1 n
print(torch.allclose(next_token_loss(model(tokens), tokens), loss_of(model, stories)))
#> True
print(torch.equal(write(model, tokens[:, :40], 60), model.generate(tokens[:, :40], 60)))
#> True
