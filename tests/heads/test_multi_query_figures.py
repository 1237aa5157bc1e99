"""The figure on multi-query attention shows the weights that the page's example computes."""

import pytest
import torch

from attn_docs import attention_weights
from attn_docs.sentence import embeddings, projections
from docs._tools.page import page_module
from tests import kit

figures = page_module("heads/multi-query", "figures")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_same_keys_shows_a_row_of_weights_for_each_head(language: str) -> None:
    root = kit.parse(figures.FIGURES["same-keys"](language))
    query = torch.tensor([[0.0, 6, 0], [0, 0, 6]])  # a noun, a verb
    weights = attention_weights(query, embeddings()[:4] @ projections()[1])
    rects = [rect for rect in root.iter("rect") if "data-row" in rect.attrib]
    assert len(rects) == 8
    for rect in rects:
        row, column = int(rect.attrib["data-row"]), int(rect.attrib["data-column"])
        x, y, width, height = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
        inside = [
            text.text
            for text in root.iter("text")
            if x < float(text.attrib["x"]) < x + width and y < float(text.attrib["y"]) < y + height
        ]
        assert inside == [f"{weights[row, column]:.2f}"]
    left, top = (min(float(rect.attrib[name]) for rect in rects) for name in ("x", "y"))
    texts = {text.text: text for text in root.iter("text")}
    sought = {"en": ("noun", "verb"), "zh": ("名词", "动词")}[language]
    rows = [float(texts[name].attrib["y"]) for name in sought]
    assert top < rows[0] < rows[1]
    columns = [float(texts[word].attrib["x"]) for word in ("the", "cat", "sleeps", "it")]
    assert left < columns[0] < columns[1] < columns[2] < columns[3]
