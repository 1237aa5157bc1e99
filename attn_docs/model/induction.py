"""Induction: the task, the two-layer model that learns it, and the scores of its heads.

`python -m attn_docs.model induction` trains the model and stores its weights.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_docs._checks import INT_DTYPES, check_size
from attn_docs.heads.multi_head import MultiHeadAttention
from attn_docs.model.block import Block
from attn_docs.model.decoder import DecoderModel
from attn_docs.model.weights import load_weights
from attn_docs.position.rotary import RotaryEmbedding

SYMBOLS = "abcdefghijklmnopqrstuvwxyz .,!?-"
CONTEXT = 32
EMBED_DIM = 64
SHORTEST = 3  # segment that is repeated; the longest is half the context
STEPS, BATCH, LEARNING_RATE = 1500, 32, 5e-3
EXAMINED = 12345  # draws sequences that no training draws

AttentionFunction = Callable[..., Tensor]
Model = TypeVar("Model", bound=nn.Module)


def encode(text: str) -> Tensor:
    """Return a text as the tokens of the induction model: one for each of `SYMBOLS`.

    Args:
        text: One to `CONTEXT` characters, each of `SYMBOLS`.

    Returns:
        Shape (1, length), integers.

    Raises:
        ValueError: If the text is empty or too long, or holds another character.

    Example:
        ```python
        from attn_docs.model.induction import encode

        print(encode("cab"))
        #> tensor([[2, 0, 1]])
        ```
    """
    if not text:
        raise ValueError("text must have at least one character; got ''")
    if len(text) > CONTEXT:
        raise ValueError(f"text must have at most {CONTEXT} characters; got {len(text)}")
    for character in text:
        if character not in SYMBOLS:
            raise ValueError(f"text must be made of {SYMBOLS!r}; got {character!r}")
    return torch.tensor([[SYMBOLS.index(character) for character in text]])


def decode(tokens: Tensor) -> str:
    """Return tokens (length,) as text."""
    return "".join(SYMBOLS[token] for token in tokens.tolist())


class Examples(NamedTuple):
    """Sequences in which a random segment is repeated, and where it is."""

    tokens: Tensor
    """(batch, length + 1): a segment of random tokens, again and again until the end."""
    repeated: Tensor
    """(batch, length), boolean: whether the token at this place repeats one of the segment."""


def repeated_tokens(
    batch: int,
    generator: torch.Generator,
    *,
    length: int = CONTEXT,
    shortest: int = SHORTEST,
    vocab_size: int = len(SYMBOLS),
) -> Examples:
    """Draw sequences: a segment of random tokens, repeated until the sequence is full.

    The model reads `tokens[:, :-1]` and predicts `tokens[:, 1:]`. Where `repeated` is True it can
    know the next token: it followed the same token before. The next token is drawn anew, so that
    nobody can know it, where `repeated` is False at the *next* place.

    Args:
        batch: How many sequences.
        generator: Draws the segments and their lengths.
        length: How many tokens the model reads.
        shortest: The shortest segment; the longest is half of `length`.
        vocab_size: How many different tokens there are.

    Returns:
        The sequences, and where each repeats itself.

    Raises:
        ValueError: If a size is below 1, or `shortest` more than half of `length`.

    Example:
        ```python
        import torch

        from attn_docs.model.induction import decode, repeated_tokens

        tokens, repeated = repeated_tokens(1, torch.Generator().manual_seed(0), length=16)
        print(decode(tokens[0]), repeated.sum().item())
        #> pvad.pvad.pvad.pv 11
        ```
    """
    sizes = {"batch": batch, "length": length, "shortest": shortest, "vocab_size": vocab_size}
    for name, value in sizes.items():
        check_size(name, value)
    if shortest > length // 2:
        raise ValueError(f"shortest must be at most half of length = {length}; got {shortest}")
    period = torch.randint(shortest, length // 2 + 1, (batch, 1), generator=generator)
    segment = torch.randint(vocab_size, (batch, length // 2), generator=generator)
    places = torch.arange(length + 1).expand(batch, -1)  # b n + 1
    return Examples(segment.gather(1, places % period), places[:, :-1] >= period)


def build_model(
    layers: int = 2, *, attend: AttentionFunction = functional.scaled_dot_product_attention
) -> DecoderModel:
    """Return an untrained model: attention alone, one head a layer, rotary positions, no MLP.

    Args:
        layers: How many blocks: two learn induction, one does not.
        attend: The attention function of each block.

    Returns:
        A decoder of `SYMBOLS` with the residual stream of size `EMBED_DIM`.

    Raises:
        ValueError: If `layers` is below 1.

    Example:
        ```python
        from attn_docs.model.induction import build_model

        print(sum(parameter.numel() for parameter in build_model().parameters()))
        #> 37248
        ```
    """
    check_size("layers", layers)

    def block() -> Block:
        rotary = RotaryEmbedding(EMBED_DIM)
        attention = MultiHeadAttention(EMBED_DIM, 1, bias=False, rotary=rotary, attend=attend)
        return Block(attention, None, nn.LayerNorm(EMBED_DIM), None)

    blocks = [block() for _ in range(layers)]
    return DecoderModel(len(SYMBOLS), EMBED_DIM, blocks, norm=nn.LayerNorm(EMBED_DIM))


def load_model() -> DecoderModel:
    """Return the trained model of two layers, with the weights that this package ships.

    Example:
        ```python
        from attn_docs.model.induction import decode, encode, load_model

        logits = load_model()(encode("zqvx-zqv"))  # 1 n 32
        print(decode(logits[0, -1:].argmax(-1)))
        #> x
        ```
    """
    model = build_model()
    model.load_state_dict(load_weights("induction"))
    return model.eval()


def train(
    layers: int = 2,
    seed: int = 0,
    *,
    steps: int = STEPS,
    attend: AttentionFunction = functional.scaled_dot_product_attention,
    watch: Callable[[int, DecoderModel], None] | None = None,
) -> DecoderModel:
    """Build a model and train it on sequences that repeat themselves.

    Args:
        layers: How many blocks.
        seed: Draws the first weights and the sequences.
        steps: How many batches of 32 sequences.
        attend: The attention function of each block.
        watch: As in `fit`.

    Returns:
        The trained model.

    Raises:
        ValueError: If `layers` or `steps` is below 1.

    Reference:
        Olsson et al., "In-context Learning and Induction Heads", arXiv:2209.11895 (2022).
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_model(layers, attend=attend)
    return fit(model, seed, steps=steps, watch=watch)


