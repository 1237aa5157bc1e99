"""Exhibits are wrong, in exactly the one line that says so: with it mended, they are right."""

from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

from tests.kit import load_exhibit

MENDED = {
    "missing_scale": ("query @ key.mT", "query @ key.mT / query.size(-1) ** 0.5"),
    "reshaped_key": ("key.reshape(*leading, d, m)", "key.mT"),
    "scaled_twice": ("query * query.size(-1) ** -0.5", "query"),
    "scores_in_half": ("query @ key.mT", "(query.float() @ key.float().mT)"),
    "softmax_over_queries": ("dim=-2", "dim=-1"),
    "swapped_roles": ("key @ query.mT", "query @ key.mT"),
    "value_from_key": ("value = x @ k_proj", "value = x @ v_proj"),
    "mistyped_value": ("[0.5, 0.3, 0.5]", "[0.5, 0.3, 0.8]"),
}
ATTENTION = sorted(set(MENDED) - {"value_from_key", "mistyped_value"})


def load(name: str, *, mended: bool) -> ModuleType:
    return load_exhibit(f"foundations/{name}", MENDED[name], mended=mended)


@pytest.mark.parametrize("name", ATTENTION)
def test_the_shape_is_right_the_numbers_are_not_and_mending_the_line_mends_them(
    name: str,
) -> None:
    torch.manual_seed(0)
    n, m = (7, 7) if name == "swapped_roles" else (5, 7)
    query, key, value = (torch.randn(2, *shape).double() for shape in ((n, 64), (m, 64), (m, 6)))
    tolerance = 1e-12
    if name == "scores_in_half":  # it goes wrong where a score is above float16's largest number
        query, key, value = (80 * query.abs()).half(), (80 * key.abs()).half(), value.half()
        tolerance = 1e-3
    expected = F.scaled_dot_product_attention(query, key, value)
    wrong = load(name, mended=False).attention(query, key, value)
    assert wrong.shape == expected.shape
    assert not torch.allclose(wrong, expected, atol=0.1)
    value = value.float() if name == "scores_in_half" else value
    right = load(name, mended=True).attention(query, key, value)
    torch.testing.assert_close(right.to(expected.dtype), expected, atol=tolerance, rtol=0.0)


def test_value_from_key() -> None:
    torch.manual_seed(0)
    x, q_proj, k_proj, v_proj = (torch.randn(*s).double() for s in ((5, 4), (4, 3), (4, 3), (4, 3)))
    expected = F.scaled_dot_product_attention(x @ q_proj, x @ k_proj, x @ v_proj)
    wrong = load("value_from_key", mended=False).attention(x, q_proj, k_proj, v_proj)
    right = load("value_from_key", mended=True).attention(x, q_proj, k_proj, v_proj)
    assert wrong.shape == expected.shape
    assert not torch.allclose(wrong, expected)
    torch.testing.assert_close(right, expected, atol=1e-12, rtol=0.0)


def test_mistyped_value() -> None:
    expected = (torch.tensor([0.1, 0.8, 0.1]) @ torch.tensor([0.5, 0.3, 0.8])).item()
    assert load("mistyped_value", mended=False).weighted_mean() == pytest.approx(0.34)
    assert load("mistyped_value", mended=True).weighted_mean() == pytest.approx(expected)
