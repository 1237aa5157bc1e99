"""from_hugging_face against an independent implementation, and its properties."""

import pytest

from attn_docs import from_hugging_face


def test_agrees_with_an_independent_implementation() -> None:
    pytest.fail(f"TODO: compare {from_hugging_face.__name__} in float64, values and gradients")
