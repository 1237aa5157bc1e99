"""The glossary as a list: each term in both languages, what it means, and where it is explained."""

from html import escape

from docs._kit.text import texts
from docs._tools.glossary import terms
from docs._tools.page import title_of

ENTRY = """<dt><a id="{key}"></a>{names}</dt>
<dd>{says} <a href="../../{folder}/index.md{anchor}">{title}</a></dd>"""
LANG = {"en": "en", "zh": "zh-CN"}


def entries(language: str) -> str:
    """Return all terms, sorted by their English names."""
    return "\n".join(
        [
            '<dl class="terms">',
            *(entry(key, term, language) for key, term in terms().items()),
            "</dl>",
        ]
    )


def entry(key: str, term: dict, language: str) -> str:
    """Return one term; its name in the other language stands beside it."""
    words = texts(__file__, "entry", language)
    own, other = (language, "zh") if language == "en" else (language, "en")
    names = f"<strong>{term[own]}</strong>"
    if term["en"] != term["zh"]:
        names += f' <span lang="{LANG[other]}">{term[other]}</span>'
    if also := [name for name in term["aliases"] if name.isascii() or language == "zh"]:
        names += f" <small>{words['also'].format(names=words['joined'].join(also))}</small>"
    folder, _, anchor = term["page"].rpartition("/")
    return ENTRY.format(
        key=key,
        names=names,
        says=escape(term["says"][language], quote=False),
        folder=folder,
        anchor=anchor,
        title=title_of(folder, language),
    )


def numbers() -> dict[str, str]:
    """Return how many terms there are."""
    return {"terms": str(len(terms()))}


TABLES = {"entries": entries}
