"""The pictures of the pages, `made/card*.png`, where other sites find them."""

from docs._tools.page import DOCS, folder_of

NAMES = {"en": "card.png", "zh": "card.zh.png"}


def cards_of(language: str, root: str) -> dict[str, bytes]:
    """Return the cards of the edition that is published below `root`, by their place in the site.

    docs/_theme/main.html names the same places.
    """
    return {
        f"{root}assets/cards/{folder_of(file) or 'index'}.png": file.read_bytes()
        for file in sorted(DOCS.glob(f"**/made/{NAMES[language]}"))
    }
