"""Grouped-query attention by repeated keys, by broadcast ones, and PyTorch's own."""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attn_docs import (
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
    masked_softmax,
)
from docs._kit.markdown import table
from docs._kit.measure import circumstances, paired_ratio, peak_mebibytes

HEADS, KV_HEADS, HEAD_DIM = 32, 8, 128
ROUNDS = 15
# name: queries, keys
CASES = {"one word": (1, 8192), "a text": (384, 384)}


class Measurement(NamedTuple):
    """Time relative to the repeat form's, and peak memory in MiB."""

    ratio: float
    mebibytes: float


def attend_matmul(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend on five axes with `@`, which copies what it broadcasts."""
    grouped = query.unflatten(1, (key.size(1), -1))  # b g r n d
    scores = grouped * query.size(-1) ** -0.5 @ key.unsqueeze(2).mT  # b g r n m
    return (masked_softmax(scores) @ value.unsqueeze(2)).flatten(1, 2)


def attend_torch(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Attend with PyTorch's function, which is told that heads are shared."""
    return F.scaled_dot_product_attention(query, key, value, enable_gqa=True)


WAYS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "repeat": grouped_query_attention_repeat,
    "matmul": attend_matmul,
    "broadcast": grouped_query_attention_broadcast,
    "torch": attend_torch,
    "multi-head": F.scaled_dot_product_attention,
}
NAMES = {
    "en": {
        "repeat": "repeat, `repeat_interleave`",
        "matmul": "five axes, `@`",
        "broadcast": "five axes, `einsum`",
        "torch": "PyTorch, `enable_gqa=True`",
        "multi-head": "multi-head, PyTorch",
    },
    "zh": {
        "repeat": "重复，`repeat_interleave`",
        "matmul": "五个轴，`@`",
        "broadcast": "五个轴，`einsum`",
        "torch": "PyTorch，`enable_gqa=True`",
        "multi-head": "多头，PyTorch",
    },
}


@torch.no_grad()
def measure() -> dict[str, dict[str, Measurement]]:
    """Measure all ways on the sizes of one layer of Llama 3 8B, in float32, on one thread."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    measured = {}
    for case, (n, m) in CASES.items():
        query = torch.randn(1, HEADS, n, HEAD_DIM)
        key, value = torch.randn(2, 1, KV_HEADS, m, HEAD_DIM).unbind()
        shared = (query, key, value)
        # multi-head attention has as many key heads as query heads, and no need to share
        own = (query, *torch.randn(2, 1, HEADS, m, HEAD_DIM).unbind())
        calls = {
            name: (lambda way=way, given=own if name == "multi-head" else shared: way(*given))
            for name, way in WAYS.items()
        }
        peaks = {name: peak_mebibytes(call) for name, call in calls.items()}
        measured[case] = {
            name: Measurement(paired_ratio(call, calls["repeat"], ROUNDS), peaks[name])
            for name, call in calls.items()
        }
    torch.set_num_threads(threads)
    return measured


def forms_table(measured: dict[str, dict[str, Measurement]], language: str) -> str:
    """Return the measurement as a table: time over the repeat form's, and peak memory."""
    header = {
        "en": ("form", "one word, time", "one word, memory", "a text, time", "a text, memory"),
        "zh": ("写法", "一个词，时间", "一个词，内存", "一段文本，时间", "一段文本，内存"),
    }[language]
    rows = (
        (
            NAMES[language][name],
            *(
                cell
                for case in CASES
                for way in (measured[case][name],)
                for cell in (f"{way.ratio:.2f}×", f"{way.mebibytes:,.0f} MiB")
            ),
        )
        for name in WAYS
    )
    (n, m), (text_n, _) = CASES.values()
    text = {
        "en": f"{HEADS} query heads, {KV_HEADS} key and value heads of {HEAD_DIM}, batch 1, "
        f"float32, forward. One word: {n} query and {m:,} keys. A text: {text_n} queries and as "
        f"many keys. Multi-head attention has {HEADS} key and value heads instead. Time over the "
        "repeat form's; memory that a call adds at its peak, in a fresh process.",
        "zh": f"{HEADS} 个查询头，{KV_HEADS} 个键头和值头，每个头 {HEAD_DIM} 维，批次 1，"
        f"float32，仅前向。一个词：{n} 个查询，{m:,} 个键。一段文本：{text_n} 个查询，"
        f"键也一样多。多头注意力则有 {HEADS} 个键头和值头。时间是与重复写法的比值；"
        "内存是一次调用在全新进程里新增的峰值。",
    }[language]
    space = " " if language == "en" else ""
    caption = f"{text}{space}{circumstances(language, threads=1)}\n{{ .measured }}"
    return f"{table(header, rows)}\n\n{caption}"


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the table that the chapter shows and its figure reads."""
    measured = measure()
    return {"forms": lambda language: forms_table(measured, language)}
