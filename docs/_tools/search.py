"""What is known of search before anybody searches: an index for each language.

The site's builder leaves one index of all pages, which Material would have every page fetch. It is
taken apart here into what search needs of one language: titles as readers look for them, what
counts more or less, the words that the pages have and the entries of the API's names. The worker
docs/assets/javascripts/workers/search.js reads one such index and puts queries in its words.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Doc = dict[str, Any]  # an entry as Material has it: a page, or a section of one

API = "reference/api/"  # in the first language alone
CHINESE = re.compile("[\u3400-\u9fff]+")
SIGNATURE = re.compile(r"(\(| = ).*?(?=</code>)", re.S)  # what follows a name in its title
NAME = re.compile(r"\w*$", re.A)
TELLING = re.compile("_|.[A-Z]")  # in a name that nobody types by chance


def page_of(doc: Doc) -> str:
    """Return the address of an entry's page."""
    return str(doc["location"]).partition("#")[0]


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


def words(text: str, separator: str) -> set[str]:
    """Return the words of an entry as the index holds them."""
    return {word.lower() for word in re.split(separator, re.sub("<[^>]*>", " ", text)) if word}


def pieces(word: str, known: set[str]) -> Iterator[str]:
    """Cut Chinese into the longest words that are known, from the left, as the worker does."""
    while word:
        end = next((end for end in range(len(word), 1, -1) if word[:end] in known), 1)
        yield word[:end]
        word = word[end:]


def segmented(tag: str, known: set[str]) -> str:
    """Return a tag with its Chinese words apart, which Material sees to in titles and texts."""
    return CHINESE.sub(lambda row: "\u200b".join(pieces(row[0], known)), tag)


def index(docs: list[Doc], config: dict[str, Any], language: str) -> dict[str, Any]:
    """Return what searching one language needs, made from the entries of all languages."""
    separator = config["separator"]
    docs = [dict(doc) for doc in in_language(docs, language, config["lang"])]
    pages = {page: doc for doc in docs if doc["location"] == (page := page_of(doc))}
    known = set[str]().union(*(words(f"{doc['title']} {doc['text']}", separator) for doc in docs))
    names = {}
    for doc in docs:
        place, page = doc["location"], page_of(doc)
        if place.startswith(API):
            # the reference comes after the chapters, and the name is all that counts of a signature
            doc |= {"boost": 0.5, "title": SIGNATURE.sub("", doc["title"], count=1)}
            if TELLING.search(name := NAME.findall(place)[0]):
                names[name] = page
        elif place == page:
            if "tags" in doc:
                doc["tags"] = [segmented(tag, known) for tag in doc["tags"]]
                known |= words(" ".join(doc["tags"]), separator)
        else:
            doc.pop("tags", None)
            if parent := pages.get(page):  # all its headings lead to a page
                parent["headings"] = f"{parent.get('headings', '')} {doc['title']}".strip()
    return {"config": config, "docs": docs, "words": " ".join(sorted(known)), "names": names}


def finish(site: Path) -> None:
    """Take a built site's index of all languages apart into one for each.

    Where there is none, the site has another search. What stays of it is its settings, with which
    Material lights the words that a reader came with.
    """
    whole = site / "search/search_index.json"
    if not whole.is_file():
        return
    built = json.loads(whole.read_text(encoding="utf-8"))
    if not built["docs"]:
        raise ValueError(f"docs of {whole} must be those of a site just built; got none")
    for language in built["config"]["lang"]:
        text = json.dumps(
            index(built["docs"], built["config"], language),
            ensure_ascii=False,
            separators=(",", ":"),
        )
        whole.with_name(f"{language}.js").write_text(f"var searchIndex = {text}", encoding="utf-8")
    settings = json.dumps({"config": built["config"], "docs": []})
    whole.write_text(settings, encoding="utf-8")
    script = whole.with_suffix(".js")  # the same, in a copy that opens from the file system
    if script.is_file():
        script.write_text(f"var __index = {settings}", encoding="utf-8")
