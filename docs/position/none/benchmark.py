"""What models learn without positions: which came first, to write.

And what a layer without positions among rotary ones is good for.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_docs import MultiHeadAttention, RotaryEmbedding, YaRNScaling
from attn_docs.model import MLP, Block, DecoderModel, language_model
from attn_docs.position import extrapolation
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

SEEDS = (0, 1, 2)
LETTERS, LENGTH = 16, 32  # 0 and 1 stand once in each text, the last token asks which was first
SIZE, HEADS = 32, 2
STEPS, BATCH, RATE = 300, 32, 3e-3
EXAMINED = 1000  # texts, each with its mirror image
# four layers: "r" rotates, "w" too and sees a window, "n" has no positions
MIXED = {"rotary": "rrrr", "narrow": "wwwr", "fourth": "rrrn", "window": "wwwn"}
RESCALED = "yarn"  # the first of these, with YaRN after training
WINDOW, MIXED_STEPS, MIXED_RATE, RECALLED = 16, 1000, 2e-3, 256
LONG = 8 * extrapolation.TRAINED
YARN = YaRNScaling(LONG / extrapolation.TRAINED, extrapolation.TRAINED)
PLACES = {"near": (6, 16), "half": (LONG // 2,) * 2, "start": (LONG - extrapolation.SEGMENT,) * 2}

Value = dict[str, Any]


class Arm(NamedTuple):
    """A model that is trained: its layers, whether they rotate, are causal, where it is read."""

    layers: int
    rotary: bool
    causal: bool = True
    mean: bool = False  # the answer is read off the mean over all tokens, not at the last


FIRST = {
    "one": Arm(1, rotary=False),
    "mean": Arm(1, rotary=False, mean=True),
    "two": Arm(2, rotary=False),
    "encoder": Arm(2, rotary=False, causal=False),
    "rotary": Arm(1, rotary=True),
}


class Reader(nn.Module):
    """Blocks that read tokens, and a linear layer from each token's vector to some numbers."""

    def __init__(self, arm: Arm, outputs: int) -> None:
        super().__init__()
        self.causal = arm.causal
        self.tokens = nn.Embedding(LETTERS + 1, SIZE)
        self.blocks = nn.ModuleList(self._block(arm.rotary) for _ in range(arm.layers))
        self.norm = nn.LayerNorm(SIZE)
        self.output = nn.Linear(SIZE, outputs)

    @staticmethod
    def _block(rotary: bool) -> Block:
        turns = RotaryEmbedding(SIZE // HEADS) if rotary else None
        attention = MultiHeadAttention(SIZE, HEADS, bias=False, rotary=turns)
        return Block(attention, MLP(SIZE), nn.LayerNorm(SIZE), nn.LayerNorm(SIZE))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the numbers of each token, (b, n, outputs)."""
        x = self.tokens(tokens)  # b n size
        for block in self.blocks:
            x = block(x, is_causal=self.causal)
        found: Tensor = self.output(self.norm(x))
        return found


def two_letters(batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return texts with one 0 and one 1 among others, and which of the two came first."""
    tokens = torch.randint(2, LETTERS, (batch, LENGTH), generator=generator)  # b n
    places = torch.rand(batch, LENGTH, generator=generator).argsort(-1)[:, :2]  # b 2
    tokens.scatter_(1, places, torch.tensor([0, 1]).expand(batch, 2))
    asks = torch.full((batch, 1), LETTERS)
    return torch.cat((tokens, asks), dim=1), (places[:, 0] > places[:, 1]).long()


def mirrored(tokens: Tensor) -> Tensor:
    """Return the texts with 0 and 1 in each other's place."""
    return torch.where(tokens < 2, 1 - tokens, tokens)


def fit(model: nn.Module, steps: int, loss: Callable[[], Tensor]) -> None:
    """Train a model: AdamW, its rate up and down once."""
    optimizer = torch.optim.AdamW(model.parameters(), RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
        schedule.step()


def came_first(name: str, seed: int) -> list[Value]:
    """Train a model to say which of two letters came first; examine it on texts and mirrors."""
    torch.manual_seed(seed)
    model, generator = Reader(FIRST[name], 2), torch.Generator().manual_seed(seed)

    def read(found: Tensor) -> Tensor:  # b n 2 -> b 2
        return found.mean(dim=1) if FIRST[name].mean else found[:, -1]

    def loss() -> Tensor:
        tokens, first = two_letters(BATCH, generator)
        return functional.cross_entropy(read(model(tokens)), first)

    fit(model, STEPS, loss)
    tokens, first = two_letters(EXAMINED, torch.Generator().manual_seed(999))
    with torch.no_grad():
        said = [read(model(each)).argmax(-1) for each in (tokens, mirrored(tokens))]
        kernel = kernel_of(lambda: model(tokens[:2]))
    right = torch.cat((said[0] == first, said[1] == 1 - first)).double().mean().item()
    alike = (said[0] == said[1]).double().mean().item()
    of = {"model": name, "seed": seed, "unit": "ratio", "kernel": kernel}
    return [
        {**of, "quantity": "right", "value": right},
        {**of, "quantity": "alike", "value": alike},
    ]


def writes() -> list[Value]:
    """Train the model of stories without positions; measure what a story costs it on the way."""

    def without() -> nn.Module:
        return MultiHeadAttention(language_model.EMBED_DIM, language_model.NUM_HEADS)

    model = language_model.language_model(attention=without)
    held_out = language_model.tell_stories(100, language_model.HELD_OUT)
    seen = {}

    def watch(step: int) -> None:
        if step in language_model.WATCHED:
            seen[step] = sum(language_model.nats_by_kind(model, held_out).values())

    language_model.train(model, watch=watch)
    kernel = kernel_of(lambda: model(language_model.batch_of(held_out[:2])[0]))
    of = {"quantity": "story", "unit": "nat", "kernel": kernel}
    return [{**of, "steps": step, "value": nats} for step, nats in seen.items()]


def in_window(query: Tensor, key: Tensor, value: Tensor, *_: object, **options: Any) -> Tensor:  # noqa: ANN401
    """Attend to the last few tokens only."""
    causal = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool).tril()
    mask = causal & ~causal.tril(-WINDOW)
    options = {"scale": options.get("scale")}
    return functional.scaled_dot_product_attention(query, key, value, mask, **options)


def mixed_model(layers: str) -> DecoderModel:
    """Return the decoder of the chapter on longer texts, with layers of these kinds."""
    size, heads = extrapolation.EMBED_DIM, extrapolation.HEADS

    def block(kind: str) -> Block:
        rotary = None if kind == "n" else RotaryEmbedding(size // heads)
        attend = in_window if kind == "w" else functional.scaled_dot_product_attention
        attention = MultiHeadAttention(size, heads, bias=False, rotary=rotary, attend=attend)
        return Block(attention, None, nn.LayerNorm(size), None)

    symbols = extrapolation.CONTENT + extrapolation.FILLER
    return DecoderModel(symbols, size, [block(kind) for kind in layers], norm=nn.LayerNorm(size))


def recalls(name: str, seed: int) -> list[Value]:
    """Train four layers on short sequences; examine them on long ones, at three places."""
    torch.manual_seed(seed)
    model = extrapolation.train_further(
        mixed_model(MIXED[name]),
        seed,
        steps=MIXED_STEPS,
        length=extrapolation.TRAINED,
        learning_rate=MIXED_RATE,
    )
    values = examined(model, name, seed)
    if name == "rotary":
        with extrapolation.changed(model, scaling=YARN) as rescaled:
            values += examined(rescaled, RESCALED, seed)
    return values


def examined(model: DecoderModel, name: str, seed: int) -> list[Value]:
    """Return how often a model continues rightly, near in a short text and anywhere in a long."""
    values = []
    for length, places in ((extrapolation.TRAINED, ("near",)), (LONG, tuple(PLACES))):
        for place in places:
            generator = torch.Generator().manual_seed(99)
            examples = extrapolation.recall_at(
                RECALLED, generator, length=length, distance=PLACES[place]
            )
            value = extrapolation.recall_accuracy(model, examples)
            values.append({"place": place, "length": length, "value": value})
    kernel = kernel_of(lambda: model(examples.tokens[:2]))
    of = {"model": name, "seed": seed, "quantity": "accuracy", "unit": "ratio", "kernel": kernel}
    return [{**of, **value} for value in values]


def measure() -> dict[str, Measurement]:
    """Train all of them on one thread."""
    with one_thread():
        first = [v for name in FIRST for seed in SEEDS for v in came_first(name, seed)]
        story = writes()
        mixed = [v for name in MIXED for seed in SEEDS for v in recalls(name, seed)]
    return {
        "first": measurement(first, threads=1),
        "story": measurement(story, threads=1),
        "mixed": measurement(mixed, threads=1),
    }
