"""Small decoders that learn to look five tokens back, with each kind of positions."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import MultiHeadAttention, sinusoidal
from attn_docs.exhibits.position import (
    cosine_half_a_step_off,
    cosine_of_the_sine,
    exponent_doubled,
    exponent_of_dimensions,
)
from attn_docs.model import MLP, Block, DecoderModel
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

TOKENS, DIM, HEADS, BACK = 16, 64, 4, 5
LENGTH, BATCH, STEPS, EVERY = 48, 32, 300, 50
RATE = 3e-3
SEEDS = (0, 1, 2)


class Kind(NamedTuple):
    """What is added to the tokens, and how long both are at first."""

    table: Callable[..., Tensor] | None = None
    learned: float | None = None  # the standard deviation of a learned table
    tokens: float = 1.0  # that of the embeddings, √d of the paper included


KINDS = {
    "none": Kind(),
    "sinusoidal": Kind(sinusoidal),
    "dimensions": Kind(exponent_of_dimensions.table),
    "half_step": Kind(cosine_half_a_step_off.table),
    "cosine_of_sine": Kind(cosine_of_the_sine.table),
    "doubled": Kind(exponent_doubled.table),
    "unscaled": Kind(sinusoidal, tokens=DIM**-0.5),
    "twice": Kind(sinusoidal, tokens=DIM**0.5),
    "learned": Kind(learned=2**-0.5),  # rows as long as the sinusoidal ones, √(D/2)
    "small": Kind(learned=0.02),  # as GPT-2 draws both, but beside tokens of nn.Embedding
}


def decoder(kind: Kind) -> DecoderModel:
    """Return a decoder of one block with this kind of positions, for twice the trained length."""
    norm = (nn.LayerNorm(DIM) for _ in range(3))
    block = Block(MultiHeadAttention(DIM, HEADS), MLP(DIM), next(norm), next(norm))
    longest = None if kind == KINDS["none"] else 2 * LENGTH
    model = DecoderModel(TOKENS, DIM, [block], max_length=longest, norm=next(norm))
    nn.init.normal_(model.token_embedding.weight, std=kind.tokens)
    if kind.table is not None:
        rows = kind.table(torch.arange(2 * LENGTH), DIM)
        model.position_embedding = nn.Embedding.from_pretrained(rows)
    elif kind.learned is not None and model.position_embedding is not None:
        nn.init.normal_(model.position_embedding.weight, std=kind.learned)
    return model


def hits(model: DecoderModel, tokens: Tensor) -> Tensor:
    """Return for each position how often the token five back is the likeliest."""
    with torch.no_grad():
        found = model(tokens)[:, BACK:].argmax(dim=-1)  # b n - 5
    return (found == tokens[:, :-BACK]).double().mean(dim=0)


def train(
    kind: Kind, seed: int, steps: int, watch: Callable[[int, DecoderModel], None]
) -> DecoderModel:
    """Train a decoder on random tokens."""
    torch.manual_seed(seed)
    model = decoder(kind)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=RATE)
    for step in range(1, steps + 1):
        tokens = torch.randint(TOKENS, (BATCH, LENGTH))
        logits = model(tokens)[:, BACK:]
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, :-BACK].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        watch(step, model)
    return model


def of_kinds() -> list[dict[str, object]]:
    """Measure how many of the tokens are right as training goes on, and beyond its length."""
    values: list[dict[str, object]] = []
    examined = torch.Generator().manual_seed(10**6)
    tokens = torch.randint(TOKENS, (256, 2 * LENGTH), generator=examined)
    kernel = kernel_of(lambda: decoder(KINDS["learned"])(tokens))
    for (name, kind), seed in ((item, seed) for item in KINDS.items() for seed in SEEDS):
        of = {"kind": name, "seed": seed, "unit": "ratio", "kernel": kernel}

        def watch(step: int, model: DecoderModel, of: dict[str, object] = of) -> None:
            if step % EVERY == 0:
                value = hits(model, tokens[:, :LENGTH]).mean().item()
                values.append({**of, "quantity": "right", "step": step, "value": round(value, 4)})

        model = train(kind, seed, STEPS, watch)
        beyond = hits(model, tokens)[LENGTH:].mean().item()
        values.append({**of, "quantity": "beyond", "value": round(beyond, 4)})
    return values


def measure() -> dict[str, Measurement]:
    """Measure on one thread."""
    with one_thread():
        return {"kinds": measurement(of_kinds(), threads=1)}
