"""llms.txt, as llmstxt.org asks for it: every page's Markdown, listed as the site's navigation."""

from collections.abc import Iterator
from typing import Any

from docs._tools.finish.take import Site, Taken


def llms_list(site: Site, pages: dict[str, Taken]) -> str:
    """Return the list of the pages, which are given by their sources."""
    config = site.edition.config
    package = site.address_of(site.package, site.edition.root)
    return "\n".join(
        [
            f"# {config['site_name']}\n",
            f"> {config['site_description']}\n",
            f"{site.words['install_all']}`pip install {package}`\n",
            *_listed(config["nav"], site, pages),
        ]
    )


def llms_full(site: Site, pages: dict[str, Taken]) -> str:
    """Return all pages in one text."""
    parts = [
        f"<{site.address_of(taken.twin, site.edition.root)}>\n\n{taken.text}"
        for taken in pages.values()
    ]
    return "\n---\n\n".join(parts)


def _listed(nav: list[Any], site: Site, pages: dict[str, Taken]) -> Iterator[str]:
    for item in nav:
        if isinstance(item, str):
            taken = pages[site.edition.source(item)]
            address = site.address_of(taken.twin, site.edition.root)
            yield f"- [{taken.title}]({address}): {taken.description}"
        else:
            for title, children in item.items():
                yield f"\n## {title}\n"
                yield from _listed(children, site, pages)
