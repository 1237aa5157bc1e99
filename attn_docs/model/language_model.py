"""A language model that trains in under two minutes, character by character, on short stories."""

import math
import random
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs._checks import check_length, check_size
from attn_docs.heads.multi_head import MultiHeadAttention
from attn_docs.model.block import MLP, Block
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.weights import load_weights
from attn_docs.position.rotary import RotaryEmbedding

ALPHABET = "\n .abcdefghijklmnopqrstuvwxyz"
NAMES = ("ann", "ben", "eva", "leo", "max", "mia", "tom", "zoe")
COLOURS = ("black", "brown", "grey", "red", "white")
DREAMS = {
    "cat": ("mice", "milk"),
    "cow": ("clover", "grass"),
    "dog": ("bones", "sticks"),
    "fox": ("geese", "grapes"),
    "hen": ("corn", "worms"),
    "owl": ("moths", "stars"),
}
SLEEPS = ("naps", "rests", "sleeps")
PLACES = ("in the barn", "in the hay", "on the roof", "under a tree")
MEETS = ("calls", "feeds", "sees")

EMBED_DIM, NUM_HEADS, NUM_BLOCKS = 64, 4, 2
HELD_OUT = 1_000_000  # the seed of stories that the model is judged by
CONTEXT = 128  # characters; no story is longer
BATCH, STEPS, RATE = 16, 2600, 4e-3
WATCHED = (0, 25, 50, 75, 100, 150, 200, 300, 400, 600, 800, 1000, 1300, 1600, 2000, 2600)


Predictor = Callable[[Tensor], Tensor]  # from tokens (batch, length) to logits


class Part(NamedTuple):
    """A piece of a story: its kind, its text, and among how many words it was chosen."""

    kind: str
    text: str
    options: int


def tell_story(chance: random.Random) -> list[Part]:
    """Return a story in parts: two animals, of which one sleeps, dreams and meets its owner.

    What is chosen has a kind, such as "animal", and was chosen among `options` words, all as
    likely. What only the beginning of the story decides has a kind and one option: the "owner",
    the "colour again" and the "animal again". What stands between has the kind "".

    Args:
        chance: Makes the choices.

    Returns:
        The parts. Their texts joined are the story, which ends with a newline.

    Example:
        ```python
        import random

        from attn_docs.model.language_model import tell_story

        print("".join(part.text for part in tell_story(random.Random(3)))[:41])
        #> leo has a grey owl and mia has a red hen.
        ```
    """
    parts: list[Part] = []

    def say(kind: str, *options: str) -> str:
        parts.append(Part(kind, chance.choice(options), len(options)))
        return parts[-1].text

    def introduce(names: list[str], animals: list[str]) -> tuple[str, str, str]:
        name = say("name", *names)
        say("", " has a ")
        colour = say("colour", *COLOURS)
        say("", " ")
        return name, colour, say("animal", *animals)

    first = introduce(list(NAMES), list(DREAMS))
    say("", " and ")
    second = introduce(
        [name for name in NAMES if name != first[0]], [a for a in DREAMS if a != first[2]]
    )
    say("", ". the ")
    sleeper = say("sleeper", first[2], second[2])
    name, colour, animal = first if sleeper == first[2] else second
    for kind, *options in (
        ("", " "), ("sleeps", *SLEEPS), ("", " "), ("place", *PLACES), ("", ". it dreams of "),
        ("dream", *DREAMS[animal]), ("", ". "), ("owner", name), ("", " "), ("meets", *MEETS),
        ("", " the "), ("colour again", colour), ("", " "), ("animal again", animal), ("", ".\n"),
    ):  # fmt: skip
        say(kind, *options)
    return parts


def text_of(parts: list[Part]) -> str:
    """Return the text of a story, or of some of its parts."""
    return "".join(part.text for part in parts)


