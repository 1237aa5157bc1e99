"""The figures on additive attention show the shapes and scores they claim."""

import math
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import AdditiveAttention
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("foundations/additive", "figures")

languages = pytest.mark.parametrize("language", ["en", "zh"])


def middle(text: ET.Element) -> float:
    """Return the middle of a text's height: figures write it a third of its size below."""
    return float(text.attrib["y"]) - 0.35 * float(text.attrib["font-size"])


@languages
def test_shapes_on_the_arrows_are_those_of_the_computation(language):
    n, m, q, k, p, e = (figures.EXAMPLE[letter] for letter in "nmqkpe")
    attend = AdditiveAttention(q, k, p)
    query, key, value = torch.randn(1, n, q), torch.randn(1, m, k), torch.randn(1, m, e)
    asked, offered = attend.q_proj(query), attend.k_proj(key)
    sums = asked[:, :, None] + offered[:, None]
    output, weights = attend(query, key, value, need_weights=True)
    scores = attend.score(query, key)
    steps = (query, key, value, asked, offered, sums, sums.tanh(), scores, weights, output)
    root = parse(figures.FIGURES["block-diagram"](language))
    drawn = [g.attrib["data-shape"] for g in root.iter("g") if g.get("data-shape")]
    assert [tuple(figures.EXAMPLE[letter] for letter in shape) for shape in drawn] == [
        tuple(step.shape[1:]) for step in steps
    ]
    texts = [text.text for text in root.iter("text")]
    written = [text for text in texts if " × " in text and "V" not in text and "值" not in text]
    written = [text for text in written if "values" not in text]
    said = {"nq": "n × d_q", "mk": "m × d_k"}
    for text, shape in zip(written, drawn, strict=True):
        assert text.endswith(said.get(shape, " × ".join(shape)))
    for group in root.iter("g"):
        if shape := group.get("data-shape"):
            layers = group.findall("path")
            assert len(layers) == (figures.EXAMPLE[shape[2]] if len(shape) == 3 else 1)
            lines = layers[-1].attrib["d"].count("M") - 1
            assert lines == figures.EXAMPLE[shape[0]] + figures.EXAMPLE[shape[1]] - 2


@languages
def test_cells_hold_the_scores_by_row_and_column_and_their_colour(language):
    root = parse(figures.FIGURES["score-maps"](language))
    steps = torch.tensor(figures.STEPS).double()
    wanted = {"additive": torch.tanh(steps[:, None] + steps), "dot": steps[:, None] * steps}
    for name, matrix in wanted.items():
        (group,) = (g for g in root.iter("g") if g.get("data-score") == name)
        cells = [(r, float(r.attrib["x"]), float(r.attrib["y"])) for r in group.findall("rect")]
        texts = [
            (t.text.replace("−", "-"), float(t.attrib["x"]), middle(t))
            for t in group.findall("text")
        ]
        columns = sorted({x for _, x, _ in cells})
        rows = sorted({y for _, _, y in cells})
        for rect, x, y in cells:
            row, column = rows.index(y), columns.index(x)
            score = matrix[row, column].item()
            width, height = float(rect.attrib["width"]), float(rect.attrib["height"])
            (number,) = (t for t, tx, ty in texts if x < tx < x + width and y < ty < y + height)
            assert float(number) == pytest.approx(score, abs=5e-3)
            assert float(rect.attrib["fill-opacity"]) == pytest.approx(
                0.45 * abs(score) / matrix.abs().max().item(), abs=6e-3
            )
            if score:
                accent = "var(--figure-accent)" if score > 0 else "var(--figure-accent-2)"
                assert rect.attrib["fill"] == accent
            (query,) = (t for t, tx, ty in texts if tx < columns[0] and y < ty < y + height)
            above = [(ty, t) for t, tx, ty in texts if x < tx < x + width and ty < rows[0]]
            _, key = max(above)  # the nearest
            assert (int(query), int(key)) == (figures.STEPS[row], figures.STEPS[column])


@languages
def test_what_a_noun_gains_is_written_beside_its_step(language):
    root = parse(figures.FIGURES["bend"](language))
    parts = {g.attrib["data-part"]: g for g in root.iter("g") if "data-part" in g.attrib}
    for query, value in {"wants": 1.0, "other": 0.0}.items():
        steep = math.tanh(value - 1) - math.tanh(value - 2)
        for name, gain in (("line", "+1"), ("tanh", f"+{steep:.2f}")):
            (label,) = parts[f"{name}-{query}-gain"].iter("text")
            assert label.text == gain
