"""Where the page on a property is: its address if the site's is known, otherwise its name."""

import json
import os
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from urllib.parse import urljoin

PAGE = "practice/bugs-that-train"
WEB = ("https://", "http://")


def link(name: str) -> str:
    """Return the address of the chapter on a property; empty if the site's is not known."""
    site = os.environ.get("ATTN_DOCS_URL", "").strip() or _installed_site()
    return f"{site.rstrip('/')}/{PAGE}/#{_anchor(name)}" if site else ""


def see(name: str) -> str:
    """Return where to read on about a property, in words."""
    return f"see {link(name) or f'page {PAGE}, section {_anchor(name)}'}"


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


@lru_cache(maxsize=1)
def _installed_site() -> str:
    try:
        return site_of(distribution("attn-docs"))
    except PackageNotFoundError:  # the folder was copied
        return ""


def site_of(installed: Distribution) -> str:
    """Return the site that an installed package names, or whose wheel it is; empty if neither."""
    for entry in installed.metadata.get_all("Project-URL") or ():
        label, _, address = entry.partition(",")
        if label.strip().lower() == "documentation":
            return str(address.strip())
    source = str(json.loads(installed.read_text("direct_url.json") or "{}").get("url", ""))
    # the site carries its wheel at its root, and numbers each as a post-release
    if ".post" in installed.version and source.startswith(WEB) and source.endswith(".whl"):
        return urljoin(source, ".")
    return ""
