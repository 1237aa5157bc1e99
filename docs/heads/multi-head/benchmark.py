"""Our multi-head attention against PyTorch's module, with the same weights."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attn_docs import MultiHeadAttention
from docs._kit.markdown import table
from docs._kit.measure import THREADS, circumstances, paired_ratio

SIZES = ((4, 512, 512, 8), (1, 2048, 512, 8), (16, 128, 256, 4))  # batch, words, size, heads
ROUNDS = 15


def measure() -> dict[tuple[int, ...], list[float]]:
    """Return ours over PyTorch's: forward, with backward; both causal; forward in evaluation."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    measured = {}
    for batch, words, size, heads in SIZES:
        theirs = nn.MultiheadAttention(size, heads, batch_first=True)
        ours = MultiHeadAttention.from_torch(theirs)
        x = torch.randn(batch, words, size)
        future = nn.Transformer.generate_square_subsequent_mask(words)
        ratios = []
        for causal in (False, True):
            options = {"attn_mask": future, "is_causal": True} if causal else {}

            def call_ours(x: Tensor = x, causal: bool = causal, module: nn.Module = ours) -> Tensor:
                return module(x, is_causal=causal)

            def call_theirs(
                x: Tensor = x,
                options: dict[str, object] = options,
                module: nn.Module = theirs,
            ) -> Tensor:
                return module(x, x, x, need_weights=False, **options)[0]

            for run in (forward, both):
                pair = [(lambda call=call, run=run: run(call)) for call in (call_ours, call_theirs)]
                ratios.append(paired_ratio(pair[0], pair[1], ROUNDS))
        ours.eval()
        theirs.eval()

        def evaluate_ours(x: Tensor = x, module: nn.Module = ours) -> None:
            forward(lambda: module(x))

        def evaluate_theirs(x: Tensor = x, module: nn.Module = theirs) -> None:
            forward(lambda: module(x, x, x, need_weights=False)[0])

        ratios.append(paired_ratio(evaluate_ours, evaluate_theirs, ROUNDS))
        measured[batch, words, size, heads] = ratios
    torch.set_num_threads(threads)
    return measured


def forward(call: Callable[[], Tensor]) -> None:
    """Run a call without gradients."""
    with torch.no_grad():
        call()


def both(call: Callable[[], Tensor]) -> None:
    """Run a call and go back."""
    call().sum().backward()


def against_table(measured: dict[tuple[int, ...], list[float]], language: str) -> str:
    """Return the measurement as a table of ratios."""
    header = {
        "en": (
            "batch × words × size × heads",
            "forward",
            "with backward",
            "causal, forward",
            "causal, with backward",
            "forward in evaluation",
        ),
        "zh": (
            "批次 × 词数 × 维度 × 头数",
            "前向",
            "含反向",
            "因果，前向",
            "因果，含反向",
            "评估时的前向",
        ),
    }[language]
    rows = (
        (" × ".join(f"{size:,}" for size in sizes), *(f"{ratio:.2f}×" for ratio in ratios))
        for sizes, ratios in measured.items()
    )
    every = [ratio for ratios in measured.values() for ratio in ratios[:-1]]
    mean = math.exp(sum(map(math.log, every)) / len(every))
    text = {
        "en": "Our time over that of PyTorch's module, the same weights, float32: below 1, ours is "
        f"the faster. Median of {ROUNDS} pairs of runs in turns. In training, the first four "
        f"columns, the geometric mean is {mean:.2f}× and the largest {max(every):.2f}×.",
        "zh": "我们的用时除以 PyTorch 模块的用时，权重相同，float32：小于 1 时我们更快。"
        f"取 {ROUNDS} 对交替运行的中位数。训练时（前四列）几何平均 {mean:.2f}×，"
        f"最大 {max(every):.2f}×。",
    }[language]
    space = " " if language == "en" else ""
    return f"{table(header, rows)}\n\n{text}{space}{circumstances(language)}\n{{ .measured }}"


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the table that the chapter shows."""
    measured = measure()
    return {"against": lambda language: against_table(measured, language)}
