"""Figures of the chapter checkpoints/models."""

from collections.abc import Callable

from docs._kit.draw import canvas, finish, write
from docs._kit.text import texts

KEY = "checkpoints-models"


def idea(language: str) -> str:
    """Draw the idea of the chapter."""
    text = texts(__file__, "idea", language)
    drawing = canvas(340, 40)
    write(drawing, text["todo"], 170, 20)
    return finish(drawing.as_svg(header=""), f"{KEY}-idea", text["title"], text["desc"])


FIGURES: dict[str, Callable[[str], str]] = {"idea": idea}
