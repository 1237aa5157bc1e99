"""How much of a batch is padding, for documents with real lengths, padded and packed."""

import random
from functools import cache
from types import ModuleType

import torch

ROOM = 2048  # tokens in a packed row
BATCH = 16  # rows of a padded batch
MODULES: tuple[ModuleType, ...] = (
    torch,
    torch.nn,
    torch.nn.functional,
    torch.linalg,
    torch.optim,
    torch.distributions,
)


@cache
def document_lengths() -> tuple[int, ...]:
    """Return the words of each docstring of PyTorch's public names, shuffled with a fixed seed."""
    found = {}
    for module in MODULES:
        for name in sorted(vars(module)):
            text = getattr(getattr(module, name), "__doc__", None)
            if not name.startswith("_") and isinstance(text, str) and text.strip():
                found[text] = len(text.split())
    lengths = list(found.values())
    random.Random(0).shuffle(lengths)  # noqa: S311 - no secret
    return tuple(lengths)


def first_fit(lengths: tuple[int, ...], room: int) -> list[list[int]]:
    """Put each document, the longest first, into the first row that has room for it."""
    rows: list[list[int]] = []
    for length in sorted(lengths, reverse=True):
        for row in rows:
            if sum(row) + length <= room:
                row.append(length)
                break
        else:
            rows.append([length])
    return rows


def next_fit(lengths: tuple[int, ...], room: int) -> list[list[int]]:
    """Put each document, in the order given, into the last row, or into a new one."""
    rows: list[list[int]] = [[]]
    for length in lengths:
        if sum(rows[-1]) + length > room:
            rows.append([])
        rows[-1].append(length)
    return rows


def padded_rows(lengths: tuple[int, ...]) -> list[int]:
    """Return the length that each document's row is padded to: the longest of its batch."""
    batches = [lengths[start : start + BATCH] for start in range(0, len(lengths), BATCH)]
    return [max(batch) for batch in batches for _ in batch]


def ways() -> dict[str, tuple[int, int]]:
    """Return, for each way, the tokens that layers compute, and the scores of one head."""
    lengths = document_lengths()
    rows, in_order = first_fit(lengths, ROOM), next_fit(lengths, ROOM)
    random_order, by_length = padded_rows(lengths), padded_rows(tuple(sorted(lengths)))
    own_scores = sum(length**2 for length in lengths)
    return {
        "random": (sum(random_order), sum(row**2 for row in random_order)),
        "sorted": (sum(by_length), sum(row**2 for row in by_length)),
        "in_order": (len(in_order) * ROOM, len(in_order) * ROOM**2),
        "dense": (len(rows) * ROOM, len(rows) * ROOM**2),
        "varlen": (sum(lengths), own_scores),
    }
