"""MkDocs hook: each page states what it may load and run, and holds nothing that this forbids.

Inline scripts and styles are allowed by their hash, everything else from the site alone. A script
or style in an attribute, which no hash allows, fails the build.
"""

import re
import sys
from base64 import b64encode
from hashlib import sha256

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.pages import Page

CHARSET = '<meta charset="utf-8">'
POLICY = (
    '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
    "script-src {script}; style-src {style}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'\">"
)
INLINE = re.compile(r"<(script|style)\b([^>]*)>(.*?)</\1", re.DOTALL | re.IGNORECASE)
# in a start tag an attribute that is a script or a style, or anywhere an address that is a script
FORBIDDEN = re.compile(
    r"""<[a-z](?:[^"'>\s]++|"[^"]*"|'[^']*'|\s++(?!(?:style|on[a-z]+)\s*=))*+\s+\w+\s*="""
    r"""|=\s*["']?\s*javascript:""",
    re.IGNORECASE,
)


@event_priority(-1000)
def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Give a page its policy when all else is in it."""
    return with_policy(output, page.url, config)


@event_priority(-1000)
def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same for the page that answers where there is none."""
    return with_policy(output_content, template_name, config)


def with_policy(html: str, name: str, config: MkDocsConfig) -> str:
    """Return the page with its policy after its character set, before all that it rules."""
    if found := FORBIDDEN.search(INLINE.sub(r"<\1\2>", html)):
        raise PluginError(f"{name}: its policy forbids {found[0]}")
    allowed = {"script": "'self'", "style": "'self'"}
    for tag, attributes, content in INLINE.findall(html):
        if content and "json" not in attributes:
            allowed[tag] += f" 'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
    # what is served while it changes reloads by a script of MkDocs, and files have no 'self'
    if "serve" in sys.argv or not config.use_directory_urls:
        return html
    return html.replace(CHARSET, CHARSET + POLICY.format(**allowed))
