"""What is put around the Python blocks of a page, and into them, once they are highlighted.

A title is short, with a tick that says that the block was run. Of the package's own modules what
they offer is shown, and the file stands behind it. Wrong lines are marked.
"""

import re
from functools import partial
from html import escape, unescape
from posixpath import basename

from docs._kit.text import Words
from docs._tools.blocks import ROOT
from docs._tools.page import DOCS
from docs._tools.signatures import offers

VERIFIED = DOCS / "reference" / "how-this-site-is-checked" / "verified.txt"
MODULE = re.compile(r"^attn_docs/(?!examples/|exhibits/)\w+/\w+\.py$")
# a block as the highlighter leaves it: its file and its code; once dressed it has more before it
BLOCK = re.compile(
    r'(?s)<div class="language-python highlight">(?:<span class="filename">(?P<path>[^<]+)</span>)?'
    r"(?P<pre><pre>.*?</pre>)</div>"
)
# in its first line, if it has one, the reason why it is not run
SKIPPED = re.compile(r"<code>(?:<[^>]*>)*# skip: ([^<]*)")
WRONG = re.compile(r'(?m)^((?:<pre>.*?<code>)?(?:<span class="hll">)?)(.*class="c1"># wrong:.*)$')
# what an exhibit says of its bug: its docstring, and the comment of the wrong line
TOLD = re.compile(
    r'(?s)(<span class="sd">"""Bug:.*?"""</span>\n*|<span class="c1"># wrong:.*?</span>)'
)
TICKED = 'class="ran" role="img"'
BELOW = re.compile(r'\n<p class="checked".*?</p>')


def dressed(text: str, words: Words) -> str:
    """Return a page, or a docstring, with each of its Python blocks dressed."""
    return BLOCK.sub(partial(_dressed, words=words), text)


def _dressed(block: re.Match[str], words: Words) -> str:
    path, code = block["path"] or "", WRONG.sub(r'\1<span class="wrong">\2</span>', block["pre"])
    folded = MODULE.match(path)
    name = path if folded else basename(path)
    mark = _mark(SKIPPED.search(code), words)
    if path.startswith("attn_docs/exhibits/"):
        code = TOLD.sub(r'<span class="told">\1</span>', code)
        box = '<input type="checkbox" autocomplete="off">'
        mark = f'{_sign("✗", words["wrong"])}<label class="reveal">{box}{words["reveal"]}</label>'
        name = f'{words["exhibit"]}<span class="told">: {name}</span>'
    title = f' title="{path}"' if path else ""
    shown = (
        f'<span class="filename" data-search-exclude{title}>{name}{"" if folded else mark}</span>'
    )
    whole = f'<div class="language-python highlight">{shown}{code}</div>'
    return f"{_opening(path, mark, words)}{whole}</details>" if folded else whole


def _mark(skipped: re.Match[str] | None, words: Words) -> str:
    """Return the sign that a block ran, or the reason why it does not."""
    if skipped:
        return f' <span class="ran">{words["skipped"]}{skipped[1]}</span>'
    return _sign("✓", words["ran"])


def _sign(sign: str, said: str) -> str:
    return f' <span {TICKED} aria-label="{said}" title="{said}">{sign}</span>'


def _opening(path: str, mark: str, words: Words) -> str:
    """Return the start of what folds a module: its name, and what it offers."""
    offered = "".join(
        f'<span lang="en"><code>{escape(signature)}</code> {_inline(sentence)}</span>'
        for signature, sentence in offers((ROOT / path).read_text(encoding="utf-8"))
    )
    told = f'<span class="file">{path}{mark}</span>'
    hint = f'<span class="hint">{words["whole"]}</span>'
    return f'<details class="package"><summary data-search-exclude>{told}{offered}{hint}</summary>'


def _inline(sentence: str) -> str:
    """Return a docstring's sentence as HTML."""
    html = re.sub("`([^`]+)`", r"<code>\1</code>", escape(unescape(sentence), quote=False))
    return re.sub(r"\*([^*]+)\*", r"<em>\1</em>", html)


def checked(text: str, page: str, words: Words) -> str:
    """Return a page that says at its end with what its blocks ran, and by which command."""
    text = BELOW.sub("", text)
    if TICKED not in text:
        return text
    tested = f"docs/{page}"
    # an entry of the API tells of the folder of that name, and its front page of itself
    if page.startswith("reference/api/") and "index" not in page:
        tested = f"attn_docs/{re.split('[/.]', page)[2].replace('-', '_')}"
        tested += "" if (ROOT / tested).is_dir() else ".py"
    versions = words["and"].join(VERIFIED.read_text(encoding="utf-8").split())
    said = words["checked"].format(versions=versions, tests=tested)
    return f'{text}\n<p class="checked" data-search-exclude>{said}</p>'
