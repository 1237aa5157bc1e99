"""Create a chapter that builds, serves and passes lint at once: `make chapter PAGE=position/alibi`.

What a person must write says TODO, and a test fails while one is left. Figures and tables are
placeholders until `make figures` and `make outputs` have drawn and computed them.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from string import Template

from docs._tools.blocks import ROOT

FILES = {
    "module": "attn_docs/{package}/{name}.py",
    "core": "attn_docs/examples/{package}/{name}/core.py",
    "exercise": "attn_docs/examples/{package}/{name}/exercise.py",
    "answer": "attn_docs/examples/{package}/{name}/answer.py",
    "page": "docs/{page}/index.md",
    "page.zh": "docs/{page}/index.zh.md",
    "text": "docs/{page}/text.toml",
    "symbols": "docs/{page}/symbols.toml",
    "figures": "docs/{page}/figures.py",
    "tables": "docs/{page}/tables.py",
    "figure": "docs/{page}/made/idea{language}.svg",
    "glance": "docs/{page}/made/glance{language}.md",
    "table": "docs/{page}/made/cost{language}.md",
    "api": "docs/reference/api/{page}.md",
    "test": "tests/{package}/test_{name}.py",
}
LEFT = """
It builds: `make serve` shows it. `make figures outputs` replaces the placeholders.
Left to write, besides each TODO in these files:
- its place in the order of reading, in mkdocs.yml, if it is not the last of its part
- the stages that it is about, in the front matter of docs/{page}/index.md
- the rows of its card, in docs/{page}/text.toml below [glance]
- the letters of its formulas, in docs/{page}/symbols.toml
- a test of each formula, @pytest.mark.formula(r"<its TeX>"), in tests/{package}/test_{name}.py
- its known bugs, in attn_docs/exhibits/{package}/, and how they are fixed, in its tests
- its line in docs/reference/api/index.md and index.zh.md, where a TODO stands
- its place on the home page, docs/index.md, and in docs/reading-paths/index.md, in both languages
- what readers type to find it, in tests/site/queries.toml
- a line in docs/reference/changes/changes.toml
"""


def main(page: str) -> None:
    """Write the skeleton's files and enter them where they belong; touch none that is there."""
    if not re.fullmatch(r"[a-z][a-z-]*/[a-z][a-z0-9-]*", page):
        sys.exit(f"PAGE must be <part>/<page> in lower case, such as position/alibi; got {page!r}")
    part, slug = page.split("/")
    names = {"page": page, "part": part, "slug": slug}
    names |= {"package": part.replace("-", "_"), "name": slug.replace("-", "_")}
    files = dict(skeleton(names))
    there = [path for path in files if (ROOT / path).exists()]
    if there:
        sys.exit(f"these files are there already: {', '.join(there)}")
    for path, text in files.items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
    edit("mkdocs.yml", lambda text: with_page(text, part, page))
    edit("attn_docs/__init__.py", lambda text: with_export(text, names["package"], names["name"]))
    for file, colon in (("index.md", ": TODO."), ("index.zh.md", "：TODO。")):
        edit(f"docs/reference/api/{file}", lambda text, end=colon: with_entry(text, names, end))
    print("\n".join(files), LEFT.format(**names))


def skeleton(names: dict[str, str]) -> list[tuple[str, str]]:
    """Return path and text of each file, in both languages where it is shown in both."""
    folder = Path(__file__).parent / "skeleton"
    made = []
    for kind, path in FILES.items():
        text = Template((folder / f"{kind}.txt").read_text(encoding="utf-8")).substitute(names)
        languages = ("", ".zh") if "{language}" in path else ("",)
        made += [(path.format(**names, language=language), text) for language in languages]
    for tree in ("attn_docs", "attn_docs/exhibits"):
        package = f"{tree}/{names['package']}/__init__.py"
        if not (ROOT / package).exists():
            made.append((package, f'"""The part {names["part"]}."""\n'))
    return made


def edit(path: str, change: Callable[[str], str]) -> None:
    """Change a file that lists all chapters."""
    text = (ROOT / path).read_text(encoding="utf-8")
    (ROOT / path).write_text(change(text), encoding="utf-8")


def with_page(config: str, part: str, page: str) -> str:
    """Return mkdocs.yml with the page after the last of its part, and its API entry likewise.

    A part that no page is of yet becomes a tab of its own.
    """
    lines = config.splitlines()
    mine = [i for i, line in enumerate(lines) if re.fullmatch(f"      - {part}/.+/index.md", line)]
    if not mine:
        reference, chinese = lines.index("  - Reference:"), lines.index("            - 参考:")
        lines.insert(chinese, f"            - TODO {part}: *{part}")
        title = part.capitalize().replace("-", " ")
        lines.insert(reference, f"  - {title}: &{part}")
        mine = [reference]
    end = mine[-1] + 1
    lines.insert(end, f"      - {page}/index.md")
    entry = re.compile(r" +- reference/api/(.+)\.md")
    entered = {found[1]: i for i, line in enumerate(lines) if (found := entry.fullmatch(line))}
    before = [
        found[1]
        for line in lines[:end]
        if (found := re.fullmatch(r" +- (.+)/index\.md", line)) and found[1] in entered
    ]
    after = entered[before[-1]]
    lines.insert(after + 1, f"          - reference/api/{page}.md")
    return "\n".join(lines) + "\n"


def with_export(text: str, package: str, name: str) -> str:
    """Return the package's names with the new one among the imports and in __all__."""
    module = f"attn_docs.{package}.{name}"
    imports = list(re.finditer(r"^from (\S+) import (?:\(.*?^\)|[^(\n]+)\n", text, re.M | re.S))
    later = next((found for found in imports if found[1] > module), None)
    at = later.start() if later else imports[-1].end()
    text = f"{text[:at]}from {module} import {name}\n{text[at:]}"
    listed = re.findall(r'^    "(\w+)",$', text, re.M)
    after = max((other for other in listed if other < name and other.islower()), default=listed[-1])
    return text.replace(f'    "{after}",\n', f'    "{after}",\n    "{name}",\n')


def with_entry(text: str, names: dict[str, str], end: str) -> str:
    """Return the list of public names with the new one at the end of its part."""
    place = "attn_docs.{package}.{name}.{name}".format(**names)
    line = f"- [`{names['name']}`][{place}]{end}"
    lines = text.splitlines()
    mine = [i for i, other in enumerate(lines) if f"[attn_docs.{names['package']}." in other]
    if mine:
        lines.insert(mine[-1] + 1, line)
    else:
        title = names["part"].capitalize().replace("-", " ")
        chapters = next(i for i, other in enumerate(lines) if "[attn_docs.practice." in other)
        heading = max(i for i in range(chapters) if lines[i].startswith("## "))
        lines[heading:heading] = [f"## TODO {title} {{ #{names['part']} }}", "", line, ""]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
