"""Create the skeleton of a chapter in all the mirrored trees: `make chapter PAGE=position/alibi`.

Every place that a person must fill in says TODO, and a test fails while one is left.
"""

import re
import sys
from string import Template

from docs._tools.blocks import ROOT

FILES = {
    "module": "attn_docs/{part}/{name}.py",
    "example": "attn_docs/examples/{part}/{name}/first.py",
    "figure": "attn_docs/figures/{part}/{name}.py",
    "table": "attn_docs/tables/{part}/{name}.py",
    "page": "docs/{page}.md",
    "page.zh": "docs/{page}.zh.md",
    "api": "docs/reference/api/{page}.md",
    "test": "tests/{part}/test_{name}.py",
}


def with_page_in_navigation(config: str, part: str, page: str) -> str:
    """Return mkdocs.yml with the page after its part's others, and its API page after theirs."""
    if f"&{part}\n" not in config:
        title = part.capitalize().replace("-", " ")
        config = config.replace("  - Reference:\n", f"  - {title}: &{part}\n  - Reference:\n", 1)
        config = config.replace(
            "            - 参考:\n", f"            - {title}: *{part}\n            - 参考:\n", 1
        )
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
    skeleton = ROOT / "docs" / "_tools" / "skeleton"
    files = {
        path.format(**names): Template(
            (skeleton / f"{kind}.txt").read_text(encoding="utf-8")
        ).substitute(names)
        for kind, path in FILES.items()
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
