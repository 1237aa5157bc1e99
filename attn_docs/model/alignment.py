"""The experiment of 2014 in small: dates as people write them, and a decoder that may look back.

An encoder reads a line such as "tea, 3rd of march 2019", a decoder writes "2019-03-03". Run it to
train the model with attention and the one without: `python -m attn_docs.model alignment`.
"""

import random
from collections.abc import Callable, Sequence
from datetime import date
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import check_flag, check_instance, check_length, check_positive, check_size
from attn_docs.foundations.additive import AdditiveAttention
from attn_docs.model.weights import load_weights

CHARACTERS = " ,-./0123456789abcdefghijklmnopqrstuvwxyz"  # 0 pads, and begins what is written
ISO_LENGTH, MAX_LENGTH = 10, 160
MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
NOTES = ("rain", "tea", "call", "rome", "meet", "pay", "home", "snow", "visit", "train")
SIZE = 32  # of the states of the shipped models
EXAMINED = 10**6  # no training draws lines with this seed
FIRST, LAST = date(1950, 1, 1).toordinal(), date(2049, 12, 31).toordinal()


class Line(NamedTuple):
    """What the encoder reads, and what the decoder should write."""

    text: str
    iso: str


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th and so on."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 < number < 20 else ending}"


FORMATS: tuple[Callable[[date], str], ...] = (
    lambda day: f"{day.day} {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{MONTHS[day.month - 1]} {day.day}, {day.year}",
    lambda day: f"{ordinal(day.day)} of {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1][:3]} {day.day} {day.year}",
    lambda day: f"{day.day}/{day.month}/{day.year}",
    lambda day: f"{day.day}.{day.month}.{day.year % 100:02}",
)


def draw_lines(
    count: int,
    seed: int,
    *,
    unseen: bool = False,
    before: int | None = None,
    after: int | None = None,
) -> list[Line]:
    """Draw dates from 1950 to 2049, each in one of six formats, between words that do not matter.

    Days come first where all three are numbers, and of two digits for a year those below 50 are
    20xx. Every tenth day is set apart: no training sees it, in whatever format.

    Args:
        count: How many lines.
        seed: Draws days, formats and words.
        unseen: Whether the days are those set apart, or the others.
        before: How many words stand before the date; up to two at random if None.
        after: How many stand after it; up to two at random if None.

    Returns:
        The lines, each with its date as ISO 8601 has it.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a number is negative.

    Example:
        ```python
        from attn_docs.model.alignment import draw_lines

        for text, iso in draw_lines(3, seed=1):
            print(iso, text)
        #> 1974-02-09 visit snow 9th of february 1974
        #> 2038-11-23 meet tuesday, nov 23 2038
        #> 1966-11-04 rain friday, nov 4 1966 home
        ```
    """
    check_length("count", count)
    check_flag("unseen", unseen)
    for name, words in (("before", before), ("after", after)):
        if words is not None:
            check_length(name, words)
    chance = random.Random(seed)  # noqa: S311 - no secret

    def notes(words: int | None) -> list[str]:
        return chance.choices(NOTES, k=chance.randrange(3) if words is None else words)

    lines: list[Line] = []
    while len(lines) < count:
        number = chance.randint(FIRST, LAST)
        if (number % 10 == 0) is unseen:
            day = date.fromordinal(number)
            parts = [*notes(before), chance.choice(FORMATS)(day), *notes(after)]
            lines.append(Line(" ".join(parts), day.isoformat()))
    return lines


def to_indices(texts: Sequence[str]) -> Tensor:
    """Return texts as integers (batch, length), the shorter ones padded with 0 at their ends.

    Raises:
        TypeError: If a text is not a string.
        ValueError: If there is no text, or one is empty, too long or has an unknown character.
    """
    if not texts:
        raise ValueError(f"texts must be one or more; got {texts!r}")
    for text in texts:
        check_instance("text", text, str)
        if not 0 < len(text) <= MAX_LENGTH:
            raise ValueError(f"text must have 1 to {MAX_LENGTH} characters; got {len(text)}")
        unknown = sorted(set(text) - set(CHARACTERS))
        if unknown:
            raise ValueError(f"text must be of {CHARACTERS!r} alone; got {unknown[0]!r}")
    rows = [torch.tensor([CHARACTERS.index(c) + 1 for c in text]) for text in texts]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True)


def to_texts(indices: Tensor) -> list[str]:
    """Return integers (batch, length) as texts, without the padding."""
    return ["".join(CHARACTERS[i - 1] for i in row if i > 0) for row in indices.tolist()]


