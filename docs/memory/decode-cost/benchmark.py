"""One step of decoding with each attention, against the bytes it reads and this machine's rates."""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import (
    DecodeCost,
    GroupedQueryAttention,
    KVCache,
    LatentCache,
    MultiHeadLatentAttention,
    decode_cost,
    grouped_query_attention_broadcast,
    grouped_query_attention_repeat,
    latent_decode_cost,
)
from docs._kit.markdown import table
from docs._kit.measure import circumstances, paired_ratio

EMBED_DIM, HEADS, HEAD_DIM = 1024, 16, 64
KV_RANK, ROPE_DIM = 128, 32
LENGTHS = (2048, 8192, 32768)
KV_HEADS = {"multi-head": 16, "grouped-query": 4, "multi-query": 1, "torch": 4, "repeat": 4}
# all read a shared key once for the query heads that share it, but these two
ATTEND: dict[str, Callable[..., Tensor]] = {
    "torch": F.scaled_dot_product_attention,
    "repeat": grouped_query_attention_repeat,
}
ROUNDS = 7
NAMES = {
    "en": {
        "multi-head": "multi-head, 16 key heads",
        "grouped-query": "grouped-query, 4 key heads",
        "multi-query": "multi-query, 1 key head",
        "latent": "latent, absorbed",
        "torch": "grouped-query, PyTorch's function",
        "repeat": "grouped-query, repeated keys",
    },
    "zh": {
        "multi-head": "多头，16 个键头",
        "grouped-query": "分组查询，4 个键头",
        "multi-query": "多查询，1 个键头",
        "latent": "潜在注意力，吸收形式",
        "torch": "分组查询，PyTorch 的函数",
        "repeat": "分组查询，重复键",
    },
}


class Machine(NamedTuple):
    """What one thread of this machine does in a second, in float32."""

    flops: float
    bytes: float


class Row(NamedTuple):
    """One attention: its cost at the greatest length, times over multi-head's, seconds."""

    cost: DecodeCost
    ratios: tuple[float, ...]
    least: float
    measured: float


def cost(name: str, length: int) -> DecodeCost:
    """Return what the attention of one step computes and reads."""
    if name == "latent":
        return latent_decode_cost(
            length, num_heads=HEADS, kv_rank=KV_RANK, rope_dim=ROPE_DIM, bytes_per_number=4
        )
    return decode_cost(
        length,
        num_heads=HEADS,
        num_kv_heads=KV_HEADS[name],
        head_dim=HEAD_DIM,
        bytes_per_number=4,
    )


def build(name: str) -> nn.Module:
    """Return the module of an attention."""
    attend = ATTEND.get(name, grouped_query_attention_broadcast)
    if name == "latent":
        return MultiHeadLatentAttention(
            EMBED_DIM,
            HEADS,
            kv_rank=KV_RANK,
            head_dim=HEAD_DIM,
            rope_dim=ROPE_DIM,
            value_dim=HEAD_DIM,
            attend=attend,
        ).eval()
    return GroupedQueryAttention(EMBED_DIM, HEADS, KV_HEADS[name], bias=False, attend=attend).eval()


def step(name: str, length: int) -> Callable[[], object]:
    """Return a call that decodes the last of `length` positions, again and again."""
    module, x = build(name), torch.randn(1, 1, EMBED_DIM)
    cache: KVCache | LatentCache
    if name == "latent":
        cache = LatentCache(1, KV_RANK, ROPE_DIM, length)
        cache.entries.normal_()
    else:
        cache = KVCache(1, KV_HEADS[name], HEAD_DIM, length)
        cache.key.normal_()
        cache.value.normal_()

    def call() -> object:
        cache.length = length - 1
        return module(x, is_causal=True, cache=cache)

    return call


