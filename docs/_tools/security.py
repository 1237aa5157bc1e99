"""MkDocs hook: each page states what it may load and run, and holds nothing that this forbids.

Inline scripts and styles are allowed by their hash, everything else from the site alone. A script
or style in an attribute, which no hash allows, fails the build.
"""

import base64
import hashlib
import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority
from mkdocs.structure.pages import Page

CHARSET = '<meta charset="utf-8">'
# a start tag's attributes, and what a script or style holds
ELEMENT = re.compile(
    r"""<(?:(script|style)\b([^>]*)>(.*?)</\1|[a-z][^\s/>]*((?:"[^"]*"|'[^']*'|[^>"'])*)>)""",
    re.DOTALL | re.IGNORECASE,
)
ATTRIBUTE = re.compile(r"""([^\s"'>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
FORBIDDEN = re.compile(r"""style=|on|[^=]+=["']?\s*javascript:""", re.IGNORECASE)
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'"
)

live: list[str] = []  # commands that serve pages as they change, with an inline script of their own


def on_startup(command: str, **_: object) -> None:
    """Remember whether the pages are served while they change."""
    live[:] = [command] if command == "serve" else []


@event_priority(-1000)
def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Give a page its policy, when all else is in it."""
    return with_policy(output, page.url, config)


@event_priority(-1000)
def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same for the page that answers where there is none."""
    html = template_name.endswith(".html")
    return with_policy(output_content, template_name, config) if html else output_content


def with_policy(html: str, name: str, config: MkDocsConfig) -> str:
    """Return the page with its policy as the first thing after its character set."""
    sources = {"script": ["'self'"], "style": ["'self'"]}
    for tag, given, content, attributes in ELEMENT.findall(html):
        for attribute, quoted in ATTRIBUTE.findall(given or attributes):
            if FORBIDDEN.match(f"{attribute}={quoted}"):
                raise PluginError(f"{name}: the policy forbids {attribute}={quoted}")
        if content and "json" not in given:
            digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
            sources[tag].append(f"'sha256-{digest}'")
    if live or not config.use_directory_urls:  # opened as files, pages have no 'self'
        return html
    if html.count(CHARSET) != 1:
        raise PluginError(f"{name}: the policy has no place: {CHARSET} must occur once")
    allowed = {tag: " ".join(dict.fromkeys(given)) for tag, given in sources.items()}
    metas = f'<meta http-equiv="Content-Security-Policy" content="{POLICY.format(**allowed)}">'
    metas += '<meta name="referrer" content="no-referrer">'
    return html.replace(CHARSET, CHARSET + metas)