class DateTranslator(nn.Module):
    """A recurrent encoder and a recurrent decoder, which looks back at every step or never does.

    Args:
        size: Size of a state, the encoder's and the decoder's.
        attends: Whether the context of a step is a weighted mean of the encoder's states; else
            it is the last state, at every step.
        embed_dim: Size of a character's vector.

    Attributes:
        embedding: Vectors of the characters; number 0 pads, and stands before the first one.
        encoder: A GRU, from left to right.
        attend: `AdditiveAttention`, or None.
        decoder: A GRU cell; it takes the last character's vector and the context.
        output: From the decoder's state to logits.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a size is below 1.

    Example:
        ```python
        import torch

        from attn_docs.model.alignment import DateTranslator

        logits, weights = DateTranslator(8)(torch.tensor([[9, 2, 4]]))
        print(tuple(logits.shape), tuple(weights.shape))
        #> (1, 10, 42) (1, 10, 3)
        ```

    Reference:
        Bahdanau et al., "Neural Machine Translation by Jointly Learning to Align and Translate",
        arXiv:1409.0473 (2014); without attention, Cho et al., arXiv:1406.1078 (2014).
    """

    def __init__(self, size: int, *, attends: bool = True, embed_dim: int = 32) -> None:
        super().__init__()
        check_size("size", size)
        check_flag("attends", attends)
        check_size("embed_dim", embed_dim)
        self.embedding = nn.Embedding(len(CHARACTERS) + 1, embed_dim)
        self.encoder = nn.GRU(embed_dim, size, batch_first=True)
        self.attend = AdditiveAttention(size, size, size) if attends else None
        self.decoder = nn.GRUCell(embed_dim + size, size)
        self.output = nn.Linear(size, len(CHARACTERS) + 1)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Return the state after each character (batch, n, size), and the last (batch, size).

        Padding is not read: the last state is that after a text's own last character.
        """
        lengths = (source > 0).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(source), lengths, batch_first=True, enforce_sorted=False
        )
        states, last = self.encoder(packed)
        return nn.utils.rnn.pad_packed_sequence(states, batch_first=True)[0], last[0]

    def forward(self, source: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Return logits of each character of the date, and where the decoder looked.

        Args:
            source: Integers (batch, n), as `to_indices` makes them.
            target: Integers (batch, 10), the right dates: each step is then given the right
                character before its own (teacher forcing). If None, the one it has written.

        Returns:
            Logits (batch, 10, characters), and weights (batch, 10, n), or None without attention.
        """
        states, context = self.encode(source)  # b n d, b d
        state, allowed = context, source > 0  # b d, b n
        previous, logits, looked = torch.zeros_like(source[:, 0]), [], []
        for step in range(ISO_LENGTH):
            if self.attend is not None:
                mean, weights = self.attend(
                    state[:, None], states, states, key_padding_mask=allowed, need_weights=True
                )
                context = mean[:, 0]  # b d
                looked.append(weights[:, 0])  # b n
            state = self.decoder(torch.cat((self.embedding(previous), context), -1), state)
            logits.append(self.output(state))
            previous = logits[-1].argmax(-1) if target is None else target[:, step]
        return torch.stack(logits, 1), torch.stack(looked, 1) if looked else None

    @torch.no_grad()
    def translate(self, texts: Sequence[str]) -> list[str]:
        """Return what the decoder writes for each text, the likeliest character at each step.

        Raises:
            TypeError: If a text is not a string.
            ValueError: If there is no text, or one is empty, too long or has an unknown character.
        """
        return to_texts(self(to_indices(texts))[0].argmax(-1))

    @torch.no_grad()
    def align(self, text: str) -> tuple[str, Tensor]:
        """Return what the decoder writes, and the weights (10, n) by which it looked at the text.

        Raises:
            TypeError: If the text is not a string.
            ValueError: If the text cannot be read, or the model has no attention.
        """
        logits, weights = self(to_indices([text]))
        if weights is None:
            raise ValueError("the model must have attention; got one made with attends=False")
        return to_texts(logits.argmax(-1))[0], weights[0]


def train_translator(
    size: int,
    *,
    attends: bool = True,
    seed: int = 0,
    steps: int = 1000,
    batch: int = 64,
    rate: float = 5e-3,
    before: int | None = None,
    after: int | None = None,
    backwards: bool = False,
) -> DateTranslator:
    """Train a translator from a seed, with teacher forcing.

    Args:
        size: Size of a state.
        attends: Whether the decoder looks back.
        seed: Of the first weights and of the lines.
        steps: How many batches, each of new lines.
        batch: Lines in a batch.
        rate: The highest learning rate; it rises to it and falls again.
        before: How many words stand before each date, as in `draw_lines`.
        after: How many stand after it.
        backwards: Whether each line is read from its end.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a number is out of range.
    """
    for name, value in (("steps", steps), ("batch", batch)):
        check_size(name, value)
    check_positive("rate", rate)
    check_flag("backwards", backwards)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = DateTranslator(size, attends=attends)
    optimizer = torch.optim.Adam(model.parameters(), rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    for step in range(steps):
        texts, dates = zip(
            *draw_lines(batch, seed * steps + step, before=before, after=after), strict=True
        )
        if backwards:
            texts = tuple(text[::-1] for text in texts)
        target = to_indices(dates)
        logits, _ = model(to_indices(texts), target)
        optimizer.zero_grad()
        loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model


def accuracy(model: DateTranslator, lines: Sequence[Line], *, backwards: bool = False) -> float:
    """Return the share of lines whose date comes out right, all ten characters of it."""
    texts, dates = zip(*lines, strict=True)
    written = model.translate([text[::-1] for text in texts] if backwards else texts)
    return sum(map(str.__eq__, written, dates)) / len(dates)


def load_translator(*, attends: bool = True) -> DateTranslator:
    """Return the shipped model with attention, or the one without.

    Args:
        attends: Which of the two.

    Example:
        ```python
        from attn_docs.model.alignment import load_translator

        print(load_translator().translate(["tea, 3rd of march 2019"]))
        #> ['2019-03-03']
        ```
    """
    check_flag("attends", attends)
    model = DateTranslator(SIZE, attends=attends)
    model.load_state_dict(load_weights("alignment" if attends else "alignment-last-state"))
    return model
