"""A task of pure memory: which of eight kinds of word stood at place j?"""

import statistics
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

KINDS, STEPS, BATCH, RATE = 8, 1200, 128, 5e-3
LENGTHS = (2, 4, 8, 16)
SEEDS = (0, 1)
TESTED = 4096
OPEN = 2.0  # the update gate's bias: without it the first words fade, and distance is measured too


class Way(NamedTuple):
    """What answers: how large the state is, what it is asked, whether it may look back."""

    size: int
    asked: str
    attends: bool


WAYS = (
    Way(16, "first", attends=False),
    Way(16, "any", attends=False),
    Way(64, "any", attends=False),
    Way(16, "any", attends=True),
)


class Recall(nn.Module):
    """A GRU reads all words; a small network answers from its last state or from a mix of all."""

    def __init__(self, size: int, words: int, *, attends: bool) -> None:
        super().__init__()
        self.word, self.place = nn.Embedding(KINDS, size), nn.Embedding(words, size)
        self.question = nn.Embedding(words, size)
        self.gru = nn.GRU(size, size, batch_first=True)
        nn.init.constant_(self.gru.bias_ih_l0.detach()[size : 2 * size], OPEN)
        self.answer = nn.Sequential(nn.Linear(2 * size, 64), nn.ReLU(), nn.Linear(64, KINDS))
        self.attends = attends

    def forward(self, words: Tensor, asked: Tensor) -> Tensor:
        """Return a score for each kind of word, (batch, kinds)."""
        states = self.gru(self.word(words) + self.place.weight)[0]  # b n d
        query = self.question(asked)  # b d
        read = states[:, -1]
        if self.attends:
            states = states.unsqueeze(1)
            mixed = F.scaled_dot_product_attention(query[:, None, None], states, states)
            read = mixed[:, 0, 0]
        answer: Tensor = self.answer(torch.cat((read, query), -1))
        return answer


def draw(batch: int, words: int, asked: str) -> tuple[Tensor, Tensor, Tensor]:
    """Draw sentences, the places asked for, and the kinds that stand there."""
    sentences = torch.randint(KINDS, (batch, words))
    places = torch.randint(words if asked == "any" else 1, (batch,))
    return sentences, places, sentences.gather(1, places.unsqueeze(1)).squeeze(1)


def accuracy(way: Way, words: int, seed: int, steps: int = STEPS) -> tuple[float, str]:
    """Train one network; return how often it is right on new sentences, and the kernel that ran."""
    torch.manual_seed(seed)
    model = Recall(way.size, words, attends=way.attends)
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2 * RATE, total_steps=steps)
    for _ in range(steps):
        sentences, places, kinds = draw(BATCH, words, way.asked)
        optimizer.zero_grad()
        F.cross_entropy(model(sentences, places), kinds).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    sentences, places, kinds = draw(TESTED, words, way.asked)
    with torch.no_grad():
        right = model(sentences, places).argmax(-1) == kinds
        kernel = kernel_of(lambda: model(sentences, places))
    return right.double().mean().item(), kernel


def measure() -> Measurement:
    """Train every way at every length, once a seed; store the mean accuracy."""
    values: list[dict[str, Any]] = []
    with one_thread():
        for way in WAYS:
            for words in LENGTHS:
                found, kernels = zip(*(accuracy(way, words, s) for s in SEEDS), strict=True)
                of = way._asdict() | {"words": words, "seeds": len(SEEDS), "steps": STEPS}
                value = {"value": statistics.mean(found), "unit": "ratio", "kernel": kernels[0]}
                spread = {"value": max(found) - min(found), "unit": "ratio", "kernel": kernels[0]}
                values.append(of | {"quantity": "accuracy", **value})
                values.append(of | {"quantity": "spread over seeds", **spread})
    return measurement(values, threads=1)
