"""Bug: each token is asked to predict itself, not the next one."""

import torch.nn.functional as F
from torch import Tensor, nn


def loss_of(model: nn.Module, tokens: Tensor) -> Tensor:  # b n
    logits = model(tokens)  # b n vocab
    targets = tokens  # wrong: logits[:, :-1] and tokens[:, 1:]
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())
