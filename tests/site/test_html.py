"""Every built page is valid HTML, its links lead somewhere, and it asks no other host for anything.

html5lib reports what the grammar of HTML forbids (unclosed or misnested elements, stray end tags,
bad characters); it knows no attributes, so identifiers, languages and addresses are checked here.
"""

import re
import unicodedata
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit
from xml.etree.ElementTree import Element

import pytest
from fontTools.ttLib import TTFont
from selectolax.lexbor import LexborHTMLParser

from docs._tools.built import parse
from docs._tools.finish.policy import CHARSET, POLICY, with_policy
from tests.conftest import ROOT, Site

RESOURCES = {"src", "srcset", "poster", "data", "background"}
CSS_URL = re.compile(r"""(?:url\(|@import)\s*["']?([^"')\s;]+)""")
NOT_PROSE = {"code", "pre", "script", "style", "annotation"}


def grammar(html: str) -> list[str]:
    return parse(html)[1]


def identifiers(html: str) -> list[str]:
    found = Counter(element.get("id") for element in parse(html)[0].iter())
    return [f"id {name!r} occurs {n} times" for name, n in found.items() if name and n > 1]


def resources(html: str) -> list[str]:
    """Name what a page would fetch from another host, or from the root whatever its sub-path."""
    addresses = []
    for element in parse(html)[0].iter():
        addresses += [value for name, value in element.items() if name in RESOURCES]
        if element.tag == "link" and element.get("rel") not in {"canonical", "prev", "next"}:
            addresses.append(element.get("href", ""))
        if element.tag in {"use", "image"}:
            addresses += [value for name, value in element.items() if name.endswith("href")]
        styles = (element.text or "") if element.tag == "style" else element.get("style", "")
        addresses += CSS_URL.findall(styles)
    return [f"asks for {address}" for address in addresses if foreign(address)]


def foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc or address.startswith("/") or parts.scheme not in {"", "data"})


def head_and_headings(html: str) -> list[str]:
    tree = parse(html)[0]
    title, description = tree.find(".//title"), tree.find(".//meta[@name='description']")
    wanted = {
        "lang": tree.get("lang"),
        "title": title is not None and title.text,
        "description": description is not None and description.get("content"),
        "exactly one h1": len(tree.findall(".//h1")) == 1,
        "alt on every image": all(image.get("alt") is not None for image in tree.iter("img")),
    }
    return [f"lacks {name}" for name, value in wanted.items() if not value]


def prose(element: Element) -> str:
    """Return the text that a reader sees outside code."""
    if element.tag in NOT_PROSE:
        return element.tail or ""
    return (element.text or "") + "".join(map(prose, element)) + (element.tail or "")


def dollars(html: str) -> list[str]:
    text = prose(parse(html)[0])
    return [f"a $ is left in: …{found}…" for found in re.findall(r".{0,30}\$.{0,30}", text)]


def policy(html: str) -> list[str]:
    """Say if the policy is not the second thing of the page, or allows other than what it holds."""
    allowed = {"script": "'self'", "style": "'self'"}
    for element in parse(html)[0].iter():
        if element.tag in allowed and element.text and "json" not in element.get("type", ""):
            digest = b64encode(sha256(element.text.encode()).digest()).decode()
            allowed[element.tag] += f" 'sha256-{digest}'"
    return [] if CHARSET + POLICY.format(**allowed) in html else [f"must allow just {allowed}"]


CHECKS = [grammar, identifiers, resources, head_and_headings, dollars, policy]


def broken_links(site: Site) -> list[str]:
    """Name the links that lead nowhere, or out of the folder that the site is served from."""
    problems = []
    base = "https://here/sub/path/"
    anchors = {url: {element.get("id") for element in site.tree(url).iter()} for url in site.pages}
    for url in site.pages:
        for link in site.tree(url).iter("a"):
            target = urlsplit(urljoin(base + url, link.get("href", "")))
            # a copy that opens from the file system names the file of a folder
            path = unquote(target.path).removeprefix("/sub/path/").removesuffix("index.html")
            if target.netloc != "here" or target.scheme != "https":
                continue
            if path not in anchors and not (site.path / path).is_file():
                problems.append(f"{url}: the link {link.get('href')} leads nowhere")
            elif target.fragment and unquote(target.fragment) not in anchors.get(path, ()):
                problems.append(f"{url}: the link {link.get('href')} has no such anchor")
    return problems


