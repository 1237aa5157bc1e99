"""One packed row: a dense mask, documents one by one, and FlexAttention compiled."""

from collections.abc import Callable
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from attn_docs import causal_mask, document_ids, document_mask
from docs._kit.measure import allocated_mebibytes, kernel_of, one_thread, paired_ratio
from docs._kit.measured import Measurement, measurement

from .waste import ROOM, document_lengths, first_fit

HEADS, HEAD_DIM = 8, 64
ROUNDS = 15
LONG, EACH = 16_384, 1024  # a long row, of documents of this length, to build a block mask for


def packed_row() -> list[int]:
    """Return the lengths of the middle row of those that packing makes, filled up by padding."""
    rows = first_fit(document_lengths(), ROOM)
    row = rows[len(rows) // 2]
    return [*row, ROOM - sum(row)] if sum(row) < ROOM else row


def calls() -> tuple[dict[str, Callable[[], Tensor]], Callable[[], BlockMask]]:
    """Return a call of each way to attend within a row's documents, and one that builds blocks."""
    lengths, n = packed_row(), ROOM
    ids = document_ids(lengths)
    rows = torch.randn(3, 1, HEADS, n, HEAD_DIM).unbind()
    mask = document_mask(ids) & causal_mask(n)
    parts = [x.split(lengths, dim=2) for x in rows]

    def mod(_b: Tensor, _h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        return cast("Tensor", (q >= kv) & (ids[q] == ids[kv]))

    def loop() -> Tensor:
        documents = zip(*parts, strict=True)
        outputs = [F.scaled_dot_product_attention(*one, is_causal=True) for one in documents]
        return torch.cat(outputs, dim=2)

    def build() -> BlockMask:
        return create_block_mask(mod, None, None, n, n, device="cpu")

    blocks, compiled = build(), cast("Any", torch.compile(flex_attention))
    return {
        "dense": lambda: F.scaled_dot_product_attention(*rows, attn_mask=mask),
        "leaky": lambda: F.scaled_dot_product_attention(*rows, is_causal=True),
        "flex": lambda: cast("Tensor", compiled(*rows, block_mask=blocks)),
        "loop": loop,
    }, build


def built() -> dict[str, float]:
    """Return the MiB that building a long row's block mask takes, uncompiled and compiled."""

    def mod(_b: Tensor, _h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        return cast("Tensor", (q >= kv) & (q // EACH == kv // EACH))

    def build(create: Callable[..., object]) -> float:
        return allocated_mebibytes(lambda: create(mod, None, None, LONG, LONG, device="cpu"))

    return {
        "plain": build(create_block_mask),
        "compiled": build(cast("Any", torch.compile(create_block_mask))),
    }


@torch.no_grad()
def measure() -> dict[str, Measurement]:
    """Measure all ways in float32, on one thread; what should be equal is compared first."""
    values = []
    with one_thread():
        torch.manual_seed(0)
        ways, build = calls()
        for name, call in ways.items():
            if name != "leaky" and not torch.allclose(call(), ways["dense"](), atol=1e-5):
                raise ValueError(f"{name} must equal the dense mask; got something else")
            ratio = paired_ratio(call, ways["dense"], ROUNDS)
            kernel = "FlexAttention, compiled" if name == "flex" else kernel_of(call)
            told = {"way": name, "quantity": "time", "unit": "ratio", "kernel": kernel}
            values.append(told | {"value": ratio})
        told = {"way": "build", "quantity": "time", "unit": "ratio", "kernel": kernel_of(build)}
        values.append(told | {"value": paired_ratio(build, ways["dense"], ROUNDS)})
        for way, memory in built().items():
            values.append(
                {"way": way, "quantity": "memory", "kernel": "create_block_mask"}
                | {"unit": "MiB", "value": memory}
            )
    return {"row": measurement(values, threads=1)}
