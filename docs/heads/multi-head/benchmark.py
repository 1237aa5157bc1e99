"""Our layer against PyTorch's module, and what the heads of a small trained model do."""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from attn_docs import MultiHeadAttention
from docs._kit.measure import THREADS, kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

from .train import SENTENCE, Book, Model, read_book, train

SIZES = ((4, 512, 512, 8), (1, 2048, 512, 8), (16, 128, 256, 4))  # batch, words, size, heads
TRAINING = ("forward", "backward", "causal forward", "causal backward")
RUNS = (*TRAINING, "evaluation")
ROUNDS = 15
COUNTS, SEEDS, STEPS = (1, 4, 16, 64), (0, 1, 2), 1500  # heads of a model, and its training
LOOKED_AT = 4  # the number of heads of the model that is looked at
LEAST = 0.05  # smaller weights are not stored

Call = Callable[[], object]
Value = dict[str, Any]


def measure() -> dict[str, Measurement]:
    """Measure our time over PyTorch's, for every size and every run."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    values = [
        {
            **dict(zip(("batch", "words", "size", "heads"), sizes, strict=True)),
            "run": run,
            "quantity": "time",
            "value": paired_ratio(ours, theirs, ROUNDS),
            "unit": "ratio",
            "kernel": kernel_of(ours),
        }
        for sizes in SIZES
        for run, ours, theirs in calls(*sizes)
    ]
    torch.set_num_threads(threads)
    with one_thread():
        book = read_book()
        models = {(h, s): train(book, h, s, STEPS) for h in COUNTS for s in SEEDS}
        found = examined(book, models)
    return {"against": measurement(values, threads=THREADS)} | {
        name: measurement(of, threads=1) for name, of in found.items()
    }


@torch.no_grad()
def examined(book: Book, models: dict[tuple[int, int], Model]) -> dict[str, list[Value]]:
    """Return the losses of models by heads and seed, and what the heads of one of them do."""
    pieces = book.pieces(500)
    losses: list[Value] = [
        {
            "heads": heads,
            "seed": seed,
            "steps": STEPS,
            "quantity": "loss",
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "value": model.fit(pieces).item(),
        }
        for (heads, seed), model in models.items()
    ]
    model = models[LOOKED_AT, SEEDS[0]]
    found = {"trained": losses, "jobs": jobs(book, model), "maps": maps(book, model)}
    kernel = kernel_of(lambda: model.fit(pieces))
    return {
        name: [
            {**v, "value": round(v["value"], 4), "kernel": kernel}
            | {"unit": "nat" if v["quantity"].startswith("loss") else "ratio"}
            for v in values
        ]
        for name, values in found.items()
    }


def jobs(book: Book, model: Model) -> list[Value]:
    """Return where each head looks, on the mean over what is held out, and the loss without it."""
    pieces = book.pieces(500)
    x = pieces[:200, :-1]
    spaces = x == book.alphabet.index(" ")
    seen_so_far = spaces.cumsum(1) / torch.arange(1, x.size(1) + 1)
    even = seen_so_far[:, 2:].mean().item()  # a query's share of spaces among what it may see
    values: list[Value] = [{"quantity": "spaces, even weights", "value": even}]
    for layer, weights in enumerate(model.run(x)[1]):
        for head in range(weights.size(1)):
            seen = weights[:, head, 2:]  # the first characters have none two before them
            told = {
                "one before": seen.diagonal(1, dim1=1, dim2=2).mean(),
                "two before": seen.diagonal(0, dim1=1, dim2=2).mean(),
                "spaces": (seen * spaces[:, None]).sum(-1).mean(),
                "loss without": loss_without(model, layer, head, pieces),
            }
            of = {"layer": layer + 1, "head": head + 1}
            values += [{**of, "quantity": name, "value": v.item()} for name, v in told.items()]
    return values


def loss_without(model: Model, layer: int, head: int, pieces: Tensor) -> Tensor:
    """Return the loss where a head adds nothing: its part of the output projection is zero."""
    attend = model.attentions[layer]
    before = attend.out_proj.weight.clone()
    columns = slice(head * attend.head_dim, (head + 1) * attend.head_dim)
    attend.out_proj.weight[:, columns] = 0
    loss = model.fit(pieces)
    attend.out_proj.weight.copy_(before)
    return loss


def maps(book: Book, model: Model) -> list[Value]:
    """Return the weights of each head on the sentence, without the smallest."""
    found = model.run(book.encode(SENTENCE)[None])[1]
    return [
        {"layer": layer, "head": head, "query": i, "key": j, "quantity": "weight", "value": weight}
        for layer, weights in enumerate(found, 1)
        for head, matrix in enumerate(weights[0].tolist(), 1)
        for i, row in enumerate(matrix)
        for j, weight in enumerate(row)
        if weight >= LEAST
    ]


def calls(batch: int, words: int, size: int, heads: int) -> Iterator[tuple[str, Call, Call]]:
    """Yield each run's name with our call and PyTorch's; they are in evaluation for the last."""
    theirs = nn.MultiheadAttention(size, heads, batch_first=True)
    ours = MultiHeadAttention.from_torch(theirs)
    x = torch.randn(batch, words, size)
    future = nn.Transformer.generate_square_subsequent_mask(words)
    their_options = {False: {}, True: {"attn_mask": future, "is_causal": True}}

    def attend_ours(*, causal: bool) -> Tensor:
        return ours(x, is_causal=causal)

    def attend_theirs(*, causal: bool) -> Tensor:
        return theirs(x, x, x, need_weights=False, **their_options[causal])[0]

    def both(go: Callable[..., None], *, causal: bool) -> tuple[Call, Call]:
        return (
            lambda: go(lambda: attend_ours(causal=causal)),
            lambda: go(lambda: attend_theirs(causal=causal)),
        )

    for run in TRAINING:
        go = backward if "backward" in run else forward
        yield run, *both(go, causal="causal" in run)
    ours.eval()
    theirs.eval()
    yield "evaluation", *both(forward, causal=False)


def forward(call: Callable[[], Tensor]) -> None:
    """Run a call without gradients."""
    with torch.no_grad():
        call()


def backward(call: Callable[[], Tensor]) -> None:
    """Run a call and go back."""
    call().sum().backward()
