"""What readers and programs take along holds what the pages show, and the wheel the code of it."""

import re
import zipfile
from importlib.metadata import distributions
from posixpath import join, normpath
from urllib.parse import urldefrag

import nbformat
import pytest
from packaging.requirements import Requirement

from docs._tools import built
from tests.conftest import Site

CHAPTER = "foundations/bilinear/"
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
CODE = re.compile(r"^( *)(`{3,})(\w+)\n(.*?)^ *\2$", re.M | re.S)
FORMULA = re.compile(r"(\${1,2})(.+?)\1")


def prose(text: str) -> str:
    return re.sub("`[^`\n]+`", "", CODE.sub("", text))


def links(text: str) -> list[str]:
    return re.findall(r"\]\((?!\w+:|#)([^)\s]+)\)", FORMULA.sub("", prose(text)))


def flat(tex: str) -> str:
    return "".join(tex.replace(r"\vert ", "|").split())


def notebooks(site: Site) -> dict[str, nbformat.NotebookNode]:
    found = {f.parent.relative_to(site.path): f for f in sorted(site.path.rglob("*.ipynb"))}
    return {f"{url}/": nbformat.read(file, as_version=4) for url, file in found.items()}


def test_twins_say_what_the_pages_show(site: Site):
    for url, page in site.pages.items():
        text = page.with_suffix(".md").read_text(encoding="utf-8")
        fences = [m for m in CODE.finditer(text) if m[3] == "python"]
        code = [re.sub(f"^{m[1]}", "", m[4], flags=re.M).strip() for m in fences]
        assert code == [block.strip() for block in built.python_blocks(page)], url
        needed = any(re.search("^(from|import) attn_docs", block, re.M) for block in code)
        needed |= url in {"", "zh/"}  # the home page says it to all
        assert sum(e.get("class") == "install" for e in site.tree(url).iter()) == needed, url
        taken = sum(e.get("class") == "takeaway" for e in site.tree(url).iter())
        assert taken == (url.removeprefix("zh/") not in {"", "reference/api/"}), url
        formulas = [flat("".join(e.itertext())) for e in site.tree(url).iter("annotation")]
        assert [flat(m[2]) for m in FORMULA.finditer(prose(text))] == formulas, url
        for link in links(text):
            target = site.path / normpath(join(url, urldefrag(link).url))
            assert target.is_file(), f"{url}: {link}"
            assert target.suffix != ".html", f"{url}: {link} leaves the twins"


def test_notebooks_and_archives_hold_each_chapter(site: Site):
    held = notebooks(site)
    others = "zh|explore|primer|reference"
    chapters = {u for u in site.pages if re.match(rf"(zh/)?(?!{others})[\w-]+/[\w-]+/$", u)}
    assert set(held) == chapters
    for url, notebook in held.items():
        nbformat.validate(notebook)
        shown = built.python_blocks(site.pages[url])
        install, *code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        line = install.partition("\n\n")[0].splitlines()[-1]
        wheel = site.pages[url].parent / line.removeprefix("%pip install --quiet ")
        assert wheel.is_file(), f"{url}: {line}"
        assert code == [block.strip("\n") for block in shown], url
        text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
        figures = [e for e in site.tree(url).iter("svg") if e.get("role") == "img"]
        assert text.count("](data:image/svg+xml;base64,") == len(figures), url
        (archive,) = site.pages[url].parent.glob("*.zip")
        with zipfile.ZipFile(archive) as scripts:
            assert [scripts.read(name).decode() for name in scripts.namelist()] == shown, url


def test_figures_stand_alone(site: Site):
    files = list((site.path / "assets/figures").rglob("*.svg"))
    assert files
    for file in files:
        assert not re.search(r"var\(|currentColor", file.read_text(encoding="utf-8")), file


@pytest.mark.parametrize("root", ["", "zh/"])
def test_llms_lists_every_page_and_holds_it(site: Site, root):
    listed, full = (
        (site.path / root / name).read_text(encoding="utf-8")
        for name in ("llms.txt", "llms-full.txt")
    )
    pages = [url for url in site.pages if url.startswith("zh/") == bool(root)]
    assert re.match(r"# .+\n\n> .+\n", listed)
    described = re.findall(r"^- \[.+\]\((.+)\): .+", listed, re.M)
    assert {normpath(root + link) for link in described} == {f"{url}index.md" for url in pages}
    for url in pages:
        assert all(block in full for block in built.python_blocks(site.pages[url])), url
    assert all((site.path / root / urldefrag(link).url).is_file() for link in links(full))


def asked(site: Site) -> set[str]:
    """Return what the wheel that the site carries asks for."""
    (wheel,) = site.path.glob("*.whl")
    (package,) = distributions(path=[str(wheel)])
    return {Requirement(line).name for line in package.requires or []}


def test_the_line_says_what_it_takes(site: Site):
    (wheel,) = distributions(path=list(map(str, site.path.glob("*.whl"))))
    assert wheel.metadata["Requires-Python"] == ">=3.11"
    assert asked(site) == {"numpy", "torch"}
    told = ("3.11", "attn_docs", "NumPy", "PyTorch", "CUDA", " GB", CPU_BUILD)
    for root in ("", "zh/"):
        (line,) = (e for e in site.tree(root + CHAPTER).iter() if e.get("class") == "install")
        text = "".join(line.itertext())
        assert not [words for words in told if words not in text], text
        (notebook,) = site.pages[root + CHAPTER].parent.glob("*.ipynb")
        title = nbformat.read(notebook, as_version=4).cells[0].source
        assert not [words for words in told if words not in title], title
