"""What from_hugging_face costs."""

from collections.abc import Callable

from docs._kit.markdown import table
from docs._kit.text import texts


def cost(language: str) -> str:
    """Return what the chapter's section on cost shows."""
    text = texts(__file__, "cost", language)
    return table(text["header"], [(text["todo"], "0")])


TABLES: dict[str, Callable[[str], str]] = {"cost": cost}
