"""The model that the chapter on conversion trains, converted in every way, each loss once."""

import copy
import functools
import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attn_docs import MultiHeadAttention, multi_head_to_grouped_query
from attn_docs.practice.bugs_that_train import EMBED_DIM, NextWord, rounds
from docs._kit.measure import one_thread

HEADS, STEPS, MORE = 4, 120, 6  # 6 is 5 % of 120
RATE = 0.02  # before and after: as "the same settings" asks
METHODS = ("mean", "first", "random")
SEEDS = 5  # models that the table is about; figures show the first
AT = (0, MORE, 2 * MORE)  # further steps after which the losses are shown
# who may share with whom: the three ways to make two pairs of four heads
PAIRINGS = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))
# the orders of heads whose first of each pair is kept: the first and the third of the four
FIRSTS = tuple(
    (order[a], order[1 - a], order[2 + b], order[3 - b])
    for order in PAIRINGS
    for a, b in itertools.product((0, 1), repeat=2)
)
STRONG = 1  # the head of the first model that the page names


def loss(model: nn.Module, words: Tensor) -> Tensor:
    """Return the mean loss of the next word, in nats."""
    scores, is_word = model(words[:, :-1]), words[:, :-1] > 0
    return cross_entropy(scores[is_word], words[:, 1:][is_word])


def train(model: nn.Module, steps: int, rate: float, seed: int) -> list[float]:
    """Train; return the loss on the test's rows before the first step and after each."""
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    generator = torch.Generator().manual_seed(seed)
    losses = [_tested(model)] if steps <= 2 * MORE else []
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model, rounds(32, generator)).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if steps <= 2 * MORE:
            losses.append(_tested(model))
    return losses


@torch.no_grad()
def _tested(model: nn.Module) -> float:
    return loss(model, rounds(256, torch.Generator().manual_seed(1))).item()


@functools.cache
def trained(seed: int = 0) -> NextWord:
    """Return the trained multi-head model: its weights and its data are drawn by the seed."""
    with one_thread():
        torch.manual_seed(seed)
        model = NextWord(MultiHeadAttention(EMBED_DIM, HEADS)).double()
        train(model, STEPS, RATE, seed=10 * seed)
        return model


def attention(seed: int = 0) -> MultiHeadAttention:
    """Return the trained model's multi-head attention."""
    module = trained(seed).attention
    assert isinstance(module, MultiHeadAttention)  # noqa: S101 - for the type checker
    return module


def with_attention(module: nn.Module, seed: int = 0) -> NextWord:
    """Return a copy of the trained model around another attention."""
    model = copy.deepcopy(trained(seed))
    model.attention = module
    return model


def tested(module: nn.Module) -> float:
    """Return the loss of the trained model with another attention."""
    with one_thread():
        return _tested(with_attention(module))


@functools.cache
def losses(method: str, kv_heads: int, seed: int = 0) -> tuple[float, ...]:
    """Return the losses after 0, 1, … further steps; "none" is no conversion."""
    with one_thread():
        old = attention(seed)
        torch.manual_seed(seed)
        module: nn.Module = copy.deepcopy(old)
        if method == "rotated":
            module = multi_head_to_grouped_query(aligned(old, kv_heads), kv_heads)
        elif method != "none":
            module = multi_head_to_grouped_query(old, kv_heads, method=method)
        model = with_attention(module, seed)
        return tuple(train(model, 2 * MORE, RATE, seed=10 * seed + 2))


@torch.no_grad()
def reordered(module: MultiHeadAttention, order: Sequence[int]) -> MultiHeadAttention:
    """Return the same attention with its heads in another order."""
    new, heads = copy.deepcopy(module), list(order)
    for layer in (new.q_proj, new.k_proj, new.v_proj):
        for rows in layer.parameters():
            rows.copy_(rows.view(HEADS, -1, *rows.shape[1:])[heads].flatten(0, 1))
    columns = new.out_proj.weight
    columns.copy_(columns.view(EMBED_DIM, HEADS, -1)[:, heads].flatten(1))
    return new


@torch.no_grad()
def aligned(module: MultiHeadAttention, kv_heads: int) -> MultiHeadAttention:
    """Return the same attention, each head rotated towards the first of its group."""
    new, size = copy.deepcopy(module), module.head_dim
    for i in range(HEADS):
        first = i - i % (HEADS // kv_heads)
        mine, its = (slice(j * size, (j + 1) * size) for j in (i, first))
        key, value = (
            torch.cat((layer.weight, layer.bias.unsqueeze(1)), dim=1)
            for layer in (new.k_proj, new.v_proj)
        )
        rotation = nearest_rotation(key[mine], key[its])
        for layer in (new.q_proj, new.k_proj):
            for rows in layer.parameters():
                rows[mine] = rotation @ rows[mine]
        rotation = nearest_rotation(value[mine], value[its])
        for rows in new.v_proj.parameters():
            rows[mine] = rotation @ rows[mine]
        new.out_proj.weight[:, mine] = new.out_proj.weight[:, mine] @ rotation.T
    return new


def nearest_rotation(rows: Tensor, target: Tensor) -> Tensor:
    """Return the orthogonal matrix that brings the rows nearest to the target's."""
    left, _, right = torch.linalg.svd(target @ rows.T)
    return left @ right


@functools.cache
def choices() -> dict[str, tuple[float, ...]]:
    """Return the losses right after conversion to two heads, for every choice there is."""
    module = attention()
    found = {
        "mean": [multi_head_to_grouped_query(reordered(module, order), 2) for order in PAIRINGS],
        "first": [
            multi_head_to_grouped_query(reordered(module, o), 2, method="first") for o in FIRSTS
        ],
        "turned": [
            multi_head_to_grouped_query(aligned(reordered(module, o), 2), 2) for o in PAIRINGS
        ],
    }
    return {name: tuple(map(tested, modules)) for name, modules in found.items()}


def by_strong() -> tuple[list[float], list[float]]:
    """Return the losses where one head of each pair is kept: with the strong head, without it."""
    found: tuple[list[float], list[float]] = ([], [])
    for order, value in zip(FIRSTS, choices()["first"], strict=True):
        found[STRONG not in (order[0], order[2])].append(value)
    return found
