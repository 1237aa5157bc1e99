"""A task of pure memory: which of eight kinds of word stood at place j?"""

import statistics
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import AdditiveAttention
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

KINDS, STEPS, BATCH, RATE = 8, 1200, 128, 5e-3
SIZES, LENGTHS, SEEDS = (8, 16, 32, 64, 128), (4, 8, 16), (0, 1, 2)
ATTENDING = (8, 32, 128)  # sizes
TESTED = 4096
OPEN = 2.0  # the update gate's bias: without it the first words fade, and distance is measured too


class Way(NamedTuple):
    """What answers: how large the state is, what it is asked, whether it may look back."""

    size: int
    asked: str
    attends: bool


FIRST = Way(16, "first", attends=False)
RUNS = (
    *((FIRST, words) for words in LENGTHS),
    *((Way(size, "any", attends=True), LENGTHS[-1]) for size in ATTENDING),
    *((Way(size, "any", attends=False), words) for size in SIZES for words in LENGTHS),
)


class Recall(nn.Module):
    """A GRU reads all words; a small network answers from its last state or from a mix of all."""

    def __init__(self, size: int, words: int, *, attends: bool) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(KINDS, size), nn.Embedding(words, size)
        self.question = nn.Embedding(words, size)
        self.gru = nn.GRU(size, size, batch_first=True)
        nn.init.constant_(self.gru.bias_ih_l0.detach()[size : 2 * size], OPEN)
        self.attend = AdditiveAttention(size, size, size) if attends else None
        self.answer = nn.Sequential(nn.Linear(2 * size, 64), nn.ReLU(), nn.Linear(64, KINDS))

    def encode(self, words: Tensor) -> Tensor:
        """Return the state after each word, (batch, n, size)."""
        states: Tensor = self.gru(self.word(words) + self.place.weight)[0]
        return states

    def forward(self, words: Tensor, asked: Tensor) -> Tensor:
        """Return a score for each kind of word, (batch, kinds)."""
        states = self.encode(words)  # b n d
        query = self.question(asked)  # b d
        read = states[:, -1]
        if self.attend is not None:
            read = self.attend(query[:, None], states, states)[:, 0]
        answer: Tensor = self.answer(torch.cat((read, query), -1))
        return answer


def draw(batch: int, words: int, asked: str) -> tuple[Tensor, Tensor, Tensor]:
    """Draw sentences, the places asked for, and the kinds that stand there."""
    sentences = torch.randint(KINDS, (batch, words))
    places = torch.randint(words if asked == "any" else 1, (batch,))
    return sentences, places, sentences.gather(1, places.unsqueeze(1)).squeeze(1)


def train(way: Way, words: int, seed: int, steps: int = STEPS) -> Recall:
    """Train one network from a seed."""
    torch.manual_seed(seed)
    model = Recall(way.size, words, attends=way.attends)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(steps):
        sentences, places, kinds = draw(BATCH, words, way.asked)
        optimizer.zero_grad()
        F.cross_entropy(model(sentences, places), kinds).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


@torch.no_grad()
def accuracy(model: Recall, words: int, asked: str) -> tuple[float, str]:
    """Return how often a network is right on new sentences, and the kernel that ran."""
    sentences, places, kinds = draw(TESTED, words, asked)
    right = model(sentences, places).argmax(-1) == kinds
    return right.double().mean().item(), kernel_of(lambda: model(sentences, places))


def summary(way: Way, words: int) -> list[dict[str, Any]]:
    """Train a network once a seed; return its mean accuracy, the lowest and the highest."""
    found, kernels = zip(
        *(accuracy(train(way, words, seed), words, way.asked) for seed in SEEDS), strict=True
    )
    of = way._asdict() | {"words": words, "seeds": len(SEEDS), "steps": STEPS}
    told = {"accuracy": statistics.mean(found), "lowest": min(found), "highest": max(found)}
    return [
        of | {"quantity": quantity, "value": value, "unit": "ratio", "kernel": kernels[0]}
        for quantity, value in told.items()
    ]


def measure() -> dict[str, Measurement]:
    """Train every way at every length, once a seed, and one network whose weights are kept."""
    with one_thread():
        values = [value for way, words in RUNS for value in summary(way, words)]
    return {"recall": measurement(values, threads=1)}
