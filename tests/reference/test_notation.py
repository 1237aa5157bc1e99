"""The table of symbols: what the Notation page shows of it, and how it is linked into chapters."""

import ast
import re
from collections import Counter
from xml.etree.ElementTree import Element

import pytest
import torch

from attn_docs import KVCache, MultiHeadAttention, scaled_dot_product_attention
from docs._tools import symbols
from docs._tools.page import page_module
from tests.conftest import ROOT, Site
from tests.kit import normal
from tests.site.test_census import SOURCES, address

notation = page_module("reference/notation", "tables")

PAGE = "part/chapter"
FORMULA = '<h2 id="the-formula">F</h2><div class="formula"><math>{}</math></div><h2 id="c">C</h2>'
BLOCK = '<span class="filename">a.py</span><pre><span></span><code>{}\n</code></pre>'
W_Q = "<msub><mi>W</mi><mi>Q</mi></msub>"
OWN = {"file": "a.py", "en": "one $x$ in `code`", "zh": "一个"}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict]:
    """A page with two symbols that share a line of code."""
    own = {key: {**OWN, "tex": [key], "line": "x = q"} for key in ("Q", "W_Q")}
    monkeypatch.setattr(symbols, "pages", lambda: {PAGE: {"symbols": own}})
    return own


def linked(code: str, formula: str = f"<mi>Q</mi>{W_Q}", page: str = f"{PAGE}/index.md") -> str:
    return symbols.link(page, FORMULA.format(formula) + BLOCK.format(code))


@pytest.mark.usefixtures("table")
def test_symbols_and_their_line_are_linked() -> None:
    html = linked('<span class="n">y</span>\n    <span class="n">x</span> = q')
    marked = '<mrow data-symbol="Q"><mi>Q</mi></mrow><mrow data-symbol="W_Q">'
    assert f"{marked}{W_Q}</mrow>" in html  # the Q of W_Q is no Q
    line = '<bdi id="code-Q" data-symbol="Q W_Q" tabindex="0"><span class="n">x</span> = q</bdi>'
    assert f"\n    {line}\n" in html
    label = 'aria-label="W_Q: one x in code"'
    assert f'<a href="#code-Q" data-symbol="W_Q" {label}>W<sub>Q</sub></a>' in html


@pytest.mark.usefixtures("table")
def test_translation_has_its_own_words() -> None:
    html = linked("x = q", page=f"{PAGE}/index.zh.md")
    assert "在代码中：" in html
    assert 'aria-label="Q: 一个"' in html


def test_a_function_may_be_an_operator(table: dict[str, dict]) -> None:
    table["Q"]["tex"] = [r"\tanh"]
    for function in ("<mspace/><mi>tanh</mi>", "<mo>tanh</mo>"):
        assert f'<mrow data-symbol="Q">{function}</mrow>' in linked("x = q", function + W_Q)


def test_spacing_of_a_formula_may_differ(table: dict[str, dict]) -> None:
    table["Q"]["tex"] = ["(Q)"]
    loose = '<mo stretchy="true">(</mo><mi>Q</mi><mo rspace="0">)</mo>'
    assert f'<mrow data-symbol="Q">{loose}</mrow>' in linked("x = q", loose + W_Q)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("code", "formula"),
    [
        ("x = k", f"<mi>Q</mi>{W_Q}"),  # no such line
        ("x = q\nx = q", f"<mi>Q</mi>{W_Q}"),  # two of them
        ('<span class="sd">x = q</span>', f"<mi>Q</mi>{W_Q}"),  # in a docstring
        ("x = q", W_Q),  # Q is missing from the formula
    ],
)
def test_what_is_not_there_fails_the_build(code: str, formula: str) -> None:
    with pytest.raises(ValueError, match=rf"{PAGE}/index.md: not in a formula.*(x = q|'Q')"):
        linked(code, formula)


def test_headings_and_other_pages_stay_as_they_are(table: dict[str, dict]) -> None:
    assert table
    heading, page = "The <em>formula</em>", FORMULA.format("<mi>Q</mi>")
    assert symbols.link(f"{PAGE}/index.md", heading) == heading
    assert symbols.link("part/other/index.md", page) == page


