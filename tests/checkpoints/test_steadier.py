"""Soft caps, sinks, norms and differences against loops in float64, and their properties."""

import functools
import math
import re
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import (
    AcrossHeads,
    DifferentialAttention,
    GroupedQueryAttention,
    MultiHeadAttention,
    RotaryEmbedding,
    SinkAttention,
    apply_rotary,
    attention_with_lse,
    differential_attention,
    scaled_dot_product_attention,
    sink_attention,
    softcap_attention,
)
from docs._kit.examples import example
from tests.kit import error, load_exhibit, normal

B, H, G, N, M, D, E = 2, 6, 3, 5, 7, 4, 8
SINKS = normal(H, seed=9)
MASK = normal(B, H, N, M, seed=8) > -0.5


def inputs(heads: int = H, groups: int = G, values: int = G) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values that ask for gradients."""
    shapes = ((B, heads, N, D), (B, groups, M, D), (B, values, M, E))
    made = [normal(*shape, seed=i).requires_grad_() for i, shape in enumerate(shapes)]
    return made[0], made[1], made[2]


Weigh = Callable[[list[Tensor], int], list[Tensor]]


def by_hand(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, weigh: Weigh) -> Tensor:
    """Attend query by query: `weigh` makes the weights of a row of scores, those of head i."""
    group = q.size(1) // k.size(1)
    rows = []
    for b in range(q.size(0)):
        for i in range(q.size(1)):
            for r in range(N):
                seen = [j for j in range(M) if allowed[b, i, r, j]]
                scores = [q[b, i, r] @ k[b, i // group, j] / D**0.5 for j in seen]
                row = torch.zeros(v.size(-1), dtype=v.dtype)
                for j, weight in zip(seen, weigh(scores, i), strict=True):
                    row = row + weight * v[b, i // group, j]
                rows.append(row)
    return torch.stack(rows).view(q.size(0), q.size(1), N, -1)


def shares(scores: list[Tensor], extra: Tensor | None = None) -> list[Tensor]:
    """Return each exponential over their sum, and over that of one more score if there is one."""
    total = sum((s.exp() for s in scores), torch.zeros((), dtype=torch.float64))
    if extra is not None:
        total = total + extra.exp()
    return [s.exp() / total for s in scores]


def assert_same(ours: Tensor, theirs: Tensor, given: tuple[Tensor, ...]) -> None:
    """Compare values and gradients."""
    assert error(ours, theirs) <= 1e-12
    weight = normal(*ours.shape, seed=99)
    mine, other = (torch.autograd.grad((x * weight).sum(), given) for x in (ours, theirs))
    for a, b in zip(mine, other, strict=True):
        assert error(a, b) <= 1e-10


# --- against loops ----------------------------------------------------------------------------


@pytest.mark.formula(r"""
s_{ij} = c \tanh\left(\frac{q_i \cdot k_j}{c\sqrt{d}}\right) \qquad |s_{ij}| < c
""")
def test_softcap_is_the_loop() -> None:
    given = inputs()

    def weigh(scores: list[Tensor], i: int) -> list[Tensor]:  # noqa: ARG001
        return shares([1.5 * torch.tanh(s / 1.5) for s in scores])

    ours = softcap_attention(*given, MASK, softcap=1.5, enable_gqa=True)
    assert_same(ours, by_hand(*given, MASK, weigh), given)


@pytest.mark.formula(r"""
w_{ij} = \frac{\exp(s_{ij})}{\exp(\beta) + \sum_l \exp(s_{il})}
""")
def test_sinks_are_the_loop() -> None:
    sinks = SINKS.clone().requires_grad_()
    given = inputs()
    ours = sink_attention(*given, MASK, sinks=sinks, enable_gqa=True)
    theirs = by_hand(*given, MASK, lambda scores, i: shares(scores, sinks[i]))
    assert_same(ours, theirs, (*given, sinks))


@pytest.mark.formula(r"""
O = \left(\operatorname{softmax}\left(\frac{Q_1 K_1^\top}{\sqrt{d}}\right) - \lambda
\operatorname{softmax}\left(\frac{Q_2 K_2^\top}{\sqrt{d}}\right)\right) V
""")
def test_differences_are_the_loop() -> None:
    given = inputs(heads=2 * H, groups=2 * G)
    lam = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    mask = torch.cat((MASK, normal(B, H, N, M, seed=7) > -0.5), dim=1)

    def weigh(scores: list[Tensor], i: int) -> list[Tensor]:  # noqa: ARG001
        return shares(scores)

    q, k, v = given
    parts = [
        by_hand(q[:, half * H :][:, :H], k[:, half * G :][:, :G], v, mask[:, half * H :], weigh)
        for half in (0, 1)
    ]
    ours = differential_attention(*given, mask, lam=lam, enable_gqa=True)
    assert_same(ours, parts[0] - lam * parts[1], (*given, lam))


@pytest.mark.parametrize(
    "attend",
    [
        functools.partial(softcap_attention, softcap=2.0),
        functools.partial(sink_attention, sinks=SINKS),
    ],
)
def test_causal_is_the_triangle_and_an_additive_mask_is_the_boolean_one(
    attend: Callable[..., Tensor],
) -> None:
    q, k, v = inputs(groups=H, values=H)
    triangle = torch.ones(N, M, dtype=torch.bool).tril()
    assert error(attend(q, k, v, is_causal=True), attend(q, k, v, triangle)) <= 1e-15
    assert error(attend(q, k, v, MASK, is_causal=True), attend(q, k, v, MASK & triangle)) <= 1e-15
    additive = torch.zeros(B, H, N, M, dtype=torch.float64).masked_fill(~MASK, -math.inf)
    assert error(attend(q, k, v, additive), attend(q, k, v, MASK)) <= 1e-15


# --- each reduces to plain attention when … ---------------------------------------------------


def test_a_high_cap_leaves_plain_attention() -> None:
    given = inputs(groups=H, values=H)
    plain = scaled_dot_product_attention(*given, MASK)
    assert error(softcap_attention(*given, MASK, softcap=1e6), plain) <= 1e-9


def test_a_sink_of_minus_infinity_leaves_plain_attention_also_where_nothing_is_seen() -> None:
    given = inputs(groups=H, values=H)
    mask = MASK.clone()
    mask[:, :, 2] = False
    sinks = torch.full((H,), -math.inf, dtype=torch.float64)
    ours = sink_attention(*given, mask, sinks=sinks)
    assert_same(ours, scaled_dot_product_attention(*given, mask), given)


def test_differences_with_lambda_zero_are_plain_attention_of_the_first_half() -> None:
    q, k, v = inputs(heads=2 * H, groups=2 * G)
    plain = scaled_dot_product_attention(q[:, :H], k[:, :G], v, enable_gqa=True)
    assert_same(differential_attention(q, k, v, lam=0.0, enable_gqa=True), plain, (q,))


def test_a_gate_wide_open_leaves_plain_attention() -> None:
    torch.manual_seed(0)
    gated = MultiHeadAttention(12, 3, gate=nn.Linear(12, 3)).double()
    plain = MultiHeadAttention(12, 3).double()
    plain.load_state_dict({k: w for k, w in gated.state_dict().items() if "gate" not in k})
    nn.init.zeros_(gated.gate.weight)
    nn.init.constant_(gated.gate.bias, 50.0)
    x = normal(2, 5, 12)
    assert error(gated(x), plain(x)) <= 1e-12


def test_normalised_keys_and_queries_of_one_size_leave_plain_attention() -> None:
    torch.manual_seed(0)
    norms = {"q_norm": nn.RMSNorm(4, eps=1e-12), "k_norm": nn.RMSNorm(4, eps=1e-12)}
    normed = MultiHeadAttention(12, 3, **norms).double()
    plain = MultiHeadAttention(12, 3).double()
    plain.load_state_dict({k: w for k, w in normed.state_dict().items() if "norm" not in k})

    class Sized(nn.Module):
        """Give all heads a mean square of one beforehand."""

        def forward(self, x: Tensor) -> Tensor:
            return x / x.square().mean(-1, keepdim=True).sqrt()

    plain.q_norm, plain.k_norm = Sized(), Sized()
    x = normal(2, 5, 12)
    assert error(normed(x), plain(x)) <= 1e-11


# --- what each bounds -------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_a_cap_bounds_the_ratio_of_two_weights(size: float) -> None:
    q, k, _ = (size * t for t in inputs(groups=H))
    identity = torch.eye(M, dtype=torch.float64).expand(B, H, -1, -1)
    weights = softcap_attention(q, k, identity, softcap=3.0)
    ratio = weights.amax(-1) / weights.amin(-1)
    assert ratio.max() <= math.exp(2 * 3.0) * (1 + 1e-9)


@pytest.mark.formula(r"|s_{ij}| \le \sqrt{d}\, \max_a |\gamma_a|\, \max_a |\gamma_a'|")
def test_norms_bound_every_score_and_the_bound_is_reached() -> None:
    q, k = 100 * normal(50, D, seed=1), 100 * normal(50, D, seed=2)
    g_q, g_k = normal(D, seed=3), normal(D, seed=4)
    bound = D**0.5 * g_q.abs().max() * g_k.abs().max()

    def rms(x: Tensor, gain: Tensor) -> Tensor:
        return F.rms_norm(x, (D,), gain)

    assert (rms(q, g_q) @ rms(k, g_k).T / D**0.5).abs().max() <= bound
    # a vector along the axis of the largest gain, and gains at their largest on the same axis
    gain, axis = torch.full((D,), 2.0, dtype=torch.float64), torch.eye(D, dtype=torch.float64)[0]
    assert (rms(axis, gain) @ rms(axis, gain) / D**0.5).item() == pytest.approx(D**0.5 * 4)


def test_the_gradient_of_a_cap_vanishes_beyond_it() -> None:
    score = torch.tensor([0.0, 50.0, 100.0, 200.0], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad((50 * torch.tanh(score / 50)).sum(), score)
    wanted = [1 / math.cosh(s / 50) ** 2 for s in score.tolist()]
    assert torch.allclose(slope, torch.tensor(wanted, dtype=torch.float64))


def test_the_rows_of_weights_sum_to_what_they_should() -> None:
    q, k, _ = inputs(groups=H)
    identity = torch.eye(M, dtype=torch.float64).expand(B, H, -1, -1)
    sums = sink_attention(q, k, identity, sinks=SINKS).sum(-1)
    assert ((sums > 0) & (sums < 1)).all()
    q, k, _ = inputs(heads=2 * H, groups=2 * H)
    weights = differential_attention(q, k, identity, lam=0.7)
    assert torch.allclose(weights.sum(-1), torch.tensor(0.3, dtype=torch.float64))
    assert (weights < 0).any()


# --- the identity -----------------------------------------------------------------------------


@pytest.mark.formula(r"""
\operatorname{softmax}([s, \beta])_{1..m}\, V = \sigma(\operatorname{lse}(s) - \beta)\,
\operatorname{softmax}(s)\, V
""")
def test_a_sink_is_a_gate_of_the_log_sum_exp() -> None:
    sinks = SINKS.clone().requires_grad_()
    q, k, v = inputs(groups=H, values=H)
    output, lse = attention_with_lse(q, k, v, MASK)
    gated = torch.sigmoid(lse - sinks[:, None]).unsqueeze(-1) * output
    assert_same(sink_attention(q, k, v, MASK, sinks=sinks), gated, (q, k, v, sinks))


def test_a_sink_is_a_key_of_a_fixed_score_whose_value_is_zero() -> None:
    q, k, v = inputs(groups=H, values=H)
    key, value = (F.pad(t, (0, 0, 0, 1)) for t in (k, v))
    scores = q @ key.mT / D**0.5
    scores[..., -1] = SINKS[:, None]
    assert error(scores.softmax(-1) @ value, sink_attention(q, k, v, sinks=SINKS)) <= 1e-12


@pytest.mark.parametrize("n", [1, 2, 6, 7])
def test_a_sink_as_a_key_is_right_with_fewer_queries_than_keys(n: int) -> None:
    fused = example("checkpoints/steadier/fused")["fused"]
    q, k, v = (normal(2, H, 7, D, seed=seed) for seed in range(3))
    sinks = SINKS.clone().requires_grad_()
    whole = sink_attention(q, k, v, is_causal=True, sinks=sinks)[:, :, -n:]
    ours = fused(q[:, :, -n:], k, v, sinks)
    assert error(ours, whole) <= 1e-12
    grads = [torch.autograd.grad(o.square().sum(), sinks)[0] for o in (ours, whole)]
    assert error(*grads) <= 1e-12


# --- the axis of a norm, and its place --------------------------------------------------------


def test_across_heads_divides_all_heads_by_one_size() -> None:
    gain = normal(H * D, seed=5)
    norm = nn.RMSNorm(H * D, eps=1e-6).double()
    norm.weight = nn.Parameter(gain)
    x = normal(B, H, N, D)
    for b in range(B):
        for r in range(N):
            row = torch.cat([x[b, i, r] for i in range(H)])
            wanted = row / math.sqrt(row.square().mean() + 1e-6) * gain
            assert error(AcrossHeads(norm)(x)[b, :, r].flatten(), wanted) <= 1e-14


def test_a_head_alone_can_vanish_across_heads_but_not_head_by_head() -> None:
    x = normal(1, 2, 1, D)
    x[:, 1] *= 1e-3
    one = AcrossHeads(nn.RMSNorm(2 * D, elementwise_affine=False))(x)
    each = nn.RMSNorm(D, elementwise_affine=False)(x)
    assert one[:, 1].norm() < 0.01
    assert each[:, 1].norm() > 1.9


@pytest.mark.parametrize("interleaved", [False, True])
def test_a_norm_commutes_with_rotation_only_where_gains_of_a_pair_are_equal(
    interleaved: bool,
) -> None:
    x, places = normal(1, 2, N, 8), torch.arange(N)
    gains = normal(4, seed=6)
    paired = gains.repeat_interleave(2) if interleaved else gains.repeat(2)

    def apart(gain: Tensor) -> float:
        def rms(t: Tensor) -> Tensor:
            return F.rms_norm(t, (8,), gain)

        turn = functools.partial(apply_rotary, positions=places, interleaved=interleaved)
        return error(turn(rms(x)), rms(turn(x)))

    assert apart(paired) <= 1e-12
    assert apart(normal(8, seed=7)) > 0.1


# --- modules ----------------------------------------------------------------------------------


def differential_module() -> GroupedQueryAttention:
    torch.manual_seed(0)
    module = GroupedQueryAttention(20, 4, 2, head_dim=6, attend=DifferentialAttention(6)).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def test_a_differential_layer_is_the_formula_pair_by_pair() -> None:
    module, x = differential_module(), normal(2, 5, 20).requires_grad_()
    attend = module.attend
    lam = (attend.lambda_q1 @ attend.lambda_k1).exp() - (attend.lambda_q2 @ attend.lambda_k2).exp()
    lam = lam + 0.8
    q, k, v = (
        proj(x).view(2, 5, heads, 6).transpose(1, 2)
        for proj, heads in ((module.q_proj, 4), (module.k_proj, 2), (module.v_proj, 2))
    )
    triangle = torch.ones(5, 5, dtype=torch.bool).tril()
    pairs = []
    for i in (0, 1):
        first, second = (
            (q[:, h] @ k[:, g].mT / 6**0.5).masked_fill(~triangle, -math.inf).softmax(-1)
            for h, g in ((i, 0), (i + 2, 1))
        )
        pair = (first - lam * second) @ torch.cat((v[:, 0], v[:, 1]), -1)
        pairs.append(0.2 * pair / (pair.square().mean(-1, keepdim=True) + 1e-5).sqrt())
    wanted = module.out_proj(torch.cat(pairs, -1))
    assert_same(module(x, is_causal=True), wanted, (x, *module.parameters()))


@pytest.mark.parametrize(
    "attend",
    [
        SinkAttention(4),
        DifferentialAttention(6),
        functools.partial(softcap_attention, softcap=1.0),
    ],
)
def test_with_a_cache_and_padding_the_result_is_the_same(attend: Callable[..., Tensor]) -> None:
    torch.manual_seed(0)
    norms = {"q_norm": AcrossHeads(nn.RMSNorm(24)), "k_norm": AcrossHeads(nn.RMSNorm(12))}
    module = GroupedQueryAttention(20, 4, 2, head_dim=6, attend=attend, **norms).double()
    x = normal(2, 9, 20)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[0, :3] = False
    whole = module(x, is_causal=True, key_padding_mask=mask)
    cache, parts, done = module.new_cache(2, 9), [], 0
    for chunk in x.split([4, 1, 3, 1], dim=1):
        done += chunk.size(1)
        parts.append(module(chunk, cache=cache, key_padding_mask=mask[:, :done]))
    together = torch.cat(parts, 1)
    assert error(together[1], whole[1]) <= 1e-12
    assert error(together[0, 3:], whole[0, 3:]) <= 1e-12


def test_sinks_are_learned() -> None:
    module = MultiHeadAttention(12, 3, attend=SinkAttention(3)).double()
    module(normal(2, 5, 12)).square().sum().backward()
    assert (module.attend.sinks.grad != 0).all()
    assert repr(module.attend) == "SinkAttention(3)"


def test_weights_of_a_differential_layer_are_refused() -> None:
    module = differential_module()
    for n in (5, 6):  # 6 is the size of a head: the identity has a shape that fits
        with pytest.raises(ValueError, match="need_weights must be False"):
            module(normal(2, n, 20), need_weights=True)
    assert repr(module.attend).startswith("DifferentialAttention(\n  6, lambda_init=0.8")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype: torch.dtype) -> None:
    given = [t.detach().to(dtype) for t in inputs(groups=H, values=H)]
    for attend in (
        functools.partial(softcap_attention, softcap=2.0),
        functools.partial(sink_attention, sinks=SINKS.float()),
    ):
        assert torch.equal(attend(*given), attend(*(t.float() for t in given)).to(dtype))
    pairs = differential_attention(*given[:2], given[2][:, :3], lam=torch.tensor(0.5))
    assert pairs.dtype == dtype


@pytest.mark.parametrize("attend", [softcap_attention, sink_attention, differential_attention])
def test_dropout_is_applied(attend: Callable[..., Tensor]) -> None:
    given = inputs(groups=H, values=H)
    option = {
        "softcap_attention": {"softcap": 2.0},
        "sink_attention": {"sinks": SINKS},
        "differential_attention": {"lam": 0.5},
    }[attend.__name__]
    if attend is differential_attention:
        given = (*given[:2], given[2][:, :3])
    assert error(attend(*given, dropout_p=1.0, **option), attend(*given, **option) * 0) == 0


# --- bad input --------------------------------------------------------------------------------

X = torch.zeros(1, 2, 3, 4)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: softcap_attention(X, X, X, softcap=0.0), ValueError, "softcap must be above 0"),
        (lambda: softcap_attention(X, X, X, softcap="50"), TypeError, "softcap must be an int or"),
        (
            lambda: softcap_attention(X, X, X, softcap=math.inf),
            ValueError,
            "softcap must be finite",
        ),
        (
            lambda: sink_attention(X, X, X, sinks=torch.zeros(3)),
            ValueError,
            "sinks must have shape (heads,) = (2,); got (3,)",
        ),
        (
            lambda: sink_attention(X[0, 0], X[0, 0], X[0, 0], sinks=torch.zeros(1)),
            ValueError,
            "query must have an axis of heads before its last two; got 2 axes",
        ),
        (lambda: sink_attention(X, X, X, sinks=0.0), TypeError, "sinks must be a torch.Tensor"),
        (lambda: SinkAttention(0), ValueError, "num_heads must be 1 or more; got 0"),
        (
            lambda: differential_attention(X[:, :1], X[:, :1], X[:, :1], lam=0.5),
            ValueError,
            "query must have an even number of heads; got 1",
        ),
        (
            lambda: differential_attention(*3 * [X.repeat(1, 2, 1, 1)], lam=0.5),
            ValueError,
            "value must have",
        ),
        (
            lambda: differential_attention(X, X, X[:, :1], lam=math.nan),
            ValueError,
            "lam must be finite",
        ),
        (
            lambda: differential_attention(
                X, X, X[:, :1], torch.ones(1, 3, 3, 3, dtype=torch.bool), lam=0.5
            ),
            ValueError,
            "attn_mask must have 1 or 2 heads; got 3",
        ),
        (lambda: DifferentialAttention(4, 1.0), ValueError, "lambda_init must be above 0 and"),
        (lambda: DifferentialAttention(4.0), TypeError, "head_dim must be an int; got 4.0"),
        (lambda: DifferentialAttention(4, eps=0.0), ValueError, "eps must be above 0; got 0.0"),
        (
            lambda: DifferentialAttention(4)(X, X, X[:, :1]),
            ValueError,
            "value must have an even number of heads; got 1",
        ),
        (lambda: AcrossHeads(F.relu), TypeError, "norm must be a Module; got function"),
        (
            lambda: AcrossHeads(nn.Linear(8, 4))(X),
            ValueError,
            "norm must return the shape that it gets, (1, 3, 8); got (1, 3, 4)",
        ),
        (lambda: AcrossHeads(nn.Identity())(X[0]), ValueError, "x must have 4 axes"),
    ],
)
def test_bad_input_is_named(
    call: Callable[[], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call()


# --- exhibits ---------------------------------------------------------------------------------

MENDED = {
    "softcap_ignored": ("F.scaled_dot_product_attention(", "capped(softcap)("),
    "cap_after_mask": ("cap(mask(scores))", "mask(cap(scores))"),
    "sink_renormalised": ("weights / weights.sum(dim=-1, keepdim=True) @ value", "weights @ value"),
    "norm_after_rotation": ("norm(*place(query, key))", "place(*norm(query, key))"),
}


def exhibited(name: str, module: ModuleType) -> tuple[Tensor, Tensor]:
    """Return what an exhibit finds and what it should find."""
    q, k, v = normal(3, 2, 3, N, 6).unbind()
    if name == "softcap_ignored":
        module.capped = lambda cap: functools.partial(softcap_attention, softcap=cap)
        right = softcap_attention(q, k, v, is_causal=True, softcap=0.5)
        return module.attention(q, k, v, is_causal=True, softcap=0.5), right
    if name == "cap_after_mask":
        right = softcap_attention(q, k, v, is_causal=True, softcap=0.5)
        return module.attention(q, k, v, softcap=0.5), right
    if name == "sink_renormalised":
        sinks = normal(3, seed=4)
        return module.attention(q, k, v, sinks), sink_attention(q, k, v, sinks=sinks)
    norms = [nn.RMSNorm(6, eps=1e-6).double() for _ in range(2)]
    for i, norm in enumerate(norms):
        norm.weight = nn.Parameter(normal(6, seed=i + 5))
    places, rotary = torch.arange(N), RotaryEmbedding(6)
    turned = rotary.rotate(norms[0](q), norms[1](k), places)
    found = module.attention(q, k, v, places, rotary, *norms)
    return found, F.scaled_dot_product_attention(*turned, v, is_causal=True)


@pytest.mark.parametrize("name", MENDED)
@pytest.mark.parametrize("mended", [False, True])
def test_an_exhibit_is_wrong_until_its_line_is_mended(name: str, mended: bool) -> None:
    module = load_exhibit(f"checkpoints/{name}", MENDED[name], mended=mended)
    found, wanted = exhibited(name, module)
    assert error(found, wanted) <= 1e-12 if mended else error(found, wanted) > 0.001