def outside_forms(element: Element) -> Iterator[Element]:
    """Yield an element and what is in it, in order; of forms, which need a script, nothing."""
    if element.tag != "form":
        yield element
        for child in element:
            yield from outside_forms(child)


def shows(page: Element, name: str) -> bool:
    """Tell whether a page has a figure of that name, or a table below the heading of that id."""
    heading = None
    for element in outside_forms(page):
        if element.tag == "svg" and name in element.get("aria-labelledby", "").split():
            return True
        if re.fullmatch("h[1-6]", element.tag):
            heading = element.get("id")
        if element.tag == "table" and heading == name:
            return True
    return False


def fallbacks(page: Element) -> list[str]:
    """Say what a page with an explorer lacks for readers without JavaScript."""
    content = page.find(".//article")
    forms = [] if content is None else [*content.iter("form")]
    if not forms:
        return ["loads explorer.js and has no form"]
    named = [form.get("data-fallback", "") for form in forms]
    return [
        f"has no figure named {name!r}, nor a table below the heading of that id: data-fallback "
        "of the form must name what shows the same without JavaScript"
        for name in named
        if not shows(page, name)
    ]


def explorers(site: Site, docs: Path) -> list[str]:
    """Say what is wrong with the explorers of a site that was built from docs."""
    problems = []
    for url in site.pages:
        scripts = [urljoin(url, e.get("src", "")) for e in site.tree(url).iter("script")]
        for script in scripts:
            if script.endswith("/explorer.js"):
                form = script.removesuffix(".js") + ".html"
                found = [] if (docs / form).is_file() else [f"loads {script} without docs/{form}"]
                problems += [f"{url}: it {what}" for what in found + fallbacks(site.tree(url))]
    return problems


@pytest.mark.parametrize("check", CHECKS)
def test_pages(site: Site, check):
    texts = {url: file.read_text(encoding="utf-8") for url, file in site.pages.items()}
    texts["404.html"] = (site.path / "404.html").read_text(encoding="utf-8")
    assert not [f"{url}: {problem}" for url, html in texts.items() for problem in check(html)]


def test_links(site: Site):
    assert not broken_links(site)


def test_explorers_have_a_fallback(site: Site):
    problems = explorers(site, ROOT / "docs")
    assert not problems, "\n".join(problems)


def test_languages_and_descriptions(site: Site):
    described = Counter()
    for url in site.pages:
        assert site.tree(url).get("lang") == ("zh" if url.startswith("zh/") else "en"), url
        meta = site.tree(url).find(".//meta[@name='description']")
        described[meta.get("content"), url.startswith("zh/")] += 1
    assert not [text for (text, _), times in described.items() if times > 1], "not its own"


def test_stylesheets_ask_no_other_host(site: Site):
    for file in site.path.rglob("*.css"):
        addresses = CSS_URL.findall(file.read_text(encoding="utf-8"))
        assert not list(filter(foreign, addresses)), file.relative_to(site.path)


def test_font_has_every_character_of_every_formula(site: Site):
    font = set(TTFont(ROOT / "docs/assets/fonts/stix-two-math.woff2").getBestCmap())
    for url in site.pages:
        for formula in site.tree(url).iter("math"):
            shown = [e for e in formula.iter() if e.tag in {"mi", "mn", "mo", "ms", "mtext"}]
            for element in shown:
                text = "".join((element.text or "").split())
                if element.tag == "mi" and len(text) == 1 and not element.get("mathvariant"):
                    text += italic(text)
                # Chinese words in a formula come in the font of the text around it, and the
                # selector between two styles of script is no character of its own
                free = {c for c in text if unicodedata.east_asian_width(c) in "WF"} | {"\ufe00"}
                lacking = {c for c in text if ord(c) not in font} - free
                assert not lacking, f"{url}: docs/assets/fonts/unicodes.txt lacks {lacking}"


def italic(letter: str) -> str:
    """Return the character that a browser shows for a variable of one letter."""
    name = re.sub("LATIN |GREEK |LETTER ", "", unicodedata.name(letter))
    try:
        return unicodedata.lookup(f"MATHEMATICAL ITALIC {name}")
    except KeyError:  # h is an older character, and digits and signs have no italic
        return "\N{PLANCK CONSTANT}" if letter == "h" else ""


