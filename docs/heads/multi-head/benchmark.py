"""Our multi-head attention against PyTorch's module, with the same weights."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from attn_docs import MultiHeadAttention
from docs._kit.measure import THREADS, kernel_of, paired_ratio
from docs._kit.measured import Measurement, measurement

SIZES = ((4, 512, 512, 8), (1, 2048, 512, 8), (16, 128, 256, 4))  # batch, words, size, heads
TRAINING = ("forward", "backward", "causal forward", "causal backward")
RUNS = (*TRAINING, "evaluation")
ROUNDS = 15

Call = Callable[[], object]


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
    return {"against": measurement(values, threads=THREADS)}


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
