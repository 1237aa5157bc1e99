"""The figures of which kernel runs show the choice that is made and the memory measured."""

import pytest

from docs._kit.draw import ACCENT
from docs._tools.page import page_module
from tests.kit import parse

figures = page_module("kernels/which-kernel", "figures")
tables = page_module("kernels/which-kernel", "tables")
languages = pytest.mark.parametrize("language", ["en", "zh"])


@languages
def test_every_no_leads_to_math_and_only_there(language: str) -> None:
    root = parse(figures.choice(language))
    asked = [g.get("data-question") for g in root.iter("g") if g.get("data-question")]
    assert asked == list(figures.QUESTIONS)
    failing = [row for rows in figures.QUESTIONS.values() for row in rows]
    for name, calls in tables.all_calls().items():
        kernels = {tables.ran(call) for call in calls}
        wanted = "MATH" if name in failing else "" if name == "no_keys" else "FLASH_ATTENTION"
        assert kernels == {wanted}, name


def test_the_questions_stand_in_the_order_in_which_pytorch_refuses() -> None:
    names = list(figures.QUESTIONS)
    changes = {
        "dropout": {"dropout": 0.5},
        "axes": {"axes": 3},
        "mask": {"mask": "learned"},
        "sizes": {"sizes": (64, 48)},
        "strided": {"strided": True},
    }
    reasons = {
        name: tables.reason(tables.Case(**change).call()) for name, change in changes.items()
    }
    for first, second in (
        (a, b) for a in changes for b in changes if names.index(a) < names.index(b)
    ):
        both = tables.Case(**{**changes[first], **changes[second]})
        assert tables.reason(both.call()) == reasons[first], (first, second)


@languages
def test_the_fused_kernel_is_the_one_in_colour(language: str) -> None:
    root = parse(figures.choice(language))
    boxes = {g.get("data-kernel"): g.find("rect") for g in root.iter("g") if g.get("data-kernel")}
    assert {name: box.get("fill") == ACCENT for name, box in boxes.items()} == {
        "FLASH_ATTENTION": True,
        "MATH": False,
    }


@languages
def test_the_lines_are_those_that_were_measured(language: str) -> None:
    root = parse(figures.memory(language))
    values = figures.sizes()
    assert {g.get("data-part") for g in root.iter("g")} >= set(values)
    desc = root.find("desc").text
    for sizes in values.values():
        assert " ".join(f"{size:g}" for size in sizes) in desc
