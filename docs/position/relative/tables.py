"""What a bias costs: its bytes by the formula, and the time of calls that take it."""

import math
from collections.abc import Callable

import torch
import transformers

from attn_docs import alibi_slopes, t5_bucket
from docs._kit.markdown import table
from docs._kit.measured import load
from docs._kit.text import texts

from .benchmark import (
    BATCH,
    CLOSED,
    HEAD_DIM,
    HEADS,
    LEARNER_HEADS,
    LEARNER_SIZE,
    LENGTH,
    LONG,
    SEEDS,
    SHORT,
    STEPS,
    TASKS,
    TRAINED,
    VALUES,
    WAYS,
)
from .figures import MANY, edges

BIG_HEADS, BIG_LENGTH, BIG_DIM, BYTES = 32, 16_384, 128, 4  # a bias in float32


def bytes_of(queries: int) -> int:
    """Return the bytes of a bias for so many queries of the long text."""
    return BIG_HEADS * queries * BIG_LENGTH * BYTES


def wider() -> int:
    """Return the bytes of the queries, keys and values with two more elements each."""
    return 3 * BIG_HEADS * BIG_LENGTH * (BIG_DIM + 2) * BYTES


def bytes_told(language: str) -> str:
    """Return what must be stored for a bias, in its forms."""
    text = texts(__file__, "bytes", language)
    sizes = {
        "matrix": ("$h \\cdot n \\cdot m$", f"{bytes_of(BIG_LENGTH) / 2**30:.0f} GiB"),
        "row": ("$3\\, h \\cdot n \\cdot (d + 2)$", f"{wider() / 2**20:.0f} MiB"),
        "decode": ("$h \\cdot m$", f"{bytes_of(1) / 2**20:.0f} MiB"),
        "slopes": ("$h$", f"{BIG_HEADS * BYTES} B"),
    }
    rows = [(text[name], count, size) for name, (count, size) in sizes.items()]
    caption = text["caption"].format(heads=BIG_HEADS, size=BIG_DIM, tokens=f"{BIG_LENGTH:,}")
    return f"{table(text['header'], rows)}\n\n{caption}"


def ways(language: str) -> str:
    """Return the measured time and memory of a call with each kind of bias."""
    text, found = texts(__file__, "ways", language), load(__file__)["ways"]
    rows = [
        (
            text[way],
            text["math" if way == "learned" else "fused"],
            *(
                number
                for backward in (False, True)
                for number in (
                    f"{found('time', way=way, backward=backward):.0f} ms",
                    f"{found('memory', way=way, backward=backward):.1f} MiB",
                )
            ),
        )
        for way in WAYS
    ]
    sizes = {"heads": HEADS, "size": HEAD_DIM, "length": f"{LENGTH:,}"}
    sizes["mask"] = f"{HEADS * LENGTH**2 * BYTES / 2**20:.0f} MiB"
    caption = found.caption(text["caption"].format(**sizes), language)
    return f"{table(text['header'], rows, (0, 1))}\n\n{caption}"


def shares(task: str, way: str, length: int) -> list[float]:
    """Return what the seeds of a learner answered right, from the worst to the best."""
    wanted = {"task": task, "way": way, "length": length}
    values = load(__file__)["learners"].values
    return sorted(v["value"] for v in values if wanted.items() <= v.items())


def span(task: str, way: str, length: int) -> str:
    """Return the worst and the best of the seeds, once if they round to the same."""
    found = shares(task, way, length)
    ends = [f"{share:.0%}" for share in (found[0], found[-1])]
    return ends[0] if ends[0] == ends[1] else f"{ends[0][:-1]}\u2013{ends[1]}"


def learners(language: str) -> str:
    """Return what a layer learns with each kind of bias, near and far."""
    text, found = texts(__file__, "learners", language), load(__file__)["learners"]
    sizes = {"trained": TRAINED, "long": LONG, "steps": STEPS, "batch": BATCH}
    sizes |= {"heads": LEARNER_HEADS, "size": LEARNER_SIZE, "seeds": len(SEEDS)}
    value = f"−{-CLOSED:.0f}"
    rows = [
        (
            text[way].format(closed=untouched(), value=value, short=SHORT["max_distance"]),
            *(span(task, way, length) for task in TASKS for length in (TRAINED, LONG)),
        )
        for way in ("none", "alibi", "t5", "closed", "short")
    ]
    header = [cell.format(**sizes) for cell in text["header"]]
    told = text["caption"].format(**sizes, guess=f"{1 / VALUES:.0%}")
    return f"{table(header, rows)}\n\n{found.caption(told, language)}"


def untouched() -> int:
    """Return how many buckets no text of the training reached."""
    (number,) = {v["closed"] for v in load(__file__)["learners"].values if "closed" in v}
    return int(number)


TABLES: dict[str, Callable[[str], str]] = {
    "bytes": bytes_told,
    "ways": ways,
    "learners": learners,
}


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences name."""
    twelve, starts = alibi_slopes(MANY).tolist(), edges(bidirectional=False)
    found = load(__file__)["ways"]

    def ratio(backward: bool) -> str:
        times = [found("time", way=way, backward=backward) for way in ("learned", "alibi")]
        return f"{times[0] / times[1]:.1f}"

    return {
        "ninth": f"{twelve[8]:.2f}",
        "short": str(SHORT["max_distance"]),
        "last_bucket": str(starts[-1]),
        "encoder_last": str(edges(bidirectional=True)[-1]),
        "one_ahead": str(int(t5_bucket(torch.tensor(1), bidirectional=True))),
        "matrix": f"{bytes_of(BIG_LENGTH) / 2**30:.0f} GiB",
        "trained": f"{BIG_LENGTH // 4:,}",
        "read": f"{BIG_LENGTH:,}",
        "far": "10,000",
        "e_2": f"{math.exp(2):.1f}",
        "ln_2": f"{math.log(2):.2f}",
        "slower_forward": ratio(backward=False),
        "slower_backward": ratio(backward=True),
        "transformers": transformers.__version__,
        "far_factor": f"{LONG // TRAINED}",
        "untouched": str(untouched()),
        "t5_latest": span("latest", "t5", TRAINED),
        "alibi_latest": span("latest", "alibi", TRAINED),
        "short_back_far": span("back", "short", LONG),
        "short_latest_far": span("latest", "short", LONG),
        "t5_back_far": span("back", "t5", LONG),
        "alibi_back": span("back", "alibi", TRAINED),
    }
