"""The figure and the table of the chapter on loading checkpoints, against their sources."""

import contextlib
import io
import itertools
import re
import runpy
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attn_docs.checkpoints.from_hugging_face import CONVERTERS
from docs._kit.examples import example
from docs._kit.measured import load
from docs._kit.text import texts
from docs._tools.blocks import ROOT
from docs._tools.page import page_module
from tests.checkpoints.families import FAMILIES
from tests.kit import off, parse

figures = page_module("checkpoints/from-hugging-face", "figures")
tables = page_module("checkpoints/from-hugging-face", "tables")
PROGRAMS = ROOT / "attn_docs/examples/checkpoints/from_hugging_face"
languages = pytest.mark.parametrize("language", ["en", "zh"])


def test_what_is_measured_are_the_families_that_are_tested() -> None:
    values = load(tables.__file__)["families"].values
    assert {value["family"] for value in values} == set(FAMILIES)
    assert all(value["value"] < 1e-5 for value in values)
    for name, family in FAMILIES.items():
        ways = [value["quantity"] for value in values if value["family"] == name]
        assert ways == (["whole", "cached", "padded"] if family.decodes else ["whole", "padded"])


@languages
def test_each_class_has_its_row(language: str) -> None:
    text, rows = texts(tables.__file__, "families", language), []
    for made in (tables.families(language), tables.others(language)):
        rows += [line for line in made.splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(CONVERTERS)
    for row, (layer, names) in zip(rows, tables.by_layer().items(), strict=True):
        assert row.startswith(f"| {names[0].partition(',')[0]}")
        for feature in itertools.chain(*tables.apart(layer)):
            assert text["parts"][feature] in row, (layer, feature)


def test_what_sets_layers_apart_is_read_from_the_converted_ones() -> None:
    assert tables.apart("LlamaAttention") == ((), (), ("llama3",))
    assert tables.apart("Gemma2Attention") == (("cap", "scale"), ("window",), ())
    assert tables.apart("GptOssAttention") == (("biases", "sinks", "yarn"), ("window",), ())
    assert tables.apart("Olmo2Attention") == (("across",), (), ())
    assert tables.apart("Qwen3NextAttention") == (("norms", "gate", "partial"), (), ())
    assert "biases" in tables.apart("GPTNeoXAttention").models


def test_wrong_details_show_where_the_page_says() -> None:
    found = {name: dict(points) for name, points in figures.curves().items()}
    assert found["rule"][64] < 0.01 < found["rule"][256]
    assert found["rule"][2] > 5 * figures.LIMIT  # at once, in float32
    assert all(part < figures.LIMIT / 100 for part in found["float32"].values())
    assert found["scale"][2] > figures.LIMIT
    assert found["rule"][4096] > 0.3
    assert found["rule"][16] < 0.6 * found["bfloat16"][16]
    assert found["rule"][32] < 1.2 * found["bfloat16"][32] < 0.6 * found["rule"][64]
    assert all(0.002 < part < 0.004 for part in found["bfloat16"].values())
    assert found["window"][512] > 0.001  # the last query of these is the first to see 512 keys
    assert all(part == 0 for at, part in found["window"].items() if at < figures.WINDOW)
    assert found["window"][4096] > 0.02
    for name in ("rule", "scale"):
        assert all(a < b + 0.01 for a, b in itertools.pairwise(found[name].values()))


def test_a_detail_by_a_loop() -> None:
    rows = torch.tensor([0, 5, 700])
    detail = figures.Detail(scale=1.3, window=6)
    query, key, value = figures._inputs()
    for row, found in zip(rows, figures.outputs(detail, rows)[0].unbind(1), strict=True):
        first = max(0, int(row) - 5)
        rotary = figures.RotaryEmbedding(
            figures.HEAD, theta=500_000.0, scaling=figures.Llama3Scaling(8.0, 8192)
        )
        one = rotary(query[:, :, [row]], row.view(1))[0, :, 0]
        keys = rotary(key[:, :, first : row + 1], torch.arange(first, int(row) + 1))[0]
        weights = (1.3 / figures.HEAD**0.5 * keys @ one.unsqueeze(-1)).softmax(dim=1)
        wanted = (weights * value[0, :, first : row + 1]).sum(1)
        assert torch.allclose(found, wanted)


@languages
def test_the_figure_says_the_ends_of_its_lines(language: str) -> None:
    svg = figures.off(language)
    assert {e.get("data-part") for e in parse(svg).iter("g")} >= set(figures.DETAILS)
    for name, points in figures.curves().items():
        assert figures.said(name, points[-1][1]) in svg
    assert 'data-part="limit"' in svg
    assert re.search("512", texts(figures.__file__, "off", language)["desc"])


def test_what_loads_and_is_wrong_has_its_reason() -> None:
    rows = tables.all_keys("en").splitlines()[2:]
    assert len(rows) == 6
    assert [row.split("|")[2].strip() == "0.0000" for row in rows] == [True] + 5 * [False]
    llama31 = example("checkpoints/from_hugging_face/all_keys")["found"]["Llama 3.1"]
    assert 0.003 < llama31[1] < 0.004  # a third of one percent
    assert llama31[2] > 0.5


def test_each_bug_passes_where_the_page_says() -> None:
    found = example("checkpoints/from_hugging_face/blind")["found"]
    passes = {name: [one < tables.LIMIT for one in off] for name, off in found.items()}
    assert passes == {
        "norms": [True, True, False, False, False, False],
        "pairs": [True, False, False, False, False, False],
        "scale": [True, False, False, False, False, False],
        "window": [True, False, False, False, False, False],
        "eps": [True, False, False, False, True, False],
        "cap": [True, True, True, True, False, False],
    }


def run(code: str, path: Path) -> tuple[dict, str]:
    path.write_text(code)
    with torch.set_grad_enabled(True), contextlib.redirect_stdout(told := io.StringIO()):
        return runpy.run_path(str(path)), told.getvalue()


@torch.no_grad()
def test_one_batch_drowns_the_small_input() -> None:
    layer = example("checkpoints/from_hugging_face/blind")["layer"]
    x = torch.randn(2, 60, 42, generator=torch.manual_seed(1))
    both = [layer(True, 0.3, eps=eps) for eps in (1e-6, 1.2e-7)]

    def found(x: Tensor) -> float:
        right, other = (layer(x, is_causal=True) for layer in both)
        return off(other, right)

    assert found(torch.cat([x, 0.01 * x, 10 * x])) < tables.LIMIT < found(0.01 * x)


@pytest.mark.parametrize("std", ["0.02", "0.1", "0.5", "1.0"])
def test_three_sizes_of_input_see_every_bug(std: str, tmp_path: Path) -> None:
    code = (PROGRAMS / "blind.py").read_text()
    assert code.count("std=0.02") == 1
    found = run(code.replace("std=0.02", f"std={std}"), tmp_path / "program.py")[0]["found"]
    for name, errors in found.items():
        assert max(errors[2:5]) > tables.LIMIT, name
    if std == "0.5":
        assert found["cap"][2] > tables.LIMIT > found["eps"][2]


@pytest.mark.parametrize(
    ("name", "right", "wrong", "answers"),
    [
        ("gemma2", "softcap=50.0)", "softcap=1e9)", ["False", "False"]),
        ("qwen3", "eps=config.rms_norm_eps", "eps=1e-7", ["True", "False"]),
    ],
)
def test_a_program_sees_the_detail_that_it_names(
    name: str, right: str, wrong: str, answers: list[str], tmp_path: Path
) -> None:
    code = (PROGRAMS / f"{name}.py").read_text()
    assert code.count(right) == 1
    told = run(code.replace(right, wrong), tmp_path / "program.py")[1].splitlines()
    assert [line for line in told if line in ("True", "False")] == answers


def test_gemma_2_of_the_first_table_is_off_by_its_cap_as_well(tmp_path: Path) -> None:
    code = (PROGRAMS / "all_keys.py").read_text()
    end = "rotary=RotaryEmbedding(16)"
    fixed = code.replace(f"{end})", f"{end}, scale=18**-0.5)")
    capped = '{"query_pre_attn_scalar": 18'
    free = fixed.replace(capped, capped + ', "attn_logit_softcapping": None')
    with_cap, without = (
        run(each, tmp_path / "program.py")[0]["found"]["Gemma 2"][1] for each in (fixed, free)
    )
    assert without < tables.LIMIT
    assert 0.003 < with_cap < 0.007


@pytest.mark.parametrize("name", ["converted", "swapped"])
def test_the_last_comparison_sees_exchanged_norms(name: str, tmp_path: Path) -> None:
    code = (ROOT / f"attn_docs/examples/checkpoints/from_hugging_face/{name}.py").read_text()
    before, layers = {
        "converted": ("seen = {}", "ours"),
        "swapped": ("found = model(", "(block.self_attn.layer for block in model.model.layers)"),
    }[name]
    exchange = "one.q_norm, one.k_norm = one.k_norm, one.q_norm"
    exchanged = f"for one in {layers}:\n    {exchange}\n"
    for planted, answer in (("", "True"), (exchanged, "False")):
        path, told = tmp_path / "program.py", io.StringIO()
        path.write_text(code.replace(f"\n{before}", f"\n{planted}{before}", 1))
        with torch.set_grad_enabled(True), contextlib.redirect_stdout(told):
            runpy.run_path(str(path))
        said = {line for line in told.getvalue().splitlines() if line in ("True", "False")}
        assert said == {answer}


def test_the_numbers_of_the_sentences() -> None:
    found = tables.numbers()
    assert found["classes"] == str(len(CONVERTERS))
    assert found["scale_27b"] == "1.06"
