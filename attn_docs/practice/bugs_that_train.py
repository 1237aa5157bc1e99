"""A task that needs attention, small enough to train any layer on it in half a second."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

WORDS, ROUND, LENGTH = 16, 4, 12
EMBED_DIM, NUM_HEADS = 32, 4


def rounds(batch: int, generator: torch.Generator) -> Tensor:
    """Return rows of tokens (batch, 13): four tokens over and over, padded on the left with 0.

    Token k comes 1/k as often as token 1, much as frequent and rare words do in a language. A row
    has 7 to 13 tokens. From the second round on, the next token stands three places back; without
    looking back, all that can be known is how frequent each token is.

    Args:
        batch: Number of rows.
        generator: Where the chance comes from.

    Returns:
        The rows, int64, with tokens from 1 to 15 and padding 0.

    Example:
        ```python
        import torch

        from attn_docs.practice.bugs_that_train import rounds

        print(rounds(2, torch.Generator().manual_seed(1)))
        #> tensor([[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1],
        #>         [0, 0, 0, 6, 4, 1, 3, 6, 4, 1, 3, 6, 4]])
        ```
    """
    shares = 1 / torch.arange(1, WORDS, dtype=torch.float64)
    song = 1 + torch.multinomial(shares, batch * ROUND, True, generator=generator)
    row = song.view(batch, ROUND).repeat(1, LENGTH // ROUND + 1)[:, : LENGTH + 1]
    first = torch.randint(LENGTH // 2 + 1, (batch, 1), generator=generator)
    return row.masked_fill(torch.arange(LENGTH + 1) < first, 0)


class NextWord(nn.Module):
    """Predicts each next token: a vector for each token and place, attention, a linear layer.

    Args:
        attention: Called as `attention(x, attn_mask=…, is_causal=True)` with a boolean mask
            (batch, 1, n, n), True where a query may attend. None leaves attention out.
    """

    def __init__(self, attention: nn.Module | None) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, EMBED_DIM)
        self.places = nn.Parameter(torch.randn(LENGTH, EMBED_DIM))
        self.attention = attention
        self.predict = nn.Linear(EMBED_DIM, WORDS)

    def forward(self, words: Tensor) -> Tensor:
        """Return scores (batch, n, 16) of the tokens that may come next."""
        x = self.words(words) + self.places
        if self.attention is not None:
            # no query may attend to padding
            mask = (words > 0)[:, None, None].repeat(1, 1, LENGTH, 1)  # b 1 n n
            x = x + self.attention(x, attn_mask=mask, is_causal=True)
        scores: Tensor = self.predict(x)
        return scores


def train(attention: nn.Module | None, steps: int = 60, seed: int = 0) -> list[float]:
    """Train a layer to predict the next token, in float64; return the loss before each step.

    Each step has 32 new rows, so the loss is that of rows never seen before.

    Args:
        attention: The layer, for vectors of size 32; it is changed. None leaves attention out.
        steps: Number of steps.
        seed: For the rows, the layers around the attention, and dropout.

    Returns:
        The mean loss of each step, in nats per token.

    Example:
        ```python
        import torch

        from attn_docs import MultiHeadAttention
        from attn_docs.practice.bugs_that_train import train

        torch.manual_seed(0)
        losses = train(MultiHeadAttention(32, 4))
        print(f"{losses[0]:.1f}, {sum(losses[-10:]) / 10:.1f}")
        #> 3.0, 1.0
        ```
    """
    torch.manual_seed(seed)
    return fit(NextWord(attention).double(), steps, seed)


def fit(model: NextWord, steps: int = 60, seed: int = 0) -> list[float]:
    """Train a whole model, as `train` does; return the loss before each step.

    Args:
        model: The model; it is changed, and stays in training.
        steps: Number of steps.
        seed: For the rows.

    Returns:
        The mean loss of each step, in nats per token.

    Example:
        ```python
        import torch

        from attn_docs.practice.bugs_that_train import NextWord, fit

        torch.manual_seed(0)
        model = NextWord(None)
        losses = fit(model)
        print(f"{losses[0]:.1f}, {sum(losses[-10:]) / 10:.1f}")
        #> 3.0, 2.3
        ```
    """
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(model.train().parameters(), lr=0.02, fused=True)
    losses = []
    for _ in range(steps):
        tokens = rounds(32, generator)
        scores = model(tokens[:, :-1])
        is_token = tokens[:, :-1] > 0
        loss = F.cross_entropy(scores[is_token], tokens[:, 1:][is_token])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    return losses
