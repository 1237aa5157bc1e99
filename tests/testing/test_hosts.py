"""The hosts are right, and each bug shows where it should: by numbers, without the checker."""

import math
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from tests.testing.hosts import (
    BUGS,
    KINDS,
    NAMED_BY,
    arguments,
    build,
    cases,
    continued,
    hosts,
    kv_heads,
    shows,
)

BATCH, LENGTH, LONGER, SIZE = 3, 5, 7, 24


def made(form, kind, bug=None, num_kv_heads=None):
    """Return a host in float64 with the same weights as every other of its shape."""
    torch.manual_seed(1)
    layer = build(form, kind, bug, num_kv_heads).double()
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    return layer.eval()


def data(*shape, seed=2):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- an independent reference: one query of one head at a time


def turned(vector, position):
    """Rotate the first six of twelve numbers in the planes (0, 3), (1, 4), (2, 5)."""
    vector = vector.clone()
    for pair in range(3):
        angle = position * 10000 ** (-2 * pair / 6)
        a, b = vector[pair].item(), vector[pair + 3].item()
        vector[pair] = a * math.cos(angle) - b * math.sin(angle)
        vector[pair + 3] = a * math.sin(angle) + b * math.cos(angle)
    return vector


def one_score(layer, kind, query, key, head, at, other):
    if kind == "qk_norm":
        query, key = (
            F.rms_norm(t, (12,), norm.weight, 1e-6)
            for t, norm in ((query, layer.q_norm), (key, layer.k_norm))
        )
    if kind == "partial_rotary":
        query, key = turned(query, at), turned(key, other)
    score = (query * key).sum().item() / math.sqrt(12)
    if kind == "soft_cap":
        score = 50 * math.tanh(score / 50)
    return score - abs(at - other) / 4 ** (head + 1) if kind == "alibi" else score


