"""Calls that are refused: each message names the argument, the rule and the value it got."""

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attn_docs import (
    attention_by_hand,
    attention_weights,
    causal_mask,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
)

proof = settings(derandomize=True, deadline=None, max_examples=300)

# batch 2, heads 6 (in groups of 3 for grouped keys), queries 5, keys 7, sizes 4 and 9
QUERY, KEY, VALUE, GROUPED_KEY, GROUPED_VALUE = (
    torch.zeros(2, heads, length, size)
    for heads, length, size in ((6, 5, 4), (6, 7, 4), (6, 7, 9), (2, 7, 4), (2, 7, 9))
)


def sdpa(*changed_tensors: torch.Tensor, **changed: Any) -> torch.Tensor:
    tensors = [QUERY, KEY, VALUE]
    tensors[: len(changed_tensors)] = changed_tensors
    call = dict(zip(("query", "key", "value"), tensors, strict=True)) | changed
    return scaled_dot_product_attention(**call)


def grouped(*changed_tensors: torch.Tensor, **changed: Any) -> torch.Tensor:
    tensors = [QUERY, GROUPED_KEY, GROUPED_VALUE]
    tensors[: len(changed_tensors)] = changed_tensors
    return sdpa(*tensors, **({"enable_gqa": True} | changed))


Z = torch.zeros

# --- the messages, word for word --------------------------------------------------------------

REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: sdpa([[1.0]]), TypeError, "query must be a torch.Tensor; got list"),
    (
        lambda: sdpa(QUERY.int()),
        TypeError,
        "query must be float16, bfloat16, float32 or float64; got torch.int32",
    ),
    (lambda: sdpa(Z(4)), ValueError, "query must have at least 2 axes; got shape (4,)"),
    (lambda: grouped(Z(5, 4)), ValueError, "query must have at least 3 axes; got shape (5, 4)"),
    (lambda: sdpa(key=None), TypeError, "key must be a torch.Tensor; got NoneType"),
    (lambda: sdpa(key=Z(4)), ValueError, "key must have at least 2 axes; got shape (4,)"),
    (
        lambda: sdpa(key=KEY.double()),
        TypeError,
        "key must have query's dtype torch.float32; got torch.float64",
    ),
    (lambda: sdpa(key=KEY.to("meta")), ValueError, "key must be on query's device cpu; got meta"),
    (
        lambda: sdpa(key=KEY[0]),
        ValueError,
        "key must have as many axes as query (2, 6, 5, 4); got shape (6, 7, 4)",
    ),
    (lambda: sdpa(key=KEY[..., :3]), ValueError, "key must have query's last size 4; got 3"),
    (
        lambda: sdpa(key=KEY[:1]),
        ValueError,
        "key must have query's leading axes (2, 6) (a head axis of 1 is shared); got (1, 6)",
    ),
    (
        lambda: sdpa(key=GROUPED_KEY),
        ValueError,
        (
            "key must have query's leading axes (2, 6) (a head axis of 1 is shared); got (2, 2); "
            "enable_gqa=True lets each key head serve several query heads"
        ),
    ),
    (
        lambda: sdpa(key=Z(2, 0, 7, 4)),
        ValueError,
        "key must have query's leading axes (2, 6) (a head axis of 1 is shared); got (2, 0)",
    ),
    (
        lambda: sdpa(key=Z(2, 4, 7, 4)),
        ValueError,
        "key must have query's leading axes (2, 6) (a head axis of 1 is shared); got (2, 4)",
    ),
    (
        lambda: sdpa(Z(2, 5, 4), Z(1, 7, 4)),
        ValueError,
        "key must have query's leading axes (2,); got (1,)",
    ),
    (
        lambda: grouped(key=Z(2, 4, 7, 4)),
        ValueError,
        "key must have query's leading axes (2, 6), its heads a divisor of 6; got (2, 4)",
    ),
    (
        lambda: grouped(key=Z(2, 0, 7, 4)),
        ValueError,
        "key must have query's leading axes (2, 6), its heads a divisor of 6; got (2, 0)",
    ),
    (
        lambda: grouped(key=Z(1, 2, 7, 4)),
        ValueError,
        "key must have query's leading axes (2, 6), its heads a divisor of 6; got (1, 2)",
    ),
    (lambda: sdpa(value="values"), TypeError, "value must be a torch.Tensor; got str"),
    (lambda: sdpa(value=Z(9)), ValueError, "value must have at least 2 axes; got shape (9,)"),
    (
        lambda: sdpa(value=VALUE.half()),
        TypeError,
        "value must have key's dtype torch.float32; got torch.float16",
    ),
    (
        lambda: sdpa(value=VALUE.to("meta")),
        ValueError,
        "value must be on key's device cpu; got meta",
    ),
    (
        lambda: sdpa(value=VALUE[0]),
        ValueError,
        "value must have as many axes as key (2, 6, 7, 4); got shape (6, 7, 9)",
    ),
    (
        lambda: sdpa(value=VALUE[..., :1, :]),
        ValueError,
        "value must have one row for each of the 7 keys; got 1",
    ),
    (
        lambda: sdpa(value=VALUE[:1]),
        ValueError,
        (
            "value must have query and key's leading axes (2, 6) (a head axis of 1 is shared); "
            "got (1, 6)"
        ),
    ),
    (
        lambda: grouped(value=Z(2, 1, 7, 9)),
        ValueError,
        "value must have key's leading axes (2, 2) with enable_gqa; got (2, 1)",
    ),
    (
        lambda: sdpa(attn_mask=[[True]]),
        TypeError,
        "attn_mask must be a torch.Tensor or None; got list",
    ),
    (
        lambda: sdpa(attn_mask=Z(5, 7, dtype=torch.int64)),
        TypeError,
        "attn_mask must be torch.bool (True attends) or additive torch.float32; got torch.int64",
    ),
    (
        lambda: sdpa(
            QUERY.half(), KEY.half(), VALUE.half(), attn_mask=Z(5, 7, dtype=torch.float64)
        ),
        TypeError,
        (
            "attn_mask must be torch.bool (True attends) or additive torch.float32 or "
            "torch.float16; got torch.float64"
        ),
    ),
    (
        lambda: sdpa(attn_mask=Z(5, 7, device="meta")),
        ValueError,
        "attn_mask must be on the device cpu; got meta",
    ),
    (
        lambda: sdpa(attn_mask=Z(7)),
        ValueError,
        (
            "attn_mask must have 2 to 4 axes, each 1 or that of the scores (2, 6, 5, 7) counted "
            "from the right; got shape (7,)"
        ),
    ),
    (
        lambda: sdpa(attn_mask=Z(7, 5)),
        ValueError,
        (
            "attn_mask must have 2 to 4 axes, each 1 or that of the scores (2, 6, 5, 7) counted "
            "from the right; got shape (7, 5)"
        ),
    ),
    (
        lambda: attention_weights(QUERY[:, 0], KEY[:, 0], Z(2, 1, 1, 7)),
        ValueError,
        (
            "attn_mask must have 2 to 3 axes, each 1 or that of the scores (2, 5, 7) counted from "
            "the right; got shape (2, 1, 1, 7)"
        ),
    ),
    (lambda: sdpa(dropout_p=-0.1), ValueError, "dropout_p must be from 0 to 1; got -0.1"),
    (lambda: sdpa(dropout_p=1.01), ValueError, "dropout_p must be from 0 to 1; got 1.01"),
    (lambda: sdpa(dropout_p=math.nan), ValueError, "dropout_p must be finite; got nan"),
    (lambda: sdpa(dropout_p=True), TypeError, "dropout_p must be an int or a float; got True"),
    (lambda: sdpa(is_causal=1), TypeError, "is_causal must be True or False; got 1"),
    (lambda: sdpa(enable_gqa=None), TypeError, "enable_gqa must be True or False; got None"),
    (lambda: sdpa(scale=math.inf), ValueError, "scale must be finite; got inf"),
    (lambda: sdpa(scale=-math.inf), ValueError, "scale must be finite; got -inf"),
    (lambda: sdpa(scale="0.5"), TypeError, "scale must be an int or a float; got '0.5'"),
    (
        lambda: sdpa(scale=Fraction(1, 2)),
        TypeError,
        "scale must be an int or a float; got Fraction(1, 2)",
    ),
    (lambda: masked_softmax([0.0]), TypeError, "scores must be a torch.Tensor; got list"),
    (lambda: masked_softmax(Z(())), ValueError, "scores must have at least 1 axes; got shape ()"),
    (lambda: masked_softmax(Z(5, 7), dim=2), ValueError, "dim must be from -2 to 1; got 2"),
    (lambda: masked_softmax(Z(5, 7), dim=-3), ValueError, "dim must be from -2 to 1; got -3"),
    (lambda: masked_softmax(Z(5, 7), dim=True), TypeError, "dim must be an int; got True"),
    (
        lambda: masked_softmax(Z(5, 7), Z(7)),
        ValueError,
        (
            "mask must have 2 to 2 axes, each 1 or that of the scores (5, 7) counted from the "
            "right; got shape (7,)"
        ),
    ),
    (
        lambda: masked_softmax(Z(7), Z(())),
        ValueError,
        (
            "mask must have 1 to 1 axes, each 1 or that of the scores (7,) counted from the right; "
            "got shape ()"
        ),
    ),
    (lambda: causal_mask(-1), ValueError, "query_len must be 0 or more; got -1"),
    (lambda: causal_mask(2.0), TypeError, "query_len must be an int; got 2.0"),
    (lambda: causal_mask(2, "3"), TypeError, "key_len must be an int; got '3'"),
    (lambda: causal_mask(2, -3), ValueError, "key_len must be 0 or more; got -3"),
    (lambda: causal_mask(2, 3, offset=True), TypeError, "offset must be an int; got True"),
    (lambda: causal_mask(2, 3, offset=0.5), TypeError, "offset must be an int; got 0.5"),
    *(
        (
            lambda lengths=lengths: padding_mask(lengths),
            TypeError,
            f"lengths must be an integer tensor or a sequence of ints; got {lengths!r}",
        )
        for lengths in (3, None, "31", b"31", {3, 1})
    ),
    *(
        (
            lambda lengths=lengths: padding_mask(lengths),
            TypeError,
            f"lengths[1] must be an int; got {lengths[1]!r}",
        )
        for lengths in ([3, 1.0], [3, True], (3, "1"), [3, [1]], [3, None])
    ),
    (lambda: padding_mask([3, -1]), ValueError, "lengths[1] must be 0 or more; got -1"),
    (lambda: padding_mask(torch.tensor([3, -1])), ValueError, "lengths must be 0 or more; got -1"),
    (lambda: padding_mask(Z(3)), TypeError, "lengths must hold integers; got torch.float32"),
    (
        lambda: padding_mask(torch.tensor([True])),
        TypeError,
        "lengths must hold integers; got torch.bool",
    ),
    (
        lambda: padding_mask(torch.tensor([[3, 1]])),
        ValueError,
        "lengths must have one axis (batch,); got shape (1, 2)",
    ),
    (
        lambda: padding_mask(torch.tensor(3)),
        ValueError,
        "lengths must have one axis (batch,); got shape ()",
    ),
    (lambda: padding_mask([3, 1], 2), ValueError, "lengths must be at most max_len = 2; got 3"),
    (lambda: padding_mask([3, 1], 4.0), TypeError, "max_len must be an int; got 4.0"),
    (lambda: padding_mask([], -1), ValueError, "max_len must be 0 or more; got -1"),
    (
        lambda: attention_by_hand(5, [[1.0]], [[1.0]]),
        TypeError,
        "query must be a sequence of rows of numbers; got 5",
    ),
    (
        lambda: attention_by_hand([1.0], [[1.0]], [[1.0]]),
        TypeError,
        "query must be a sequence of rows of numbers; got [1.0]",
    ),
    (
        lambda: attention_by_hand([[1.0], ["2"]], [[1.0]], [[1.0]]),
        TypeError,
        "query[1][0] must be an int or a float; got '2'",
    ),
    (
        lambda: attention_by_hand([[1.0]], [[1.0]], [[0.0, math.nan]]),
        ValueError,
        "value[0][1] must be finite; got nan",
    ),
    *(
        (
            lambda key=key: attention_by_hand([[1.0]], key, [[1.0]]),
            TypeError,
            f"key must be a sequence of rows of numbers; got {key!r}",
        )
        for key in (5, [1.0], None)
    ),
    (
        lambda: attention_by_hand([[1.0]], [[1.0], []], [[1.0], [2.0]]),
        ValueError,
        "key[1] must have 1 numbers; got 0",
    ),
    (
        lambda: attention_by_hand([[1.0]], [], []),
        ValueError,
        "key must have at least one row of at least one number; got []",
    ),
    (
        lambda: attention_by_hand([[]], [[]], [[1.0]]),
        ValueError,
        "key must have at least one row of at least one number; got [[]]",
    ),
    (
        lambda: attention_by_hand([[1.0]], [[1.0], [1.0, 2.0]], [[1.0], [2.0]]),
        ValueError,
        "key[1] must have 1 numbers; got 2",
    ),
    (
        lambda: attention_by_hand([[1.0], []], [[1.0]], [[1.0]]),
        ValueError,
        "query[1] must have 1 numbers; got 0",
    ),
    (
        lambda: attention_by_hand([[1.0]], [[1.0], [2.0]], [[1.0]]),
        ValueError,
        "value must have 2 rows, one for each key; got 1",
    ),
    (
        lambda: attention_by_hand([[1.0]], [[1.0], [2.0]], [[1.0], [2.0, 3.0]]),
        ValueError,
        "value[1] must have 1 numbers; got 2",
    ),
]


