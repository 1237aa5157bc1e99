"""Two experiments: training at rates that make scores grow, and heads that should see nothing."""

from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attn_docs import (
    MultiHeadAttention,
    RotaryEmbedding,
    SinkAttention,
    scaled_dot_product_attention,
    softcap_attention,
)
from attn_docs.model import Block, DecoderModel
from attn_docs.model.induction import BATCH, EMBED_DIM, SYMBOLS, repeat_accuracy, repeated_tokens
from docs._kit.measure import kernel_of, one_thread
from docs._kit.measured import Measurement, measurement

SEEDS = (0, 1, 2)
WAYS = ("plain", "norm", "cap")
RATES = (0.01, 0.02, 0.03, 0.04)
DRAWN = 0.03  # the rate whose curves are shown
CAP = 50.0
LOWER = {"cap of 5": 5.0, "cap of 10": 10.0, "cap of 20": 20.0}
SLOW = 0.005  # of the projections of queries and keys alone, while the rest has the drawn rate
STEPS, EVERY = 500, 10

KEYS, NAMES, SIZE, WIDTH = 12, 16, 8, 32  # of the second task; WIDTH holds name, value and flag
REPAIRS = ("plain", "first", "sink", "gate")
TASKS = ("told", "absent")
TASK_STEPS, TASK_BATCH, TASK_RATE, EXAMINED = 6000, 64, 1e-2, 2000

Values = list[dict[str, object]]


class Watched(nn.Module):
    """Attention, capped if there is a cap, that keeps the last call's scores as they came."""

    def __init__(self, cap: float | None) -> None:
        super().__init__()
        self.cap = cap
        self.scores = torch.zeros(0)
        self.lead = 0.0  # of the highest score of a row over that row's mean

    def forward(self, query: Tensor, key: Tensor, value: Tensor, *rest: Any) -> Tensor:  # noqa: ANN401
        """Attend; only scores that a causal mask shows are kept."""
        with torch.no_grad():
            scores = query @ key.mT / query.size(-1) ** 0.5  # b h n m
            seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
            self.scores = scores[..., seen]
            means = (scores * seen).sum(-1) / seen.sum(-1)
            tops = scores.masked_fill(~seen, float("-inf")).amax(-1)
            self.lead = (tops - means).max().item()
        if self.cap is None:
            return F.scaled_dot_product_attention(query, key, value, *rest)
        return softcap_attention(query, key, value, *rest, softcap=self.cap)


def decoder(way: str) -> tuple[DecoderModel, list[Watched]]:
    """Return the untrained induction model with a norm, a cap or neither, and its attention."""
    cap = CAP if way == "cap" else LOWER.get(way)
    watched = [Watched(cap) for _ in range(2)]
    blocks = []
    for attend in watched:
        names = ("q_norm", "k_norm") if way == "norm" else ()
        norms: dict[str, Any] = {name: nn.RMSNorm(EMBED_DIM) for name in names}
        rotary = RotaryEmbedding(EMBED_DIM)
        attention = MultiHeadAttention(
            EMBED_DIM, 1, bias=False, rotary=rotary, attend=attend, **norms
        )
        blocks.append(Block(attention, None, nn.LayerNorm(EMBED_DIM), None))
    model = DecoderModel(len(SYMBOLS), EMBED_DIM, blocks, norm=nn.LayerNorm(EMBED_DIM))
    return model, watched


def optimizer_of(model: nn.Module, way: str, rate: float) -> torch.optim.Optimizer:
    """Return an optimizer with one rate for all parameters, or a slow one for queries and keys."""
    slow, rest = [], []
    for name, parameter in model.named_parameters():
        projects = "q_proj" in name or "k_proj" in name
        (slow if way == "slow" and projects else rest).append(parameter)
    groups = [{"params": rest, "lr": rate}, {"params": slow, "lr": SLOW}]
    return torch.optim.AdamW([group for group in groups if group["params"]])


def trained(way: str, rate: float, seed: int) -> Values:
    """Train at a rate and return the largest score and the loss as it goes, and what is learned."""
    of: dict[str, object] = {"way": way, "rate": str(rate), "seed": seed}
    torch.manual_seed(seed)
    model, watched = decoder(way)
    generator = torch.Generator().manual_seed(seed)
    optimizer = optimizer_of(model, way, rate)
    rates = [group["lr"] for group in optimizer.param_groups]
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rates, total_steps=STEPS, pct_start=0.1
    )
    values: Values = []
    largest = lead = 0.0
    for step in range(STEPS):
        tokens = repeated_tokens(BATCH, generator).tokens
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
        now = max(each.scores.abs().max().item() for each in watched)
        largest = max(largest, now)
        lead = max(lead, *(each.lead for each in watched))
        if rate == DRAWN and way in WAYS and step % EVERY == 0:
            at = {**of, "step": step}
            values.append({**at, "quantity": "score", "value": round(now, 2), "unit": "ratio"})
            values.append({**at, "quantity": "loss", "value": round(loss.item(), 3), "unit": "nat"})
    accuracy = repeat_accuracy(model, repeated_tokens(200, torch.Generator().manual_seed(12345)))
    found = {"lead": lead, "largest": largest, "accuracy": accuracy}
    for quantity, value in found.items():
        values.append({**of, "quantity": quantity, "value": round(value, 4), "unit": "ratio"})
    return values


