"""Which state of the site a reader has: the version of its code and a day, no clock's."""

import os
import tomllib
from datetime import UTC, datetime

from docs._tools.page import DOCS

CHANGES = DOCS / "reference/changes/changes.toml"
PLACE = "<span data-state></span>"  # docs/_theme/partials/copyright.html leaves it free


def day() -> str:
    """Return the day of what is built: that of the commit, or of the newest change that is told."""
    if epoch := os.environ.get("SOURCE_DATE_EPOCH"):
        return datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    told = tomllib.loads(CHANGES.read_text(encoding="utf-8"))["change"]
    return max(change["date"] for change in told).isoformat()


def with_state(html: str, package: str) -> str:
    """Return a page that says in its foot which code it shows, and of which day it is."""
    version = package.split("-")[1]
    told = f'<span>attn_docs {version} · <time datetime="{day()}">{day()}</time> · </span>'
    return html.replace(PLACE, told, 1)