@pytest.mark.parametrize(("call", "kind", "message"), REFUSED, ids=[row[2] for row in REFUSED])
def test_refused_with_these_words(
    call: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.float16(0.5)])
def test_numpys_numbers_are_numbers(number: float) -> None:
    query, key, value = (t + 1 for t in (QUERY, KEY, VALUE))
    assert sdpa(query, key, value, scale=number).equal(sdpa(query, key, value, scale=0.5))
    assert attention_by_hand([[number]], [[1.0]], [[number]]) == ([[0.5]], [[1.0]])
    assert sdpa(dropout_p=number).shape == (2, 6, 5, 9)
    two = np.int64(2)
    assert causal_mask(two, two, offset=two).equal(causal_mask(2, 2, offset=2))
    assert padding_mask([two], two).equal(padding_mask([2], 2))
    assert masked_softmax(QUERY, dim=two).equal(masked_softmax(QUERY, dim=2))


# --- any valid call, one rule broken ----------------------------------------------------------


@st.composite
def valid_calls(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the arguments of a valid call; all sizes above 1 differ."""
    b, n, m, d, e = draw(st.permutations([2, 3, 5, 7, 11]))
    axes = draw(st.integers(2, 4))
    gqa = axes > 2 and draw(st.booleans())
    kv_heads = draw(st.sampled_from([1, 4, 8]))
    heads = 8 if gqa or kv_heads == 1 else kv_heads
    lead, kv_lead = ([[], [heads], [b, heads]][axes - 2], [[], [kv_heads], [b, kv_heads]][axes - 2])
    if axes == 3 and not gqa:
        lead = kv_lead = [b]
    mask = draw(
        st.sampled_from(
            [None, Z(1, m), Z(n, 1, dtype=torch.bool), Z(*[1 for _ in lead], n, m), Z(*lead, n, m)]
        )
    )
    return {
        "query": Z(*lead, n, d),
        "key": Z(*kv_lead, m, d),
        "value": Z(*kv_lead, m, e),
        "attn_mask": mask,
        "dropout_p": draw(st.sampled_from([0, 0.5, 1.0])),
        "is_causal": draw(st.booleans()),
        "scale": draw(st.sampled_from([None, 2, -0.5])),
        "enable_gqa": gqa,
    }


def resized(tensor: torch.Tensor, axis: int, size: int) -> torch.Tensor:
    return Z(*(size if i == axis % tensor.ndim else s for i, s in enumerate(tensor.shape)))


@st.composite
def broken_masks(draw: st.DrawFn, scores: torch.Size) -> tuple[Any, str, int]:
    """Draw a mask that breaks a rule, which, and the axis of a wrong size."""
    axis = draw(st.integers(0, len(scores) - 1))
    # a mask may have any axis of size 1, so a wrong size is neither that nor right
    fault = draw(st.sampled_from(["type", "dtype", "device", "few", "many", "size"]))
    value = {
        "type": [[True]],
        "dtype": Z(*scores, dtype=torch.int64),
        "device": Z(*scores, device="meta"),
        "few": Z(scores[-1]),
        "many": Z(1, *scores),
        "size": resized(Z(*scores), axis, scores[axis] + draw(st.sampled_from([1, 2]))),
    }[fault]
    return value, fault, axis


@st.composite
def broken_calls(draw: st.DrawFn) -> tuple[dict[str, Any], str, str]:
    """Draw a call with exactly one rule broken, the argument at fault and what it got."""
    call = draw(valid_calls())
    name = draw(st.sampled_from(list(call)))
    if name in ("dropout_p", "scale"):
        wrong = [math.nan, math.inf, -math.inf, "1", True, 1j, Z(()), [0.5], Fraction(1, 2)]
        wrong += [None, -1e-9, 1 + 1e-9, 2, -1] if name == "dropout_p" else []
        value = draw(st.sampled_from(wrong))
        return call | {name: value}, name, repr(value)
    if name in ("is_causal", "enable_gqa"):
        value = draw(st.sampled_from([0, 1, None, "True", Z(()).bool(), 1.0]))
        return call | {name: value}, name, repr(value)

    scores = torch.Size([*call["query"].shape[:-1], call["key"].size(-2)])
    if name == "attn_mask":
        value, fault, axis = draw(broken_masks(scores))
    else:
        fault = draw(st.sampled_from(["type", "dtype", "device", "few", "many", "size"]))
        value = call[name]
        heads = value.ndim - 3 if value.ndim == 4 or call["enable_gqa"] else None
        # an axis whose size is fixed by another argument: n and e are free, and so are the
        # heads of the query where one key head serves them all
        free = {"query": [value.ndim - 2], "key": [], "value": [value.ndim - 1]}[name]
        if name == "query" and heads is not None and call["key"].size(heads) == 1:
            free.append(heads)
        axis = draw(st.sampled_from([a for a in range(value.ndim) if a not in free]))
        sizes = (
            {value.size(axis) + 1, 13, 1} - {value.size(axis)} - ({1} if axis == heads else set())
        )
        value = {
            "type": draw(st.sampled_from([None, "query", 1.0, value.tolist(), value.numpy()])),
            "dtype": value.to(draw(st.sampled_from([torch.int64, torch.bool, torch.complex64]))),
            "device": value.to("meta"),
            "few": value[0],
            "many": value[None],
            "size": resized(value, axis, draw(st.sampled_from(sorted(sizes)))),
        }[fault]
    got = {
        "type": type(value).__name__,
        "dtype": str(getattr(value, "dtype", "")),
        "device": "meta",
        "size": str(value.shape[axis]) if fault == "size" else "",
    }.get(fault)
    return call | {name: value}, name, got or str(tuple(value.shape))


@proof
@given(valid_calls())
def test_valid_calls_are_taken(call: dict[str, Any]) -> None:
    output = scaled_dot_product_attention(**call)
    assert output.shape == (*call["query"].shape[:-1], call["value"].size(-1))


@proof
@given(broken_calls())
def test_one_broken_rule_is_refused_by_name_and_value(broken: tuple[dict, str, str]) -> None:
    call, name, got = broken
    with pytest.raises((TypeError, ValueError)) as raised:
        scaled_dot_product_attention(**call)
    message = str(raised.value)
    assert re.match(r"[a-z_]+ must .*; got ", message, re.DOTALL)
    assert name in message
    assert got in message