def fit(
    model: Model,
    seed: int = 0,
    *,
    steps: int = STEPS,
    watch: Callable[[int, Model], None] | None = None,
) -> Model:
    """Train a model of your own on sequences that repeat themselves; every step draws new ones.

    The loss counts all places, also those that nobody can predict: nobody tells the model which
    of them repeat.

    Args:
        model: Any module from tokens (batch, 32) to logits (batch, 32, 32). It is trained where its
            parameters are, in place.
        seed: Draws the sequences.
        steps: How many batches of 32 sequences.
        watch: Called with the number of steps done and the model, before the first step and after
            each.

    Returns:
        The model, in evaluation mode.

    Raises:
        ValueError: If `steps` is below 1.

    Example:
        ```python
        from torch import nn

        from attn_docs.model.induction import fit

        model = fit(nn.Sequential(nn.Embedding(32, 8), nn.Linear(8, 32)), steps=2)
        print(model.training)
        #> False
        ```
    """
    check_size("steps", steps)
    device = next(model.parameters()).device
    model.train()
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, LEARNING_RATE, total_steps=steps, pct_start=0.1
    )
    for step in range(steps):
        if watch is not None:
            watch(step, model)
        tokens = repeated_tokens(BATCH, generator).tokens.to(device)  # b n + 1
        logits = model(tokens[:, :-1])  # b n vocab
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    if watch is not None:
        watch(steps, model)
    return model.eval()


def previous_token_score(weights: Tensor) -> Tensor:
    r"""Return how much weight a head puts on the token just before the query, on the mean.

    $$\frac{1}{n - 1} \sum_{i=2}^{n} A_{i, i-1}$$

    Args:
        weights: (…, n, n), n at least 2. The first query has none before it and is left out.

    Returns:
        A scalar from 0 to 1, the mean over all leading axes too.

    Raises:
        ValueError: If the last two axes are not of one size, or below 2.

    Example:
        ```python
        import torch

        from attn_docs.model.induction import previous_token_score

        print(previous_token_score(torch.ones(4, 4).tril(-1)))
        #> tensor(1.)
        ```
    """
    _check_square(weights)
    return weights.diagonal(-1, -2, -1).mean()


