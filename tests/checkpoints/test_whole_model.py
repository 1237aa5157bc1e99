"""whole_model against an independent implementation, and its properties."""

import pytest

from attn_docs import whole_model


def test_agrees_with_an_independent_implementation() -> None:
    pytest.fail(f"TODO: compare {whole_model.__name__} in float64, values and gradients")