def reference(layer, kind, x, sees, context=None):
    """The output of one sample; `sees(i, j)`: whether query i may attend to key j."""
    if kind == "norm_inside":
        x, context = (t if t is None else layer.norm(t) for t in (x, context))
    context = x if context is None else context
    n, m, rows = len(x), len(context), []
    for i in range(n):
        heads = []
        for h in range(4):
            query = layer.q_proj(x[i])[12 * h : 12 * h + 12]
            shared = slice(12 * (h // 2), 12 * (h // 2) + 12)
            seen = [j for j in range(m) if sees(i, j)]
            powers = {
                j: math.exp(
                    one_score(layer, kind, query, layer.k_proj(context[j])[shared], h, i + m - n, j)
                )
                for j in seen
            }
            total = sum(powers.values())
            total += math.exp(layer.sinks[h].item()) if kind == "sinks" else 0
            mixed = torch.zeros(12, dtype=torch.float64)
            for j in seen:
                mixed = mixed + powers[j] / total * layer.v_proj(context[j])[shared]
            heads.append(mixed)
        mixed = torch.cat(heads)
        if kind == "gated":
            mixed = mixed / (1 + torch.exp(-layer.gate_proj(x[i])))
        rows.append(layer.out_proj(mixed))
    return torch.stack(rows)


MASK = data(LENGTH, LENGTH, seed=3) > -0.3
MASK[1] = False  # a query that sees nothing
LONG_MASK = data(LENGTH, LONGER, seed=4) > -0.3


def all_keys(*_):
    return True


CALLS = {  # arguments, and who sees whom
    "alone": ({}, all_keys),
    "mask": ({"attn_mask": MASK}, lambda i, j: MASK[i, j]),
    "causal": ({"is_causal": True}, lambda i, j: j <= i),
    "both": ({"attn_mask": MASK, "is_causal": True}, lambda i, j: MASK[i, j] and j <= i),
    "context": ({"context": True}, all_keys),
    "context, mask": ({"context": True, "attn_mask": LONG_MASK}, lambda i, j: LONG_MASK[i, j]),
    "context, causal": (
        {"context": True, "is_causal": True},
        lambda i, j: j <= i + LONGER - LENGTH,
    ),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", KINDS)
def test_masked_host_is_right(kind, call):
    keywords, sees = CALLS[call]
    layer, x, context = made("masked", kind), data(BATCH, LENGTH, SIZE), data(BATCH, LONGER, SIZE)
    keywords = {name: context if name == "context" else kept for name, kept in keywords.items()}
    out = layer(x, **keywords)
    other = context if "context" in keywords else [None] * BATCH
    want = torch.stack(
        [reference(layer, kind, *pair[:1], sees, pair[1]) for pair in zip(x, other, strict=True)]
    )
    torch.testing.assert_close(out, want, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("form", "kind"), [pair for pair in hosts() if pair[0] != "masked"])
def test_maskless_host_is_right(form, kind):
    layer, x = made(form, kind), data(1, LENGTH, SIZE)
    want = reference(layer, kind, x[0], lambda i, j: form == "encoder" or j <= i)
    torch.testing.assert_close(layer(x)[0], want, rtol=0, atol=1e-6)


# ---- where each bug shows


def called(**keywords):
    def run(layer):
        x, context = data(BATCH, LENGTH, SIZE), data(BATCH, LONGER, SIZE, seed=5)
        return layer(x, **{k: context if k == "context" else v for k, v in keywords.items()})

    return run


def large(layer):
    """What lies behind the mask is far larger than the rest."""
    x = data(BATCH, LENGTH, SIZE)
    x[:, -1] *= 1e6
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    mask[:, -1] = False
    return layer(x, attn_mask=mask)[:, :-1]


def halved(layer):
    """The same in float16; NaN where it cannot be computed."""
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
    try:
        return layer.half()(data(BATCH, LENGTH, SIZE).half(), attn_mask=mask).double()
    except RuntimeError:
        return torch.tensor(torch.nan, dtype=torch.float64)


def training(layer):
    layer.train()
    layer.dropout.p = 0.0
    return called(is_causal=True)(layer)


def dropping(layer):
    layer.train()
    torch.manual_seed(7)
    layer.dropout.p = 0.5
    return called()(layer)


def written(layer):
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    layer(data(BATCH, LENGTH, SIZE), attn_mask=mask, is_causal=True)
    return mask.double()


def padding_of_keys(layer):
    return called(attn_mask=torch.tensor([[True, True, True, False, True]]).repeat(5, 1))(layer)


def one_sample(layer):
    return layer(data(1, LENGTH, SIZE))


SCENES = {
    "alone": called(),
    "one sample": one_sample,
    "mask": called(attn_mask=MASK | torch.eye(LENGTH, dtype=torch.bool)),
    "keys": padding_of_keys,
    "empty row": called(attn_mask=MASK),
    "causal": called(is_causal=True),
    "context": called(context=True),
    "context, causal": called(context=True, is_causal=True),
    "large": large,
    "half": halved,
    "training": training,
    "dropping": dropping,
    "written": written,
}
EVERY = set(SCENES) - {"written"}
CAUSAL = {"causal", "context, causal"}
MASKED = {"mask", "keys", "empty row", "large", "half"}
HIDDEN = MASKED | CAUSAL | {"training"}
SEEN_IN = {
    "ignored_mask": MASKED,
    "inverted_mask": MASKED,
    "transposed_mask": MASKED,
    "zero_fill": HIDDEN,
    "zero_one_added": MASKED,
    "mask_after_softmax": HIDDEN,
    "small_number_added": {"large", "half"},  # the number is float32, beside float16 an error
    "nan_in_empty_rows": {"empty row"},
    "mask_for_all_queries": {"mask", "empty row", "half"},
    "large_fill": {"half"},
    "causal_only_in_eval": {"training"},
    "causal_only_in_training": CAUSAL,
    "causal_off_by_one": CAUSAL | {"training"},
    "causal_inverted": CAUSAL | {"training"},
    "causal_from_the_first_key": {"context, causal"},
    "samples_mixed": EVERY - {"one sample"},
    "values_from_x": {"context", "context, causal"},
    "dropout_on_scores": {"dropping"},
    "dropout_without_rescale": {"dropping"},
    "dropout_in_eval": EVERY - {"training", "dropping"},
    "mask_overwritten": {"written"},
}


def outcome(layer, scene):
    torch.manual_seed(7)
    try:
        return SCENES[scene](layer)
    except RuntimeError:
        return None


@cache
def right(kind, num_kv_heads, scene):
    return outcome(made("masked", kind, None, num_kv_heads), scene)


@pytest.mark.parametrize(
    ("kind", "bug"), [(kind, bug) for form, kind, bug in cases() if form == "masked"]
)
def test_bug_shows_where_it_should(kind, bug):
    shown = set()
    for scene in SCENES:
        out, want = outcome(made("masked", kind, bug), scene), right(kind, kv_heads(bug), scene)
        if out is None or not torch.allclose(out, want, rtol=0, atol=1e-6):
            shown.add(scene)
    assert shown == SEEN_IN.get(bug, EVERY)


@pytest.mark.parametrize("kind", KINDS)
def test_right_host_goes_on_where_it_stopped(kind):
    layer, x = made("masked", kind), data(2, 6, SIZE)
    words, outs = None, []
    for part in x.split((1, 3, 2), dim=1):
        out, words = continued(layer, part, words)
        outs.append(out)
    torch.testing.assert_close(torch.cat(outs, 1), layer(x, is_causal=True), rtol=0, atol=1e-6)


# ---- what is said about the bugs


def page():
    root = Path(__file__).parents[2]
    return tomllib.loads((root / "docs/practice/bugs-that-train/bugs.toml").read_text())["bug"]


def test_bugs_are_those_of_the_page():
    assert [bug["name"] for bug in page()] == list(BUGS)


@pytest.mark.parametrize("bug", page(), ids=lambda bug: bug["name"])
def test_words_of_the_page_name_the_bug(bug):
    assert any(re.search(words, bug["cause"]) for words in NAMED_BY[bug["name"]])


@pytest.mark.parametrize(("form", "kind"), hosts())
def test_number_of_bugs(form, kind):
    number = sum(shows(form, kind, bug) for bug in BUGS)
    harmless = kind in {"qk_norm", "norm_inside", "soft_cap", "sinks"}
    assert number == {"masked": 32, "decoder": 23, "encoder": 15}[form] - (
        harmless and form != "encoder"
    )


def test_arguments_of_a_host():
    assert arguments("decoder", "qk_norm") == {"embed_dim": 24, "causal": True, "positions": False}
    assert arguments("masked", "alibi")["positions"]
    assert not arguments("encoder", "plain")["causal"]