def tell_stories(count: int, seed: int) -> list[list[Part]]:
    """Return so many stories, the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - stories are no secrets
    return [tell_story(chance) for _ in range(count)]


def encode(text: str) -> Tensor:
    """Return the token of each character, its place in `ALPHABET`: (length,).

    Raises:
        ValueError: If a character is not in `ALPHABET`.

    Example:
        ```python
        from attn_docs.model.language_model import encode

        print(encode("the cat"))
        #> tensor([22, 10,  7,  1,  5,  3, 22])
        ```
    """
    for character in text:
        if character not in ALPHABET:
            rule = "made of a to z, space, full stop and newline"
            raise ValueError(f"text must be {rule}; got {character!r}")
    return torch.tensor([ALPHABET.index(character) for character in text], dtype=torch.long)


def decode(tokens: Tensor) -> str:
    """Return the text of tokens (length,)."""
    return "".join(ALPHABET[token] for token in tokens.tolist())


def batch_of(stories: list[list[Part]]) -> tuple[Tensor, Tensor]:
    """Return what the model reads and what it has to predict, (stories, longest) each.

    A row begins with a newline, the end of the story before. Each target is the next character;
    after the story's own newline there is none, and the target is −100, which
    `torch.nn.functional.cross_entropy` leaves out.
    """
    rows = [encode("\n" + text_of(parts)) for parts in stories]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
    return padded[:, :-1].clamp_min(0), padded[:, 1:]


def rotary_attention() -> nn.Module:
    """Return the attention of a block: four heads with rotary positions."""
    rotary = RotaryEmbedding(EMBED_DIM // NUM_HEADS)
    return MultiHeadAttention(EMBED_DIM, NUM_HEADS, rotary=rotary)


def language_model(
    seed: int = 0,
    attention: Callable[[], nn.Module] = rotary_attention,
    max_length: int | None = None,
) -> DecoderModel:
    """Return the model as it is before training: two blocks, pre-norm, an MLP in each.

    Args:
        seed: For the random weights.
        attention: Makes the attention of a block.
        max_length: Number of learned positions; none if None, as rotary positions need none.
    """
    torch.manual_seed(seed)
    blocks = [
        Block(attention(), MLP(EMBED_DIM), nn.LayerNorm(EMBED_DIM), nn.LayerNorm(EMBED_DIM))
        for _ in range(NUM_BLOCKS)
    ]
    norm = nn.LayerNorm(EMBED_DIM)
    return DecoderModel(len(ALPHABET), EMBED_DIM, blocks, max_length=max_length, norm=norm)


def trained_model() -> DecoderModel:
    """Return the model with the weights that `main` stored, in evaluation."""
    model = language_model()
    model.load_state_dict(load_weights("language-model"))
    return model.eval()


def loss_of(model: Predictor, stories: list[list[Part]]) -> Tensor:
    """Return the mean loss in nats a character."""
    tokens, targets = batch_of(stories)
    return F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())


def train(
    model: nn.Module,
    steps: int = STEPS,
    seed: int = 0,
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train a model on stories, new ones in each step; return the loss before each step.

    AdamW, whose rate rises for 50 steps and then falls to zero, and gradients of a norm of at
    most one.

    Args:
        model: Called with tokens (batch, length), returns logits; it is changed.
        steps: Number of steps.
        seed: For the stories.
        watch: Called with the number of steps done, before each step and after the last.

    Returns:
        The loss of each step's batch, in nats a character.
    """
    check_length("steps", steps)
    chance = random.Random(seed)  # noqa: S311 - stories are no secrets
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=RATE, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 50, 1 - step / steps)
    )
    losses = []
    for step in range(steps):
        if watch:
            watch(step)
        loss = loss_of(model, [tell_story(chance) for _ in range(BATCH)])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        rate.step()
        losses.append(loss.item())
    if watch:
        watch(steps)
    return losses


class NGram:
    """Predicts a character from the few before it, by how often each followed them.

    Args:
        order: How many characters count, with the predicted one: 1 sees none, 3 is a trigram.
        stories: What is counted.
    """

    def __init__(self, order: int, stories: list[list[Part]]) -> None:
        check_size("order", order)
        self.order = order
        tokens, targets = batch_of(stories)
        seen, size = targets >= 0, len(ALPHABET)
        pairs = self._before(tokens)[seen] * size + targets[seen]
        counts = torch.bincount(pairs, minlength=size**order).view(-1, size) + 0.01
        self.log_shares = (counts / counts.sum(-1, keepdim=True)).log()

    def __call__(self, tokens: Tensor) -> Tensor:
        """Return the logarithms of what may follow each character, (batch, length, characters)."""
        return self.log_shares[self._before(tokens)]

    def _before(self, tokens: Tensor) -> Tensor:
        """Return one number for the last `order − 1` characters up to each, (batch, length)."""
        number = torch.zeros_like(tokens)
        for back in range(self.order - 1):
            shifted = F.pad(tokens, (back, 0))[:, : tokens.size(1)]  # before a row: newlines
            number = number + shifted * len(ALPHABET) ** back
        return number


