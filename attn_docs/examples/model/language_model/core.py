import torch
from torch import Tensor


def next_token_loss(logits: Tensor, tokens: Tensor, padding: int = -100) -> Tensor:
    log_shares = logits[:, :-1].log_softmax(-1)  # b n-1 vocab: no token follows the last
    answers = tokens[:, 1:]  # b n-1: the token after each
    counted = answers != padding  # b n-1: nobody has to predict the padding
    at_answers = log_shares.gather(-1, answers.masked_fill(~counted, 0)[..., None])[..., 0]
    return -at_answers[counted].mean()


def write(model, tokens: Tensor, new_tokens: int) -> Tensor:  # b n
    for _ in range(new_tokens):
        best = model(tokens)[:, -1:].argmax(-1)  # b 1: of the last row only
        tokens = torch.cat([tokens, best], dim=1)
    return tokens


from attn_docs.model.language_model import encode, loss_of, tell_stories, text_of, trained_model

model, stories = trained_model(), tell_stories(8, seed=7)
rows = [encode("\n" + text_of(story)) for story in stories]
tokens = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)  # b n
logits = model(tokens.clamp_min(0))  # b n vocab: any token will do where there is none
print(torch.allclose(next_token_loss(logits, tokens), loss_of(model, stories)))
#> True
prompts = tokens[:, :40]  # b 40
print(torch.equal(write(model, prompts, 60), model.generate(prompts, 60)))
#> True