PAGE = '<!doctype html><html lang="en"><head><title>t</title><meta name="description" content="d">'
BROKEN = {
    "a foreign script": (resources, '<script src="https://cdn.example.org/x.js"></script>'),
    "a foreign font": (resources, "<style>@font-face{src:url(//cdn.example.org/f)}</style>"),
    "an address from the root": (resources, '<img src="/logo.png" alt="">'),
    "an id twice": (identifiers, '<p id="a"></p><p id="a"></p>'),
    "an image without alt": (head_and_headings, '<h1>h</h1><img src="x.png">'),
    "two first headings": (head_and_headings, "<h1>a</h1><h1>b</h1>"),
    "an unclosed element": (grammar, "<div><p>text</section>"),
    "no policy": (policy, "<h1>h</h1>"),
    "a formula not found": (dollars, "<table><tr><td>the value $p(x</td></tr></table>"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_checks_see(name):
    check, body = BROKEN[name]
    assert check(f"{PAGE}</head><body>{body}</body></html>")


SCRIPTS_AND_STYLES = {
    "<p STYLE='top: 0'>": "style",
    "<p id=a onclick=x()>": "onclick",
    "<p/onclick=x()>": "onclick",
    "<a href=' javascript:0'>": "href",
    "<a href='javascript&#58;0'>": "href",
    "<svg><a xlink:href='javascript:0'>": "xlink:href",
}


def test_a_page_gets_its_policy():
    page = (
        f"{PAGE}{CHARSET}<script>0</script><p title=\"a style='' onclick=''\"> style='' onclick=''"
    )
    assert not policy(with_policy(page, LexborHTMLParser(page), "page/", stated=True))
    assert with_policy(page, LexborHTMLParser(page), "page/", stated=False) == page


@pytest.mark.parametrize("body", SCRIPTS_AND_STYLES)
@pytest.mark.parametrize("stated", [True, False])
def test_what_no_policy_allows_is_refused(body: str, stated: bool):
    page = f"{PAGE}{CHARSET}{body}"
    message = rf"^page/: its policy forbids {SCRIPTS_AND_STYLES[body]}="
    with pytest.raises(ValueError, match=message):
        with_policy(page, LexborHTMLParser(page), "page/", stated=stated)


@pytest.mark.parametrize(
    "page", [PAGE, with_policy(PAGE + CHARSET, LexborHTMLParser(PAGE), "", stated=True)]
)
def test_a_page_without_a_place_for_its_policy_is_refused(page: str):
    with pytest.raises(ValueError, match=r"^page/: a page must be as its engine left it"):
        with_policy(page, LexborHTMLParser(page), "page/", stated=True)


FORM = '<form data-fallback="a"><table></table></form>'
FIGURE = '<svg aria-labelledby="a b"></svg>'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (FORM, "no figure named 'a', nor a table"),
        (f"<h2 id=a>a</h2>{FORM}<h3>b</h3><table></table>", "no figure named 'a'"),
        (FORM.replace("=", "s=") + FIGURE, "no figure named ''"),
        (FIGURE, "has no form"),
        (FORM + FIGURE, ""),
        (f"<h2 id=a>a</h2>{FORM}<p><table></table>", ""),
    ],
)
def test_explorer_check_sees(tmp_path, body, message):
    site, docs = tmp_path / "site", tmp_path / "docs"
    for folder in (site / "p", docs / "p"):
        folder.mkdir(parents=True)
    (site / "404.html").touch()
    page = f'{PAGE}</head><body><article>{body}</article><script src="explorer.js"></script>'
    (site / "p" / "index.html").write_text(page)
    form, *found = explorers(Site(site), docs)
    assert form == "p/: it loads p/explorer.js without docs/p/explorer.html"
    assert [message in problem for problem in found] == [True] * bool(message)
    (docs / "p" / "explorer.html").touch()
    assert explorers(Site(site), docs) == found


def test_link_check_sees(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "404.html").touch()
    (tmp_path / "index.html").write_text(PAGE + '<a href="a/#no">1</a><a href="b/">2</a>')
    (tmp_path / "a/index.html").write_text(PAGE + '<a href="../..">3</a><a href="..">right</a>')
    assert len(broken_links(Site(tmp_path))) == 3


def test_only_three_figures_are_typed_into(site: Site):
    forms = {
        url: e for url in site.pages for e in site.tree(url).iter("form") if e.get("data-fallback")
    }
    typed = {
        url
        for url, form in forms.items()
        for field in form.iter("input")
        if field.get("type") not in {"checkbox", "radio", "range"}
    }
    assert len(forms) == 16, "both languages of eight figures"
    typed_into = ("explore/kv-memory/", "model/induction/", "checkpoints/models/")
    assert typed == {prefix + url for url in typed_into for prefix in ("", "zh/")}
