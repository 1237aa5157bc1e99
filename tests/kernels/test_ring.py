"""Ring attention over real processes, and how a sequence is split for it."""

import functools
import itertools
import json
import os
import subprocess
import sys

import pytest
import torch
import torch.distributed as dist

from attn_docs import ring_attention, ring_join, ring_split, ring_tiles
from docs._tools.blocks import ROOT
from tests.kit import normal

needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="forks processes")
CAUSAL, ZIGZAG = {"is_causal": True}, {"is_causal": True, "zigzag": True}
AGREEMENTS = [
    *(("agreement", 4, "float64", options) for options in ({}, CAUSAL, ZIGZAG)),
    *(("agreement", ranks, "float32", ZIGZAG) for ranks in (1, 2, 4)),
    ("agreement", 2, "float16", ZIGZAG),
    ("agreement", 2, "float64", {**ZIGZAG, "enable_gqa": True}),
]
WAYS = {
    "raises": "rank 1 has no memory left",
    "stays away": "all ranks of the ring must answer; got: ",
    "stops between steps": "its neighbours; got: ",
    "has a longer part": "query, value and options must be alike on all ranks; got ",
}
RUNS = [*AGREEMENTS, *(("failure", way) for way in WAYS), ("groups",)]
LIMITS = {"float64": 1e-12, "float32": 1e-6, "float16": 4e-3}


@functools.cache
def found() -> dict[str, dict]:
    """Start one program, which starts the processes of each run; return what each found."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "tests.kernels.ring_processes",
        json.dumps(RUNS),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return {
        json.dumps(run): result for run, result in zip(RUNS, json.loads(done.stdout), strict=True)
    }


def result_of(*run: object) -> dict:
    return found()[json.dumps(run)]


# --- processes -------------------------------------------------------------------------------


@needs_fork
@pytest.mark.parametrize("run", AGREEMENTS, ids=str)
def test_a_ring_gives_the_whole_values_and_gradients(run: tuple) -> None:
    errors = result_of(*run)["errors"]
    assert len(errors) == 4  # output, and the gradients of query, key and value
    assert max(errors) <= LIMITS[run[2]]


@needs_fork
@pytest.mark.parametrize("options", [{}, CAUSAL, ZIGZAG], ids=str)
def test_each_rank_computes_the_tiles_that_are_planned(options: dict) -> None:
    """PyTorch's own counter of multiplications, in each process, against `ring_tiles`."""
    size = (16 // (8 if options.get("zigzag") else 4)) ** 2
    planned = [size * sum(map(len, ring_tiles(rank, 4, **options))) for rank in range(4)]
    assert result_of("agreement", 4, "float64", options)["scores"] == planned


@needs_fork
@pytest.mark.parametrize("way", WAYS)
def test_a_rank_that_fails_ends_the_run_with_a_message(way: str) -> None:
    result = result_of("failure", way)
    assert WAYS[way] in result["said"]
    assert result["seconds"] < 30


@needs_fork
def test_two_rings_at_the_same_time() -> None:
    assert max(result_of("groups")["errors"]) <= 1e-12


# --- who holds and computes what -------------------------------------------------------------


def test_split_and_join_are_inverse_on_any_axis() -> None:
    x = normal(8, 3, 16)
    for ranks, zigzag, dim in (
        (1, False, 0),
        (4, False, 0),
        (4, True, 0),
        (2, True, 2),
        (8, True, -1),
    ):
        parts = ring_split(x, ranks, zigzag=zigzag, dim=dim)
        assert len(parts) == ranks
        assert ring_join(parts, zigzag=zigzag, dim=dim).equal(x)


def test_zigzag_holds_a_chunk_from_each_end() -> None:
    parts = ring_split(torch.arange(8), 4, zigzag=True, dim=0)
    assert [part.tolist() for part in parts] == [[0, 7], [1, 6], [2, 5], [3, 4]]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_all_tiles_are_computed_once(ranks: int) -> None:
    for options, chunks in (({}, ranks), (CAUSAL, ranks), (ZIGZAG, 2 * ranks)):
        plans = [ring_tiles(rank, ranks, **options) for rank in range(ranks)]
        tiles = [tile for plan in plans for step in plan for tile in step]
        wanted = [
            (a, b) for a, b in itertools.product(range(chunks), repeat=2) if b <= a or not options
        ]
        assert sorted(tiles) == wanted


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_zigzag_gives_each_rank_the_same_work_in_each_step(ranks: int) -> None:
    plans = [[len(step) for step in ring_tiles(rank, ranks, **ZIGZAG)] for rank in range(ranks)]
    assert plans == [[3] + [2] * (ranks - 1)] * ranks
    plain = [sum(map(len, ring_tiles(rank, ranks, **CAUSAL))) for rank in range(ranks)]
    assert plain == list(range(1, ranks + 1))


# --- errors ----------------------------------------------------------------------------------

X = torch.zeros(2, 6, 4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ring_split(X, 4), "x must have a length that 4 divides; got 6"),
        (lambda: ring_split(X, 2, zigzag=True), "x must have a length that 4 divides; got 6"),
        (lambda: ring_split(X, 0), "ranks must be 1 or more; got 0"),
        (lambda: ring_split(X, 2, dim=3), "dim must be from -3 to 2; got 3"),
        (lambda: ring_join([]), "the number of parts must be 1 or more; got 0"),
        (lambda: ring_join([X[:, :3]] * 2, zigzag=True),
         "each part must have an even length with zigzag; got 3"),
        (lambda: ring_tiles(2, 2), "rank must be below ranks = 2; got 2"),
        (lambda: ring_tiles(0, 2, zigzag=True),
         "zigzag must be False without is_causal, since order does not matter then; got True"),
        (lambda: ring_attention(X, X, X),
         "torch.distributed must be initialised on each rank; got no process group"),
        (lambda: ring_attention(X, X, X, zigzag=True),
         "zigzag must be False without is_causal, since order does not matter then; got True"),
        (lambda: ring_attention(X[:, :3], X[:, :3], X[:, :3], is_causal=True, zigzag=True),
         "each part must have an even length with zigzag; got 3"),
        (lambda: ring_attention(X, X[:, :3], X[:, :3]),
         "key must have leading axes and length (2, 6); got (2, 3)"),
        (lambda: ring_attention(X, X[:1, :3], X[:1, :3], enable_gqa=True),
         "key must have leading axes and length (1, 6); got (1, 3)"),
    ],
)  # fmt: skip
def test_errors_name_argument_rule_and_value(call, message: str) -> None:
    assert not dist.is_initialized()
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        call()
    assert str(caught.value) == message
