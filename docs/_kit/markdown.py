"""Markdown tables from rows."""

from collections.abc import Collection, Iterable, Sequence


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[int] = (0,)
) -> str:
    """Return a Markdown table whose columns are aligned to the right, but for those of words."""
    rule = ["---" if column in words else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))
