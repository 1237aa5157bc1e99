"""What simple rules reach on the task, and where earlier matches disagree on what follows."""

import statistics
from typing import NamedTuple

from torch import Tensor

from attn_docs.model.induction import Examples, induction_targets


class Rules(NamedTuple):
    """Accuracy on repetitions of rules that nobody had to learn."""

    seen: float
    """Bet evenly on the tokens seen so far."""
    oldest: float
    """Take the token that has not been seen for longest, whatever stood beside it."""
    lookup: float
    """Take what followed an earlier occurrence of the present token, each one alike."""


def rules(examples: Examples) -> Rules:
    """Return what three rules reach."""
    seen, oldest, lookup = [], [], []
    for tokens, known in zip(examples.tokens.tolist(), examples.repeated.tolist(), strict=True):
        for i, answer in enumerate(tokens[1:]):
            if known[i]:
                last = {token: place for place, token in enumerate(tokens[: i + 1])}
                followed = [tokens[j + 1] for j in range(i) if tokens[j] == tokens[i]]
                seen.append((answer in last) / len(last))
                oldest.append(float(min(last, key=last.__getitem__) == answer))
                lookup.append(followed.count(answer) / len(followed))
    return Rules(*(statistics.mean(hits) for hits in (seen, oldest, lookup)))


def torn(examples: Examples) -> Tensor:
    """Return where earlier occurrences of a repeated token were followed by different tokens."""
    tokens, answers = examples.tokens[:, :-1], examples.tokens[:, 1:]
    other = tokens[:, None] != answers[..., None]
    return examples.repeated & (induction_targets(tokens) & other).any(-1)
