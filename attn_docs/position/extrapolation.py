"""Longer than trained: one small model with each kind of position, trained short, tested long."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_docs._checks import check_instance, check_number, check_positive, check_size
from attn_docs.heads.multi_head import MultiHeadAttention
from attn_docs.model.block import Block
from attn_docs.model.decoder import DecoderModel
from attn_docs.position._frequencies import RotaryScaling
from attn_docs.position.relative import RelativeBias, alibi_bias
from attn_docs.position.rotary import RotaryEmbedding
from attn_docs.position.sinusoidal import sinusoidal

KINDS = ("none", "learned", "sinusoidal", "rotary", "alibi", "t5")
CONTENT, FILLER = 32, 8  # symbols that segments are made of, and symbols between them
SEGMENT = 5
TRAINED = 32  # length of the sequences in training
EMBED_DIM, HEADS, LAYERS = 64, 4, 2
BUCKETS, MAX_DISTANCE = 16, 16  # of T5's bias: the last bucket is met in training, as in T5
STEPS, BATCH, LEARNING_RATE = 1500, 32, 5e-3
BIAS_RATE = 10.0  # a learned bias has to move by several units, and AdamW moves all alike


class Recall(NamedTuple):
    """Sequences in which a segment comes again, and which of their tokens can be known."""

    tokens: Tensor
    """(batch, length), integers: the segment's symbols are below `CONTENT`, filler above."""
    known: Tensor
    """(batch, length), boolean: tokens that followed the same token in an earlier copy."""


def recall_tokens(batch: int, generator: torch.Generator, *, length: int = TRAINED) -> Recall:
    """Draw sequences to train on: a segment of five symbols, filler, the segment again, and so on.

    The symbols of a segment all differ, so after each there is only one right answer. From one
    copy to the next it is 6 to length − 5 tokens, any number as likely as another.

    Args:
        batch: How many sequences.
        generator: Draws symbols, filler, distances and the place of the first copy.
        length: How many tokens.

    Returns:
        The sequences, and which tokens can be known.

    Raises:
        ValueError: If a size is below 1, or `length` below 11.

    Example:
        ```python
        import torch

        from attn_docs.position.extrapolation import recall_tokens, told

        tokens, known = recall_tokens(1, torch.Generator().manual_seed(0))
        print(told(tokens[0]), known.sum().item())
        #> mBcds......................mBcds 4
        ```
    """
    check_size("batch", batch)
    _check_long("length", length, 2 * SEGMENT + 1)
    segment, tokens = _draw(batch, length, generator)
    period = torch.randint(SEGMENT + 1, length - SEGMENT + 1, (batch, 1), generator=generator)
    first = torch.rand(batch, 1, generator=generator) * (length - period - SEGMENT + 1)
    places = torch.arange(length) - first.long()  # b n
    inside = (places >= 0) & (places % period < SEGMENT)
    tokens = torch.where(
        inside, segment.gather(1, (places % period).clamp(max=SEGMENT - 1)), tokens
    )
    return Recall(tokens, inside & (places >= period) & (places % period > 0))


def recall_at(
    batch: int, generator: torch.Generator, *, length: int, distance: tuple[int, int]
) -> Recall:
    """Draw sequences to test on: the segment once, and once more at the very end.

    Filler comes from the same eight symbols at every length, so a longer sequence holds no more
    candidates to confuse: length and distance are all that grows.

    Args:
        batch: How many sequences.
        generator: Draws symbols, filler and distances.
        length: How many tokens.
        distance: Least and greatest distance from the first copy to the second.

    Returns:
        The sequences, and which tokens can be known: the last four.

    Raises:
        ValueError: If a size is below 1, or the first copy would overlap the second or begin
            before the sequence.

    Example:
        ```python
        import torch

        from attn_docs.position.extrapolation import recall_at, told

        tokens, _ = recall_at(1, torch.Generator().manual_seed(0), length=48, distance=(8, 8))
        print(told(tokens[0]))
        #> ...................................mBcds...mBcds
        ```
    """
    check_size("batch", batch)
    check_size("length", length)
    least, most = distance
    if not SEGMENT <= least <= most <= length - SEGMENT:
        raise ValueError(
            f"distance must be from {SEGMENT} to {length - SEGMENT}, least first; got {distance}"
        )
    segment, tokens = _draw(batch, length, generator)
    second = length - SEGMENT
    first = second - torch.randint(least, most + 1, (batch, 1), generator=generator)
    offsets = torch.arange(SEGMENT)
    tokens.scatter_(1, first + offsets, segment)
    tokens[:, second:] = segment
    known = torch.zeros_like(tokens, dtype=torch.bool)
    known[:, second + 1 :] = True
    return Recall(tokens, known)


