"""What rotating costs a decoding step: without positions, as in the package, with a table."""

from collections.abc import Callable

import torch
from torch import Tensor

from attn_docs import KVCache, MultiHeadAttention, RotaryEmbedding
from docs._kit.measure import kernel_of, one_thread, operations_of, paired_ratio
from docs._kit.measured import Measurement, measurement

EMBED_DIM, HEADS = 1024, 16
HEAD_DIM = EMBED_DIM // HEADS
CACHED = (512, 8192)
WAYS = ("none", "rotary", "table")
ROUNDS = 301


class Table(RotaryEmbedding):
    """Rotate by cosines and sines that were made before, as a model does for all its layers."""

    def make(self, position: int) -> None:
        """Make the cosines and sines of a position."""
        omega = self.theta ** -(torch.arange(0, HEAD_DIM, 2) / HEAD_DIM)
        self.cos, self.sin = (position * omega).cos(), (position * omega).sin()

    def rotate(self, query: Tensor, key: Tensor, _positions: Tensor) -> tuple[Tensor, Tensor]:
        """Rotate queries and keys by the angles of that position."""
        return self._turn(query), self._turn(key)

    def _turn(self, x: Tensor) -> Tensor:
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * self.cos - b * self.sin, a * self.sin + b * self.cos), dim=-1)


def step(way: str, cached: int) -> Callable[[], Tensor]:
    """Return a layer's step for one token after `cached` others."""
    torch.manual_seed(0)
    rotary = {"none": None, "rotary": RotaryEmbedding(HEAD_DIM), "table": Table(HEAD_DIM)}[way]
    if isinstance(rotary, Table):
        rotary.make(cached)
    attend = MultiHeadAttention(EMBED_DIM, HEADS, rotary=rotary)
    cache = KVCache(1, HEADS, HEAD_DIM, cached + 1)
    cache.update(*torch.randn(2, 1, HEADS, cached, HEAD_DIM).unbind())
    x = torch.randn(1, 1, EMBED_DIM)

    def call() -> Tensor:
        cache.length = cached  # the same token each time
        with torch.no_grad():
            output: Tensor = attend(x, is_causal=True, cache=cache)
        return output

    return call


def operations(way: str) -> int:
    """Return how many operations a layer's step takes."""
    return operations_of(step(way, CACHED[0])).total()


def measure() -> dict[str, Measurement]:
    """Measure on one thread; each time over that of the step without positions."""
    values = []
    with one_thread():
        for cached in CACHED:
            calls = {way: step(way, cached) for way in WAYS}
            for way, call in calls.items():
                ratio = 1.0 if way == "none" else paired_ratio(call, calls["none"], ROUNDS)
                of = {"way": way, "cached": cached, "kernel": kernel_of(call)}
                values.append({**of, "quantity": "time", "value": ratio, "unit": "ratio"})
    return {"step": measurement(values, threads=1)}
