"""What each property of the checker asks."""

from attn_docs.testing import PROPERTIES
from attn_docs.testing.function import CHECKS as OF_FUNCTIONS
from attn_docs.testing.module import CHECKS as OF_MODULES
from docs._kit.markdown import table
from docs._kit.text import texts


def properties(language: str) -> str:
    """Return each property, what it asks, and which of the two checkers asks it."""
    header = texts(__file__, "properties", language)["header"]
    asks = texts(__file__, "asks", language)
    rows = (
        (
            f"`{name}`",
            asks[name],
            "✓" if name in OF_FUNCTIONS else "",
            "✓" if name in OF_MODULES else "",
        )
        for name in PROPERTIES
    )
    return table(header, rows).replace("---:", ":--", 1).replace("---:", ":-:")


TABLES = {"properties": properties}


def numbers() -> dict[str, str]:
    """Return the numbers that the page's sentences use."""
    return {"of_functions": str(len(OF_FUNCTIONS)), "properties": str(len(PROPERTIES))}