def told(tokens: Tensor) -> str:
    """Return tokens (length,) as text: letters of a segment as they are, all filler as dots."""
    symbols = "abcdefghijklmnopqrstuvwxyzABCDEF" + "." * FILLER
    return "".join(symbols[token] for token in tokens.tolist())


def build_model(kind: str, *, rows: int = TRAINED) -> DecoderModel:
    """Return an untrained model of two layers with four heads that gets positions in this way.

    The same decoder each time: vectors are added to its embeddings, or a bias to all its scores,
    or its blocks rotate queries and keys.

    Args:
        kind: One of `KINDS`. T5's bias has 16 buckets, and the last begins at 15 tokens.
        rows: How many learned positions there are, for "learned".

    Returns:
        A decoder of the symbols of this task, without an MLP.

    Raises:
        ValueError: If there is no such kind, or `rows` is below 1.

    Example:
        ```python
        from attn_docs.position.extrapolation import KINDS, build_model

        for kind in KINDS:
            print(kind, sum(parameter.numel() for parameter in build_model(kind).parameters()))
        #> none 38272
        #> learned 40320
        #> sinusoidal 38272
        #> rotary 38272
        #> alibi 38272
        #> t5 38336
        ```
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}; got {kind!r}")
    check_size("rows", rows)

    def block() -> Block:
        rotary = RotaryEmbedding(EMBED_DIM // HEADS) if kind == "rotary" else None
        attention = MultiHeadAttention(EMBED_DIM, HEADS, bias=False, rotary=rotary)
        return Block(attention, None, nn.LayerNorm(EMBED_DIM), None)

    added: dict[str, Callable[[Tensor], Tensor]] = {
        "learned": nn.Embedding(rows, EMBED_DIM),
        "sinusoidal": partial(sinusoidal, dim=EMBED_DIM),
    }
    bias: dict[str, Callable[..., Tensor]] = {
        "alibi": partial(alibi_bias, HEADS),
        "t5": RelativeBias(
            HEADS, num_buckets=BUCKETS, max_distance=MAX_DISTANCE, bidirectional=False
        ),
    }
    return DecoderModel(
        CONTENT + FILLER,
        EMBED_DIM,
        [block() for _ in range(LAYERS)],
        norm=nn.LayerNorm(EMBED_DIM),
        position_embedding=added.get(kind),
        position_bias=bias.get(kind),
    )


def train(
    kind: str,
    seed: int = 0,
    *,
    steps: int = STEPS,
    length: int = TRAINED,
    batch: int = BATCH,
    rows: int = TRAINED,
) -> DecoderModel:
    """Train a model with this kind of position; every step draws new sequences.

    Args:
        kind: One of `KINDS`.
        seed: Draws the first weights and the sequences.
        steps: How many batches.
        length: How long the sequences are.
        batch: How many sequences a batch has.
        rows: How many learned positions there are, for "learned".

    Returns:
        The trained model.

    Raises:
        ValueError: If there is no such kind, or a size is out of range.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_model(kind, rows=rows)
    return train_further(model, seed, steps=steps, length=length, batch=batch)


def train_further(
    model: DecoderModel,
    seed: int = 0,
    *,
    steps: int,
    length: int,
    batch: int = BATCH,
    learning_rate: float = LEARNING_RATE,
) -> DecoderModel:
    """Train a model in place, from the weights that it has; the loss counts what can be known.

    Args:
        model: What `build_model` made.
        seed: Draws the sequences.
        steps: How many batches.
        length: How long the sequences are.
        batch: How many sequences a batch has.
        learning_rate: The highest; it rises for a tenth of the steps, then falls.

    Returns:
        The model.

    Raises:
        ValueError: If a number is out of range.
    """
    check_size("steps", steps)
    check_positive("learning_rate", learning_rate)
    generator = torch.Generator().manual_seed(seed)
    biases = [p for name, p in model.named_parameters() if name.startswith("position_bias")]
    others = [p for name, p in model.named_parameters() if not name.startswith("position_bias")]
    groups = [{"params": others}, {"params": biases}] if biases else [{"params": others}]
    rates = [learning_rate, learning_rate * BIAS_RATE][: len(groups)]
    optimizer = torch.optim.AdamW(groups, learning_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rates, total_steps=steps, pct_start=0.1
    )
    model.train()
    for _ in range(steps):
        tokens, known = recall_tokens(batch, generator, length=length)
        logits = model(tokens)[:, :-1]  # b n-1 vocab
        where = known[:, 1:]
        loss = functional.cross_entropy(logits[where], tokens[:, 1:][where])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.no_grad()
