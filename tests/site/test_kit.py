"""Words and measurements beside a page: what lacks a part is refused, with its place."""

import json
import re
from pathlib import Path

import pytest

from docs._kit.measured import MeasurementError, load, measurement, store
from docs._kit.text import LANGUAGES, TextError, texts
from docs._kit.text import load as load_words
from docs._tools.page import DOCS

TEXTS = sorted(DOCS.rglob("text.toml"))
MEASURED = sorted(DOCS.rglob("measured.json"))
VALUE = {"way": "naive", "quantity": "time", "value": 2.5, "unit": "ratio", "kernel": "aten::bmm"}
named = pytest.mark.parametrize(
    "file", [*TEXTS, *MEASURED], ids=lambda file: str(file.relative_to(DOCS))
)


def page(folder: Path, words: str) -> str:
    (folder / "text.toml").write_text(words, encoding="utf-8")
    return str(folder / "figures.py")


def test_a_group_is_read_in_one_language(tmp_path: Path) -> None:
    words = """
        [flow]
        turn = { en = "rotate", zh = "旋转" }
        [flow.rows]
        en = ["one", "two"]
        zh = ["一", "二"]
    """
    module = page(tmp_path, words)
    assert texts(module, "flow", "en") == {"turn": "rotate", "rows": ["one", "two"]}
    assert texts(module, "flow", "zh") == {"turn": "旋转", "rows": ["一", "二"]}
    with pytest.raises(TextError, match=r"text.toml: group must be one of \['flow'\]; got 'kept'"):
        texts(module, "kept", "en")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            '[flow]\nturn = { en = "turn" }',
            r"text.toml: flow.turn must have words in en and zh; .*en",
        ),
        ('[flow]\nturn = { zh = "旋转" }', r"text.toml: flow.turn must have words in en and zh"),
        ('[flow]\nturn = "turn"', r"text.toml: flow.turn must have words in en and zh"),
        ('[flow]\nturn = { en = "turn", zh = "" }', r"text.toml: flow.turn must be text"),
        ('[flow]\nturn = { en = "turn", zh = ["旋转"] }', r"text.toml: flow.turn must be text"),
        (
            '[flow]\nturn = { en = "a", zh = "b", de = "c" }',
            r"text.toml: flow.turn must have words",
        ),
    ],
)
def test_a_label_that_lacks_a_language_is_refused(tmp_path, words, message) -> None:
    with pytest.raises(TextError, match=message):
        texts(page(tmp_path, words), "flow", "en")


@named
def test_every_stored_file_is_whole(file: Path) -> None:
    if file.name == "text.toml":
        assert set(load_words(file)) == set(LANGUAGES)
    else:
        assert load(str(file))


@pytest.mark.parametrize("file", TEXTS, ids=lambda file: str(file.relative_to(DOCS)))
def test_no_group_of_words_is_left_over(file: Path) -> None:
    users = [*file.parent.glob("*.py"), DOCS / "_tools" / "glance.py"]
    code = "".join(path.read_text(encoding="utf-8") for path in users)
    assert [group for group in load_words(file)["en"] if f'"{group}"' not in code] == []


def test_chinese_stands_beside_the_page_and_not_in_code() -> None:
    """A translator edits Markdown and text.toml, never Python."""
    han = re.compile(r"[\u4e00-\u9fff]")
    code = {*DOCS.rglob("*.py")} - {DOCS / "_tools/chapter.py"}  # which finds a line of mkdocs.yml
    assert [str(p.relative_to(DOCS)) for p in code if han.search(p.read_text("utf-8"))] == []


def test_a_measurement_is_read_as_it_was_stored(tmp_path: Path) -> None:
    made = measurement([VALUE, {**VALUE, "way": "absorbed", "value": 1.0}], threads=1)
    store(tmp_path, {"decode": made})
    read = load(str(tmp_path / "tables.py"))["decode"]
    assert read == made
    assert read("time", way="naive") == 2.5
    with pytest.raises(MeasurementError, match=r"one value must have .*'time'.*; got 2"):
        read("time")
    assert read.circumstances("en").endswith(", 1 thread.")
    assert f"PyTorch {made.torch}" in read.circumstances("zh")


@pytest.mark.parametrize("key", ["quantity", "value", "unit", "kernel"])
def test_a_value_that_lacks_something_is_refused(tmp_path: Path, key: str) -> None:
    value = {name: of for name, of in VALUE.items() if name != key}
    store(tmp_path, {"decode": measurement([value], threads=1)})
    with pytest.raises(
        MeasurementError, match=r"measured.json: decode: a value must have .*kernel"
    ):
        load(str(tmp_path / "tables.py"))


@pytest.mark.parametrize(
    ("key", "wrong", "message"),
    [("unit", "×", "unit must be one of"), ("value", "2.5×", "value must be a number"),
     ("value", True, "value must be a number"), ("kernel", "", "a value must have")],
)  # fmt: skip
def test_a_value_that_is_not_one_is_refused(tmp_path: Path, key, wrong, message) -> None:
    store(tmp_path, {"decode": measurement([{**VALUE, key: wrong}], threads=1)})
    with pytest.raises(MeasurementError, match=f"measured.json: decode: {message}"):
        load(str(tmp_path / "tables.py"))


@pytest.mark.parametrize("key", ["date", "torch", "python", "machine", "threads", "values"])
def test_a_measurement_without_its_circumstances_is_refused(tmp_path: Path, key: str) -> None:
    store(tmp_path, {"decode": measurement([VALUE], threads=1)})
    file = tmp_path / "measured.json"
    stored = json.loads(file.read_text(encoding="utf-8"))
    del stored["decode"][key]
    file.write_text(json.dumps(stored), encoding="utf-8")
    with pytest.raises(MeasurementError, match=r"measured.json: decode must have .*"):
        load(str(tmp_path / "tables.py"))
