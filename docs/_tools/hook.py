"""MkDocs hook: have each site finished when both of its languages are there."""

from pathlib import Path
from typing import Literal

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority

from docs._tools import search
from docs._tools.finish import finish

serving = False


def on_startup(command: Literal["build", "gh-deploy", "serve"], **_: object) -> None:
    """Remember whether the pages are served while they change."""
    global serving  # noqa: PLW0603
    serving = command == "serve"


@event_priority(-1000)  # mkdocs-static-i18n builds the other languages at -100
def on_post_build(config: MkDocsConfig) -> None:
    """Finish the site, once: the build of another language, inside the first, ends here too."""
    if "i18n" in config.plugins and config.plugins["i18n"].building:
        return
    try:
        policies = config.use_directory_urls and not serving
        search.finish(Path(config.site_dir))
        finish(Path(config.site_dir), config.site_url or "", policies=policies)
    except ValueError as error:
        raise PluginError(str(error)) from error
