"""What a bias costs in time and memory, and what a layer learns with each kind of it."""

import itertools
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import MultiHeadAttention, RelativeBias, alibi_bias, alibi_slopes, causal_mask
from docs._kit.examples import example
from docs._kit.measure import allocated_mebibytes, kernel_of, least_seconds, one_thread
from docs._kit.measured import Measurement, measurement

HEADS, HEAD_DIM, LENGTH = 8, 64, 1024
WAYS = ("causal", "elements", "alibi", "learned")
SECONDS = 20.0
BIASES = ("none", "alibi", "t5", "short")
TRAINED, LONG, STEPS, SEEDS = 24, 192, 300, (0, 1, 2)
LEARNER_HEADS, LEARNER_SIZE, BATCH, RATE = 4, 32, 32, 0.01
KINDS, VALUES = 8, 16  # a token of the second task is one of 8 kinds with one of 16 values
BACK, CLOSED, IGNORED = 3, -20.0, -100
SHORT = {"max_distance": 20}  # below the trained length, so training reaches the last bucket

Task = Callable[[int], tuple[Tensor, Tensor]]


def attend(way: str, inputs: tuple[Tensor, ...], *, backward: bool) -> Callable[[], object]:
    """Return a call of PyTorch's function whose bias, if any, was made before."""
    hidden = ~causal_mask(LENGTH, LENGTH)
    options: dict[str, object] = {"is_causal": True}
    leaves, run = inputs, F.scaled_dot_product_attention
    if way == "elements":
        written = example("position/relative/no_matrix")["attend"]
        options, run = {"slopes": alibi_slopes(HEADS)}, written
    elif way != "causal":
        bias = alibi_bias(HEADS, LENGTH)
        if way == "learned":
            bias.requires_grad_()
            leaves = (*inputs, bias)
        options = {"attn_mask": bias.masked_fill(hidden, -torch.inf)}

    def call() -> object:
        if not backward:
            with torch.no_grad():
                return run(*inputs, **options)
        output = run(*inputs, **options)
        return torch.autograd.grad(output, leaves, output, retain_graph=True)

    return call


def of_ways() -> list[dict[str, object]]:
    """Measure forward, and forward with backward."""
    values: list[dict[str, object]] = []
    inputs = tuple(torch.randn(1, HEADS, LENGTH, HEAD_DIM, requires_grad=True) for _ in range(3))
    for backward in (False, True):
        calls = [attend(way, inputs, backward=backward) for way in WAYS]
        times = least_seconds(calls, SECONDS, clock=time.process_time)
        for way, call, seconds in zip(WAYS, calls, times, strict=True):
            of = {"way": way, "backward": backward, "kernel": kernel_of(call)}
            memory = allocated_mebibytes(call)
            values.append({**of, "quantity": "memory", "value": memory, "unit": "MiB"})
            values.append({**of, "quantity": "time", "value": 1000 * seconds, "unit": "ms"})
    return values


def back(length: int) -> tuple[Tensor, Tensor]:
    """Return texts, and for each token the one that stood three places before."""
    text = torch.randint(VALUES, (BATCH, length))
    return text, F.pad(text[:, :-BACK], (BACK, 0), value=IGNORED)


def latest(length: int) -> tuple[Tensor, Tensor]:
    """Return texts of kinds with values, and the value of the last earlier token of each's kind."""
    kind, value = torch.randint(KINDS, (BATCH, length)), torch.randint(VALUES, (BATCH, length))
    same = (kind.unsqueeze(2) == kind.unsqueeze(1)).tril(-1)  # b n n
    last = torch.where(same, torch.arange(length), -1).amax(-1)
    wanted = value.gather(1, last.clamp(min=0)).masked_fill(last < 0, IGNORED)
    return kind * VALUES + value, wanted


TASKS: dict[str, Task] = {"back": back, "latest": latest}


def learn(task: str, way: str, seed: int) -> tuple[nn.Module, Callable[[Tensor], Tensor]]:
    """Train one causal layer on a task; return its table and what the layer answers."""
    torch.manual_seed(seed)
    embed = nn.Embedding(KINDS * VALUES if task == "latest" else VALUES, LEARNER_SIZE)
    layer, read = MultiHeadAttention(LEARNER_SIZE, LEARNER_HEADS), nn.Linear(LEARNER_SIZE, VALUES)
    sizes = SHORT if way == "short" else {}
    table = RelativeBias(LEARNER_HEADS, bidirectional=False, **sizes)

    def answer(text: Tensor) -> Tensor:
        n = text.size(1)
        made = {
            "none": lambda _: None,
            "alibi": lambda n: alibi_bias(LEARNER_HEADS, n),
            "t5": table,
            "short": table,
        }
        output: Tensor = read(layer(embed(text), attn_mask=made[way](n), is_causal=True))
        return output.transpose(1, 2)

    parts = nn.ModuleList((embed, layer, read, table))
    optimizer = torch.optim.Adam(parts.parameters(), lr=RATE)
    for _ in range(STEPS):
        text, wanted = TASKS[task](TRAINED)
        loss = F.cross_entropy(answer(text), wanted, ignore_index=IGNORED)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return table, answer


@torch.no_grad()
def accuracy(task: str, answer: Callable[[Tensor], Tensor], length: int) -> float:
    """Return the share of right answers in the second half of new texts."""
    text, wanted = TASKS[task](length)
    found, wanted = answer(text)[..., length // 2 :].argmax(1), wanted[:, length // 2 :]
    asked = wanted != IGNORED
    return round((found == wanted)[asked].float().mean().item(), 4)


@torch.no_grad()
def close(table: nn.Module) -> int:
    """Close the buckets that no text of the training reached; return how many they are."""
    weight = table.relative_attention_bias.weight
    untouched = weight.eq(0).all(1)
    weight[untouched] = CLOSED
    return int(untouched.sum())


def of_learners() -> list[dict[str, object]]:
    """Train each kind of bias on both tasks; test it at the trained length and at the long one."""
    values: list[dict[str, object]] = []
    for task, way, seed in itertools.product(TASKS, BIASES, SEEDS):
        table, answer = learn(task, way, seed)
        kernel = kernel_of(partial(accuracy, task, answer, TRAINED))
        of = {"task": task, "seed": seed, "kernel": kernel, "quantity": "accuracy", "unit": "ratio"}
        for length in (TRAINED, LONG):
            value = accuracy(task, answer, length)
            values.append({**of, "way": way, "length": length, "value": value})
        if way == "t5":
            closed = close(table)
            for length in (TRAINED, LONG):
                value = accuracy(task, answer, length)
                told = {"way": "closed", "closed": closed, "length": length}
                values.append({**of, **told, "value": value})
    return values


def measure() -> dict[str, Measurement]:
    """Measure all of it in float32 on one thread."""
    torch.manual_seed(0)
    with one_thread():
        return {
            "ways": measurement(of_ways(), threads=1),
            "learners": measurement(of_learners(), threads=1),
        }
