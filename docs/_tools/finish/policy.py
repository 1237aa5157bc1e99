"""Each page states what it may load and run, and holds nothing that this forbids.

Inline scripts and styles are allowed by their hash, everything else from the site alone. A script
or style in an attribute, which no hash allows, is an error. What counts is what a browser reads,
so the page is parsed as browsers parse it.
"""

import re
from base64 import b64encode
from hashlib import sha256

from selectolax.lexbor import LexborHTMLParser

CHARSET = '<meta charset="utf-8">'
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src {script}; style-src {style}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'\">"
)
# browsers skip white space and control characters in an address
SCRIPT_ADDRESS = re.compile(r"[\x00-\x20]*j\s*a\s*v\s*a\s*s\s*c\s*r\s*i\s*p\s*t\s*:", re.IGNORECASE)


def with_policy(html: str, tree: LexborHTMLParser, name: str, stated: bool) -> str:
    """Return a page with its policy after its character set, before all that it rules.

    Raises:
        ValueError: If the page holds what no policy allows, even where none is stated.
    """
    if found := forbidden(tree):
        raise ValueError(f"{name}: its policy forbids {', '.join(found)}")
    if not stated:
        return html
    if CHARSET not in html or "Content-Security-Policy" in html:
        raise ValueError(f"{name}: a page must be as its engine left it, with {CHARSET}")
    return html.replace(CHARSET, CHARSET + policy(tree), 1)


def forbidden(tree: LexborHTMLParser) -> list[str]:
    """Name the attributes of a page that no policy can allow."""
    return [
        f'{name}="{value}" of <{node.tag}>'
        for node in tree.css("*")
        for name, value in node.attributes.items()
        if name == "style" or name.startswith("on") or SCRIPT_ADDRESS.match(value or "")
    ]


def policy(tree: LexborHTMLParser) -> str:
    """Return the policy of a page, which allows just what it holds."""
    allowed = {"script": "'self'", "style": "'self'"}
    for node in tree.css("script, style"):
        content = node.text()
        if content and "json" not in (node.attributes.get("type") or ""):
            digest = b64encode(sha256(content.encode()).digest()).decode()
            allowed[node.tag] += f" 'sha256-{digest}'"
    return POLICY.format(**allowed)
