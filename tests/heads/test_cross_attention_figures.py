"""The figures on cross-attention show the weights they claim, queries as rows."""

from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import attention_weights
from attn_docs.sentence import embeddings
from docs._tools.page import page_module
from tests import kit

figures = page_module("heads/cross-attention", "figures")

languages = pytest.mark.parametrize("language", ["en", "zh"])
QUERY = torch.tensor([[0.0, 0, 5, 0], [0, 5, 0, 0], [0, 0, 0, 5]])  # asleep, animal, dreaming


def parse(name: str, language: str) -> ET.Element:
    return kit.parse(figures.FIGURES[name](language))


def printed(group: ET.Element, root: ET.Element) -> dict[tuple[int, int], str]:
    """Return the number that stands in each cell, by where the cell is seen."""
    rects = [rect for rect in group.iter("rect") if "data-row" in rect.attrib]
    left, top = (min(float(rect.attrib[name]) for rect in rects) for name in ("x", "y"))
    found = {}
    for rect in rects:
        x, y, width, height = (float(rect.attrib[k]) for k in ("x", "y", "width", "height"))
        (text,) = (
            text.text
            for text in root.iter("text")
            if x < float(text.attrib["x"]) < x + width and y < float(text.attrib["y"]) < y + height
        )
        place = round((y - top) / height), round((x - left) / width)
        assert place == (int(rect.attrib["data-row"]), int(rect.attrib["data-column"]))
        found[place] = text
    return found


@languages
def test_two_sequences_shows_the_weights_of_the_worked_example(language):
    root = parse("two-sequences", language)
    weights = attention_weights(QUERY, embeddings()[:, 4:])
    wanted = {(i, j): f"{weights[i, j]:.2f}" for i in range(3) for j in range(5)}
    assert weights.argmax(-1).tolist() == [2, 1, 4]  # sleeps, cat, dreams
    assert printed(root, root) == wanted


@languages
def test_two_sequences_names_rows_as_queries_and_columns_as_keys(language):
    texts = {text.text: text for text in parse("two-sequences", language).iter("text")}
    query, key = {"en": ("query ↓", "key →"), "zh": ("查询 ↓", "键 →")}[language]
    at = {name: (float(t.attrib["x"]), float(t.attrib["y"])) for name, t in texts.items()}
    assert at["feles"][0] == at["dormit"][0] == at["somniat"][0]
    assert at[query][1] < at["dormit"][1] < at["feles"][1] < at["somniat"][1]
    assert at["the"][0] < at["cat"][0] < at[key][0] == at["sleeps"][0] < at["it"][0]
    assert {"Q, n × d", "K, m × d", "V, m × e", "n × e", "n × D", "m × Dₖᵥ"} <= set(texts)


@languages
def test_whose_padding_shows_where_the_weights_go(language):
    root = parse("whose-padding", language)
    third = {(i, j): "0.33" for i in range(3) for j in range(3)}
    first = {(i, j): "1.00" if j == 0 else "0.00" for i in range(3) for j in range(3)}
    wanted = {"target": third, "source": first}
    groups = {g.attrib["data-mask"]: g for g in root.iter("g") if "data-mask" in g.attrib}
    assert {name: printed(group, root) for name, group in groups.items()} == wanted
    for name, group in groups.items():
        for rect in group.iter("rect"):
            place = int(rect.attrib["data-row"]), int(rect.attrib["data-column"])
            shade = float(rect.attrib["fill-opacity"])
            assert shade == pytest.approx(0.45 * float(wanted[name][place]), abs=0.01)
