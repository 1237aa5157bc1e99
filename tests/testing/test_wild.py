"""Two bugs of x-transformers 2.31.10, in numbers that can be followed by hand, and as reported."""

import importlib.metadata
import warnings

import pytest
import torch

from attn_docs.testing import Adapter, check_module
from tests.testing.plain import found

with warnings.catch_warnings():  # about a decorator of PyTorch's
    warnings.simplefilter("ignore", DeprecationWarning)
    import x_transformers

NO_MASK = Adapter(attn_mask=None, is_causal=None, context=None)


def test_these_are_bugs_of_one_version():
    assert importlib.metadata.version("x-transformers") == "2.31.10"


def by_hand(**options):
    """Return one head of size 2 with uniform weights, whose values are the tokens."""
    layer = x_transformers.Attention(dim=2, dim_head=2, heads=1, **options)
    for projection in (layer.to_k, layer.to_v):
        torch.nn.init.eye_(projection.weight)
    torch.nn.init.zeros_(layer.to_q.weight)
    return layer


# --- flash=True drops causal=True ------------------------------------------------------------


@pytest.mark.parametrize(
    ("flash", "first"),
    [
        (False, [0.0, 0.0]),  # the first token sees itself
        (True, [1.0, 2.0]),  # it sees half of the second token: the future
    ],
)
def test_the_fused_kernel_is_not_told_to_be_causal(flash, first):
    words = torch.tensor([[[0.0, 0.0], [2.0, 4.0]]])
    output = by_hand(flash=flash)(words, causal=True)
    torch.testing.assert_close(output[0, 0], torch.tensor(first))


def test_the_checker_sees_that_a_flag_is_dropped():
    right, wrong = (
        check_module(x_transformers.Attention(dim=32, heads=4, flash=flash), embed_dim=32)
        for flash in (False, True)
    )
    for name in ("causality", "prefix"):
        assert found(right, name).verdict == "pass", right
        assert found(wrong, name).verdict == "fail", wrong
    finding = found(wrong, "causality")
    assert "position 0 depends on the later position 1" in finding.evidence
    assert "the causal mask is not applied" in finding.cause
    assert found(wrong, "oracle").verdict == "pass", "without the flag it is the formula's"


# --- orthog_projected_values looks at the whole text -----------------------------------------


@pytest.mark.parametrize(
    ("second", "first"),
    [
        # Values are the tokens, v₀ = (1, 0); outputs are o₀ = v₀, o₁ = (v₀ + v₁) / 2. By position,
        # o₀ less its part along v₀ is 0. Taken off is c·v with c = (o₀·v₀ + o₁·v₁) / (v₀² + v₁²):
        ([1.0, 0.0], [0.0, 0.0]),  # c = 2 / 2
        ([0.0, 1.0], [0.25, 0.0]),  # c = 1.5 / 2
        ([0.0, 3.0], [0.45, 0.0]),  # c = 5.5 / 10
    ],
)
def test_the_first_output_of_a_causal_layer_depends_on_the_second_word(second, first):
    layer = by_hand(causal=True, orthog_projected_values=True)
    output = layer(torch.tensor([[[1.0, 0.0], second]]))
    torch.testing.assert_close(output[0, 0], torch.tensor(first))


@pytest.mark.parametrize("orthogonal", [False, True])
def test_the_checker_sees_the_future_in_a_decoder(orthogonal):
    decoder = x_transformers.Decoder(
        dim=32, depth=1, heads=4, attn_dim_head=8, attn_orthog_projected_values=orthogonal
    )
    report = check_module(decoder, embed_dim=32, causal=True, adapter=NO_MASK)
    expected = {"causality", "prefix"} if orthogonal else set()
    assert {finding.property for finding in report.failures} == expected, report
    if orthogonal:
        evidence = found(report, "causality").evidence
        assert "position 0 depends on the later position 1" in evidence
