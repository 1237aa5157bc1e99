"""Each page has a card of its own, of the title and the words that it has now."""

from pathlib import Path

import pytest
from PIL import Image

from docs._tools import cards
from docs._tools.editions import editions
from docs._tools.finish.cards import NAMES
from docs._tools.page import DOCS, place_of


def pages() -> list[tuple[object, str]]:
    """Return edition and folder of each page that has a folder: an entry of the API has none."""
    return [
        (edition, place_of(source).folder)
        for edition in editions()
        for source in edition.sources
        if Path(source).name.startswith("index.")
    ]


@pytest.mark.parametrize(("edition", "folder"), pages(), ids=lambda value: str(value)[:60])
def test_a_card_is_of_its_page(edition, folder):
    file = DOCS / folder / "made" / NAMES[edition.language]
    assert file.is_file(), f"make figures PAGE={folder}"
    told = cards.remembered(file)
    del told["drawn from"]
    assert told == cards.words(edition, folder), f"make figures PAGE={folder}"
    assert file.stat().st_size <= 35 * 1024
    with Image.open(file) as image:
        assert image.size == (cards.WIDTH, cards.HEIGHT)
        assert image.mode == "P"


def test_a_card_is_drawn_again_only_if_its_page_has_changed(monkeypatch):
    folder = "foundations/masks"
    assert not list(cards.stale(folder)), f"make figures PAGE={folder}"
    monkeypatch.setattr(
        cards, "words", lambda *_: dict.fromkeys(("part", "title", "description"), "x")
    )
    assert [file.name for file, *_ in cards.stale(folder)] == [*NAMES.values()]


def test_no_browser_is_needed_where_all_cards_are_drawn(monkeypatch):
    monkeypatch.setattr(cards.shutil, "which", lambda _: None)
    monkeypatch.setattr(cards, "stale", lambda _: iter(()))
    cards.write()
    monkeypatch.setattr(cards, "stale", lambda _: iter([(Path(), None, "")]))
    with pytest.raises(SystemExit, match="1 cards are to be drawn, and no Chromium is here"):
        cards.write()
