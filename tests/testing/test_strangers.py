"""The wrong strangers differ from a right layer, and the right ones are right: by numbers."""

import itertools
import math
import re

import pytest
import torch
import torch.nn.functional as F

from tests.testing.strangers import HARD, RIGHT, RIGHT_FUNCTIONS, WRONG, WRONG_FUNCTIONS
from tests.testing.strangers_heads import Normed, Rotary
from tests.testing.strangers_kit import Cached, Decoder, Encoder, Layer, rotate, rotate_neighbours

BASES = (Cached, Rotary, Normed, Decoder, Encoder, Layer)
PROJECTIONS = {"q_proj", "k_proj", "v_proj", "out_proj"}
ARGUMENTS_OF = {"of_torch_module": 3}


def data(*shape, seed=2):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def filled(layer):
    """Give a layer random weights, the same for the same names."""
    for number, (_, parameter) in enumerate(sorted(layer.named_parameters())):
        torch.manual_seed(number)
        torch.nn.init.normal_(parameter, std=0.4)
    return layer.eval()


def first(out):
    return out[0] if isinstance(out, tuple) else out


# ---- the layers that are spoilt, and the rotations


@pytest.mark.parametrize("base", [Encoder, Decoder, Layer])
def test_base_is_right(base):
    layer, x = filled(base().double()), data(3, 7, 40)
    q, k, v = layer.qkv(x)
    expected = F.scaled_dot_product_attention(q, k, v, is_causal=base is Decoder)
    out = layer.out_proj(expected.transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x), out)


def test_layer_with_mask_flag_and_context():
    layer, x, context = filled(Layer().double()), data(3, 5, 40), data(3, 7, 40, seed=4)
    mask = data(5, 7) > -0.5
    q, k, v = layer.qkv(x, context)
    seen = mask & torch.ones(5, 7, dtype=torch.bool).tril(2)
    some = seen.any(-1, keepdim=True)
    out = F.scaled_dot_product_attention(q, k, v, seen | ~some) * some
    out = layer.out_proj(out.transpose(1, 2).flatten(2))
    torch.testing.assert_close(layer(x, mask, True, context), out)


@pytest.mark.parametrize("turn", [rotate, rotate_neighbours])
def test_rotations_are_relative(turn):
    q, k, places = data(1, 8), data(1, 8, seed=3), torch.arange(1)
    near = turn(q, places + 3) @ turn(k, places + 1).mT
    far = turn(q, places + 13) @ turn(k, places + 11).mT
    torch.testing.assert_close(near, far, rtol=0, atol=1e-5)
    assert not torch.allclose(near, q @ k.mT)


# ---- the wrong ones differ


def calls(layer):
    """Yield what the layer gives in many calls, gradients and exceptions among them."""
    x = data(3, 5, layer_size(layer))
    mask = (data(5, 5, seed=6) > -0.5) | torch.eye(5, dtype=torch.bool)
    same, other = data(3, 5, 40, seed=7), data(3, 7, 40, seed=8)
    wide = data(5, 7, seed=9) > -0.5
    for training, dtype in itertools.product((False, True), (torch.float64, torch.float16)):
        layer.train(training).to(dtype)
        for arguments in (
            {},
            {"attn_mask": mask},
            {"is_causal": True},
            {"attn_mask": mask, "is_causal": True},
            {"attn_mask": mask.repeat(3, 1, 1).logical_and(data(3, 1, 5) > -0.5)[:, None]},
            {"context": same},
            {"context": other},
            {"context": other, "attn_mask": wide},
        ):
            yield attempt(layer, x.to(dtype), arguments, dtype)
    layer.double().eval()
    for n in (1, 24, 70):
        yield attempt(layer, data(2, n, x.size(-1)), {}, torch.float64)
        yield attempt(layer, data(2, n, x.size(-1)), {"is_causal": True}, torch.float64)
    yield attempt(layer, x.transpose(0, 1).contiguous().transpose(0, 1), {}, torch.float64)
    yield attempt(layer, x * 1e3, {}, torch.float64)
    yield from gradients(layer, x)


def layer_size(layer):
    return next((p.size(-1) for name, p in layer.named_parameters() if name == "q_proj.weight"), 40)


def attempt(layer, x, arguments, dtype):
    arguments = {k: v.to(dtype) if k == "context" else v for k, v in arguments.items()}
    torch.manual_seed(5)
    try:
        return first(layer(x, **arguments)).detach()
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        return type(error).__name__


def gradients(layer, x):
    x = x.clone().requires_grad_()
    named = {n: p for n, p in layer.named_parameters() if n.split(".")[0] in PROJECTIONS}
    try:
        sum_ = (first(layer(x)) * data(*x.shape, seed=11)).sum()
        found = torch.autograd.grad(sum_, [x, *named.values()], allow_unused=True)
    except RuntimeError as error:
        found = [type(error).__name__]
    yield from found