def shortest(call: Callable[[], object]) -> float:
    """Return the shortest of some times: what a busy machine adds is left out."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def measure_machine() -> Machine:
    """Measure how fast one thread multiplies matrices and reads memory."""
    square = torch.randn(1024, 1024)
    read = torch.randn(64 * 2**20)  # 256 MiB, far more than the caches of a processor hold
    flops = 2 * 1024**3 / shortest(lambda: square @ square)
    return Machine(flops, read.nbytes / shortest(read.sum))


@torch.no_grad()
def measure() -> tuple[Machine, dict[str, Row]]:
    """Measure the machine and all attentions, in float32, on one thread."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    machine = measure_machine()
    ratios: dict[str, list[float]] = {name: [] for name in NAMES["en"]}
    measured = {}
    for length in LENGTHS:
        calls = {name: step(name, length) for name in NAMES["en"]}
        for name, call in calls.items():
            ratios[name].append(paired_ratio(call, calls["multi-head"], ROUNDS))
            if length == LENGTHS[-1]:
                measured[name] = shortest(call)
    rows = {}
    for name in NAMES["en"]:
        weights = sum(parameter.numel() for parameter in build(name).parameters())
        attention = cost(name, LENGTHS[-1])
        whole = attention.plus(DecodeCost(2 * weights, 4 * weights))
        least = whole.seconds(flops_per_second=machine.flops, bytes_per_second=machine.bytes)
        rows[name] = Row(attention, tuple(ratios[name]), least, measured[name])
    torch.set_num_threads(threads)
    return machine, rows


def machine_table(machine: Machine, language: str) -> str:
    """Return the machine's rates as a table."""
    header = {
        "en": ("one thread, float32", "measured"),
        "zh": ("一个线程，float32", "实测"),
    }[language]
    names = {
        "en": ("computes", "reads", "FLOP per byte where both take as long"),
        "zh": ("计算", "读取", "两者一样久时，每字节的 FLOP"),
    }[language]
    values = (
        f"{machine.flops / 1e9:.1f} GFLOP/s",
        f"{machine.bytes / 1e9:.1f} GB/s",
        f"{machine.flops / machine.bytes:.1f}",
    )
    text = {
        "en": "A product of two matrices of 1,024 × 1,024, and the sum of 256 MiB.",
        "zh": "两个 1,024 × 1,024 矩阵相乘，以及对 256 MiB 求和。",
    }[language]
    space = " " if language == "en" else ""
    caption = f"{text}{space}{circumstances(language, threads=1)}\n{{ .measured }}"
    return f"{table(header, list(zip(names, values, strict=True)))}\n\n{caption}"


def steps_table(rows: dict[str, Row], language: str) -> str:
    """Return the steps: bytes and times over multi-head's, and the prediction."""
    header = {
        "en": (
            "attention",
            "FLOP per byte",
            "bytes",
            *(f"time, {length:,}" for length in LENGTHS),
            "predicted",
            "measured",
        ),
        "zh": (
            "注意力",
            "每字节 FLOP",
            "字节",
            *(f"时间，{length:,}" for length in LENGTHS),
            "预测",
            "实测",
        ),
    }[language]
    most = rows["multi-head"].cost.bytes
    lines = [
        (
            NAMES[language][name],
            f"{row.cost.intensity:.1f}",
            f"{row.cost.bytes / most:.3f}×",
            *(f"{ratio:.3f}×" for ratio in row.ratios),
            f"{1000 * row.least:.1f} ms",
            f"{1000 * row.measured:.1f} ms",
        )
        for name, row in rows.items()
    ]
    text = {
        "en": f"One step of one layer: embed_dim {EMBED_DIM:,}, {HEADS} query heads of {HEAD_DIM}, "
        f"latent vectors of {KV_RANK} and {ROPE_DIM} rotary numbers, batch 1, float32. Bytes of "
        f"the cache and times are over those of multi-head attention, times with {LENGTHS[0]:,}, "
        f"{LENGTHS[1]:,} and {LENGTHS[2]:,} words in the cache. Predicted and measured: for the "
        f"last of these, with the weights; the shortest of {ROUNDS} times.",
        "zh": f"一层的一步：embed_dim {EMBED_DIM:,}，{HEADS} 个 {HEAD_DIM} 维的查询头，"
        f"潜在向量 {KV_RANK} 维，旋转部分 {ROPE_DIM} 维，批次 1，float32。"
        f"缓存的字节数和时间都是与多头注意力的比值，时间分别是缓存里有 {LENGTHS[0]:,}、"
        f"{LENGTHS[1]:,} 和 {LENGTHS[2]:,} 个词时的。预测和实测都取最后一种长度，权重也算在内，"
        f"实测是 {ROUNDS} 次中最短的一次。",
    }[language]
    space = " " if language == "en" else ""
    caption = f"{text}{space}{circumstances(language, threads=1)}\n{{ .measured }}"
    return f"{table(header, lines)}\n\n{caption}"


def main() -> dict[str, Callable[[str], str]]:
    """Measure and return the tables that the chapter shows and its figure reads."""
    machine, rows = measure()
    return {
        "machine": lambda language: machine_table(machine, language),
        "steps": lambda language: steps_table(rows, language),
    }
