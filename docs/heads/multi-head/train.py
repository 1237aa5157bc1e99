"""A small language model, trained on this book, whose heads the chapter looks at.

Two blocks of attention and a feed-forward network read characters and predict the next one. All
models have the same parameters, whatever the number of heads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import MultiHeadAttention

SIZE, LAYERS, CONTEXT, BATCH = 64, 2, 64, 32
SENTENCE = "the cat sleeps"


@dataclass(frozen=True)
class Book:
    """The book as numbers, one a character, and the characters."""

    alphabet: str
    seen: Tensor
    held_out: Tensor

    def encode(self, text: str) -> Tensor:
        """Return the numbers of a text whose characters all occur in the book."""
        return torch.tensor([self.alphabet.index(character) for character in text])

    def batches(self, steps: int) -> Iterator[Tensor]:
        """Yield (batch, context + 1) pieces of what may be seen in training."""
        offsets = torch.arange(CONTEXT + 1)
        for _ in range(steps):
            starts = torch.randint(len(self.seen) - CONTEXT, (BATCH, 1))
            yield self.seen[starts + offsets]

    def pieces(self, count: int) -> Tensor:
        """Return the first pieces, (count, context + 1), of what is held out."""
        return self.held_out[: count * (CONTEXT + 1)].view(count, CONTEXT + 1)


def read_book() -> Book:
    """Return the English chapters in small letters; the last tenth of each is held out."""
    docs = Path(__file__).parents[2]
    pages = [file.read_text(encoding="utf-8") for file in sorted(docs.glob("*/*/index.md"))]
    prose = [
        "\n".join(
            line for line in page.lower().splitlines() if "--8<--" not in line and line[:1] != "|"
        )
        for page in pages
    ]
    alphabet = "".join(sorted({c for page in prose for c in page if c.isascii()}))
    numbers = [torch.tensor([alphabet.find(c) for c in page]) for page in prose]
    numbers = [page[page >= 0] for page in numbers]
    seen = torch.cat([page[: len(page) * 9 // 10] for page in numbers])
    held_out = torch.cat([page[len(page) * 9 // 10 :] for page in numbers])
    return Book(alphabet, seen, held_out)


class Model(nn.Module):
    """Embeddings, two blocks, and a score for each character that may come next."""

    def __init__(self, characters: int, num_heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, SIZE)
        self.position = nn.Embedding(CONTEXT, SIZE)
        self.attentions = nn.ModuleList(
            MultiHeadAttention(SIZE, num_heads, bias=False) for _ in range(LAYERS)
        )
        self.networks = nn.ModuleList(
            nn.Sequential(
                nn.LayerNorm(SIZE), nn.Linear(SIZE, 4 * SIZE), nn.GELU(), nn.Linear(4 * SIZE, SIZE)
            )
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(SIZE) for _ in range(LAYERS))
        self.scores = nn.Sequential(nn.LayerNorm(SIZE), nn.Linear(SIZE, characters))

    def forward(self, characters: Tensor) -> Tensor:
        """Return the scores of the next character at each place."""
        return self.run(characters)[0]

    def run(self, characters: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return the scores, and each layer's weights (batch, heads, n, n)."""
        x = self.embedding(characters) + self.position.weight[: characters.size(1)]
        found = []
        for norm, attend, network in zip(self.norms, self.attentions, self.networks, strict=True):
            output, weights = attend(norm(x), is_causal=True, need_weights=True)
            found.append(weights)
            x = x + output
            x = x + network(x)
        return self.scores(x), found

    def fit(self, characters: Tensor) -> Tensor:
        """Return the mean loss on pieces (batch, context + 1), in nats a character."""
        x = self.embedding(characters[:, :-1]) + self.position.weight
        for norm, attend, network in zip(self.norms, self.attentions, self.networks, strict=True):
            x = x + attend(norm(x), is_causal=True)
            x = x + network(x)
        return F.cross_entropy(self.scores(x).flatten(0, 1), characters[:, 1:].flatten())


def train(book: Book, num_heads: int, seed: int, steps: int) -> Model:
    """Return a model trained on what may be seen."""
    torch.manual_seed(seed)
    model = Model(len(book.alphabet), num_heads)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for batch in book.batches(steps):
        loss = model.fit(batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model
