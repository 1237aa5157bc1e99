"""Signatures of the API reference: one argument a line where they are long, at any width.

mkdocstrings leaves a signature as one line of a block. It is no block to run, and a line of 400
characters would have to be scrolled.
"""

import re

BLOCK = re.compile(
    r'<div class="language-python doc-signature highlight"><pre><span></span>'
    r"<code>(?P<code>.*?)\s*</code></pre></div>",
    re.S,
)
# a tag, a string with its quotes, or a character as it is written
PIECE = re.compile(r"""<[^>]*>|('|"|&#39;|&quot;).*?\1|&\w+;|.""", re.S)
WIDTH = 60  # characters that a line of a page holds
DEPTH = dict.fromkeys("([{", 1) | dict.fromkeys(")]}", -1)


def laid_out(text: str) -> str:
    """Return a page with each of its signatures as lines that a browser can break."""
    return BLOCK.sub(lambda block: _signature(block["code"]), text)


def _signature(code: str) -> str:
    # of what is no definition the highlighter takes the first constant for the name
    code = code.replace('<span class="nf">', '<span class="kc">')
    if len(re.sub("<[^>]*>", "", code)) > WIDTH:
        name, *arguments, end = _split(code)
        code = name + "".join(f'<span class="argument">{part}</span>' for part in arguments) + end
    return f'<div class="signature" data-search-exclude><code>{code}</code></div>'


def _split(code: str) -> list[str]:
    """Return what opens a signature, each argument with its comma, and what closes it."""
    parts, depth = [""], 0
    for piece in (found[0] for found in PIECE.finditer(code)):
        change = DEPTH.get(piece, 0)
        if depth == 1 and change < 0:  # the argument before is the last
            parts.append("")
        depth += change
        parts[-1] += piece
        if depth == 1 and (piece == "," or len(parts) == 1):
            parts.append("")
    return [part.strip() for part in parts]
