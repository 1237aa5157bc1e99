"""Real classes of other libraries: nothing false is said of them, and something is said."""

import functools
import warnings

import pytest
import torch

from attn_docs.testing import Report, check_module

with warnings.catch_warnings():  # of x-transformers, about a decorator of PyTorch's
    warnings.simplefilter("ignore", DeprecationWarning)
    from tests.testing.real import ROWS, Row

NAMES = {row.name: row for row in ROWS}
FAMILIES = """
Bert GPT2 Llama Qwen2 Qwen3 Gemma2 Gemma3 Mistral Phi Phi3 T5 ViT Whisper DeepseekV3 GptOss Falcon
Olmo2 Bloom OPT Cohere GPTNeoX Persimmon StableLm Granite SmolLM3 torch x-transformers
""".split()


@functools.cache
def report_of(name: str) -> Report:
    row = NAMES[name]
    torch.manual_seed(0)
    return check_module(row.make(), **row.options)


def hold(row: Row) -> None:
    """Assert that the report says nothing false of the row, and something."""
    report = report_of(row.name)
    failing = {finding.property for finding in report.failures}
    assert failing == set(row.fails), report
    assert report.verdict == ("failed" if row.fails else "passed"), report


def test_each_family_is_there_and_no_name_twice():
    assert len(ROWS) == len(NAMES) >= 60
    assert [family for family in FAMILIES if not any(n.startswith(family) for n in NAMES)] == []


@pytest.mark.parametrize("name", [row.name for row in ROWS if not row.slow])
def test_nothing_false_is_said_of_a_real_class(name):
    hold(NAMES[name])


PLAIN = ["Llama attention", "GPT2 attention", "Qwen2 attention", "ViT attention", "OPT attention"]


@pytest.mark.parametrize("name", PLAIN)
def test_the_formula_of_a_plain_layer_is_judged(name):
    verdicts = {finding.property: finding.verdict for finding in report_of(name).findings}
    assert {verdicts[p] for p in ("oracle", "scale", "head layout", "mask place")} == {"pass"}
