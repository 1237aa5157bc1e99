"""Both languages come out of Zensical as they come out of MkDocs, for the day MkDocs ends."""

from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from docs._tools import zensical
from docs._tools.editions import Edition, editions
from docs._tools.finish.policy import policy
from tests.conftest import Site, build_site

SHOWN = "h1, h2, h3, h4, h5, h6, pre, annotation"  # headings, blocks, formulas
TAKEN = {".md", ".ipynb", ".zip", ".svg", ".txt", ".whl"}


def trees(site: Site) -> dict[str, LexborHTMLParser]:
    return {url: LexborHTMLParser(file.read_bytes().decode()) for url, file in site.pages.items()}


def shown(tree: LexborHTMLParser) -> list[tuple[str, str | None, str]]:
    """Return what both engines must show of a page, in order."""
    return [(node.tag, node.id, node.text().strip()) for node in tree.css(SHOWN)]


def taken(site: Site) -> dict[str, bytes]:
    """Return what readers and programs take along, made from the text of every page."""
    files = [file for file in site.path.rglob("*") if file.suffix in TAKEN]
    return {file.relative_to(site.path).as_posix(): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Build with Zensical, strictly."""
    return build_site(tmp_path_factory.mktemp("zensical"), ["docs._tools.zensical"])


def test_same_pages(site: Site, other: Site):
    pages, others = trees(site), trees(other)
    assert set(others) == set(pages)
    for url, tree in others.items():
        assert shown(tree) == shown(pages[url]), url
        language = tree.css_first("html").attributes["lang"]
        assert language == ("zh" if url.startswith("zh/") else "en"), url


def test_same_things_to_take_along(site: Site, other: Site):
    files, others = taken(site), taken(other)
    assert {Path(file).suffix for file in files} == TAKEN
    assert files.keys() == others.keys()
    assert not [file for file in files if files[file] != others[file]]


def test_its_pages_have_policies_and_links_that_lead_somewhere(other: Site):
    for url, tree in trees(other).items():
        assert policy(tree) in other.pages[url].read_text(encoding="utf-8"), url
        for link in tree.css("a[href]"):
            target = urlsplit(urljoin(f"https://here/{url}", link.attributes["href"]))
            if target.netloc == "here":
                path = target.path[1:]
                assert path in other.pages or (other.path / path).is_file(), f"{url}: {path}"


def test_its_pages_lead_to_their_translations(other: Site):
    for url, tree in trees(other).items():
        english = url.removeprefix("zh/")
        chinese = f"zh/{english}" if f"zh/{english}" in other.pages else "zh/reference/api/"
        links = tree.css("a[hreflang]")
        found = {
            link.attributes["hreflang"]: urljoin(f"https://here/{url}", link.attributes["href"])
            for link in links
        }
        assert found == {"en": f"https://here/{english}", "zh": f"https://here/{chinese}"}, url


def test_what_no_policy_allows_fails_its_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    english = editions()[0]
    edition = Edition("en", "English", "", {**english.config, "nav": ["index.md"]})
    for name in ("zensical.editions", "finish.editions"):
        monkeypatch.setattr(f"docs._tools.{name}", lambda: (edition,))
    monkeypatch.setattr(zensical, "DOCS", tmp_path / "docs")
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs/index.md"
    text = "---\ndescription: d\n---\n# Title\n\n<p{}>text</p>\n"
    page.write_text(text.format(""), encoding="utf-8")
    zensical.build(tmp_path / "right")
    assert "Content-Security-Policy" in (tmp_path / "right/index.html").read_text(encoding="utf-8")
    page.write_text(text.format(' style="color: red"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^index\.html: its policy forbids style="):
        zensical.build(tmp_path / "wrong")
