"""The figures on grouped-query attention show the sharing and the measurement they claim."""

import re
from xml.etree import ElementTree as ET

import pytest
import torch

from attn_docs import GroupedQueryAttention, grouped_query_attention_broadcast
from attn_docs.exhibits.heads import tiled_key_heads
from docs._tools.page import page_module

figures = page_module("heads/grouped-query", "figures")

SVG = "{http://www.w3.org/2000/svg}"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def groups(name: str, language: str, attribute: str) -> dict[str, ET.Element]:
    root = ET.fromstring(figures.FIGURES[name](language))  # noqa: S314 - our own
    return {g.attrib[attribute]: g for g in root.iter(f"{SVG}g") if attribute in g.attrib}


def reads(attend, heads: int, kv_heads: int) -> list[int]:
    """Find out from the output which value head each query head has read."""
    query, key = torch.zeros(1, heads, 1, 1), torch.zeros(1, kv_heads, 1, 1)
    value = torch.arange(float(kv_heads)).view(1, kv_heads, 1, 1)
    return attend(query, key, value).flatten().int().tolist()


@languages
def test_lines_join_each_query_head_to_the_key_head_it_reads(language: str) -> None:
    panels = groups("sharing", language, "data-panel")
    assert panels.keys() == figures.PANELS.keys()
    for name, kv_heads in figures.PANELS.items():
        lines = [line for line in panels[name].iter() if line.get("data-query")]
        found = {int(line.attrib["data-query"]): int(line.attrib["data-key"]) for line in lines}
        wanted = reads(grouped_query_attention_broadcast, figures.HEADS, kv_heads)
        assert [found[head] for head in range(figures.HEADS)] == wanted
        texts = [text.text for text in panels[name].iter(f"{SVG}text")]
        assert [sum(text.startswith(letter) for text in texts) for letter in "QKV"] == [
            figures.HEADS,
            kv_heads,
            kv_heads,
        ]


@languages
def test_filled_cells_are_what_the_function_and_the_exhibit_read(language: str) -> None:
    panels = groups("mapping", language, "data-mapping")
    ways = {"repeat_interleave": grouped_query_attention_broadcast, "repeat": tiled_key_heads}
    for name, way in ways.items():
        wanted = reads(getattr(way, "attention", way), figures.MAP_HEADS, figures.MAP_KV_HEADS)
        filled = {
            int(cell.attrib["data-row"]): int(cell.attrib["data-column"])
            for cell in panels[name].iter()
            if cell.get("data-row") and float(cell.attrib["fill-opacity"]) > 0
        }
        assert [filled[head] for head in range(figures.MAP_HEADS)] == wanted


@languages
def test_bars_are_as_long_as_the_stored_numbers(language: str) -> None:
    forms, values = groups("measured", language, "data-form"), figures.stored()
    assert forms.keys() == values.keys()
    for index, kind in enumerate(("time", "memory")):
        full = max(pair[index] for pair in values.values())
        for name, pair in values.items():
            (bar,) = [e for e in forms[name].iter() if e.get("data-bar") == kind]
            assert float(bar.attrib["width"]) == pytest.approx(270 * pair[index] / full, abs=0.01)
    shown = [text.text for text in forms["repeat"].iter(f"{SVG}text")]
    assert shown[1:] == ["1.00×", f"{values['repeat'][1]:.0f} MiB"]


def test_both_stored_tables_hold_the_same_numbers() -> None:
    english = figures.STORED.read_text(encoding="utf-8")
    chinese = figures.STORED.with_name("forms.zh.md").read_text(encoding="utf-8")
    rows = [re.findall(r"[\d.,]+(?=×| MiB)", text) for text in (english, chinese)]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 4 * len(figures.stored())


def test_the_measurement_says_what_the_page_says() -> None:
    values = figures.stored()
    assert values["repeat"][1] > 10 * values["broadcast"][1]
    assert values["matmul"][1] > 5 * values["broadcast"][1]
    assert values["broadcast"][0] < 0.5
    assert values["torch"][0] < 0.5


def test_the_sharing_of_the_module_is_that_of_the_function() -> None:
    module = GroupedQueryAttention(figures.HEADS, figures.HEADS, 2, bias=False)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        module.v_proj.weight[:, 0] = torch.tensor([0.0, 1.0])
        module.out_proj.weight.copy_(torch.eye(figures.HEADS))
        output = module(torch.ones(1, 1, figures.HEADS))
    assert output.flatten().int().tolist() == [0, 0, 1, 1]
