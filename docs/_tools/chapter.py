"""Create the skeleton of a chapter in all the mirrored trees: `make chapter PAGE=position/alibi`.

Every place that a person must fill in says TODO, and a test fails while one is left.
"""

import re
import sys

from docs._tools.blocks import ROOT

MODULE = '''"""TODO: one sentence, what this mechanism is."""

from torch import Tensor


def {name}(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""TODO: one sentence; then formula, shapes, errors, source.

    Example:
        ```python
        from attn_docs.{part}.{name} import {name}

        print({name}.__name__)
        #> {name}
        ```
    """
    raise NotImplementedError
'''
EXAMPLE = """from attn_docs.{part}.{name} import {name}

print({name}.__name__)
"""
FIGURE = '''"""Figures of the chapter {page}."""

import functools
from collections.abc import Callable

from attn_docs.figures._draw import stage_line

KEY = "{part}-{slug}"

FIGURES: dict[str, Callable[[str], str]] = {{
    "stage-line": functools.partial(stage_line, KEY, lit=("score",)),  # TODO: its own stages
}}
'''
TABLE = '''"""What {name} costs."""

from attn_docs.tables._markdown import table


def cost(language: str) -> str:
    """Return what the chapter's section on cost shows."""
    header = {{"en": ("what", "cost"), "zh": ("项目", "开销")}}[language]
    return table(header, [("TODO", "0")])


TABLES = {{"cost": cost}}
'''
TEST = '''"""{name} against an independent implementation, and its properties."""

import pytest

from attn_docs.{part}.{name} import {name}


def test_agrees_with_an_independent_implementation() -> None:
    pytest.fail(f"TODO: compare {{{name}.__name__}} in float64, values and gradients")
'''
API = """---
description: "API reference: attn_docs.{part}.{name}"
---

# {slug}

The chapter: [{page}](../../../{page}.md). TODO: its title.

::: attn_docs.{part}.{name}
"""
PAGE = {
    "": (
        "What it is and why anyone wanted it, in one sentence.",
        "The lit stages are this page's.",
        (
            ("worked-example", "A worked example"),
            ("the-formula", "The formula"),
            ("the-code", "The code"),
            ("does-it-agree", "Does it agree?"),
            ("what-it-costs", "What it costs"),
            ("what-goes-wrong", "What goes wrong"),
            ("exercises", "Exercises"),
            ("sources", "Sources"),
        ),
    ),
    ".zh": (
        "用一句话说明它是什么、为什么需要它。",
        "点亮的是本页讲的阶段。",
        (
            ("worked-example", "动手算一遍"),
            ("the-formula", "公式"),
            ("the-code", "代码"),
            ("does-it-agree", "结果一致吗？"),
            ("what-it-costs", "代价"),
            ("what-goes-wrong", "哪里会出错"),
            ("exercises", "练习"),
            ("sources", "来源"),
        ),
    ),
}
SHOWN = {
    "worked-example": '```python\n--8<-- "attn_docs/examples/{part}/{name}/first.py"\n```',
    "the-code": '```python\n--8<-- "attn_docs/{part}/{name}.py"\n```',
    "what-it-costs": '--8<-- "docs/_generated/tables/{part}/{name}/cost{language}.md"',
}


def page_text(names: dict[str, str], language: str) -> str:
    """Return a page with the headings of a chapter's anatomy."""
    lead, caption, headings = PAGE[language]
    figure = f"docs/assets/figures/{names['part']}/{names['name']}/stage-line{language}.svg"
    parts = [
        f"---\ndescription: TODO {names['page']}\n---\n",
        f"# {names['slug']}\n\nTODO: {lead}\n",
        f'--8<-- "{figure}"\n\n/// caption\n{caption}\n///\n',
    ]
    for anchor, title in headings:
        shown = SHOWN.get(anchor, "TODO").format(**names, language=language)
        parts.append(f"## {title} {{ #{anchor} }}\n\n{shown}\n")
    return "\n".join(parts)


def with_page_in_navigation(config: str, part: str, page: str) -> str:
    """Return mkdocs.yml with the page after its part's others, and its API page after theirs."""
    if f"&{part}\n" not in config:
        title = part.capitalize().replace("-", " ")
        config = config.replace("  - Reference:\n", f"  - {title}: &{part}\n  - Reference:\n", 1)
        config = config.replace("            - 参考:\n", f"            - {title}: *{part}\n            - 参考:\n", 1)
    config = re.sub(rf"(&{part}\n(?: {{6}}- .*\n)*)", rf"\g<1>      - {page}.md\n", config, count=1)
    api = "          - reference/api/"
    last = config.rindex(api, 0, config.index("\ntheme:"))
    end = config.index("\n", last) + 1
    return f"{config[:end]}{api}{page}.md\n{config[end:]}"


def main(page: str) -> None:
    """Write the skeleton's files; refuse to touch one that is there."""
    if not re.fullmatch(r"[a-z][a-z-]*/[a-z][a-z0-9-]*", page):
        sys.exit(f"PAGE must be <part>/<page> in lower case, such as position/alibi; got {page!r}")
    folder, slug = page.split("/")
    part, name = folder.replace("-", "_"), slug.replace("-", "_")
    names = {"page": page, "part": part, "slug": slug, "name": name}
    files = {
        f"attn_docs/{part}/{name}.py": MODULE.format(**names),
        f"attn_docs/examples/{part}/{name}/first.py": EXAMPLE.format(**names),
        f"attn_docs/figures/{part}/{name}.py": FIGURE.format(**names),
        f"attn_docs/tables/{part}/{name}.py": TABLE.format(**names),
        f"docs/{page}.md": page_text(names, ""),
        f"docs/{page}.zh.md": page_text(names, ".zh"),
        f"docs/reference/api/{page}.md": API.format(**names),
        f"tests/{part}/test_{name}.py": TEST.format(**names),
    }
    there = [path for path in files if (ROOT / path).exists()]
    if there:
        sys.exit(f"these files are there already: {', '.join(there)}")
    for tree in ("attn_docs", "attn_docs/exhibits", "attn_docs/figures", "attn_docs/tables"):
        package = ROOT / tree / part / "__init__.py"
        if not package.exists():
            package.parent.mkdir(parents=True, exist_ok=True)
            package.write_text(f'"""The part {folder}."""\n', encoding="utf-8")
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
    config = ROOT / "mkdocs.yml"
    text = with_page_in_navigation(config.read_text(encoding="utf-8"), folder, page)
    config.write_text(text, encoding="utf-8")
    print("\n".join(files), "\nNext: `make figures`, `make outputs`, then fill in each TODO.")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