def stepwise(layer):
    """What a decoder with a cache gives, token by token and in chunks, after another text."""
    x = data(2, 6, 40)
    for sizes in ((1,) * 6, (2, 1, 3), (3, 3)):
        cache, outs = None, []
        for part in x.split(sizes, 1):
            out, cache = layer(part, cache)
            outs.append(out.detach())
        yield torch.cat(outs, 1)


def same(a, b):
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        near = 5e-2 if a.dtype == torch.float16 else 1e-7
        return a.shape == b.shape and torch.allclose(a, b, rtol=near, atol=near, equal_nan=True)
    return type(a) is type(b) and (a is None or a == b)


# what is wrong is that nothing changes
NO_DIFFERENCE = {
    "norm_unused",
    "gate_unused",
    "sink_added_to_scores",
    "window_unused",
    "scale_unused",
    "dropout_unused",
}


def base_of(make):
    return next(base for base in BASES if base in make.__mro__)


SPOILT = [one for one in WRONG if isinstance(one.make, type) and issubclass(one.make, Layer)]


@pytest.mark.parametrize("one", SPOILT, ids=lambda one: one.name)
def test_wrong_layer_differs_from_the_right_one(one):
    wrong, right = filled(one.make().double()), filled(base_of(one.make)().double())
    right.load_state_dict(wrong.state_dict(), strict=False)
    right.drop.p = wrong.drop.p
    every = (stepwise, calls) if isinstance(wrong, Cached) else (calls,)
    pairs = (zip(of(wrong), of(right), strict=False) for of in every)
    differs = any(not same(a, b) for a, b in itertools.chain(*pairs))
    assert differs is (one.name not in NO_DIFFERENCE)


def unusual(layer):
    """Yield what the layer gives in precisions, sizes and states that few tests have."""
    for dtype in (torch.bfloat16, torch.float32):
        yield attempt(layer.to(dtype), data(2, 5, 40).to(dtype), {}, dtype)
    with torch.autocast("cpu", torch.bfloat16):
        out = attempt(layer.float(), data(2, 5, 40).float(), {}, torch.float32)
    yield out  # out of the context: who asks may never come back
    layer.double()
    with torch.no_grad():
        out = attempt(layer, data(2, 5, 40), {}, torch.float64)
    yield out
    for shape in ((6, 5, 40), (1, 270, 40)):
        yield attempt(layer, data(*shape), {}, torch.float64)
    for scale in (10, 1000):
        x = scale * data(2, 40, 40)
        yield attempt(layer, x, {}, torch.float64)
        yield from gradients(layer, x)
    layer.train()
    for _ in range(2):
        torch.manual_seed(6)
        yield first(layer(data(2, 5, 40))).detach()
        torch.manual_seed(6)
        yield from gradients(layer, data(2, 5, 40))


@pytest.mark.parametrize("one", HARD, ids=lambda one: one.name)
def test_hard_layer_differs_from_the_right_one(one):
    wrong, right = filled(one.make().double()), filled(base_of(one.make)().double())
    right.drop.p = one.check.get("dropout", 0.0)
    pairs = (zip(of(wrong), of(right), strict=False) for of in (unusual, calls))
    assert any(not same(a, b) for a, b in itertools.chain(*pairs))


# ---- the right ones are right


def called(layer, one, x, context=None):
    if "context_dim" in one.check:
        return first(layer(x, context))
    return first(layer(*[x] * ARGUMENTS_OF.get(one.name, 1)))


CAUSAL = [one for one in RIGHT if one.check.get("causal") and one.name != "prefix_model"]


@pytest.mark.parametrize("one", CAUSAL, ids=lambda one: one.name)
def test_right_decoder_hides_the_future(one):
    torch.manual_seed(1)
    layer, x = one.make().eval(), data(2, 40, 40).float()
    keywords = {"is_causal": True} if isinstance(layer, Layer) and one.name in FLAGGED else {}
    whole, part = (first(layer(t, **keywords)) for t in (x, x[:, :33]))
    torch.testing.assert_close(whole[:, :33], part, rtol=0, atol=1e-5)


FLAGGED = {"plain", "softmax_in_float32"}
WITHOUT_POSITIONS = [
    one for one in RIGHT if not one.check.get("causal") and not one.check.get("positions")
]


@pytest.mark.parametrize("one", WITHOUT_POSITIONS, ids=lambda one: one.name)
def test_right_encoder_has_no_positions(one):
    torch.manual_seed(1)
    layer, x, context = one.make().eval(), data(2, 9, 40).float(), data(2, 7, 28).float()
    order = torch.randperm(9)
    moved = called(layer, one, x[:, order], context)
    torch.testing.assert_close(moved, called(layer, one, x, context)[:, order], rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["cached", "cached_window"])