def induction_targets(tokens: Tensor) -> Tensor:
    """Return where an induction head should look: just after each earlier occurrence.

    Args:
        tokens: (batch, n), integers.

    Returns:
        (batch, n, n), boolean: True at query i and key j ≤ i if token j − 1 is token i. A row
        without a True belongs to a token that has not occurred before.

    Raises:
        TypeError: If `tokens` is not a tensor of integers.
        ValueError: If it has not two axes.

    Example:
        ```python
        from attn_docs.model.induction import encode, induction_targets

        print(induction_targets(encode("abcab"))[0].nonzero())
        #> tensor([[3, 1],
        #>         [4, 2]])
        ```
    """
    if not isinstance(tokens, Tensor) or tokens.dtype not in INT_DTYPES:
        kind = tokens.dtype if isinstance(tokens, Tensor) else type(tokens).__name__
        raise TypeError(f"tokens must be a tensor of integers; got {kind}")
    if tokens.ndim != 2:
        raise ValueError(f"tokens must be (batch, length); got {tuple(tokens.shape)}")
    same = tokens[:, :, None] == tokens[:, None, :]  # b n n: query i is token j
    after = functional.pad(same, (1, 0))[:, :, :-1]  # b n n: query i is token j − 1
    return after.tril()


def induction_score(weights: Tensor, tokens: Tensor) -> Tensor:
    r"""Return how much weight a head puts just after earlier occurrences of the query's token.

    $$\frac{1}{|R|} \sum_{i \in R} \sum_{j \in P_i} A_{ij}, \qquad
    P_i = \{ j \le i : t_{j-1} = t_i \}, \qquad R = \{ i : P_i \ne \emptyset \}$$

    Queries whose token has not occurred before are left out: no head can look at what is not there.

    Args:
        weights: (batch, n, n), or (batch, heads, n, n).
        tokens: (batch, n), integers.

    Returns:
        A scalar from 0 to 1, the mean over heads too.

    Raises:
        TypeError: If `tokens` is not a tensor of integers.
        ValueError: If shapes do not fit, or no token occurs twice.

    Example:
        ```python
        import torch

        from attn_docs.model.induction import encode, induction_score

        weights = torch.zeros(1, 5, 5)
        weights[0, 3, 1] = 1.0  # the second "a" looks at the first "b"
        weights[0, 4, 2] = 0.5  # the second "b" looks at "c" with half its weight
        print(induction_score(weights, encode("abcab")))
        #> tensor(0.7500)
        ```

    Reference:
        Elhage et al., "A Mathematical Framework for Transformer Circuits" (2021).
    """
    _check_square(weights)
    targets = induction_targets(tokens)  # b n n
    if weights.ndim == 4:
        targets = targets[:, None].expand(-1, weights.size(1), -1, -1)  # b h n n
    if weights.shape != targets.shape:
        raise ValueError(f"weights must be {tuple(targets.shape)}; got {tuple(weights.shape)}")
    known = targets.any(-1)  # b n or b h n
    if not known.any():
        raise ValueError("tokens must hold one that occurs twice; got none")
    return (weights * targets).sum(-1)[known].mean()


@torch.no_grad()
def repeat_accuracy(model: DecoderModel, examples: Examples) -> float:
    """Return the share of right predictions where sequences repeat themselves.

    Args:
        model: A decoder of `SYMBOLS`.
        examples: What `repeated_tokens` draws. Predictions in the first copy are left out: there
            the next token is drawn anew, but for the last place.

    Returns:
        From 0 to 1; guessing reaches 1/32.

    Example:
        ```python
        import torch

        from attn_docs.model.induction import load_model, repeat_accuracy, repeated_tokens

        examples = repeated_tokens(64, torch.Generator().manual_seed(1))
        print(repeat_accuracy(load_model(), examples) > 0.95)
        #> True
        ```
    """
    logits = model(examples.tokens[:, :-1])  # b n vocab
    right = logits.argmax(-1) == examples.tokens[:, 1:]  # b n
    return float(right[examples.repeated].float().mean())


class Behaviour(NamedTuple):
    """What a model does on sequences that repeat themselves."""

    accuracy: float
    """Share of right predictions where the sequence repeats itself."""
    previous: list[float]
    """The previous-token score of each layer."""
    induction: list[float]
    """The induction score of each layer."""


@torch.no_grad()
def behaviour(model: DecoderModel, examples: Examples) -> Behaviour:
    """Return how often a model continues a repetition, and the scores of its layers.

    Args:
        model: A decoder of `SYMBOLS`.
        examples: What `repeated_tokens` draws; use a seed that was not trained on.

    Returns:
        Accuracy and scores.
    """
    tokens = examples.tokens[:, :-1]  # b n
    _, weights = model(tokens, need_weights=True)
    return Behaviour(
        repeat_accuracy(model, examples),
        [previous_token_score(w).item() for w in weights],
        [induction_score(w, tokens).item() for w in weights],
    )


def _check_square(weights: Tensor) -> None:
    shape = tuple(weights.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] < 2:
        raise ValueError(f"weights must be (…, n, n), n at least 2; got {shape}")
