"""What a module offers, read from its text: each public name, its arguments and its first words.

Nothing is imported: building the site needs no torch.
"""

import ast
from functools import cache
from typing import NamedTuple

WIDTH = 72  # of a signature in characters: one line of a page


class Offer(NamedTuple):
    """A public function or class of a module."""

    signature: str
    sentence: str  # the first of its docstring


@cache
def offers(source: str) -> tuple[Offer, ...]:
    """Return the public functions and classes of a module in their order, each name once."""
    found = {
        node.name: Offer(_signature(node), _sentence(node))
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    return tuple(found.values())


def _signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return a name and its arguments without their types; of many, those that one line holds."""
    arguments = _arguments(node) if isinstance(node, ast.FunctionDef) else _made_from(node)
    kept = list(arguments)
    while len(whole := f"{node.name}({', '.join(kept)})") > WIDTH:
        kept = [*kept[: -1 - (kept[-1] == "…")], "…"]
        if kept[-2:-1] == ["*"]:  # of what it sets apart nothing is left
            kept.pop(-2)
    return whole


def _made_from(node: ast.ClassDef) -> list[str]:
    """Return what a class is made from: the arguments of its constructor, or its fields."""
    for member in node.body:
        if isinstance(member, ast.FunctionDef) and member.name == "__init__":
            return _arguments(member)[1:]
    fields = [member for member in node.body if isinstance(member, ast.AnnAssign)]
    tells = node.decorator_list or "NamedTuple" in map(ast.unparse, node.bases)
    return [ast.unparse(field.target) for field in fields if tells]


def _arguments(node: ast.FunctionDef) -> list[str]:
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    text = ast.unparse(node.args)
    starts = [0, *(i + 1 for i, sign in enumerate(text) if sign == "," and _outside(text[:i]))]
    return [text[i:j].strip(" ,") for i, j in zip(starts, [*starts[1:], None], strict=True) if text]


def _outside(text: str) -> bool:
    """Tell whether no bracket is open at the end of a text."""
    return all(text.count(opened) == text.count(closed) for opened, closed in ("()", "[]", "{}"))


def _sentence(node: ast.FunctionDef | ast.ClassDef) -> str:
    paragraph = (ast.get_docstring(node) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].removesuffix(".")