def recall_accuracy(model: DecoderModel, examples: Recall, *, chunk: int = 32) -> float:
    """Return the share of right predictions among the tokens that can be known.

    Args:
        model: What `build_model` made.
        examples: What `recall_at` or `recall_tokens` draws.
        chunk: How many sequences the model reads at once.

    Returns:
        From 0 to 1; a guess among the symbols of segments reaches 1/32.

    Raises:
        ValueError: If `chunk` is below 1.
    """
    check_size("chunk", chunk)
    right = []
    for start in range(0, len(examples.tokens), chunk):
        tokens, known = (part[start : start + chunk] for part in examples)
        found = model(tokens)[:, :-1].argmax(-1) == tokens[:, 1:]
        right.append(found[known[:, 1:]])
    return float(torch.cat(right).float().mean())


@contextmanager
def changed(
    model: DecoderModel,
    *,
    scaling: RotaryScaling | None = None,
    window: int | None = None,
    sharper: float = 1.0,
) -> Iterator[DecoderModel]:
    """Change how a trained model attends, without touching a weight, and put it back afterwards.

    Args:
        model: A decoder whose blocks hold `MultiHeadAttention`.
        scaling: The rule of its rotary frequencies; the plain ones if None.
        window: How many positions a query sees; all if None.
        sharper: Multiplies all scores, a bias not counted: log n / log L is a usual choice for n
            tokens after a training with L.

    Yields:
        The model.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If a number is out of range, or there is a rule but no rotary positions.

    Example:
        ```python
        from attn_docs import YaRNScaling
        from attn_docs.model.induction import load_model
        from attn_docs.position.extrapolation import changed

        model = load_model()
        with changed(model, scaling=YaRNScaling(8.0, original_length=32)):
            print(model.blocks[0].attention.rotary.scaling.factor)
        #> 8.0
        ```
    """
    check_instance("scaling", scaling, RotaryScaling)
    if window is not None:
        check_size("window", window)
    check_positive("sharper", sharper)
    layers = [cast("MultiHeadAttention", cast("Block", b).attention) for b in model.blocks]
    if scaling is not None and any(layer.rotary is None for layer in layers):
        raise ValueError("scaling must be None without rotary positions; got a rule")
    before = [(layer.rotary, layer.window, layer.scale) for layer in layers]
    try:
        for layer in layers:
            layer.window = window
            layer.scale = sharper * (layer.scale or 1 / math.sqrt(layer.head_dim))
            if layer.rotary is not None:
                layer.rotary = copy(layer.rotary)
                layer.rotary.scaling = scaling
        yield model
    finally:
        for layer, (rotary, old_window, scale) in zip(layers, before, strict=True):
            layer.rotary, layer.window, layer.scale = rotary, old_window, scale


def diluted(lead: float, keys: int, *, trained: int | None = None) -> float:
    r"""Return the weight of a key whose score leads those of all others by the same amount.

    $$w = \frac{\exp z}{\exp z + m - 1} \qquad z' = \frac{\ln m}{\ln L}\, z$$

    With `trained`, the lead is z' once there are more keys than that: all scores multiplied by
    log m / log L, so that a lead that was enough for L keys is enough for m.

    Args:
        lead: z, the difference between both scores.
        keys: m, how many keys there are.
        trained: L, how many there were in training, 2 or more; the scores stay if None.

    Returns:
        From 0 to 1.

    Raises:
        TypeError: If an argument has the wrong type.
        ValueError: If `keys` is below 1 or `trained` below 2.

    Example:
        ```python
        from attn_docs.position.extrapolation import diluted

        weights = diluted(6.4, 32), diluted(6.4, 256), diluted(6.4, 256, trained=32)
        print([round(weight, 2) for weight in weights])
        #> [0.95, 0.7, 0.99]
        ```

    Reference:
        Chiang and Cholak, "Overcoming a Theoretical Limitation of Self-Attention",
        arXiv:2202.12172 (2022).
    """
    check_number("lead", lead)
    check_size("keys", keys)
    if trained is not None:
        _check_long("trained", trained, 2)
        lead = lead * max(1.0, math.log(keys) / math.log(trained))
    return 1 / (1 + (keys - 1) * math.exp(-lead))


def _draw(batch: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return segments of symbols that differ, (batch, SEGMENT), and filler, (batch, length)."""
    segment = torch.rand(batch, CONTENT, generator=generator).argsort(1)[:, :SEGMENT]
    filler = torch.randint(CONTENT, CONTENT + FILLER, (batch, length), generator=generator)
    return segment, filler


def _check_long(name: str, value: int, least: int) -> None:
    check_size(name, value)
    if value < least:
        raise ValueError(f"{name} must be at least {least}; got {value}")
