"""The wrong layers are made from their data and the right layer; bad data stops by name."""

import re
import subprocess
import sys
import types

import pytest
import torch

from attn_docs.testing import check_module
from docs._tools import bugs, generate

TEXT = bugs.DATA.read_text(encoding="utf-8")
RIGHT = bugs.RIGHT.read_text(encoding="utf-8")
ENTRIES = bugs.load().entries
NEW = """
[[bug]]
name = "scaled_by_three"
what = "the scores are three times as large"
property = "scale"
right = "scores = query @ key.mT / math.sqrt(query.size(-1))"
wrong = "scores = 3 * query @ key.mT / math.sqrt(query.size(-1))"
comment = "no factor"
cause = "scaled by"
trains = "as well"
"""


def refusal(text: str, right: str = RIGHT) -> str:
    """Return what is said of a data file that is refused."""
    with pytest.raises((TypeError, ValueError)) as error:
        bugs.parse(text, right)
    return str(error.value)


@pytest.mark.parametrize("path", bugs.exhibits(), ids=lambda path: path.stem)
def test_exhibit_is_fresh_and_says_what_makes_it(path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == bugs.exhibits()[path], f"{path.name} is stale: run `make outputs`"
    first = text.splitlines()[0]
    assert "docs/practice/bugs-that-train/bugs.toml" in first
    assert "`make outputs`" in first


@pytest.mark.parametrize("name", ENTRIES)
def test_exhibit_is_the_right_layer_but_for_one_line(name: str) -> None:
    bug = ENTRIES[name]
    lines = [
        line for line in bugs.exhibit(bug, RIGHT).splitlines() if not line or line != bug.imports
    ]
    assert lines[:3] == [bugs.MADE.rstrip(), f'"""Bug: {bug.what}."""', ""]
    pairs = zip(lines[3:], RIGHT.splitlines(), strict=True)
    ((wrong, right),) = [(wrong, right) for wrong, right in pairs if wrong != right]
    assert wrong.strip() == f"{bug.wrong}  # wrong: {bug.comment}"
    assert right.partition("  # ")[0].strip() == bug.right


def test_a_fix_of_the_right_layer_reaches_every_exhibit() -> None:
    assert RIGHT.count("dropout=0.1") == 1
    fixed = RIGHT.replace("dropout=0.1", "dropout=0.2")
    for bug in ENTRIES.values():
        old, new = bugs.exhibit(bug, RIGHT), bugs.exhibit(bug, fixed)
        assert new == old.replace("dropout=0.1", "dropout=0.2") != old


def test_one_entry_more_is_one_bug_more() -> None:
    data = bugs.parse(TEXT + NEW, RIGHT)
    assert data.sections["formula"]["scale"][-1] == "scaled_by_three"
    bug = data.entries["scaled_by_three"]
    module = types.ModuleType(bug.name)
    exec(bugs.exhibit(bug, RIGHT), module.__dict__)  # noqa: S102 - our own text
    torch.manual_seed(0)
    report = check_module(module.Attention(32, 4), embed_dim=32, causal=True, num_heads=4)
    (found,) = [f for f in report.failures if f.property == bug.property]
    assert bug.cause in found.cause


BAD = {
    "unknown property": ('property = "scale"', 'property = "scael"', "got 'scael'"),
    "no such line": ("right = ", 'right = "no line"  #', "got 'no line', which is there 0 times"),
    "line with its comment": ('query.size(-1))"', 'query.size(-1))  # b h n m"', "0 times"),
    "wrong as right": ("3 * query", "query", "wrong must differ from right"),
    "not Python": ("3 * query", "3 * (query", "wrong must be a line of Python"),
    "no cause": ("cause = ", "#", "['cause'] is missing"),
    "no name": ("name = ", "#", "['name'] is missing"),
    "no words": ("what = ", "#", "got neither"),
    "words twice": ("what = ", 'described_in = "heads/tiled_key_heads"\nwhat = ', "got both"),
    "no such exhibit": ("what = ", 'described_in = "heads/no"  #', "got 'heads/no'"),
    "unknown key": ("comment = ", 'reason = "?"\ncomment = ', "got 'reason'"),
    "not a truth value": ("comment = ", "grouped = 1\ncomment = ", "grouped must be a bool; got 1"),
    "not a text": ('comment = "no factor"', "comment = 1", "comment must be a str; got 1"),
    "empty": ('"no factor"', '" "', "comment must be filled in"),
    "not filled in": ('"no factor"', '"TODO"', "comment must be filled in"),
    "two lines": ('"no factor"', '"""no\nfactor"""', "in one line"),
    "unknown loss": ('trains = "as well"', 'trains = "well"', "got 'well'"),
    "no name of a file": ("scaled_by_three", "Scaled", "name must be a file's"),
    "name twice": ("scaled_by_three", "scaled_by_embed_dim", "name must be new"),
    "a chapter's name": ("scaled_by_three", "reshaped_key", "'foundations/reshaped_key'"),
    "lines twice": (
        "3 * query @ key.mT / math.sqrt(query.size(-1))",
        "query @ key.mT / math.sqrt(x.size(-1))",
        "got those of 'scaled_by_embed_dim'",
    ),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_entry_stops_with_its_name(fault: str) -> None:
    old, new, said = BAD[fault]
    assert NEW.count(old) >= 1
    bad = NEW.replace(old, new, 1)
    message = refusal(TEXT + bad)
    name = re.search(r'^name = "(\w+)"', bad, re.M)
    where = f"bug {name[1]!r}: " if name else "bug 33: "
    assert message.startswith(f"docs/practice/bugs-that-train/bugs.toml: {where}")
    assert said in message


def test_a_line_that_is_there_twice_is_refused() -> None:
    line = "        query = split(self.q_proj(x), self.num_heads)  # b h n d\n"
    assert line in RIGHT
    bug = NEW.replace("scores = query @ key.mT / math.sqrt(query.size(-1))", line.strip()[:-11], 1)
    assert bugs.parse(TEXT + bug, RIGHT).entries["scaled_by_three"]
    assert "bug 'scaled_by_three': right must be one line of " in refusal(
        TEXT + bug, RIGHT.replace(line, 2 * line)
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"group order"', '"group ordre"', "got 'group order' 0 times"),
        ('"group order"', '"group order", "scael"', "got 'scael' 1 times"),
        ('"group order"', '"group order", "scale"', "got 'scale' 2 times"),
        ("[sections]", "[parts]", "must hold [sections] and [[bug]] alone"),
        ("[sections]", "[sections", "must be TOML"),
    ],
)
def test_bad_sections_stop_with_the_file(old: str, new: str, said: str) -> None:
    message = refusal(TEXT.replace(old, new, 1))
    assert message.startswith("docs/practice/bugs-that-train/bugs.toml")
    assert said in message


def test_a_file_that_no_entry_makes_stops_the_command(monkeypatch) -> None:
    without = TEXT[: TEXT.rindex("[[bug]]")]
    last = list(ENTRIES)[-1]
    monkeypatch.setattr(bugs, "load", lambda: bugs.parse(without, RIGHT))
    with pytest.raises(SystemExit, match=rf"got none for attn_docs/exhibits/practice/{last}\.py"):
        bugs.write_exhibits()


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The data file and the folder of exhibits, in a place that may be written to."""
    folder = tmp_path / "practice"
    folder.mkdir()
    data = tmp_path / "bugs.toml"
    data.write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(bugs, "FOLDER", folder)
    monkeypatch.setattr(bugs, "DATA", data)
    return tmp_path


def test_exhibits_are_written_anew(copy) -> None:
    bugs.write_exhibits()
    written = {path.stem: path.read_text(encoding="utf-8") for path in copy.glob("practice/*.py")}
    assert written == {name: bugs.exhibit(bug, RIGHT) for name, bug in ENTRIES.items()}


def test_outputs_begin_with_the_exhibits(monkeypatch) -> None:
    def stop() -> None:
        raise SystemExit("bugs first")

    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(bugs, "write_exhibits", stop)
    with pytest.raises(SystemExit, match="bugs first"):
        generate.main("outputs", "")


def test_new_bug_is_refused_until_it_is_filled_in(copy, capsys) -> None:
    bugs.append("scaled_by_three")
    said = capsys.readouterr().out
    assert "TODO" in said
    assert "`make outputs`, which makes attn_docs/exhibits/practice/scaled_by_three.py" in said
    data = copy / "bugs.toml"
    text = data.read_text(encoding="utf-8")
    assert text.startswith(TEXT)
    with pytest.raises(SystemExit, match=r"'scaled_by_three': what must be filled in.*got 'TODO'"):
        bugs.write_exhibits()
    assert not list(copy.glob("practice/*"))
    filled = [line.split(" = ", 1)[1] for line in NEW.strip().splitlines()[2:]]
    for value in filled:
        text = text.replace('"TODO"', value, 1)
    assert text == TEXT + NEW  # nothing but the placeholders is left to write
    data.write_text(text, encoding="utf-8")
    bugs.write_exhibits()
    assert (copy / "practice" / "scaled_by_three.py").is_file()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "NAME must be in lower case .*; got ''"),
        ("Zero-fill", "NAME must be in lower case .*; got 'Zero-fill'"),
        ("zero_fill", "NAME must be new; .* has an entry 'zero_fill'"),
    ],
)
def test_new_bug_refuses_a_name(copy, name: str, said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        bugs.append(name)
    assert (copy / "bugs.toml").read_text(encoding="utf-8") == TEXT


def test_make_new_bug_is_the_command() -> None:
    makefile = (bugs.ROOT / "Makefile").read_text(encoding="utf-8")
    module = re.search(r"^new-bug: .*\n\t\$\(BIN\)/python -m (\S+) \$\(NAME\)$", makefile, re.M)[1]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", module],
        capture_output=True,
        text=True,
        check=False,
        cwd=bugs.ROOT,
    )
    assert done.returncode != 0
    assert "NAME must be in lower case" in done.stderr