@torch.no_grad()
def nats_by_kind(model: Predictor, stories: list[list[Part]]) -> dict[str, float]:
    """Return what a story costs in nats, on the mean, in the characters of each kind of part."""
    tokens, targets = batch_of(stories)
    nats = F.cross_entropy(model(tokens).mT, targets, reduction="none")  # stories, length
    found: dict[str, float] = {}
    for parts, row in zip(stories, nats, strict=True):
        pieces = row[: len(text_of(parts))].split([len(part.text) for part in parts])
        for part, piece in zip(parts, pieces, strict=True):
            found[part.kind] = found.get(part.kind, 0.0) + piece.sum().item() / len(stories)
    return found


def least_nats() -> float:
    """Return what a story costs if you know the grammar: the logarithm of how many there are."""
    return sum(math.log(part.options) for part in tell_story(random.Random(0)))  # noqa: S311


def continue_text(
    model: DecoderModel,
    prompt: str,
    *,
    temperature: float = 0.0,
    top_k: int | None = None,
    seed: int = 0,
) -> str:
    """Return the prompt and what the model puts after it, to the end of the story.

    The model writes one character at a time, with a cache for each block. A story that has not
    ended after `CONTEXT` characters is cut there, because no longer one was trained on.

    Args:
        model: Trained or not.
        prompt: The beginning of a story.
        temperature: Divides the logits before a character is drawn; 0 takes the likeliest.
        top_k: How many of the likeliest characters may be drawn; all if None.
        seed: For the drawing.

    Returns:
        The text, with the newline that ends it.

    Raises:
        ValueError: If the prompt is empty, longer than `CONTEXT` or has an unknown character, or a
            number is out of range.
    """
    if not 1 <= len(prompt) <= CONTEXT:
        raise ValueError(f"prompt must have 1 to {CONTEXT} characters; got {len(prompt)}")
    tokens = encode("\n" + prompt)[None]
    generator = torch.Generator().manual_seed(seed)
    new = CONTEXT - len(prompt)
    written = model.generate(tokens, new, temperature=temperature, top_k=top_k, generator=generator)
    text = decode(written[0, 1:])
    return prompt + text[len(prompt) :].partition("\n")[0] + "\n"


@torch.no_grad()
def looks_at(model: DecoderModel, stories: list[list[Part]], asks: str, at: str) -> Tensor:
    """Return how much each head looks from one kind of part at another: (blocks, heads).

    It is the mean weight that the character before a part of the first kind, whose output
    predicts the part's first letter, gives to the parts of the second kind, each with the
    character after it.

    Args:
        model: Whose heads are looked at.
        stories: That it reads, each by itself.
        asks: The kind of part that is predicted, for example "dream".
        at: The kind of part that is looked at, for example "sleeper".
    """
    found = []
    for parts in stories:
        text, start = text_of(parts), 1
        asked: list[int] = []
        seen: set[int] = set()
        for part in parts:
            end = start + len(part.text)
            asked += [start - 1] if part.kind == asks else []
            seen |= set(range(start, end + 1)) if part.kind == at else set()
            start = end
        _, weights = model(encode("\n" + text)[None], need_weights=True)
        rows = torch.cat(weights)[:, :, asked]  # blocks, heads, asked, n
        found.append(rows[..., sorted(seen - {len(text) + 1})].sum(-1).mean(-1))
    return torch.stack(found).mean(0)


@torch.no_grad()
def looks_at_own_word(model: DecoderModel, stories: list[list[Part]]) -> Tensor:
    """Return each head's mean weight on the word that it stands in, up to itself: (blocks, heads).

    A word begins at its first letter; a space or a full stop belongs to the word before it.
    """
    found = []
    for parts in stories:
        text = "\n" + text_of(parts)
        before = [text[place - 1] in " \n" for place in range(len(text))]
        word = torch.tensor(before).cumsum(0)
        _, weights = model(encode(text)[None], need_weights=True)
        found.append((torch.cat(weights) * (word[:, None] == word)).sum(-1).mean(-1))
    return torch.stack(found).mean(0)


def word_map(weights: Tensor, text: str) -> Tensor:
    """Return where a head looks for each word of a text: (words, 1 + words).

    A row belongs to a word: it is the row of the character before its first letter, whose output
    predicts that letter. Columns are the newline before the text, then the words; the weights on
    a word's characters and on the space after it are added.

    Args:
        weights: (n, n) of a head, for a newline and the text. A last character may be missing.
        text: Words with one space between them.
    """
    ends = [place for place, character in enumerate(text) if character in " \n"]
    starts = [0, *(end + 1 for end in ends[:-1])]
    columns = [weights[starts, :1]]
    for start, end in zip(starts, ends, strict=True):
        columns.append(weights[starts, start + 1 : end + 2].sum(-1, keepdim=True))
    return torch.cat(columns, -1)
