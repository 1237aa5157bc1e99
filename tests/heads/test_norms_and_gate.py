"""Normalised queries, keys and values, and the output gate, against the formula written out."""

import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attn_docs import (
    GroupedQueryAttention,
    MultiHeadAttention,
    RotaryEmbedding,
    apply_rotary,
    grouped_query_to_multi_head,
    multi_head_to_grouped_query,
    split_heads,
)

EMBED, H, G, D = 20, 6, 3, 4


def layer(gate_size: int = H, **options: object) -> GroupedQueryAttention:
    """Return a layer with three norms, rotary positions and a gate, all with random weights."""
    torch.manual_seed(0)
    made = {f"{name}_norm": nn.RMSNorm(D, eps=1e-6) for name in "qkv"}
    made |= {"head_dim": D, "rotary": RotaryEmbedding(D), "gate": nn.Linear(EMBED, gate_size)}
    module = GroupedQueryAttention(EMBED, H, G, **(made | options)).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight


def written_out(module: GroupedQueryAttention, x: Tensor, *, by_head: bool) -> Tensor:
    """Compute each head by itself: project, normalise, rotate, attend, gate, project."""
    n, places = x.size(1), torch.arange(x.size(1))
    triangle = torch.ones(n, n, dtype=torch.bool).tril()
    heads = []
    for i in range(H):
        parts = []
        for proj, norm, j in (
            (module.q_proj, module.q_norm, i),
            (module.k_proj, module.k_norm, i // (H // G)),
            (module.v_proj, module.v_norm, i // (H // G)),
        ):
            rows = slice(j * D, (j + 1) * D)
            parts.append(rms(x @ proj.weight[rows].T + proj.bias[rows], norm.weight))
        q, k, v = parts
        q, k = (apply_rotary(t.unsqueeze(1), places).squeeze(1) for t in (q, k))
        scores = (q @ k.mT / D**0.5).masked_fill(~triangle, float("-inf"))
        factor = torch.sigmoid(x @ module.gate.weight.T + module.gate.bias)
        part = factor[..., [i]] if by_head else factor[..., i * D : (i + 1) * D]
        heads.append(scores.softmax(-1) @ v * part)
    return torch.cat(heads, -1) @ module.out_proj.weight.T + module.out_proj.bias


@pytest.mark.parametrize("by_head", [True, False])
def test_values_and_gradients_are_those_of_the_formula(by_head: bool) -> None:
    module = layer(H if by_head else H * D)
    x = torch.randn(2, 5, EMBED, dtype=torch.float64, requires_grad=True)
    given = (x, *module.parameters())
    ours, theirs = module(x, is_causal=True), written_out(module, x, by_head=by_head)
    assert torch.allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    weight = torch.randn_like(ours)
    for mine, other in zip(
        torch.autograd.grad((ours * weight).sum(), given),
        torch.autograd.grad((theirs * weight).sum(), given),
        strict=True,
    ):
        assert torch.allclose(mine, other, rtol=1e-10, atol=1e-10)


def test_a_cache_holds_normalised_keys_and_changes_nothing() -> None:
    module, x = layer(window=3), torch.randn(2, 9, EMBED, dtype=torch.float64)
    cache = module.new_cache(2, 9)
    parts = [module(chunk, cache=cache) for chunk in x.split([4, 1, 3, 1], dim=1)]
    assert torch.allclose(torch.cat(parts, 1), module(x, is_causal=True), atol=1e-12)


def test_a_context_is_normalised_too() -> None:
    module = layer(rotary=None)
    x, context = torch.randn(2, 5, EMBED).double(), torch.randn(2, 7, EMBED).double()
    cached = module.cache_context(context)
    assert torch.allclose(module(x, context), module(x, cached), atol=1e-12)
    key = split_heads(module.k_proj(context), G)
    assert torch.allclose(cached.key, rms(key, module.k_norm.weight))


def test_a_gate_of_one_half_halves_and_a_norm_of_one_head_is_no_other() -> None:
    module, x = layer(), torch.randn(2, 5, EMBED).double()
    plain = layer(gate=None)
    plain.load_state_dict({k: v for k, v in module.state_dict().items() if "gate" not in k})
    nn.init.zeros_(module.gate.weight)
    nn.init.zeros_(module.gate.bias)
    bias = plain.out_proj.bias
    assert torch.allclose(module(x) - bias, (plain(x) - bias) / 2, atol=1e-12)


@pytest.mark.parametrize("name", ["q_norm", "k_norm", "v_norm", "gate"])
def test_anything_but_a_module_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be a Module or None; got "):
        MultiHeadAttention(12, 3, **{name: F.relu})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"gate": nn.Linear(EMBED, 5)},
            "= (2, 5, 6) or (batch, n, heads·head_dim) = (2, 5, 24); got (2, 5, 5)",
        ),
        (
            {"q_norm": nn.Flatten(2)},
            "a norm must return the shape that it gets, (2, 6, 5, 4); got (2, 6, 20)",
        ),
    ],
)
def test_another_shape_is_refused(options: dict[str, nn.Module], message: str) -> None:
    module = layer(**options)
    with pytest.raises(ValueError, match=re.escape(message)):
        module(torch.randn(2, 5, EMBED).double())


@pytest.mark.parametrize("name", ["q_norm", "gate"])
def test_pytorchs_module_has_neither(name: str) -> None:
    module = MultiHeadAttention(12, 3, **{name: nn.Identity()})
    with pytest.raises(ValueError, match=f"{name} must be None in PyTorch's module"):
        module.to_torch()


@pytest.mark.parametrize(
    "convert", [grouped_query_to_multi_head, lambda m: multi_head_to_grouped_query(m, 3)]
)
def test_converted_layers_have_copies_of_both(convert: Callable[..., MultiHeadAttention]) -> None:
    module, x = layer(), torch.randn(2, 5, EMBED).double()
    new = convert(module)
    assert torch.allclose(new(x), module(x), atol=1e-12)
    nn.init.zeros_(new.q_norm.weight)
    nn.init.zeros_(new.gate.weight)
    assert module.q_norm.weight.abs().max() > 0
    assert module.gate.weight.abs().max() > 0


def test_a_norm_that_differs_between_heads_does_not_survive_their_pooling() -> None:
    module = layer(k_norm=nn.LayerNorm((5, D)))
    with pytest.raises(ValueError, match=r"k_norm must be the same for all heads.*shape \(5, 4\)"):
        grouped_query_to_multi_head(module)