def growth() -> Values:
    """Train each way at each rate with each seed."""
    values: Values = []
    for rate in RATES:
        for way in WAYS:
            for seed in SEEDS:
                values += trained(way, rate, seed)
                print(way, rate, seed, [v["value"] for v in values[-3:]], flush=True)
    for way in ("slow", *LOWER):
        for seed in SEEDS:
            values += trained(way, DRAWN, seed)
            print(way, seed, [v["value"] for v in values[-3:]], flush=True)
    return values


def asked(batch: int, generator: torch.Generator, task: str) -> tuple[Tensor, Tensor, Tensor]:
    """Draw what asks (batch, 1, WIDTH), what is looked at (batch, KEYS, WIDTH), and the answer.

    A key has a name and a value; a query has a name. The answer is the value of the key of that
    name, or in half of the cases zeros: where a flag of the query says so ("told"), or where no
    key has the name ("absent").
    """
    order = torch.rand(batch, NAMES, generator=generator).argsort(-1)
    names, rest = order[:, :KEYS], order[:, KEYS:]
    values = torch.randn(batch, KEYS, SIZE, generator=generator)
    something = torch.rand(batch, generator=generator) < 0.5
    place = torch.randint(KEYS, (batch, 1), generator=generator)
    name = names.gather(1, place).squeeze(1)
    if task == "absent":
        name = torch.where(something, name, rest[:, 0])
    answer = values.gather(1, place[..., None].expand(-1, -1, SIZE)).squeeze(1)
    context, query = torch.zeros(batch, KEYS, WIDTH), torch.zeros(batch, 1, WIDTH)
    context[..., :NAMES], context[..., NAMES : NAMES + SIZE] = F.one_hot(names, NAMES), values
    query[:, 0, :NAMES] = F.one_hot(name, NAMES)
    if task == "told":
        query[:, 0, NAMES + SIZE] = something.float()
    query[:, 0, -1] = 1.0
    return query, context, answer * something[:, None]


class Reader(nn.Module):
    """One layer that reads an answer off some keys, in one of four ways."""

    def __init__(self, way: str) -> None:
        super().__init__()
        options: dict[str, Any] = {}
        if way == "sink":
            options["attend"] = SinkAttention(1)
        if way == "gate":
            options["gate"] = nn.Linear(WIDTH, 1)
        self.attention = MultiHeadAttention(WIDTH, 1, **options)
        self.first = nn.Parameter(0.1 * torch.randn(1, 1, WIDTH)) if way == "first" else None
        self.output = nn.Linear(WIDTH, SIZE)

    def forward(self, query: Tensor, context: Tensor) -> Tensor:
        """Return (batch, SIZE)."""
        if self.first is not None:
            context = torch.cat((self.first.expand(len(context), -1, -1), context), dim=1)
        return cast("Tensor", self.output(self.attention(query, context)))[:, 0]


def fitted(task: str, way: str, seed: int, steps: int = TASK_STEPS) -> Reader:
    """Return a layer trained on a task."""
    torch.manual_seed(seed)
    reader = Reader(way)
    optimizer = torch.optim.Adam(reader.parameters(), TASK_RATE)
    # over the second half the rate falls to zero: what is left is the layer's limit, not noise
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, 2 - 2 * i / steps))
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        query, context, answer = asked(TASK_BATCH, generator, task)
        loss = F.mse_loss(reader(query, context), answer)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
    return reader


def read(task: str, way: str, seed: int) -> Values:
    """Train a layer on a task and return its error where there is something, and nothing.

    Of a sink, also what part of the weight it leaves to the keys.
    """
    reader = fitted(task, way, seed)
    query, context, answer = asked(EXAMINED, torch.Generator().manual_seed(12345), task)
    kept = {}
    with torch.no_grad():
        error = (reader(query, context) - answer).square().mean(-1)
        if way == "sink":
            _, weights = reader.attention(query, context, need_weights=True)
            kept = {"kept": weights.sum(-1).flatten()}
    nothing = (answer == 0).all(-1)
    of = {"task": task, "way": way, "seed": seed, "unit": "ratio"}
    found = {"error": error, **kept}
    return [
        {
            **of,
            "quantity": quantity if name == "error" else f"{name} {quantity}",
            "value": round(value[where].mean().item(), 4),
        }
        for name, value in found.items()
        for quantity, where in (("nothing", nothing), ("something", ~nothing))
    ]


def repairs() -> Values:
    """Train each way on each task with each seed."""
    values: Values = []
    for task in TASKS:
        for way in REPAIRS:
            for seed in SEEDS:
                values += read(task, way, seed)
                print(task, way, seed, values[-1]["value"], flush=True)
    return values


def measure() -> dict[str, Measurement]:
    """Measure both in float32 on one thread: some five minutes."""
    with one_thread():
        found = {"growth": growth(), "repairs": repairs()}
        query = torch.randn(BATCH, 1, 32, EMBED_DIM)
        kernels = {
            "growth": kernel_of(partial(F.scaled_dot_product_attention, query, query, query)),
            "repairs": kernel_of(partial(scaled_dot_product_attention, query, query, query)),
        }
        return {
            name: measurement([{**v, "kernel": kernels[name]} for v in values], threads=1)
            for name, values in found.items()
        }
