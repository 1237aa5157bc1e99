"""The page of changes is made from one file; an entry that lacks something is refused."""

from urllib.parse import urljoin

import pytest

from docs._tools.page import page_module
from tests.conftest import Site

tables = page_module("reference/changes", "tables")

RIGHT = '[[change]]\ndate = 2026-11-22\nkind = "site"\npage = "heads/latent"\nen = "a"\nzh = "甲"\n'


@pytest.mark.parametrize("line", RIGHT.splitlines()[1:], ids=lambda line: line.split()[0])
def test_an_entry_without_what_it_must_say_is_refused(line: str) -> None:
    assert tables.load(RIGHT)
    if not line.startswith("page"):
        with pytest.raises(tables.ChangeError, match=r"changes.toml: change 1 must have .*'zh'"):
            tables.load(RIGHT.replace(line + "\n", ""))


@pytest.mark.parametrize(
    ("part", "wrong", "message"),
    [
        ("2026-11-22", '"yesterday"', r"change 1 must have a date and a kind"),
        ('"site"', '"news"', r"change 1 must have a date and a kind of \['chapter', 'correction'"),
        ("heads/latent", "heads/none", r"change 1: page must be a folder with a page"),
        ('"甲"', '""', r"change 1 must have"),
        ("kind", "sort", r"change 1 must have"),
    ],
)
def test_a_wrong_entry_is_refused(part: str, wrong: str, message: str) -> None:
    with pytest.raises(tables.ChangeError, match=f"changes.toml: {message}"):
        tables.load(RIGHT.replace(part, wrong))


def test_the_newest_change_comes_first() -> None:
    older = RIGHT.replace("11-22", "11-21")
    assert len(tables.load(RIGHT + older)) == 2
    with pytest.raises(tables.ChangeError, match="the newest change must come first"):
        tables.load(older + RIGHT)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_change_is_listed_below_its_date(language: str) -> None:
    entries = tables.load(tables.DATA.read_text(encoding="utf-8"))
    page = tables.changes(language)
    for entry in entries:
        below = page.partition(f"## {entry['date']} ")[2].partition("\n## ")[0]
        assert entry[language] in below


def test_every_page_leads_to_the_changes(site: Site) -> None:
    for url in site.pages:
        (link,) = site.tree(url).findall(".//div[@class='md-copyright']/a")
        changes = ("zh/" if url.startswith("zh/") else "") + "reference/changes/"
        assert urljoin(f"/{url}", link.get("href")) == f"/{changes}", url
