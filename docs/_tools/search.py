"""What is known of search before anybody searches: an index for each language.

The site's builder leaves one index of all pages, which Material would have every page fetch. It is
taken apart here into what search needs of one language: sentences to find and to show, words to
find only (of code, tables and block titles), and all names of an entry: its title and tags in both
languages, the terms of the glossary that it explains, and what else it is asked for by.
docs/assets/javascripts/workers ranks.
"""

import json
import re
import tomllib
from collections.abc import Iterable
from html import escape, unescape
from pathlib import Path
from typing import Any

from docs._tools.page import DOCS

Doc = dict[str, Any]  # an entry: a page, or a section of one

API = "reference/api/"  # in the first language alone
GLOSSARY = DOCS / "reference/glossary/glossary.toml"
ASKED = "asked.toml"  # of a page: what its sections are asked for by, besides their headings
SIGNATURE = re.compile(r"(\(| = ).*?(?=</code>)", re.S)  # what follows a name in its title
NAME = re.compile(r"\w*$", re.A)
TELLING = re.compile("_|.[A-Z]")  # in a name that nobody types by chance
CUTS = "\u200b"  # between the Chinese words that the builder found; the worker needs none
CODE = re.compile(r"(?:attn_docs/\S+\.py)?<pre>(.*?)</pre>", re.S)
PARAGRAPH = re.compile(r"<(/?)(?:p|li)>")
WORD = re.compile(r"[^\W\d]\w+|\d{3,}")
POWER = re.compile(r"<msup>(<(m[ino])\b[^>]*>[^<]*</\2>)")  # 10⁹ is not 109
PICTURE = re.compile(r'(?s)<svg\b.*?</svg>|<ol class="stages".*?</ol>')
FORMULA = re.compile(
    r'(?s)<span class="formula"[^>]*><math>(.*?)<annotation.*?</math></span>'
    r'|<div class="formula".*?</div>'
)


def page_of(doc: Doc) -> str:
    """Return the address of an entry's page."""
    return str(doc["location"]).partition("#")[0]


def without_pictures(html: str) -> str:
    """Return a page's HTML as search reads it: without figures, formulas as plain text."""

    def plain(formula: re.Match[str]) -> str:
        html = POWER.sub(r"\1^", (formula[1] or "").replace("<msqrt>", "√"))
        return re.sub("<[^>]*>", "", html)

    return FORMULA.sub(plain, PICTURE.sub(" ", html))


def described(html: str, description: str) -> str:
    """Return a page's HTML with what its head says of it as its first paragraph."""
    return html.replace("</h1>", f"</h1><p>{escape(description)}</p>", 1)


def text_of(html: str) -> str:
    """Return HTML as one line of plain text."""
    return " ".join(unescape(re.sub("<[^>]*>", "", html)).replace(CUTS, "").split())


def taken_apart(html: str) -> tuple[str, str]:
    """Return the sentences of an entry, a paragraph a line, and the words that stand elsewhere."""
    code = " ".join(CODE.findall(html))
    told, besides, depth = [""], [code], 0
    parts = PARAGRAPH.split(CODE.sub("", html))
    for text, closing in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if depth:
            told[-1] += text
        else:
            besides.append(text)
        depth += -1 if closing else 1
        told.append("")
    shown = [line for text in told if (line := text_of(text))]
    words = WORD.findall(text_of(" ".join(besides)))
    return "\n".join(shown), " ".join(dict.fromkeys(words))


def in_language(docs: list[Doc], language: str, languages: list[str]) -> list[Doc]:
    """Return the entries of a language, and those of the first that it has not translated."""
    first, *others = languages
    folders = tuple(f"{other}/" for other in others)
    pages = {page_of(doc) for doc in docs}

    def kept(page: str) -> bool:
        if page.startswith(folders):
            return page.startswith(f"{language}/")
        return language == first or f"{language}/{page}" not in pages

    return [doc for doc in docs if kept(page_of(doc))]


def names_of(doc: Doc) -> list[str]:
    """Return what an entry is called where it stands: its title, and the tags of a page."""
    tags = doc.get("tags", []) if page_of(doc) == doc["location"] else []
    return [text_of(name) for name in (doc["title"], *tags)]


def glossary() -> dict[str, list[str]]:
    """Return the terms of the glossary, in both languages, by the place that explains them."""
    if not GLOSSARY.is_file():
        return {}
    found: dict[str, list[str]] = {}
    for term in tomllib.loads(GLOSSARY.read_text(encoding="utf-8")).values():
        found.setdefault(term["page"], []).extend([term["en"], term["zh"], *term["aliases"]])
    return found


def asked() -> dict[str, list[str]]:
    """Return what sections are asked for by, in both languages, by their places."""
    return {
        f"{file.parent.relative_to(DOCS).as_posix()}/#{anchor}": names
        for file in DOCS.rglob(ASKED)
        for anchor, names in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }


def entry(doc: Doc, others: Iterable[str], terms: list[str], *, leads: bool) -> Doc:
    """Return what search needs of an entry; where `leads`, names of the API lead to theirs."""
    title = doc["title"]
    text, words = taken_apart(doc["text"])
    made = {"location": doc["location"], "text": text, "words": words, "terms": terms}
    if re.search(API + ".", doc["location"]):
        title = SIGNATURE.sub("", title, count=1)
        name = NAME.findall(doc["location"])[0]
        made["api"] = name if leads and TELLING.search(name) else ""
    made["title"], *made["tags"] = names_of(doc | {"title": title})
    made["others"] = [name for name in others if name not in (made["title"], *made["tags"])]
    return {key: value for key, value in made.items() if value or key in ("location", "api")}


def index(
    docs: list[Doc], config: dict[str, Any], language: str, terms: dict[str, list[str]]
) -> dict[str, Any]:
    """Return what searching one language needs, made from the entries of all languages."""
    first, *others = config["lang"]
    names: dict[str, list[str]] = {}  # in all languages, by the address in the first
    for doc in docs:
        folder, _, below = doc["location"].partition("/")
        names.setdefault(below if folder in others else doc["location"], []).extend(names_of(doc))

    def made(doc: Doc) -> Doc:
        place = doc["location"].removeprefix("" if language == first else f"{language}/")
        others = () if place.startswith(API) else names[place]
        return entry(doc, others, terms.get(place, []), leads=language == first)

    kept = in_language(docs, language, config["lang"])
    return {"separator": config["separator"], "docs": [made(doc) for doc in kept]}


def finish(site: Path) -> None:
    """Take a built site's index of all languages apart into one for each.

    Where there is none, the site has another search.
    """
    whole = site / "search/search_index.json"
    if not whole.is_file():
        return
    built = json.loads(whole.read_text(encoding="utf-8"))
    terms = glossary()
    for place, names in asked().items():
        terms.setdefault(place, []).extend(names)
    for language in built["config"]["lang"]:
        made = index(built["docs"], built["config"], language, terms)
        text = json.dumps(made, ensure_ascii=False, separators=(",", ":"))
        whole.with_name(f"{language}.js").write_text(f"var searchIndex = {text}", encoding="utf-8")
    whole.unlink()
    whole.with_suffix(".js").unlink(missing_ok=True)  # the same, in a copy for the file system