@pytest.mark.parametrize("page", sorted(symbols.pages()))
def test_every_symbol_has_one_spelling_to_itself_and_says_what_it_means(page: str) -> None:
    own = symbols.pages()[page]["symbols"]
    spelled = Counter(tex for symbol in own.values() for tex in symbol["tex"])
    assert max(spelled.values()) == 1, "a letter means one thing on a page"
    for key, symbol in own.items():
        assert re.fullmatch(r"[A-Za-z]+(_[A-Za-z0-9]+)?", key)
        letters = [re.findall(r"\$([^$]*)\$", symbol[language]) for language in ("en", "zh")]
        assert letters[0] == letters[1]
        assert all(letter.isalpha() for letter in letters[0]), "it is read aloud"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_notation_page_has_every_symbol(language: str) -> None:
    common = notation.sizes(language) + notation.tensors(language)
    own = notation.chapters(language).splitlines()
    for page, of in symbols.pages().items():
        for key, symbol in of["symbols"].items():
            meaning, link = f"| {symbol[language]} |", f"(../../{page}/index.md#the-formula)"
            rows = [
                row for row in own if f"| ${symbol['tex'][0]}$ {meaning}" in row and link in row
            ]
            assert meaning in common or rows, (page, key)


def formulas(site: Site, url: str) -> list[Element]:
    """Return the display formulas in the section `the-formula` of a page."""
    section, found = None, []
    for element in site.tree(url).iter():
        section = element.get("id") if element.tag == "h2" else section
        if section == "the-formula" and element.get("class") == "formula" and element.tag == "div":
            found.append(element)
    return found


def test_every_formula_is_evaluated_by_one_test(site: Site) -> None:
    shown = Counter(
        (url, "".join("".join(math.find(".//annotation").itertext()).split()))
        for url in site.pages
        for math in ([] if url.startswith("zh/") else formulas(site, url))
    )
    evaluated: Counter[tuple[str, str]] = Counter()
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        place = f"{path.parent.name}/{path.stem.removeprefix('test_')}/".replace("_", "-")
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            for mark in getattr(node, "decorator_list", []):
                if ast.unparse(mark).startswith("pytest.mark.formula(") and "test_" in node.name:
                    evaluated[place, "".join(ast.literal_eval(mark.args[0]).split())] += 1
    assert evaluated == shown


@SOURCES
def test_every_letter_of_a_formula_is_linked(source, site: Site) -> None:
    parts = [part for formula in formulas(site, address(source)) for part in formula.iter()]
    linked = {inner for part in parts if part.get("data-symbol") for inner in part.iter()}
    letters = (part for part in parts if part.tag in {"mi", "mo", "mtext"} and part not in linked)
    unlinked = {text for part in letters if re.search(r"\w", text := "".join(part.itertext()))}
    page = symbols.pages().get(address(source).removeprefix("zh/").strip("/"), {})
    assert unlinked == set(page.get("unlinked", ()))


@pytest.mark.parametrize("lacking", ["line", "en", "zh"])
def test_a_symbol_without_its_line_or_a_language_is_refused(lacking, tmp_path, monkeypatch) -> None:
    symbol = {"line": "x = q", "en": "one", "zh": "一"}
    del symbol[lacking]
    own = ", ".join(f'{key} = "{text}"' for key, text in symbol.items())
    (tmp_path / "part/chapter").mkdir(parents=True)
    table = f'file = "a.py"\n[symbols]\nQ_own = {{ {own} }}\n'
    (tmp_path / "part/chapter/symbols.toml").write_text(table, encoding="utf-8")
    monkeypatch.setattr(symbols, "DOCS", tmp_path)
    monkeypatch.setattr(symbols, "folders", lambda: ["part/chapter"])
    with pytest.raises(symbols.SymbolError, match=rf"part/chapter/symbols.toml: Q_own .*{lacking}"):
        symbols.pages.__wrapped__()


def test_the_notation_page_begins_with_25_symbols_and_folds_the_rest() -> None:
    table = symbols.load(symbols.NOTATION)
    assert sum(len(group) for group in table.values()) == 25
    for ending in ("", ".zh"):
        text = (symbols.DOCS / f"reference/notation/index{ending}.md").read_text(encoding="utf-8")
        assert "25" in text
        assert f'"\n    --8<-- "docs/reference/notation/made/chapters{ending}.md"' in text


def test_is_causal_aligns_as_the_notation_page_says() -> None:
    value = torch.eye(4)[None, None]
    seen = scaled_dot_product_attention(value[:, :, :2] * 0, value, value, is_causal=True) > 0
    assert seen[0, 0].tolist() == [[True, False, False, False], [True, True, False, False]]
    module = MultiHeadAttention(8, 2).double().eval()
    x = normal(1, 4, 8)
    cache = KVCache(1, 2, 4, 4, dtype=torch.float64)
    parts = [module(part, cache=cache, is_causal=True) for part in (x[:, :2], x[:, 2:])]
    torch.testing.assert_close(torch.cat(parts, dim=1), module(x, is_causal=True))