def test_right_cache_gives_what_the_whole_gives(name):
    layer = filled(next(one for one in RIGHT if one.name == name).make().double())
    whole, _ = layer(data(2, 6, 40))
    for out in stepwise(layer):
        torch.testing.assert_close(out, whole, rtol=0, atol=1e-6)


AS_PLAIN = {  # the same numbers as the plain layer with the same weights
    "of_torch_function": Encoder,
    "broadcast_style": Encoder,
    "scaled_beforehand": Encoder,
    "loops": Decoder,
    "online": Decoder,
    "filled_with_finfo": Decoder,
    "softmax_in_float32": Layer,
}


@pytest.mark.parametrize("name", AS_PLAIN)
def test_other_words_for_the_plain_layer(name):
    layer = filled(next(one for one in RIGHT if one.name == name).make().double())
    right, x = filled(AS_PLAIN[name]().double()), data(2, 37, 40)
    torch.testing.assert_close(layer(x), right(x), rtol=0, atol=1e-5)


# ---- functions


def tensors(n=5, m=7, batch=2, size=6):
    shapes = ((batch, 4, n, 8), (batch, 4, m, 8), (batch, 4, m, size))
    return [data(*shape, seed=seed).requires_grad_() for seed, shape in enumerate(shapes)]


def outcome(function, inputs, arguments):
    torch.manual_seed(3)
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    try:
        out = function(*inputs, **{k: v for k, v in arguments.items() if k in names})
        gradient = torch.autograd.grad((out * out.detach()).sum(), inputs, allow_unused=True)
    except (RuntimeError, TypeError, ValueError) as error:
        return [type(error).__name__]
    return [out.detach(), *gradient]


def plain(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        key, value = (t.repeat_interleave(query.size(1) // t.size(1), 1) for t in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    n, m = scores.shape[-2:]
    allowed = torch.ones(n, m, dtype=torch.bool)
    allowed = allowed.tril(m - n) if is_causal else allowed
    allowed = allowed if attn_mask is None else allowed & attn_mask
    some = allowed.any(-1, keepdim=True)
    weights = scores.masked_fill(some & ~allowed, -math.inf).softmax(-1) * some
    return F.dropout(weights, dropout_p) @ value


def function_calls():
    mask = data(2, 1, 5, 7, seed=9) > -0.3
    mask[0, 0, 2] = False
    for arguments in (
        {},
        {"attn_mask": mask},
        {"is_causal": True},
        {"attn_mask": mask, "is_causal": True},
        {"scale": 0.7},
        {"dropout_p": 0.4},
    ):
        yield tensors(), arguments
    yield tensors(40, 40), {}
    yield tensors(70, 70), {"is_causal": True}
    yield [t * 100 for t in tensors()], {}
    grouped = tensors()
    yield [grouped[0], *(t[:, :2] for t in grouped[1:])], {"enable_gqa": True}


UNSEEN = {"softcap_ignored", "window_ignored"}  # what is wrong is that nothing changes


@pytest.mark.parametrize("one", WRONG_FUNCTIONS, ids=lambda one: one.name)
def test_wrong_function_differs_from_the_right_one(one):
    function = one.make()
    taken = function.__code__.co_varnames[: function.__code__.co_argcount]
    differs = any(
        not same(a, b)
        for inputs, arguments in function_calls()
        if set(arguments) <= set(taken) or arguments.keys() == {"scale"} & set(taken)
        for a, b in zip(
            outcome(function, inputs, arguments), outcome(plain, inputs, arguments), strict=False
        )
    )
    assert differs is (one.name not in UNSEEN)


@pytest.mark.parametrize("one", RIGHT_FUNCTIONS, ids=lambda one: one.name)
def test_right_function_is_right(one):
    function = one.make()
    taken = set(function.__code__.co_varnames[: function.__code__.co_argcount])
    for inputs, arguments in function_calls():
        if set(arguments) <= taken and "dropout_p" not in arguments:
            torch.testing.assert_close(
                function(*inputs, **arguments), plain(*inputs, **arguments), rtol=0, atol=1e-4
            )


# ---- the lists


def test_enough_of_each():
    assert len(WRONG) >= 64
    assert len(WRONG_FUNCTIONS) >= 24
    assert len(RIGHT) >= 30


@pytest.mark.parametrize(
    "listed", [WRONG, WRONG_FUNCTIONS, HARD, RIGHT], ids=["wrong", "functions", "hard", "right"]
)
def test_names_are_different_and_words_are_patterns(listed):
    assert len({one.name for one in listed}) == len(listed)
    for one in listed:
        assert one.what
        assert bool(one.named) is (listed is not RIGHT)
        assert all(re.compile(words) for words in one.named)
