"""The figures on query, key and value show the weights and sums they claim."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from attn_docs import attention_by_hand
from attn_docs.sentence import embeddings, projections
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("foundations/query-key-value", "figures")

WORDS = ["the", "cat", "sleeps"]
QUERY = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
ONE_HOT = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
PRINTED = [
    ["0.2645", "0.4711", "0.2645"],
    ["0.2645", "0.2645", "0.4711"],
    ["0.2192", "0.3904", "0.3904"],
]
SECOND_ROW = [0.1, 0.8, 0.1]
VALUES = [[1, 0, 0.5], [0, 1, 0.3], [0.5, 0.5, 0.8]]
languages = pytest.mark.parametrize("language", ["en", "zh"])


def rects(root: ET.Element) -> list[SimpleNamespace]:
    names = ("x", "y", "width", "height")
    return [
        SimpleNamespace(element=rect, **{name: float(rect.attrib[name]) for name in names})
        for rect in root.iter("rect")
    ]


def texts(root: ET.Element) -> list[SimpleNamespace]:
    """Return the texts, y being the middle of their height."""
    return [
        SimpleNamespace(
            text=text.text,
            x=float(text.attrib["x"]),
            y=float(text.attrib["y"]) - 0.35 * float(text.attrib["font-size"]),
            anchor=text.get("text-anchor"),
        )
        for text in root.iter("text")
    ]


# The arcs


def of_it(sharpness: float) -> tuple[list[float], list[float]]:
    """Return the weights of "it" and its output, by loops."""
    matrices = projections(sharpness)
    output, weights = attention_by_hand(*((embeddings() @ w).tolist() for w in matrices))
    return weights[3], output[3]


@languages
def test_arcs_lead_from_it_and_are_as_thick_as_the_weights_written_below_them(language):
    root = parse(figures.FIGURES["arcs"](language))
    weights, _ = of_it(6.0)
    arcs = {int(p.attrib["data-word"]): p for p in root.iter("path") if "data-word" in p.attrib}
    assert sorted(arcs) == [0, 1, 2, 3, 4]
    words = {t.text: t for t in texts(root)}
    assert float(arcs[1].attrib["stroke-width"]) > 10 * float(arcs[0].attrib["stroke-width"])
    for index, word in enumerate(("the", "cat", "sleeps", "it", "dreams")):
        width = float(arcs[index].attrib["stroke-width"])
        assert width == pytest.approx(max(16 * weights[index], 0.6), abs=0.01)
        numbers = [float(n) for n in re.findall(r"-?[\d.]+", arcs[index].attrib["d"])]
        assert numbers[0] == pytest.approx(words["it"].x, abs=6)
        assert numbers[-2] == pytest.approx(words[word].x, abs=6)
        above = [t.text for t in texts(root) if t.x == words[word].x and t.y < words[word].y]
        assert above == [f"{weights[index]:.2f}"]


@languages
def test_keys_and_values_below_the_arcs_are_those_of_the_sentence(language):
    root = parse(figures.FIGURES["arcs"](language))
    header = figures.texts(figures.__file__, "words", language)["header"][1:]
    for row, matrix in enumerate(projections()[1:]):
        found = [t.text for t in root.iter("text") if t.get("data-role") == str(row)]
        features = embeddings() @ matrix
        first = 4 * row
        names = [
            header[first + line.argmax().item()] if line.any() else "\N{EN DASH}"
            for line in features
        ]
        assert found == names


def ones(root: ET.Element, matrix: str) -> list[tuple[int, int]]:
    """Return where a drawn matrix is filled."""
    (group,) = (g for g in root.iter("g") if g.get("data-matrix") == matrix)
    return [(int(r.attrib["data-row"]), int(r.attrib["data-column"])) for r in group.iter("rect")]


@languages
def test_drawn_matrices_and_products_are_those_of_the_sentence(language):
    root, x = parse(figures.FIGURES["roles"](language)), embeddings()
    assert ones(root, matrix="x") == [tuple(place) for place in x.nonzero().tolist()]
    for name, matrix in zip("QKV", projections(), strict=True):
        assert ones(root, matrix=name) == [tuple(p) for p in matrix.nonzero().tolist()]
        product = [tuple(place) for place in (x @ matrix).nonzero().tolist()]
        assert ones(root, matrix=name.lower()) == product


@languages
def test_the_words_are_drawn_with_their_features(language):
    root = parse(figures.FIGURES["words"](language))
    filled = rects(root)
    assert len(filled) == int(embeddings().sum()) == 9
    header = figures.texts(figures.__file__, "words", language)["header"][1:]
    places = {t.text: t.x for t in texts(root)}
    for rect, (_, column) in zip(filled, embeddings().nonzero().tolist(), strict=True):
        assert places[header[column]] == pytest.approx(rect.x + rect.width / 2)


# The attention map


def grid(root: ET.Element) -> SimpleNamespace:
    """Return the map as it is seen: rows from the top, columns from the left."""
    cells = rects(root)
    left, top = min(cell.x for cell in cells), min(cell.y for cell in cells)
    width, height = cells[0].width, cells[0].height
    table = [[None] * 3 for _ in range(3)]
    for cell in cells:
        row, column = round((cell.y - top) / height), round((cell.x - left) / width)
        assert (cell.x, cell.y) == (left + column * width, top + row * height)
        assert (cell.width, cell.height) == (width, height)
        assert table[row][column] is None
        table[row][column] = cell
    return SimpleNamespace(cells=table, left=left, top=top, width=width, height=height)


@languages
def test_map_prints_each_weight_in_its_querys_row_and_its_keys_column(language):
    root = parse(figures.FIGURES["attention-map"](language))
    seen = grid(root)
    weights = attention_by_hand(QUERY, ONE_HOT, ONE_HOT)[1]
    for row in range(3):
        for column in range(3):
            cell = seen.cells[row][column]
            inside = [
                text.text
                for text in texts(root)
                if cell.x < text.x < cell.x + cell.width and cell.y < text.y < cell.y + cell.height
            ]
            assert inside == [PRINTED[row][column]] == [f"{weights[row][column]:.4f}"]
            assert cell.element.attrib["data-row"] == str(row)
            assert cell.element.attrib["data-column"] == str(column)


@languages
def test_shade_of_each_cell_is_in_proportion_to_its_weight(language):
    seen = grid(parse(figures.FIGURES["attention-map"](language)))
    weights = attention_by_hand(QUERY, ONE_HOT, ONE_HOT)[1]
    largest = max(map(max, weights))
    for line, row in zip(seen.cells, weights, strict=True):
        for cell, weight in zip(line, row, strict=True):
            opacity = float(cell.element.attrib["fill-opacity"])
            assert opacity == pytest.approx(0.45 * weight / largest, abs=0.006)


@languages
def test_rows_are_queries_and_columns_are_keys(language):
    root = parse(figures.FIGURES["attention-map"](language))
    seen = grid(root)
    query, key, total = {"en": ("query", "key", "sum"), "zh": ("查询", "键", "和")}[language]
    right = seen.left + 3 * seen.width
    labels = {}
    for text in texts(root):
        if text.x < seen.left and text.y > seen.top:
            labels["row", round((text.y - seen.top) / seen.height - 0.5)] = text.text
        elif seen.left < text.x < right and seen.top - 20 < text.y < seen.top:
            labels["column", round((text.x - seen.left) / seen.width - 0.5)] = text.text
        elif text.x > right and text.y > seen.top:
            labels["sum", round((text.y - seen.top) / seen.height - 0.5)] = text.text
        elif text.x < seen.left:
            assert text.text == f"{query} ↓"
        elif text.x > right:
            assert text.text == total
        elif text.y < seen.top:
            assert text.text == f"{key} →"
    for index, word in enumerate(WORDS):
        assert labels["row", index] == labels["column", index] == word
        assert labels["sum", index] == "1"
    assert {f"{query} ↓", f"{key} →", total} <= {text.text for text in texts(root)}


@languages
def test_description_says_every_weight(language):
    desc = parse(figures.FIGURES["attention-map"](language)).findtext("desc")
    for word, row in zip(WORDS, PRINTED, strict=True):
        start = {"en": f"Query {word}: ", "zh": f"查询 {word}："}[language]
        sentence = desc.partition(start)[2].replace("。", ". ").partition(". ")[0]
        for key, weight in zip(WORDS, row, strict=True):
            said = {"en": f"{weight} to {key}", "zh": f"对 {key} 为 {weight}"}[language]
            assert said in sentence


# The weighted mean


def bars(root: ET.Element) -> SimpleNamespace:
    """Return outlines in order, and filled bars by value and component, apart and stacked."""
    found = SimpleNamespace(outlines=[], apart={}, stacked={})
    for rect in rects(root):
        mark = rect.element.attrib
        if mark.get("fill") == "none":
            found.outlines.append(rect)
            continue
        kind = found.stacked if "data-stacked" in mark else found.apart
        kind[int(mark["data-source"]), int(mark["data-component"])] = rect
    return found


@languages
def test_outlines_are_the_values_and_fills_their_weighted_shares(language):
    seen = bars(parse(figures.FIGURES["weighted-mean"](language)))
    unit = max(bar.height for bar in seen.outlines)  # the largest component is 1
    floor = seen.outlines[0].y + seen.outlines[0].height
    outlines = iter(seen.outlines)
    for source, value in enumerate(VALUES):
        for component, number in enumerate(value):
            fill = seen.apart[source, component]
            assert fill.y + fill.height == pytest.approx(floor, abs=0.02)
            assert fill.height == pytest.approx(unit * SECOND_ROW[source] * number, abs=0.02)
            if number:
                outline = next(outlines)
                assert outline.y + outline.height == pytest.approx(floor, abs=0.02)
                assert outline.height == pytest.approx(unit * number, abs=0.02)
                assert (outline.x, outline.width) == (fill.x, fill.width)
    assert next(outlines, None) is None
    assert len(seen.apart) == 9


@languages
def test_stacks_add_the_same_fills_up_to_the_output(language):
    root = parse(figures.FIGURES["weighted-mean"](language))
    seen = bars(root)
    unit = max(bar.height for bar in seen.outlines)
    for component in range(3):
        level = seen.stacked[0, component].y + seen.stacked[0, component].height
        floor = level
        for source in range(3):
            bar, before = seen.stacked[source, component], seen.apart[source, component]
            assert bar.y + bar.height == pytest.approx(level, abs=0.02)
            assert bar.height == pytest.approx(before.height, abs=0.02)
            assert bar.element.attrib["fill"] == before.element.attrib["fill"]
            level = bar.y
        output = sum(w * value[component] for w, value in zip(SECOND_ROW, VALUES, strict=True))
        assert floor - level == pytest.approx(unit * output, abs=0.05)
        middle = seen.stacked[0, component].x + seen.stacked[0, component].width / 2
        below = [t.text for t in texts(root) if t.x == middle and t.y > floor]
        assert below == [f"{output:.2f}"] == [f"{[0.15, 0.85, 0.37][component]}"]


@languages
def test_values_and_weights_stand_at_their_bars(language):
    root = parse(figures.FIGURES["weighted-mean"](language))
    seen = bars(root)
    name, weight = {"en": ("value", "weight"), "zh": ("值", "权重")}[language]
    for source, value in enumerate(VALUES):
        row = [seen.apart[source, component] for component in range(3)]
        assert [bar.x for bar in row] == sorted(bar.x for bar in row)
        middle = row[1].x + row[1].width / 2
        top = [t.text for t in sorted(texts(root), key=lambda t: t.y) if abs(t.x - middle) < 3][:2]
        assert top == [f"{name} {source + 1}", f"{weight} {SECOND_ROW[source]}"]
        for bar, number in zip(row, value, strict=True):
            floor = bar.y + bar.height
            (label,) = (
                t.text
                for t in texts(root)
                if t.x == bar.x + bar.width / 2 and floor < t.y < floor + 20
            )
            assert float(label) == number


@languages
def test_description_of_the_mean_says_its_numbers(language):
    desc = parse(figures.FIGURES["weighted-mean"](language)).findtext("desc")
    for said in ("[1, 0, 0.5]", "[0, 1, 0.3]", "[0.5, 0.5, 0.8]", "[0.15, 0.85, 0.37]"):
        assert said in desc
