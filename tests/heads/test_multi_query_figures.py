"""The figures on multi-query attention show the heads of real modules and the weights claimed."""

from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import attention_weights
from docs._tools.page import page_module
from tests import kit

figures = page_module("heads/multi-query", "figures")

languages = pytest.mark.parametrize("language", ["en", "zh"])


def parse(name: str, language: str) -> ET.Element:
    return kit.parse(figures.FIGURES[name](language))


def test_counts_are_those_of_the_modules():
    assert figures.head_counts() == ((4, 4), (4, 1))


@languages
@pytest.mark.parametrize("kv_heads", [4, 1])
def test_each_query_head_is_joined_to_the_head_it_asks(language, kv_heads):
    (panel,) = (
        group
        for group in parse("sharing", language).iter("g")
        if group.get("data-kv-heads") == str(kv_heads)
    )
    boxes = {
        rect.attrib["data-head"]: (
            float(rect.attrib["x"]) + float(rect.attrib["width"]) / 2,
            float(rect.attrib["y"]),
            float(rect.attrib["y"]) + float(rect.attrib["height"]),
        )
        for rect in panel.iter("rect")
    }
    assert set(boxes) == {f"Q{i}" for i in range(4)} | {f"K{i}" for i in range(kv_heads)}
    joins = list(panel.iter("path")) + list(panel.iter("line"))
    assert len(joins) == 4
    for join in joins:
        head = int(join.attrib["data-query"])
        numbers = [float(n) for n in join.attrib["d"].replace("M", "").replace("L", ",").split(",")]
        start, end = numbers[:2], numbers[2:]
        asked = boxes[f"K{head if kv_heads == 4 else 0}"]
        assert start == [boxes[f"Q{head}"][0], boxes[f"Q{head}"][2]]
        assert end == [asked[0], asked[1]]


@languages
def test_same_keys_shows_a_row_of_weights_for_each_head(language):
    root = parse("same-keys", language)
    query = torch.tensor([[0.0, 4, 0, 0], [0, 0, 4, 0]])
    weights = attention_weights(query, torch.eye(3, 4))
    rects = [rect for rect in root.iter("rect") if "data-row" in rect.attrib]
    assert len(rects) == 6
    for rect in rects:
        row, column = int(rect.attrib["data-row"]), int(rect.attrib["data-column"])
        x, y, width, height = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
        inside = [
            text.text
            for text in root.iter("text")
            if x < float(text.attrib["x"]) < x + width and y < float(text.attrib["y"]) < y + height
        ]
        assert inside == [f"{weights[row, column]:.4f}"]
    left, top = (min(float(rect.attrib[name]) for rect in rects) for name in ("x", "y"))
    texts = {text.text: text for text in root.iter("text")}
    head = {"en": "head", "zh": "头"}[language]
    rows = [float(texts[f"{head} {i}"].attrib["y"]) for i in range(2)]
    assert top < rows[0] < rows[1]
    columns = [float(texts[word].attrib["x"]) for word in ("the", "cat", "sleeps")]
    assert left < columns[0] < columns[1] < columns[2]
